package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestReadme runs the commands of the README one after another, as a reader would, in an empty folder. Those that build or
// run Go programs are compared with what there is in the repository.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir, ran := t.TempDir(), 0
	for _, block := range shellBlock.FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			switch words := strings.Fields(line); {
			case len(words) == 0:
			case words[0] == "go":
				goLine(t, words[1:])
			case words[0] == "CGO_ENABLED=0" && words[1] == "go":
				goLine(t, words[2:])
			case words[0] == "thole" || words[0] == "for":
				ran++
				var said bytes.Buffer
				c := exec.Command(bash, "-e", "-o", "pipefail", "-c", line)
				c.Dir, c.Stdout, c.Stderr = dir, io.Discard, &said
				c.Env = append(os.Environ(), runsVariable+"=") // a reader has none
				if err := c.Run(); err != nil {
					t.Fatalf("%s%v: %s", line, err, &said)
				}
			default:
				t.Errorf("%q is neither thole nor go, nor a loop", line)
			}
		}
	}
	if ran < 20 {
		t.Errorf("%d commands of thole in the README: the test does not find them", ran)
	}
}

// goLine checks a line "go run ./cmd/x ARGS", "go install FLAGS ./cmd/x" or "go test PATTERN".
func goLine(t *testing.T, words []string) {
	if len(words) < 2 || words[0] != "run" && words[0] != "install" && words[0] != "test" {
		t.Errorf("go %q, want run, install or test of a path", words)
		return
	}
	path := words[1]
	if words[0] == "install" {
		path = words[len(words)-1] // behind flags
	}
	at := filepath.Join("../..", strings.TrimSuffix(path, "..."))
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		t.Errorf("go %s %s: no such package (%v)", words[0], path, err)
	}
	if words[0] == "run" {
		root := rootCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
		if c, rest, err := root.Find(words[2:]); err != nil || len(rest) > 0 || c == root {
			t.Errorf("go run %q: no such command (%v)", words[1:], err)
		}
	}
}
