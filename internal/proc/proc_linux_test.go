package proc_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"thole.example/internal/proc"
)

// TestOf: a process lives until it has ended; one that got its id later is another one, and of those elsewhere nothing is known.
func TestOf(t *testing.T) {
	mine := proc.Name(os.Getpid())
	if strings.Contains(mine, "\n") || proc.Of(mine) != proc.Lives {
		t.Errorf("%q is %v, want that it lives", mine, proc.Of(mine))
	}
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	name := proc.Name(c.Process.Pid)
	if got := proc.Of(name); got != proc.Lives || name == mine {
		t.Errorf("%q is %v, want that it lives", name, got)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if got := proc.Of(name); got != proc.Gone {
		t.Errorf("%q is %v, want that it is gone", name, got)
	}
	if got := proc.Name(c.Process.Pid); got != "" && got == name {
		t.Errorf("a process that is gone has the name %q", got)
	}
	for what, c := range map[string]struct {
		name string
		want proc.State
	}{
		"one that had the id before": {mine + "1", proc.Gone},
		"of another start":           {"x" + mine, proc.Unknown},
		"not told":                   {"", proc.Unknown},
		"no number":                  {mine[:strings.LastIndexByte(mine, ' ')] + " x", proc.Unknown},
		"half":                       {mine[:strings.LastIndexByte(mine, ' ')], proc.Unknown},
	} {
		if got := proc.Of(c.name); got != c.want {
			t.Errorf("%s: %q is %v, want %v", what, c.name, got, c.want)
		}
	}
}
