package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommandLine: a command line that is wrong ends with 2 and says why, as does a variable; help says what there is.
func TestCommandLine(t *testing.T) {
	t.Setenv("KUBECONFIG", "none.kubeconfig")
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct {
		args, variable string
		code           int
		want           string
	}{
		{"--help", "", 0, "--namespace"},
		{"a", "", 2, `unexpected argument "a"`},
		{"--no-flag", "", 2, "--no-flag"},
		{"--lease 1s", "", 2, "--lease 1s --jobs 8, want 3s or more"},
		{"--jobs 0", "", 2, "--jobs 0, want"},
		{"", "soon", 2, "THOLE_LEASE"},
		{"", "", 1, "no Kubernetes"},
	} {
		t.Setenv("THOLE_LEASE", c.variable)
		var out, said bytes.Buffer
		if code := run(strings.Fields(c.args), &out, &said); code != c.code || !strings.Contains(out.String()+said.String(), c.want) {
			t.Errorf("%q: status %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out.String(), said.String())
		}
	}
}
