package graph

import "strings"

// Nearest is the name among those known that a misspelt one is probably meant to be: in letters of another case, or with
// the fewest letters put in, left out or changed, at most two of five. It is "" if none is near.
func Nearest(name string, known []string) string {
	const longest = 64 // no name of ours is longer
	low, best := []rune(strings.ToLower(name)), ""
	if len(low) > longest {
		return ""
	}
	least := 2*len(low)/5 + 1
	for _, k := range known {
		if d := distance(low, []rune(strings.ToLower(k))); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters have to be put in, left out or changed to make b of a (Levenshtein, Binary Codes Capable of
// Correcting Deletions, Insertions and Reversals, 1966).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1) // of the letters of a so far to the first j of b
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			d := min(row[j], row[j+1]) + 1
			if x == y {
				d = min(d, diagonal)
			} else {
				d = min(d, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
