// Package spell finds the names that a misspelt one is probably meant to be, for errors. Every table that is searched by name
// words them alike: what was found, which names there are, and which is nearest.
package spell

import (
	"fmt"
	"slices"
	"strings"
)

// Sizes of names that are compared.
const (
	longest  = 64 // no name of ours is longer
	shortest = 2  // of a beginning that tells something
	most     = 3  // names that are equally near
)

// Near are the names among those known that a misspelt one is probably meant to be, in their order and at most three: that in letters of
// another case; else those that begin with it; else those with two neighbouring letters swapped; else the longest one that it begins
// with, if that is half of it; else those with the fewest letters put in, left out, changed or swapped, at most two of five.
func Near(name string, known []string) []string {
	low := []rune(strings.ToLower(name))
	if len(low) > longest {
		return nil
	}
	for _, grade := range []func(a, b []rune) (int, bool){same, begins, swapped, begun, changed} {
		var best []string
		least := 0
		for _, k := range known {
			d, ok := grade(low, []rune(strings.ToLower(k)))
			if !ok || len(best) > 0 && d > least {
				continue
			}
			if len(best) > 0 && d < least {
				best = best[:0]
			}
			best, least = append(best, k), d
		}
		if len(best) > 0 {
			return best[:min(most, len(best))]
		}
	}
	return nil
}

// The grades say how far name a is from the known name b; ok is false if b is none that is meant by it.

func same(a, b []rune) (d int, ok bool) { return 0, string(a) == string(b) }

func begins(a, b []rune) (d int, ok bool) {
	return 0, len(a) >= shortest && strings.HasPrefix(string(b), string(a))
}

func swapped(a, b []rune) (d int, ok bool) {
	for i := 1; i < len(a) && len(a) == len(b); i++ {
		if a[i-1] != b[i-1] {
			return 0, a[i-1] == b[i] && a[i] == b[i-1] && slices.Equal(a[i+1:], b[i+1:])
		}
	}
	return 0, false
}

func begun(a, b []rune) (d int, ok bool) {
	return -len(b), len(b) >= shortest && 2*len(b) >= len(a) && strings.HasPrefix(string(a), string(b))
}

func changed(a, b []rune) (d int, ok bool) {
	d = distance(a, b)
	return d, d <= 2*len(a)/5
}

// Nearest is the first of the names of Near, "" if there is none.
func Nearest(name string, known []string) string {
	if near := Near(name, known); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Hint asks whether the names of Near are meant, in words to be added to an error; it is "" if none is near.
func Hint(name string, known []string) string { return Ask(Near(name, known)) }

// Ask asks whether one of the names is meant, in words to be added to an error; it is "" of none.
func Ask(names []string) string {
	n := len(names)
	if n == 0 {
		return ""
	}
	text := names[n-1]
	if n > 1 {
		text = strings.Join(names[:n-1], ", ") + " or " + text
	}
	return "; did you mean " + text + "?"
}

// Unknown is the error of a name, of what it names, that is none of those known.
func Unknown(what, name string, known []string) error {
	all := strings.Join(known, " ")
	if all == "" {
		all = "none"
	}
	return fmt.Errorf("%s %q, want one of %s%s", what, name, all, Hint(name, known))
}

// distance is how many letters have to be put in, left out, changed or swapped with the next to make b of a (Damerau, A Technique for
// Computer Detection and Correction of Spelling Errors, 1964).
func distance(a, b []rune) int {
	rows := make([][]int, len(a)+1) // of the first i letters of a to the first j of b
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
