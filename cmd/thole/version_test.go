package main

import "testing"

// TestVersionText names a version or a commit, whatever the build knows.
func TestVersionText(t *testing.T) {
	for want, b := range map[string]build{
		"thole v1.2.3, commit abc with changes, go, linux/amd64":                {Version: "v1.2.3", Commit: "abc", Modified: true},
		"thole v1.2.3, go, linux/amd64":                                         {Version: "v1.2.3"},
		"thole of commit abc, go, linux/amd64":                                  {Version: "(devel)", Commit: "abc"},
		"thole of an unknown commit (built without -buildvcs), go, linux/amd64": {Version: "(devel)"},
	} {
		b.Go, b.System = "go", "linux/amd64"
		if got := b.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
