package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// TestHelpOfFlags: every flag of every command is in its help, once, whatever the width; nothing that can be wrapped is
// wider than the text.
func TestHelpOfFlags(t *testing.T) {
	root := rootCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	for _, width := range []int{narrowest, usualWidth, widest} {
		for _, c := range below(root) {
			var out bytes.Buffer
			printFlags(&out, width, c)
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				want := 1
				if f.Hidden || f.Name == "help" {
					want = 0
				}
				if n := strings.Count(" "+strings.ReplaceAll(out.String(), "\n", " \n"), "\n"+flagText(f)+" "); n != want {
					t.Errorf("%s, %d columns: --%s is there %d times", c.CommandPath(), width, f.Name, n)
				}
			})
			for line := range strings.Lines(out.String()) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width {
					t.Errorf("%s, %d columns: %q", c.CommandPath(), width, line)
				}
			}
		}
	}
}

// TestFlagsByGroup: commands of many flags show the common ones first, and few that belong nowhere.
func TestFlagsByGroup(t *testing.T) {
	root := rootCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	for _, c := range below(root) {
		var out bytes.Buffer
		printFlags(&out, usualWidth, c)
		n := strings.Count(out.String(), "\n  --")
		if first := strings.HasPrefix(out.String(), "\nCommon:\n"); first != (n > fewFlags) {
			t.Errorf("%s: %d flags, by groups: %v", c.CommandPath(), n, first)
		}
	}
}

// TestWrap: lines are as long as they may be and no longer, and no word is lost.
func TestWrap(t *testing.T) {
	text := "one two three four five_is_a_long_word six"
	for width, want := range map[int]string{
		1:   "one|two|three|four|five_is_a_long_word|six",
		9:   "one two|three|four|five_is_a_long_word|six",
		13:  "one two three|four|five_is_a_long_word|six",
		100: text,
	} {
		if got := strings.Join(wrap(text, width), "|"); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
	var out strings.Builder
	hang(&out, 44, 10, "  word", text)
	hang(&out, 40, 12, "  word", text)
	want := "  word    one two three four\n          five_is_a_long_word six\n" +
		"  word\n      one two three four\n      five_is_a_long_word six\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
