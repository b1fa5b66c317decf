package chart

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// drawn is the chart in characters.
func drawn(t interface{ Fatal(...any) }, c *Chart, how Terminal) string {
	var b strings.Builder
	if err := c.Text(&b, how); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestText compares a small picture with what it has to be: its points stand where the axes say.
func TestText(t *testing.T) {
	c := &Chart{Title: "loss", X: Axis{Label: "epoch", Whole: true}, Lines: []Line{
		{Name: "one", X: []float64{1, 2, 3}, Y: []float64{3, 1, 0}}, {Name: "two", X: []float64{1, 2, 3}, Y: []float64{0, 0, 3}},
	}}
	for want, how := range map[string]Terminal{`loss
4 +
  |aa                    bb B
  |  aaaa             bbb
2 +      aaaa       bb
  |          aaaabbba
0 +bbbbbbbbbbbbbb    aaaaaa A
  +------------------------
   1           2          3
   A one
   B two
`: {Columns: 30, Rows: 8, ASCII: true}} {
		if got := drawn(t, c, how); got != want {
			t.Errorf("%+v:\n%swant\n%s", how, got, want)
		}
	}
	rows := strings.Split(drawn(t, c, Terminal{Columns: 30, Rows: 8}), "\n")
	if second := []rune(rows[2]); second[2] != '│' || second[3]&^0xff != 0x2800 || !strings.HasSuffix(rows[2], "B") {
		t.Errorf("in braille:\n%s", strings.Join(rows, "\n"))
	}
	if got := drawn(t, c, Terminal{Colour: true, ASCII: true}); !strings.Contains(got, "\x1b[31mB\x1b[0m two") {
		t.Errorf("in colours:\n%q", got)
	}
	if got := drawn(t, &Chart{Title: "a\x1b[2Jb\n"}, Terminal{ASCII: true}); strings.ContainsRune(got, '\x1b') || !strings.HasPrefix(got, "a[2Jb\n") {
		t.Errorf("a title moves the cursor: %q", got)
	}
}

// TestTextFits: whatever is drawn, the picture has its size, and every line of finite numbers has its letter.
func TestTextFits(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.Just(math.NaN()), rapid.Just(math.Inf(-1)))
	rapid.Check(t, func(t *rapid.T) {
		c := &Chart{X: Axis{Label: "epoch", Whole: rapid.Bool().Draw(t, "whole")}}
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			c.Lines = append(c.Lines, Line{X: rapid.SliceOfN(number, 0, 9).Draw(t, "x"), Y: rapid.SliceOfN(number, 0, 9).Draw(t, "y")})
		}
		how := Terminal{Columns: rapid.IntRange(-3, 120).Draw(t, "columns"), Rows: rapid.IntRange(-3, 40).Draw(t, "rows"), ASCII: rapid.Bool().Draw(t, "ascii")}
		got := drawn(t, c, how)
		if rows := strings.Count(got, "\n"); rows != within(how.Rows, 16, 6, 200) {
			t.Fatalf("%d rows:\n%s", rows, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; n > within(how.Columns, 80, 30, 500) {
				t.Fatalf("%d columns:\n%s", n, got)
			}
		}
	})
}
