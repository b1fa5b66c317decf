package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestExamples builds and tests the modules under examples, as other modules that use this one do.
func TestExamples(t *testing.T) {
	mods, err := filepath.Glob(filepath.Join(root, "examples", "*", "go.mod"))
	if err != nil || len(mods) == 0 {
		t.Fatalf("%d modules under examples, %v", len(mods), err)
	}
	for _, mod := range mods {
		for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
			cmd := exec.Command("go", args...)
			cmd.Dir = filepath.Dir(mod)
			cmd.Env = append(os.Environ(), "GOWORK=off") // whatever workspace surrounds us
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: go %v: %v\n%s", filepath.Dir(mod), args, err, out)
			}
		}
	}
}
