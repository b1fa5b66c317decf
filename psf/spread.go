package psf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
)

// binLimit is the most bins of a histogram.
const binLimit = 1 << 20

// histogram counts cells in bins of equal width.
var histogram = Func{
	Name: "histogram", Help: "how many cells lie in each of equally wide bins, and below, above and nowhere",
	Params: []Param{
		{Name: "min", Kind: Number, Help: "where the first bin begins"}, {Name: "max", Kind: Number, Help: "where the last one ends"},
		{Name: "bins", Kind: Count, Default: "20", Help: "how many"}, rowsParam,
	},
	Bind: func(a Args, m *matrix.Meta) (*Call, error) {
		rows, err := a.Rows("rows", m)
		h := binning{lo: a.Number("min"), hi: a.Number("max"), bins: int(a.Count("bins"))}
		switch {
		case err != nil:
			return nil, err
		case h.bins < 1 || h.bins > binLimit:
			return nil, fmt.Errorf("%d bins, want 1 to %d", h.bins, binLimit)
		case !(h.lo < h.hi) || math.IsInf(h.hi-h.lo, 0):
			return nil, fmt.Errorf("bins from %v to %v, want a range of finite width", h.lo, h.hi)
		}
		return &Call{
			Reads: rows,
			Part: func(v View) ([]byte, error) {
				own := h
				own.rows = rows.In(v.At().Rows)
				return bins(v, own)
			},
			Merge: func(parts [][]byte) (Answer, error) { return mergeBins(parts, h) },
		}, nil
	},
}

// binning says into which bins.
type binning struct {
	lo, hi float64
	bins   int
	rows   []int64
}

// Histogram is the answer of histogram: bin i has the cells from Min + i*Width on, below Min + (i+1)*Width.
type Histogram struct {
	Min   float64 `json:"min"`
	Width float64 `json:"width"`
	Bins  []int64 `json:"bins"`
	Below int64   `json:"below"`
	Above int64   `json:"above"`
	NaN   int64   `json:"nan"`
}

var bins = typed(binsAs[float64], binsAs[float32], binsAs[int64], binsAs[int32])

func binsAs[T kernel.Number](v View, cells Cells[T], h binning) ([]byte, error) {
	counts := make([]int64, h.bins+3)
	err := cells.Apart(h.rows, false, func(c *Chunk[T]) error {
		countBins(&h, counts, c.All, 1)
		return nil
	})
	if n := v.Absent(); n != 0 {
		for _, r := range h.rows {
			countBins(&h, counts, []T{cells.Value(r)}, n)
		}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(counts)
}

// countBins counts cells n times: in their bins, and after those below, above and as no number. The last bin has its upper end.
func countBins[T kernel.Number](h *binning, counts []int64, row []T, n int64) {
	scale := float64(h.bins) / (h.hi - h.lo)
	under, over, none := h.bins, h.bins+1, h.bins+2
	for _, v := range row {
		x := float64(v)
		switch at := (x - h.lo) * scale; {
		case x >= h.lo && x <= h.hi:
			counts[min(int(at), h.bins-1)] += n
		case x < h.lo:
			counts[under] += n
		case x > h.hi:
			counts[over] += n
		default:
			counts[none] += n
		}
	}
}

func mergeBins(parts [][]byte, h binning) (Answer, error) {
	all := make([]int64, h.bins+3)
	for _, p := range parts {
		var counts []int64
		if err := json.Unmarshal(p, &counts); err != nil || len(counts) != len(all) {
			return nil, fmt.Errorf("psf: an answer %.60q of %d counts, want %d", p, len(counts), len(all))
		}
		for i, n := range counts {
			all[i] += n
		}
	}
	return answerOf(Histogram{h.lo, (h.hi - h.lo) / float64(h.bins), all[:h.bins], all[h.bins], all[h.bins+1], all[h.bins+2]})
}

// quantiles are approximate: cells count in bins whose bounds are the floats with so many bits of the mantissa, so that a
// result differs from the cell that has the rank by at most a part of 2^-(bits+1) of it. The bins are the same everywhere,
// and so is what comes out.
var quantiles = Func{
	Name: "quantiles", Help: "the cells at given ranks, as parts of all; each to a part of 2^-(bits+1)",
	Params: []Param{
		{Name: "q", Kind: Numbers, Default: "[0,0.25,0.5,0.75,1]", Help: "ranks from 0 to 1"}, rowsParam,
		{Name: "bits", Kind: Count, Default: "10", Help: "of the mantissa; 4 to 16"},
	},
	Bind: func(a Args, m *matrix.Meta) (*Call, error) {
		rows, err := a.Rows("rows", m)
		if err != nil {
			return nil, err
		}
		ranks, bits := a.Numbers("q"), a.Count("bits")
		if bits < 4 || bits > 16 {
			return nil, fmt.Errorf("%d bits, want 4 to 16", bits)
		}
		for _, q := range ranks {
			if !(q >= 0 && q <= 1) {
				return nil, fmt.Errorf("rank %v, want one from 0 to 1", q)
			}
		}
		return &Call{
			Reads: rows,
			Part:  func(v View) ([]byte, error) { return sketch(v, sketching{rows.In(v.At().Rows), uint(bits)}) },
			Merge: func(parts [][]byte) (Answer, error) { return mergeSketches(parts, ranks, uint(bits)) },
		}, nil
	},
}

// sketching is what is sketched, and how closely.
type sketching struct {
	rows []int64
	bits uint
}

// tally is how many cells are in a bin; bins ascend with the numbers in them.
type tally struct {
	bin   uint64
	count int64
}

// sketch answers with pairs of bin and count, ascending.
var sketch = typed(sketchAs[float64], sketchAs[float32], sketchAs[int64], sketchAs[int32])

func sketchAs[T kernel.Number](v View, cells Cells[T], s sketching) ([]byte, error) {
	counts := map[uint64]int64{}
	last, run := uint64(0), int64(0) // neighbours are often alike
	add := func(x float64, n int64) {
		b := binOf(x, s.bits)
		if b != last {
			counts[last] += run
			last, run = b, 0
		}
		run += n
	}
	err := cells.Apart(s.rows, false, func(c *Chunk[T]) error {
		for _, x := range c.All {
			if x == x {
				add(float64(x), 1)
			}
		}
		return nil
	})
	if n := v.Absent(); n != 0 {
		for _, r := range s.rows {
			add(float64(cells.Value(r)), n)
		}
	}
	counts[last] += run
	if err != nil {
		return nil, err
	}
	out := make([][2]int64, 0, len(counts))
	for b, n := range counts {
		if n != 0 {
			out = append(out, [2]int64{int64(b), n})
		}
	}
	slices.SortFunc(out, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	return json.Marshal(out)
}

// binOf is the bin of a number: its sign, exponent and first bits of the mantissa, in the order of numbers. Both zeros are in
// one bin of their own.
func binOf(x float64, bits uint) uint64 {
	const middle = 1 << 62
	if x == 0 {
		return middle
	}
	magnitude := math.Float64bits(math.Abs(x))>>(52-bits) + 1
	if x < 0 {
		return middle - magnitude
	}
	return middle + magnitude
}

// inBin is a number in the middle of the bin.
func inBin(b uint64, bits uint) float64 {
	const middle = 1 << 62
	at := func(magnitude uint64) float64 {
		lo := (magnitude - 1) << (52 - bits)
		if v := math.Float64frombits(lo); math.IsInf(v, 0) {
			return v
		}
		return math.Float64frombits(lo | 1<<(51-bits))
	}
	switch {
	case b > middle:
		return at(b - middle)
	case b < middle:
		return -at(middle - b)
	}
	return 0
}

func mergeSketches(parts [][]byte, ranks []float64, bits uint) (Answer, error) {
	counts, total := map[uint64]int64{}, int64(0)
	for _, p := range parts {
		var some [][2]int64
		if err := json.Unmarshal(p, &some); err != nil {
			return nil, fmt.Errorf("psf: an answer %.60q: %w", p, err)
		}
		for _, t := range some {
			counts[uint64(t[0])] += t[1]
			total += t[1]
		}
	}
	all := make([]tally, 0, len(counts))
	for b, n := range counts {
		if n > 0 {
			all = append(all, tally{b, n})
		}
	}
	slices.SortFunc(all, func(a, b tally) int { return cmp.Compare(a.bin, b.bin) })
	if total <= 0 || len(all) == 0 {
		return Answer("null"), nil
	}
	out := make([]num, len(ranks))
	for i, q := range ranks {
		at := int64(math.Ceil(q*float64(total))) - 1 // the rank from 0 on
		for _, t := range all {
			out[i] = num(inBin(t.bin, bits))
			if at -= t.count; at < 0 {
				break
			}
		}
	}
	return answerOf(out)
}
