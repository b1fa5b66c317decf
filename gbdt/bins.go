package gbdt

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// A run is a value and in how many rows it occurs.
type run struct {
	value float64
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
// nearer one. Where all values are single, float32, so are those.
func cut(runs []run, bins int, single bool) (uppers []float64) {
	if len(runs) < 2 {
		return nil
	}
	halfwayTo := func(i int) { uppers = append(uppers, halfway(runs[i].value, runs[i+1].value, single)) }
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
			upper := roundest(first, runs[last+1].value, single)
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
func roundest(a, b float64, single bool) float64 {
	if a <= 0 && b > 0 {
		return 0
	}
	if !single {
		return fewestDigits(a, b)
	}
	mid := a/2 + b/2
	for e := int(math.Floor(math.Log10(max(math.Abs(a), math.Abs(b))))); e > -46; e-- {
		tens := math.Pow10(max(e, -e))
		at := math.Round(mid*tens) / tens
		if e > 0 {
			at = math.Round(mid/tens) * tens
		}
		if v := float64(float32(at)); v >= a && v < b {
			return v
		}
	}
	return halfway(a, b, single)
}

// fewestDigits is the middle of a and b in as few digits as leave it from a on and below b.
func fewestDigits(a, b float64) float64 {
	mid := halfway(a, b, false)
	for digits := range 17 {
		if v, err := strconv.ParseFloat(strconv.FormatFloat(mid, 'e', digits, 64), 64); err == nil && v >= a && v < b {
			return v
		}
	}
	return mid
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

// halfway is the number half-way between a and b, a < b: at least a and below b. It is a float32 where they are single.
func halfway(a, b float64, single bool) float64 {
	mid := a/2 + b/2
	if single {
		mid = float64(float32(mid))
	}
	if mid >= b {
		return a
	}
	return max(mid, a)
}

// An order is a number that rises with the value, which is not NaN: of 32 bits of a float32, else of 64.
type order interface{ uint32 | uint64 }

func order32(v float64) uint32 {
	k := math.Float32bits(float32(v))
	return k ^ (uint32(int32(k)>>31) | 1<<31)
}

func ordered32(k uint32) float64 {
	return float64(math.Float32frombits(k ^ (uint32(int32(^k)>>31) | 1<<31)))
}

// sorter sorts orders in room that it keeps.
type sorter struct {
	other   []uint32
	other64 []uint64
	runs    []run
}

// single is runsOf orders of float32.
func (s *sorter) single(orders []uint32, zeros int) []run {
	s.runs = runsOf(s.runs, sortOrders(orders, &s.other), ordered32, zeros)
	return s.runs
}

// double is runsOf orders of float64 (keyOf).
func (s *sorter) double(orders []uint64, zeros int) []run {
	s.runs = runsOf(s.runs, sortOrders(orders, &s.other64), valueOf, zeros)
	return s.runs
}

// runsOf counts the values that have the orders, which are sorted, and zeros rows with the value 0 that are not among them, in the memory
// of other runs.
func runsOf[K order](runs []run, orders []K, ordered func(K) float64, zeros int) []run {
	n := 2 // another one for zeros, and the first
	for i := 1; i < len(orders); i++ {
		if orders[i] != orders[i-1] {
			n++
		}
	}
	runs = slices.Grow(runs[:0], n)
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
		at, found := slices.BinarySearchFunc(runs, 0, func(r run, v float64) int { return cmp.Compare(r.value, v) })
		if !found {
			runs = slices.Insert(runs, at, run{})
		}
		runs[at].rows += int32(zeros)
	}
	return runs
}

// sortOrders sorts numbers by passes over 11 bits: three passes over the highest bits that differ, which is enough for numbers of float32.
// Numbers that differ in lower bits only are few; they are compared. The result is in a or in other.
func sortOrders[K order](a []K, other *[]K) []K {
	if len(a) < 1<<10 {
		slices.Sort(a)
		return a
	}
	const digit, size = 11, 1 << 11
	if cap(*other) < len(a) {
		*other = make([]K, len(a))
	}
	b := (*other)[:len(a)]
	var differ K
	for _, k := range a {
		differ |= k ^ a[0]
	}
	lowest := max(0, bits.Len64(uint64(differ))-3*digit)
	for shift := lowest; differ>>shift != 0; shift += digit {
		if differ>>shift&(size-1) == 0 {
			continue
		}
		var count [size]int32
		for _, k := range a {
			count[k>>shift&(size-1)]++
		}
		at := int32(0)
		for i, n := range count {
			count[i] = at
			at += n
		}
		for _, k := range a {
			d := k >> shift & (size - 1)
			b[count[d]] = k
			count[d]++
		}
		a, b = b, a
	}
	for i := 1; lowest > 0 && i < len(a); i++ {
		if a[i] >= a[i-1] {
			continue
		}
		same := func(k K) bool { return k>>lowest == a[i]>>lowest }
		lo, hi := i-1, i+1
		for lo > 0 && same(a[lo-1]) {
			lo--
		}
		for hi < len(a) && same(a[hi]) {
			hi++
		}
		slices.Sort(a[lo:hi])
		i = hi - 1
	}
	return a
}

// binOf is the bin of a number: how many uppers are below it. The number of steps depends on the number of bins only, so that the
// processor has no branch to predict.
func binOf(uppers []float64, v float64) int {
	lo, n := 0, len(uppers)
	for n > 1 {
		half := n >> 1
		mid := lo + half
		if uppers[mid-1] < v {
			lo = mid
		}
		n -= half
	}
	if n == 1 && uppers[lo] < v {
		lo++
	}
	return lo
}
