package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreWritten holds the files of package kernel to what this program writes.
func TestFilesAreWritten(t *testing.T) {
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", f.name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(assemble(f.write)) {
			t.Errorf("kernel/%s is not what kernel/internal/asm writes: run go generate ./kernel", f.name)
		}
	}
}

// TestPitch adds up what addressing does.
func TestPitch(t *testing.T) {
	p := pitch{"R1", "R3", "R5", "R7"}
	for row, want := range []string{
		"(SI)", "(SI)(R1*1)", "(SI)(R1*2)", "(SI)(R3*1)", "(SI)(R1*4)", "(SI)(R5*1)", "(SI)(R3*2)", "(SI)(R7*1)", "(SI)(R1*8)",
	} {
		if got := p.row("SI", row, 0).String(); got != want {
			t.Errorf("row %d is at %s, want %s", row, got, want)
		}
	}
}
