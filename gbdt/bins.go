package gbdt

import (
	"math"
	"slices"
)

// A run is a value and in how many rows it occurs.
type run struct {
	value float32
	rows  int
}

// cut puts the values of a feature, ascending and each once, into at most so many bins: each value in a bin of its own if there are
// few enough. Else a value that fills a bin by itself gets one, and the others share what is left as evenly as values allow. It returns
// the largest value that belongs to each bin but the last one: half-way to the next value that occurred, so that rows between the
// two go to the nearer one.
func cut(runs []run, bins int) []float32 {
	if len(runs) < 2 {
		return nil
	}
	var uppers []float32
	close := func(i int) { uppers = append(uppers, halfway(runs[i].value, runs[i+1].value)) }
	if len(runs) <= bins {
		for i := range len(runs) - 1 {
			close(i)
		}
		return uppers
	}
	full, left, open := crowded(runs, bins)
	stretches := 0 // of the others between values that have bins by themselves
	for i := range runs {
		if !full[i] && (i == len(runs)-1 || full[i+1]) {
			stretches++
		}
	}
	filled := 0 // rows in the bin so far
	for i := range len(runs) - 1 {
		if !full[i] {
			filled += runs[i].rows
		}
		// A bin ends after a value that has one by itself, where it is as full as those to come can be, and where bins are left for all
		// values to come. It ends before a value that has one by itself, too, but where such stretches are so many that there would be
		// no bins for the rows after them: then if it is half as full.
		switch {
		case full[i]:
			left -= filled // of a stretch that is in its bin
		case full[i+1]:
			if stretches--; 2*stretches >= open && 2*filled*open < left && len(runs)-1-i > bins-1-len(uppers) {
				continue
			}
			left, open = left-filled, open-1
		case filled*open >= left && open > 1, len(runs)-1-i <= bins-1-len(uppers):
			left, open = left-filled, open-1
		default:
			continue
		}
		filled = 0
		if len(uppers) < bins-1 {
			close(i)
		}
	}
	return uppers
}

// crowded finds the values that fill a bin by themselves, and how many rows and bins are left to the others.
func crowded(runs []run, bins int) (full []bool, rows, open int) {
	for _, r := range runs {
		rows += r.rows
	}
	full, open = make([]bool, len(runs)), bins
	for again := true; again; { // each that gets a bin may make those of the others smaller
		again = false
		for i, r := range runs {
			if !full[i] && open > 1 && r.rows*open >= rows {
				full[i], again = true, true
				rows, open = rows-r.rows, open-1
			}
		}
	}
	return full, rows, open
}

// halfway is the float32 half-way between a and b, a < b: at least a and below b.
func halfway(a, b float32) float32 {
	mid := float32(float64(a)/2 + float64(b)/2)
	if mid >= b {
		return a
	}
	return max(mid, a)
}

// runsOf sorts the values and counts them; zeros are rows with the value 0 that are not among them.
func runsOf(values []float32, zeros int) []run {
	sortFloats(values)
	var runs []run
	for i := 0; i < len(values); {
		j := i + 1
		for j < len(values) && values[j] == values[i] {
			j++
		}
		runs = append(runs, run{values[i], j - i})
		i = j
	}
	if zeros == 0 {
		return runs
	}
	at, found := slices.BinarySearchFunc(runs, 0, func(r run, v float32) int {
		if r.value < v {
			return -1
		}
		if r.value > v {
			return 1
		}
		return 0
	})
	if !found {
		return slices.Insert(runs, at, run{0, zeros})
	}
	runs[at].rows += zeros
	return runs
}

// sortFloats sorts numbers, none of them NaN, by three passes over 11 bits of their order.
func sortFloats(values []float32) {
	if len(values) < 1<<10 {
		slices.Sort(values)
		return
	}
	const bits, size = 11, 1 << 11
	var count [3][size]int32
	a, b := make([]uint32, len(values)), make([]uint32, len(values))
	for i, v := range values {
		k := math.Float32bits(v)
		k ^= uint32(int32(k)>>31) | 1<<31 // ascends with the number
		a[i] = k
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
	for i, k := range a {
		k ^= uint32(int32(^k)>>31) | 1<<31
		values[i] = math.Float32frombits(k)
	}
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
