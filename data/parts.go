package data

import (
	"cmp"
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
	return p.at(float64(drawOf(seed, key)>>11) / (1 << 53))
}

func drawOf(seed, key uint64) uint64 { return mix(mix(seed*golden) + key*golden) }

// at is the part in which a share in [0,1) lies.
func (p Parts) at(share float64) int {
	return min(len(p.Ends)-1, slices.IndexFunc(p.Ends, func(end float64) bool { return share < end || end == 1 }))
}

// Stratify are the parts of examples of classes: drawn from (seed, number of the example), so that of each class every part has its share
// to within one example, and what one class has too much of is made up for by the next.
func (p Parts) Stratify(seed uint64, classes []int32) []int {
	keys := make([]uint64, len(classes))
	order := make([]int, len(classes))
	for i := range order {
		order[i], keys[i] = i, drawOf(seed, uint64(i))
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(classes[a], classes[b]), cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
	})
	all, owed := make([]int, len(classes)), make([]float64, len(p.Ends))
	for lo, hi := 0, 0; lo < len(order); lo = hi {
		for hi < len(order) && classes[order[hi]] == classes[order[lo]] {
			hi++
		}
		next := lo
		for part, n := range p.portions(hi-lo, owed) {
			for _, i := range order[next : next+n] {
				all[i] = part
			}
			next += n
		}
	}
	return all
}

// portions are how many of n examples each part gets: its share, rounded down, or up where most is owed to it, which is brought up to date.
func (p Parts) portions(n int, owed []float64) []int {
	counts, order, left := make([]int, len(p.Ends)), make([]int, len(p.Ends)), n
	before := 0.0
	for part, end := range p.Ends {
		share := (end - before) * float64(n)
		before = end
		order[part], counts[part] = part, int(math.Floor(share+1e-9)) // 0.3*10 is not quite 3
		owed[part] += share - float64(counts[part])
		left -= counts[part]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(owed[b], owed[a]) })
	for _, part := range order[:left] {
		counts[part]++
		owed[part]--
	}
	return counts
}

// places is how many of n examples lie before the end of a part.
func places(end float64, n int) int { return int(math.Round(end * float64(n))) }

// Place is the part of the example with the number i, from 0 on, of n that stay in order: the last ones are the last part.
func (p Parts) Place(i, n int) int {
	return slices.IndexFunc(p.Ends, func(end float64) bool { return i < places(end, n) })
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
