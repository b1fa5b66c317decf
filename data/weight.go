package data

import (
	"slices"

	"thole.example/wire"
)

// The weight and the group of a row that has none, where others have them.
const (
	plainWeight = 1
	noGroup     = 0
)

// Extend appends what n more rows have to what the rows before have, rows of them, such as weights. Where neither has any it stays empty;
// where only one has, the other's rows have the value none.
func Extend[T any](to []T, rows int, more []T, n int, none T) []T {
	if len(to) == 0 && len(more) == 0 {
		return to
	}
	to = slices.Grow(to, rows+n-len(to))
	for len(to) < rows {
		to = append(to, none)
	}
	if len(more) > 0 {
		return append(to, more...)
	}
	for range n {
		to = append(to, none)
	}
	return to
}

// extendStarts is Extend of scores, of which each row has as many as any other: 0 where others have some.
func extendStarts(to []float64, rows int, more []float64, n int) []float64 {
	width := max(len(to)/max(1, rows), len(more)/max(1, n))
	return Extend(to, rows*width, more, n*width, 0)
}

// startsOf are the scores of the rows lo to hi of n.
func startsOf(start []float64, n, lo, hi int) []float64 {
	width := len(start) / max(1, n)
	return some(start, lo*width, hi*width)
}

// extend appends weights, groups and start scores of n more rows, of which those at hand do not have the labels yet.
func (r *rows) extend(weight []float32, group []int64, start []float64, n int) {
	r.weight = Extend(r.weight, len(r.label), weight, n, plainWeight)
	r.group = Extend(r.group, len(r.label), group, n, noGroup)
	r.start = extendStarts(r.start, len(r.label), start, n)
}

// some are the elements [lo, hi), and nothing of a slice that is empty.
func some[T any](s []T, lo, hi int) []T {
	if len(s) == 0 {
		return nil
	}
	return s[lo:hi]
}

// TotalWeight is the sum of the weights of the examples: their number where all count 1.
func (b *Batch) TotalWeight() float64 { return total(b.Weight, len(b.Label)) }

// TotalWeight is the sum of the weights of the examples: their number where all count 1.
func (s *Set) TotalWeight() float64 { return total(s.Weight, len(s.Label)) }

func total(weight []float32, n int) (sum float64) {
	if len(weight) == 0 {
		return float64(n)
	}
	for _, w := range weight {
		sum += float64(w)
	}
	return sum
}

// mark gives rows that are all of s the weight, the group and the start scores of the example i, whose label they do not have yet.
func (s *Set) mark(to *rows, i int) {
	if len(s.Weight) > 0 || len(s.Group) > 0 || len(s.Start) > 0 {
		to.extend(some(s.Weight, i, i+1), some(s.Group, i, i+1), startsOf(s.Start, len(s.Label), i, i+1), 1)
	}
}

// move moves the weight, the group and the start scores of the example from to the place to.
func (s *Set) move(to, from int) {
	if len(s.Weight) > 0 {
		s.Weight[to] = s.Weight[from]
	}
	if len(s.Group) > 0 {
		s.Group[to] = s.Group[from]
	}
	copy(startsOf(s.Start, len(s.Label), to, to+1), startsOf(s.Start, len(s.Label), from, from+1))
}

// cut leaves only the first n examples, but for their values.
func (s *Set) cut(n int) {
	s.Start = startsOf(s.Start, len(s.Label), 0, n)
	s.Label, s.Weight, s.Group = s.Label[:n], s.Weight[:min(n, len(s.Weight))], s.Group[:min(n, len(s.Group))]
}

// marks are the bytes of weights, groups and start scores that a checksum goes over, none of a set without them.
func (s *Set) marks() (all [][]byte) {
	if len(s.Weight) > 0 {
		all = append(all, []byte("weight"), wire.View(s.Weight))
	}
	if len(s.Group) > 0 {
		all = append(all, []byte("group"), wire.View(s.Group))
	}
	if len(s.Start) > 0 {
		all = append(all, []byte("start"), wire.View(s.Start))
	}
	return all
}
