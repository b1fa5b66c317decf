package edit

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/matrix"
)

// stored is a reader of blocks in memory.
type stored struct {
	ms []matrix.Meta
	of map[string][]matrix.Block
}

func (s stored) Matrices() []matrix.Meta  { return s.ms }
func (s stored) Notes() []string          { return nil }
func (s stored) Files() map[string][]byte { return map[string][]byte{"graph.json": []byte("{}")} }
func (s stored) Close() error             { return nil }
func (s stored) Blocks(_ context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for _, b := range s.of[name] {
			if both := b.At.Intersect(want); !both.Empty() && !yield(b.Cut(want), nil) {
				return
			}
		}
	}
}

// dense is a model of one dense matrix "w" of 2 rows, stored in two blocks.
func dense(val ...float64) stored {
	cols := int64(len(val) / 2)
	whole := matrix.Block{At: matrix.At(0, 2, 0, cols), Data: &matrix.Dense[float64]{Val: val}}
	m := matrix.Meta{Name: "w", Rows: 2, Cols: cols, DType: matrix.F64}
	return stored{[]matrix.Meta{m}, map[string][]matrix.Block{
		"w": {whole.Cut(matrix.At(0, 2, 0, 1)), whole.Cut(matrix.At(0, 2, 1, cols))},
	}}
}

// sparse is a model of one sparse matrix "w" of 2 rows and 10 columns.
func sparse(ptr []int, idx []int64, val []float64) stored {
	m := matrix.Meta{Name: "w", Rows: 2, Cols: 10, DType: matrix.F64, Layout: matrix.RowSparse}
	return stored{[]matrix.Meta{m}, map[string][]matrix.Block{
		"w": {{At: m.Rect(), Data: &matrix.CSR[float64]{Ptr: ptr, Idx: idx, Val: val}}},
	}}
}

// print is the matrices with their cells, one line each.
func print(t *testing.T, r format.Reader) string {
	t.Helper()
	var out strings.Builder
	for _, m := range r.Matrices() {
		var cells []string
		var buf strings.Builder
		if err := format.Cat(t.Context(), &buf, r, m, m.Rect()); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(buf.String()) {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(line), "\t", ":"))
		}
		slices.Sort(cells)
		fmt.Fprintf(&out, "%s %dx%d %s\n", m.Name, m.Rows, m.Cols, strings.Join(cells, " "))
	}
	return out.String()
}

func TestEdits(t *testing.T) {
	small := func() format.Reader { return dense(1, -2, 0.5, 4, 0, -0.25) }
	thin := func() format.Reader { return sparse([]int{0, 2, 3}, []int64{1, 7, 1}, []float64{3, -0.1, 5}) }
	for name, c := range map[string]struct {
		edit func() (format.Reader, error)
		want string
	}{
		"rename": {func() (format.Reader, error) { return Rename(small(), map[string]string{"w": "v"}) }, "v 2x3 0:0:1 0:1:-2 0:2:0.5 1:0:4 1:1:0 1:2:-0.25\n"},
		"only":   {func() (format.Reader, error) { return Only(small(), []string{"w"}) }, "w 2x3 0:0:1 0:1:-2 0:2:0.5 1:0:4 1:1:0 1:2:-0.25\n"},
		"slice": {func() (format.Reader, error) {
			return Slice(small(), matrix.Range{Lo: 1, Hi: 9}, matrix.Range{Lo: 1, Hi: 3})
		}, "w 1x2 0:0:0 0:1:-0.25\n"},
		"slice sparse": {func() (format.Reader, error) {
			return Slice(thin(), matrix.Range{Lo: 0, Hi: 2}, matrix.Range{Lo: 1, Hi: 5})
		}, "w 2x4 0:0:3 1:0:5\n"},
		"prune":        {func() (format.Reader, error) { return Prune(small(), 0.6, nil), nil }, "w 2x3 0:0:1 0:1:-2 0:2:0 1:0:4 1:1:0 1:2:0\n"},
		"prune sparse": {func() (format.Reader, error) { return Prune(thin(), 0.6, nil), nil }, "w 2x10 0:1:3 1:1:5\n"},
		"average": {func() (format.Reader, error) {
			return Average([]format.Reader{small(), dense(3, 2, 0.5, 0, 0, 0.25)}, nil)
		}, "w 2x3 0:0:2 0:1:0 0:2:0.5 1:0:2 1:1:0 1:2:0\n"},
		"average of other names": {func() (format.Reader, error) {
			return Average([]format.Reader{small(), named("v", dense(3, 2, 0.5, 0, 0, 0.25))}, nil)
		}, "w 2x3 0:0:2 0:1:0 0:2:0.5 1:0:2 1:1:0 1:2:0\n"},
		"weighted": {func() (format.Reader, error) {
			return Average([]format.Reader{small(), dense(5, 2, 0.5, 0, 0, 0.25)}, []float64{3, 1})
		}, "w 2x3 0:0:2 0:1:-1 0:2:0.5 1:0:3 1:1:0 1:2:-0.125\n"},
		"average sparse": {func() (format.Reader, error) {
			return Average([]format.Reader{thin(), sparse([]int{0, 1, 2}, []int64{1, 9}, []float64{1, 8})}, nil)
		}, "w 2x10 0:1:2 0:7:-0.05 1:1:2.5 1:9:4\n"},
		"merge": {func() (format.Reader, error) {
			v, err := Rename(thin(), map[string]string{"w": "v"})
			if err != nil {
				return nil, err
			}
			return Merge(small(), v)
		}, "w 2x3 0:0:1 0:1:-2 0:2:0.5 1:0:4 1:1:0 1:2:-0.25\nv 2x10 0:1:3 0:7:-0.1 1:1:5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := c.edit()
			if err != nil {
				t.Fatal(err)
			}
			if got := print(t, r); got != c.want {
				t.Errorf("got  %swant %s", got, c.want)
			}
			if len(r.Files()) != 1 {
				t.Error("the file beside the matrices is gone")
			}
		})
	}
}

func TestRefused(t *testing.T) {
	small := dense(1, 2, 3, 4)
	for name, edit := range map[string]func() (format.Reader, error){
		"only what is not there":   func() (format.Reader, error) { return Only(small, []string{"x"}) },
		"rename what is not there": func() (format.Reader, error) { return Rename(small, map[string]string{"x": "y"}) },
		"slice beside the matrix": func() (format.Reader, error) {
			return Slice(small, matrix.Range{Lo: 5, Hi: 6}, matrix.Range{Lo: 0, Hi: 1})
		},
		"merge two of one name":  func() (format.Reader, error) { return Merge(small, small) },
		"average other sizes":    func() (format.Reader, error) { return Average([]format.Reader{small, dense(1, 2, 3, 4, 5, 6)}, nil) },
		"average no weight":      func() (format.Reader, error) { return Average([]format.Reader{small, small}, []float64{0, 0}) },
		"average weight below 0": func() (format.Reader, error) { return Average([]format.Reader{small, small}, []float64{1, -1}) },
	} {
		if _, err := edit(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// timed is the model with what its columns stand for.
func timed(s stored, origins ...string) stored {
	m := s.ms[0]
	m.ColOrigins = origins
	return stored{[]matrix.Meta{m}, s.of}
}

// TestTimes keep what columns stand for beside them, and have a mean only if it is the same.
func TestTimes(t *testing.T) {
	days := timed(dense(1, 2, 3, 4, 5, 6), "date32[day]", "", "duration[s]")
	cut, err := Slice(days, matrix.Range{Lo: 0, Hi: 2}, matrix.Range{Lo: 1, Hi: 3})
	if err != nil {
		t.Fatal(err)
	}
	if m := cut.Matrices()[0]; !slices.Equal(m.ColOrigins, []string{"", "duration[s]"}) || m.Check() != nil {
		t.Errorf("sliced: %q, %v", m.ColOrigins, m.Check())
	}
	other := named("v", days)
	both, err := Merge(days, other)
	if err != nil || !slices.Equal(both.Matrices()[1].ColOrigins, days.ms[0].ColOrigins) {
		t.Errorf("merged: %v, %v", both, err)
	}
	if mean, err := Average([]format.Reader{days, other}, nil); err != nil || !slices.Equal(mean.Matrices()[0].ColOrigins, days.ms[0].ColOrigins) {
		t.Errorf("mean of the same: %v, %v", mean, err)
	}
	for _, s := range []stored{dense(1, 2, 3, 4, 5, 6), timed(days, "date32[day]", "", "duration[ms]")} {
		if _, err := Average([]format.Reader{days, s}, nil); err == nil || !strings.Contains(err.Error(), "stand for the same") {
			t.Errorf("mean of %q and %q: %v", days.ms[0].ColOrigins, s.ms[0].ColOrigins, err)
		}
	}
}

// named is the model with another name of its only matrix.
func named(name string, s stored) stored {
	m := s.ms[0]
	blocks := s.of[m.Name]
	m.Name = name
	return stored{[]matrix.Meta{m}, map[string][]matrix.Block{name: blocks}}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		a, b stored
		want Difference
	}{
		"same":     {dense(1, 2, 3, math.NaN()), dense(1, 2, 3, math.NaN()), Difference{Matrix: "w", Cells: 4}},
		"one cell": {dense(1, 2, 3, 4), dense(1, 2.5, 3, 4), Difference{Matrix: "w", Cells: 4, Differ: 1, Largest: 0.5, Col: 1}},
		"nan":      {dense(1, 2, 3, 4), dense(1, 2, 3, math.NaN()), Difference{Matrix: "w", Cells: 4, Differ: 1, Largest: math.Inf(1), Row: 1, Col: 1}},
		"renamed":  {dense(1, 2, 3, 4), named("v", dense(1, 2, 3, 5)), Difference{Matrix: "w", Other: "v", Cells: 4, Differ: 1, Largest: 1, Row: 1, Col: 1}},
		"size":     {dense(1, 2, 3, 4), dense(1, 2, 3, 4, 5, 6), Difference{Matrix: "w", What: "rows [0,2) x cols [0,2) and rows [0,2) x cols [0,3)"}},
		"sparse": {
			sparse([]int{0, 2, 3}, []int64{1, 7, 1}, []float64{3, 2, 5}), sparse([]int{0, 1, 3}, []int64{1, 1, 9}, []float64{3, 5.5, 0}),
			Difference{Matrix: "w", Cells: 4, Differ: 1, Missing: 2, Largest: 2, Col: 7},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Compare(t.Context(), c.a, c.b)
			if err != nil || len(got) != 1 || got[0] != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
			if got[0].Same() != (name == "same") {
				t.Errorf("same: %v", got[0].Same())
			}
		})
	}
}

// TestCompareBands compares more rows than are looked at at a time.
func TestCompareBands(t *testing.T) {
	const rows, cols = 5, bandCells / 2
	long := func(last float64) stored {
		m := matrix.Meta{Name: "w", Rows: rows, Cols: cols, DType: matrix.F64}
		b := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: make([]float64, rows*cols)}}
		b.Data.Values().([]float64)[rows*cols-1] = last
		return stored{[]matrix.Meta{m}, map[string][]matrix.Block{"w": {b}}}
	}
	got, err := Compare(t.Context(), long(1), long(3))
	want := Difference{Matrix: "w", Cells: rows * cols, Differ: 1, Largest: 2, Row: rows - 1, Col: cols - 1}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestCompareWhole compares integers that are one float64 and not the same.
func TestCompareWhole(t *testing.T) {
	whole := func(layout matrix.Layout, b matrix.Block) stored {
		m := matrix.Meta{Name: "w", Rows: 1, Cols: 3, DType: b.Data.DType(), Layout: layout}
		if layout == matrix.RowSparse {
			b = b.ToCSR()
		}
		return stored{[]matrix.Meta{m}, map[string][]matrix.Block{"w": {b}}}
	}
	at := matrix.At(0, 1, 0, 3)
	signed := func(v ...int64) matrix.Block { return matrix.Block{At: at, Data: &matrix.Dense[int64]{Val: v}} }
	unsigned := func(v ...uint64) matrix.Block { return matrix.Block{At: at, Data: &matrix.Dense[uint64]{Val: v}} }
	double := func(v ...float64) matrix.Block { return matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: v}} }
	for name, c := range map[string]struct {
		a, b    matrix.Block
		differ  int64
		largest float64
	}{
		"same":       {signed(1<<53+1, math.MinInt64, math.MaxInt64), signed(1<<53+1, math.MinInt64, math.MaxInt64), 0, 0},
		"types":      {signed(1<<53+1, 7, math.MaxInt64), unsigned(1<<53+1, 7, math.MaxInt64), 0, 0},
		"by one":     {signed(1<<62, 1, 2), signed(1<<62+1, 1, 2), 1, 1},
		"ends":       {signed(math.MaxInt64, math.MinInt64, -1<<53-1), double(1<<63, -1<<63, -1<<53), 2, 1},
		"largest":    {unsigned(math.MaxUint64, 1<<63, 5), double(1<<64, 1<<63, 5), 1, 1},
		"both signs": {signed(-1<<53-1, 1<<53+1, 0), double(-1<<53, 1<<53, 0), 2, 1},
	} {
		for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
			got, err := Compare(t.Context(), whole(layout, c.a), whole(layout, c.b))
			if err != nil || len(got) != 1 || got[0].Differ != c.differ || got[0].Missing != 0 || got[0].Largest != c.largest {
				t.Errorf("%s, %v: got %+v, %v, want %d, %v apart", name, layout, got, err, c.differ, c.largest)
			}
		}
	}
}
