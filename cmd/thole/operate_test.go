package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOperatePage runs the blocks of docs/operate.md that are marked so, in one folder and in their order.
func TestOperatePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	script, inside, n := "[!exec:sh] skip 'no shell'\ncertificates pki\n", false, 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		switch command, ok := strings.CutSuffix(line, " &"); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```run"
		case !inside:
		case ok:
			script += "exec " + command + " &server&\n"
		case strings.HasPrefix(line, "await "):
			script += line + "\n"
		default:
			n++
			script += "exec sh -e -c '" + strings.ReplaceAll(line, "'", "''") + "'\n"
		}
	}
	if n < 5 {
		t.Fatalf("%d commands in the page", n)
	}
	dir := t.TempDir()
	script += "kill -INT server\nwait server\n! stderr panic\n"
	if err := os.WriteFile(filepath.Join(dir, "operate.txt"), []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	runScripts(t, dir)
}
