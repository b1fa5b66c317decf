package main

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
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

// TestHelpLists: indented lines of a description stay lines, each with a word and its meaning in a column.
func TestHelpLists(t *testing.T) {
	root := rootCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	lists := 0
	for _, c := range below(root) {
		for _, width := range []int{narrowest, usualWidth, widest} {
			text := "\n" + paragraphs(c.Long, width)
			for line := range strings.Lines(c.Long) {
				if word, _, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && strings.HasPrefix(line, "  ") {
					if lists++; !strings.Contains(text, "\n  "+word) {
						t.Errorf("%s, %d columns: no line of %q: %s", c.CommandPath(), width, word, text)
					}
				}
			}
			for line := range strings.Lines(text) {
				if words := strings.TrimSpace(line); utf8.RuneCountInString(line) > width+1 && strings.Contains(words, " ") && c.Parent().Name() != "completion" {
					t.Errorf("%s, %d columns: %q", c.CommandPath(), width, line)
				}
			}
		}
	}
	if lists == 0 {
		t.Error("no lists")
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

// TestHelpOfCommands: every command is in the help of the one that it belongs to, once, in its group and place.
func TestHelpOfCommands(t *testing.T) {
	word := func(c *cobra.Command) string { return "  " + c.Name() }
	e := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	var whole []string
	for _, g := range groups() {
		whole = append(whole, g.title)
		for _, command := range g.commands {
			whole = append(whole, word(command(e)))
		}
	}
	want := map[string][]string{"": append(whole, "  completion", "  help")}
	for _, c := range rootCommand(e).Commands() {
		if c.HasSubCommands() {
			lines := []string{"Commands:"}
			for _, sub := range c.Commands() {
				lines = append(lines, word(sub))
			}
			want[c.Name()] = lines
		}
	}
	line := regexp.MustCompile(`^(\S.*:|  [a-z]+) *(?:\n|  \S)`)
	for command, want := range want {
		p := newProcess(t, t.TempDir(), append(strings.Fields(command), "--help")...)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		_, help, _ := strings.Cut(p.out.String(), "\nExamples:\n")
		_, help, _ = strings.Cut(help, "\n\n")
		help, _, _ = strings.Cut(help, "\nFlags:\n")
		help, _, _ = strings.Cut(help, "\nCommon:\n") // the first group of many
		var got []string
		for text := range strings.Lines(help) {
			if m := line.FindStringSubmatch(text); m != nil {
				got = append(got, m[1])
			}
		}
		if command != "" { // Commands sorts, here
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// TestLists: the text of a list begins two blanks behind the longest name.
func TestLists(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(?:  )?[a-z]+ +`)
	ends := map[int]int{} // where the text begins, and how many names there are
	least := usualWidth
	for _, list := range []string{"formats", "algos"} {
		for paragraph := range strings.SplitSeq(thole(t, list), "\n\n") {
			for _, begin := range line.FindAllString(paragraph, -1) {
				if blanks := len(begin) - len(strings.TrimRight(begin, " ")); blanks > 1 {
					ends[len(begin)]++
					least = min(least, blanks)
				}
			}
		}
	}
	if len(ends) != 1 || least != 2 {
		t.Errorf("the text begins in columns %v (times), with %d blanks or more, want one column and 2", ends, least)
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
