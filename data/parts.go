package data

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parts are the parts that examples are split into: their names, and the share of examples that lies in each part and those before it,
// of which the last is 1. It is read-only.
type Parts struct {
	Names []string
	Ends  []float64
}

// PartLimit is how many parts there are at most.
const PartLimit = 1000

// ParseParts reads parts of the form NAME=SHARE. Shares are positive and have the sum 1. Names become names of files: letters, digits,
// - and _. The error wraps ErrOption.
func ParseParts(words []string) (p Parts, err error) {
	sum := 0.0
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		share, bad := strconv.ParseFloat(text, 64)
		switch {
		case !ok || bad != nil || !(share > 0 && share <= 1):
			return p, fmt.Errorf("part %q, want NAME=SHARE with a share above 0, up to 1: %w", word, ErrOption)
		case name == "" || strings.ContainsFunc(name, oddInName):
			return p, fmt.Errorf("part %q, want a name of letters, digits, - and _: %w", word, ErrOption)
		case slices.Contains(p.Names, name):
			return p, fmt.Errorf("part %q twice, want every name once: %w", name, ErrOption)
		}
		sum += share
		p.Names, p.Ends = append(p.Names, name), append(p.Ends, sum)
	}
	switch {
	case len(words) < 2 || len(words) > PartLimit:
		return p, fmt.Errorf("%d parts, want 2 to %d: %w", len(words), PartLimit, ErrOption)
	case math.Abs(sum-1) > 1e-9:
		return p, fmt.Errorf("shares with the sum %.6g, want 1: %w", sum, ErrOption)
	}
	p.Ends[len(p.Ends)-1] = 1
	return p, nil
}

func oddInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// Draw is the part that a key falls into: a function of (seed, key). Of many keys each part gets about its share.
func (p Parts) Draw(seed, key uint64) int {
	u := float64(mix(mix(seed*golden)+key*golden)>>11) / (1 << 53)
	return p.at(u)
}

// at is the part in which a share in [0,1) lies.
func (p Parts) at(share float64) int {
	return min(len(p.Ends)-1, slices.IndexFunc(p.Ends, func(end float64) bool { return share < end || end == 1 }))
}

// Place is the part of the example with the number i, from 0 on, of n that stay in order: the last ones are the last part.
func (p Parts) Place(i, n int) int {
	return slices.IndexFunc(p.Ends, func(end float64) bool { return i < int(math.Round(end*float64(n))) })
}

// Order is the part of each example by the order of their times: the latest ones are the last part. Examples of one time are all in the
// same part, that in which the first of them in order would be.
func (p Parts) Order(times []float64) []int {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	all := make([]int, len(times))
	for rank, i := range order {
		all[i] = p.Place(rank, len(times))
		if rank > 0 && times[order[rank-1]] == times[i] {
			all[i] = all[order[rank-1]]
		}
	}
	return all
}

// errNoText is the error of an input that has no lines.
var errNoText = errors.New("no lines of text, want one of libsvm, libffm, dummy, dense, csv or tsv")
