package gbdt

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A run is a value and in how many rows it occurs.
type run struct {
	value float32
	rows  int32
}

// A cut between bins may lie so many bins beside its quantile, if bins have so many rows: at a number with fewer digits. Where values lie
// close a threshold that people can read costs nothing, and what people made by a threshold has one with few digits.
const (
	roundShare = 0.25
	roundRows  = 100
)

// cut puts the values of a feature, ascending and each once, into at most so many bins: each value in a bin of its own if there are
// few enough. Else a value that fills a bin by itself gets one, and the others are cut at their quantiles; where bins have few rows, which
// single values overfill, each is as full as those to come can be. It returns the largest
// value that belongs to each bin but the last one: half-way to the next value that occurred, so that rows between the two go to the
// nearer one.
func cut(runs []run, bins int) (uppers []float32) {
	if len(runs) < 2 {
		return nil
	}
	halfwayTo := func(i int) { uppers = append(uppers, halfway(runs[i].value, runs[i+1].value)) }
	if len(runs) <= bins {
		for i := range len(runs) - 1 {
			halfwayTo(i)
		}
		return uppers
	}
	full, rows, open := crowded(runs, bins)
	share, beside := float64(rows)/float64(open), 0.0
	if share >= roundRows {
		beside = roundShare
	}
	// fills reports whether value i, which is not before those looked at, has a bin by itself.
	fills := func(i int) bool { return len(full) > 0 && full[0] == i }
	seen, begun, next := 0, 0, 1.0 // rows of the others up to here and before the last cut, and the number of the quantile that is sought
	for i := 0; i < len(runs)-1 && len(uppers) < bins-1; i++ {
		alone := fills(i)
		if alone {
			full = full[1:]
		} else {
			seen += int(runs[i].rows)
		}
		// A bin ends before and after a value that has one by itself. Few rows before it are put with it where there are no bins to spare.
		spare := len(runs)-1-i > bins-1-len(uppers) // values that have to share a bin with others
		few := spare && 2*float64(seen-begun) < share && bins-1-len(uppers) <= len(full)+max(0, open-int(next))
		switch {
		case alone || fills(i+1) && !few:
			halfwayTo(i)
		case fills(i+1) || float64(seen) < (next-beside)*share && spare:
			continue
		case beside == 0:
			halfwayTo(i)
		default:
			first := runs[i].value
			last, upto := i, seen // how far the cut may be moved
			for last+2 < len(runs) && spare && !fills(last+1) && float64(upto+int(runs[last+1].rows)) <= (next+beside)*share {
				last++
				upto += int(runs[last].rows)
			}
			upper := roundest(first, runs[last+1].value)
			for i < last && runs[i+1].value <= upper {
				i++
				seen += int(runs[i].rows)
			}
			uppers = append(uppers, upper)
		}
		begun = seen
		if left := bins - len(uppers) - len(full); beside == 0 && left > 0 && seen < rows { // as full as those to come can be
			share = float64(rows-seen) / float64(left)
			next = 1 + float64(seen)/share
		}
		for next*share <= float64(seen)+beside*share {
			next++
		}
	}
	return uppers
}

// roundest is the number from a on and below b that has the fewest digits, and of those one nearest to the middle.
func roundest(a, b float32) float32 {
	if a <= 0 && b > 0 {
		return 0
	}
	mid := float64(a)/2 + float64(b)/2
	for e := int(math.Floor(math.Log10(max(math.Abs(float64(a)), math.Abs(float64(b)))))); e > -46; e-- {
		tens := math.Pow10(max(e, -e))
		at := math.Round(mid*tens) / tens
		if e > 0 {
			at = math.Round(mid/tens) * tens
		}
		if v := float32(at); v >= a && v < b {
			return v
		}
	}
	return halfway(a, b)
}

// crowded finds the values that fill a bin by themselves, in ascending order, and how many rows and bins are left to the others.
func crowded(runs []run, bins int) (full []int, rows, open int) {
	for _, r := range runs {
		rows += int(r.rows)
	}
	is := map[int]bool{}
	open = bins
	for again := true; again; { // each that gets a bin may make those of the others smaller
		again = false
		for i, r := range runs {
			if n := int(r.rows); n*open >= rows && open > 1 && !is[i] {
				is[i], again = true, true
				rows, open = rows-n, open-1
			}
		}
	}
	return slices.Sorted(maps.Keys(is)), rows, open
}

// halfway is the float32 half-way between a and b, a < b: at least a and below b.
func halfway(a, b float32) float32 {
	mid := float32(float64(a)/2 + float64(b)/2)
	if mid >= b {
		return a
	}
	return max(mid, a)
}

// sorter sorts values in room that it keeps.
type sorter struct {
	other []uint32
	runs  []run
}

// order is a number that rises with the value, which is not NaN.
func order(v float32) uint32 {
	k := math.Float32bits(v)
	return k ^ (uint32(int32(k)>>31) | 1<<31)
}

// ordered is the value of an order.
func ordered(k uint32) float32 { return math.Float32frombits(k ^ (uint32(int32(^k)>>31) | 1<<31)) }

// runsOf sorts the orders of values, and counts the values; zeros are rows with the value 0 that are not among them. The runs are the
// sorter's until its next ones.
func (s *sorter) runsOf(orders []uint32, zeros int) []run {
	orders = s.sort(orders)
	n := 2 // another one for zeros, and the first
	for i := 1; i < len(orders); i++ {
		if orders[i] != orders[i-1] {
			n++
		}
	}
	runs := slices.Grow(s.runs[:0], n)
	for i := 0; i < len(orders); {
		j := i + 1
		for j < len(orders) && orders[j] == orders[i] {
			j++
		}
		v, n := ordered(orders[i]), int32(j-i)
		if v == 0 {
			v = 0 // and not -0
		}
		if k := len(runs) - 1; k >= 0 && runs[k].value == v {
			runs[k].rows += n
		} else {
			runs = append(runs, run{v, n})
		}
		i = j
	}
	if zeros > 0 {
		at, found := slices.BinarySearchFunc(runs, 0, func(r run, v float32) int { return cmp.Compare(r.value, v) })
		if !found {
			runs = slices.Insert(runs, at, run{})
		}
		runs[at].rows += int32(zeros)
	}
	s.runs = runs
	return runs
}

// sort sorts numbers by three passes over 11 bits. The result is where they were, or in other.
func (s *sorter) sort(a []uint32) []uint32 {
	if len(a) < 1<<10 {
		slices.Sort(a)
		return a
	}
	const bits, size = 11, 1 << 11
	var count [3][size]int32
	if cap(s.other) < len(a) {
		s.other = make([]uint32, len(a))
	}
	b := s.other[:len(a)]
	for _, k := range a {
		count[0][k&(size-1)]++
		count[1][k>>bits&(size-1)]++
		count[2][k>>(2*bits)]++
	}
	for pass := range count {
		c, shift, at := &count[pass], bits*pass, int32(0)
		for i, n := range c {
			c[i] = at
			at += n
		}
		for _, k := range a {
			digit := k >> shift & (size - 1)
			b[c[digit]] = k
			c[digit]++
		}
		a, b = b, a
	}
	return a
}

// binOf is the bin of a number: how many uppers are below it.
func binOf(uppers []float32, v float32) int {
	lo, n := 0, len(uppers)
	for n > 0 {
		half := n >> 1
		if uppers[lo+half] < v {
			lo += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return lo
}
