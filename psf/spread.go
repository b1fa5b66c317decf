package psf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

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

// Histogram is the answer of histogram: bin i has the cells from Min + i*Width on, below Min + (i+1)*Width. A count that is
// beyond int64, as of the absent cells of many rows, is the largest int64.
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
		countBins(&h, counts, c.All)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := newTally(v)
	out.Stored = filled(counts)
	if v.Meta().Layout == matrix.RowSparse {
		clear(counts)
		for _, r := range h.rows {
			countBins(&h, counts, []T{cells.Value(r)})
		}
		out.Rows = filled(counts)
	}
	return json.Marshal(out)
}

// filled is the bins that are not empty.
func filled(counts []int64) (some [][2]int64) {
	for b, n := range counts {
		if n != 0 {
			some = append(some, [2]int64{int64(b), n})
		}
	}
	return some
}

// countBins counts cells: those below, in each bin, above, and as no number.
func countBins[T kernel.Number](h *binning, counts []int64, row []T) {
	counts[h.bins+2] += kernel.Histogram(row, h.lo, h.hi, counts[:h.bins+2])
}

func mergeBins(parts [][]byte, h binning) (Answer, error) {
	counts, err := mergeTallies(parts, 0, int64(h.bins)+3)
	if err != nil {
		return nil, err
	}
	all := make([]int64, h.bins+3)
	for b, n := range counts {
		all[b] = n.whole()
	}
	return answerOf(Histogram{h.lo, (h.hi - h.lo) / float64(h.bins), all[1 : h.bins+1], all[0], all[h.bins+1], all[h.bins+2]})
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

// sketch counts cells by bin.
var sketch = typed(sketchAs[float64], sketchAs[float32], sketchAs[int64], sketchAs[int32])

func sketchAs[T kernel.Number](v View, cells Cells[T], s sketching) ([]byte, error) {
	counts := map[int64]int64{}
	last, run := int64(0), int64(0) // neighbours are often alike
	add := func(x T) {
		if x != x {
			return
		}
		b := binOf(float64(x), s.bits)
		if b != last {
			counts[last] += run
			last, run = b, 0
		}
		run++
	}
	take := func() [][2]int64 {
		counts[last] += run
		run = 0
		out := make([][2]int64, 0, len(counts))
		for b, n := range counts {
			if n != 0 {
				out = append(out, [2]int64{b, n})
			}
		}
		slices.SortFunc(out, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		clear(counts)
		return out
	}
	err := cells.Apart(s.rows, false, func(c *Chunk[T]) error {
		for _, x := range c.All {
			add(x)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := newTally(v)
	out.Stored = take()
	if v.Meta().Layout == matrix.RowSparse {
		for _, r := range s.rows {
			add(cells.Value(r))
		}
		out.Rows = take()
	}
	return json.Marshal(out)
}

// zeroBin is the bin of both zeros; those of numbers below zero are below it.
const zeroBin = 1 << 62

// binOf is the bin of a number: its sign, exponent and first bits of the mantissa, in the order of numbers.
func binOf(x float64, bits uint) int64 {
	if x == 0 {
		return zeroBin
	}
	magnitude := int64(math.Float64bits(math.Abs(x))>>(52-bits)) + 1
	if x < 0 {
		return zeroBin - magnitude
	}
	return zeroBin + magnitude
}

// inBin is a number in the middle of the bin.
func inBin(b int64, bits uint) float64 {
	at := func(magnitude int64) float64 {
		lo := uint64(magnitude-1) << (52 - bits)
		if v := math.Float64frombits(lo); math.IsInf(v, 0) {
			return v
		}
		return math.Float64frombits(lo | 1<<(51-bits))
	}
	switch {
	case b > zeroBin:
		return at(b - zeroBin)
	case b < zeroBin:
		return -at(zeroBin - b)
	}
	return 0
}

func mergeSketches(parts [][]byte, ranks []float64, bits uint) (Answer, error) {
	counts, err := mergeTallies(parts, binOf(math.Inf(-1), bits), binOf(math.Inf(1), bits)+1)
	if err != nil {
		return nil, err
	}
	all := slices.Sorted(maps.Keys(counts))
	upTo := make([]cellCount, len(all)) // cells in the bins up to one
	total := cellCount{}
	for i, b := range all {
		total.add(counts[b])
		upTo[i] = total
	}
	if total == (cellCount{}) {
		return Answer("null"), nil
	}
	out := make([]num, len(ranks))
	for i, q := range ranks {
		need := total.part(q)
		at := sort.Search(len(all), func(i int) bool { return !upTo[i].less(need) })
		out[i] = num(inBin(all[at], bits))
	}
	return answerOf(out)
}
