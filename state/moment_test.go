package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A process goes where the training is if it was told servers that the training has left, and nowhere else.
func TestElsewhere(t *testing.T) {
	sets := func(text string) []string { return strings.Split(text, ",") }
	for _, c := range []struct{ moves, told, want string }{
		{"", "a,b", ""},
		{"a,b>c", "a,b", "c"},
		{"a,b>c", "c", ""},
		{"a,b>c", "b,a", ""},
		{"a,b>c", "d", ""},
		{"a,b>c c>b,d", "a,b", "b,d"},
		{"a,b>c c>b,d", "c", "b,d"},
		{"a,b>c c>a,b", "a,b", ""},
		{"a,b>c c>a,b", "c", "a,b"},
		{"a,b>c c>a,b a,b>c", "a,b", "c"},
	} {
		var m Moment
		for word := range strings.FieldsSeq(c.moves) {
			from, to, _ := strings.Cut(word, ">")
			m.Move(sets(from), sets(to))
		}
		if got := strings.Join(m.Elsewhere(sets(c.told)), ","); got != c.want {
			t.Errorf("after %s, told %s: %q, want %q", c.moves, c.told, got, c.want)
		}
		if m.IsZero() != (c.moves == "") {
			t.Errorf("after %q nothing is known: %v", c.moves, m.IsZero())
		}
	}
	var m Moment
	for i := range 3 * leftLimit {
		m.Move([]string{fmt.Sprint(i)}, []string{fmt.Sprint(i + 1)})
	}
	if n := len(m.Left); n != leftLimit || !slices.Equal(m.Elsewhere([]string{fmt.Sprint(3*leftLimit - 2)}), m.Servers) {
		t.Errorf("%d sets are remembered, want %d", n, leftLimit)
	}
}
