package house

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"thole.example/psf"
)

// functions is the table of the functions beside the data.
func functions() string {
	b, row := table("function", "what it does", "arguments")
	for _, f := range psf.Funcs() {
		var params []string
		for _, p := range f.Params {
			text := "`" + p.Name + "` " + p.Kind.String()
			switch {
			case p.Default != "":
				text += " (" + p.Default + ")"
			case p.Optional:
				text += " (may be left out)"
			}
			params = append(params, text)
		}
		row("`"+f.Name+"`", f.Help, strings.Join(params, "; "))
	}
	return b.String()
}

// parameters is the table of what is said about parameters.
func parameters() string {
	b, row := table("parameter", "of", "what it says")
	seen := map[string]bool{}
	for _, f := range psf.Funcs() {
		for _, p := range f.Params {
			key := p.Name + "\n" + p.Help
			if p.Help == "" || seen[key] {
				continue
			}
			seen[key] = true
			var of []string
			for _, g := range psf.Funcs() {
				if slices.ContainsFunc(g.Params, func(q psf.Param) bool { return q.Name == p.Name && q.Help == p.Help }) {
					of = append(of, "`"+g.Name+"`")
				}
			}
			if len(of) > 8 {
				of = []string{fmt.Sprintf("%d functions", len(of))}
			}
			row("`"+p.Name+"`", strings.Join(of, " "), p.Help)
		}
	}
	return b.String()
}

var quoted = regexp.MustCompile("`([a-z0-9]+)`")

// TestFunctionTables holds docs/psf.md to the code: its tables, and the names of functions that it gives for those of Angel.
func TestFunctionTables(t *testing.T) {
	text := keepTables(t, "docs/psf.md", map[string]func() string{"functions": functions, "parameters": parameters})
	_, angel, ok := strings.Cut(text, "## Angel's functions")
	angel, _, closed := strings.Cut(angel, "\n## ")
	if !ok || !closed {
		t.Fatal(`docs/psf.md has no "## Angel's functions" with a section after it`)
	}
	all := map[string]bool{}
	for _, f := range psf.Funcs() {
		all[f.Name] = true
	}
	rows := 0
	for line := range strings.Lines(angel) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		rows++
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			if !all[m[1]] {
				t.Errorf("docs/psf.md: %s is given as %s, which is no function", strings.TrimSpace(cells[1]), m[1])
			}
		}
	}
	for _, name := range []string{"sum", "zip3map", "kaimingnormal", "compress"} {
		if !strings.Contains(angel, "`"+name+"`") {
			t.Errorf("docs/psf.md does not say which of Angel's functions %s is", name)
		}
	}
	if rows < 40 {
		t.Errorf("docs/psf.md tells of %d of Angel's functions", rows)
	}
}
