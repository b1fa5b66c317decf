package ssp_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what came out into the transcripts")

// transcripts runs the stories in a folder of testdata: blocks of events, "----", and what they lead to. Each file begins
// with a new machine, which answers the events of a block with the text of the effects.
func transcripts(t *testing.T, folder string, least int, begin func() func(events []string) string) {
	files, err := filepath.Glob("testdata/" + folder + "/*.txt")
	if err != nil || len(files) < least {
		t.Fatalf("transcripts %v, %v, want at least %d", files, err, least)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			effects := begin()
			var again []string
			for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
				events, want, ok := strings.Cut(block+"\n", "----\n")
				if !ok && !*update {
					t.Fatalf("block without ----:\n%s", block)
				}
				got := effects(strings.Split(strings.TrimSpace(events), "\n"))
				if got != want && !*update {
					t.Fatalf("after\n%sthere is\n%swant\n%s", events, got, want)
				}
				again = append(again, events+"----\n"+got)
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(again, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestTranscripts runs the stories of jobs.
func TestTranscripts(t *testing.T) {
	transcripts(t, "job", 15, func() func([]string) string { return newScript(t).effects })
}
