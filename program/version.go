package program

import "fmt"

// VersionText says in words which release the version names: major*1000000 + minor*1000 + patch, 0 in development builds,
// absent before 1.x.
func (p *Program) VersionText() string {
	switch v := p.Version; {
	case p.Form == FormPIR:
		return fmt.Sprintf("PIR version %d (release 3.x)", v)
	case p.Form == FormEarly:
		return "no version (release 0.11)"
	case !p.HasVersion:
		return "no version"
	case v == 0:
		return "version 0 (a development build)"
	case v < 0:
		return fmt.Sprintf("version %d (no release)", v)
	default:
		return fmt.Sprintf("version %d (release %d.%d.%d)", v, v/1_000_000, v/1000%1000, v%1000)
	}
}
