package house

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// programLimit is how many bytes thole may have as it is released: ADR 42.
const programLimit = 60_000_000

// TestProgram builds thole as it is released: one file that needs no other, and is not larger than it may be.
func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it is built")
	}
	file := filepath.Join(t.TempDir(), "thole")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "../../cmd/thole")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() > programLimit {
		t.Errorf("%d bytes, %v; want %d at most: what makes it larger can be a program of its own (ADR 42)", info.Size(), err, programLimit)
	}
	if runtime.GOOS != "linux" {
		return
	}
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); len(libraries) > 0 || f.Section(".interp") != nil {
		t.Errorf("it needs %v, %v; want a static program", libraries, err)
	}
}
