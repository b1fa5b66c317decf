package format_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/npy"
	"thole.example/format/paddle"
	"thole.example/matrix"
)

// held is a reader of blocks in memory.
type held struct {
	ms     []matrix.Meta
	blocks map[string][]matrix.Block
	files  map[string][]byte
	fail   error // after the blocks
}

func (r *held) Matrices() []matrix.Meta  { return r.ms }
func (r *held) Notes() []string          { return nil }
func (r *held) Files() map[string][]byte { return r.files }
func (r *held) Close() error             { return nil }

func (r *held) Blocks(_ context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for _, b := range r.blocks[name] {
			if !b.At.Intersect(want).Empty() && !yield(b.Cut(want), nil) {
				return
			}
		}
		if r.fail != nil {
			yield(matrix.Block{}, r.fail)
		}
	}
}

// one holds one matrix of rows x cols float32, row-major.
func one(name string, rows, cols int64, val ...float32) *held {
	m := matrix.Meta{Name: name, Rows: rows, Cols: cols, DType: matrix.F32}
	b := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: val}}
	return &held{ms: []matrix.Meta{m}, blocks: map[string][]matrix.Block{name: {b}}}
}

// sparse is one with a single row of the given cells.
func sparse(name string, cols int64, idx []int64, val ...float32) *held {
	m := matrix.Meta{Name: name, Rows: 1, Cols: cols, DType: matrix.F32, Layout: matrix.RowSparse}
	h := &held{ms: []matrix.Meta{m}, blocks: map[string][]matrix.Block{}}
	if len(idx) > 0 {
		b := matrix.Block{At: m.Rect(), Data: &matrix.CSR[float32]{Ptr: []int{0, len(idx)}, Idx: idx, Val: val}}
		h.blocks[name] = []matrix.Block{b}
	}
	return h
}

// both is the matrices of two.
func both(a, b *held) *held {
	a.ms = append(a.ms, b.ms...)
	for n, list := range b.blocks {
		a.blocks[n] = list
	}
	return a
}

func TestDiff(t *testing.T) {
	nan := float32(math.NaN())
	other := math.Float32frombits(math.Float32bits(nan) ^ 1)
	zero := math.Float32frombits(1 << 31)
	tiled := one("m", 2, 2, 1, 2, 3, 4)
	whole := tiled.blocks["m"][0]
	tiled.blocks["m"] = []matrix.Block{whole.Cut(matrix.At(0, 2, 1, 2)), whole.Cut(matrix.At(0, 2, 0, 1))}
	short := one("m", 2, 2, 1, 2, 3, 4)
	short.blocks["m"] = []matrix.Block{whole.Cut(matrix.At(0, 1, 0, 2))}
	wide := one("m", 2, 2, 1, 2, 3, 4)
	wide.ms[0].DType = matrix.F64
	for name, c := range map[string]struct {
		a, b *held
		want string // within the answer; "": equal
	}{
		"equal":          {one("m", 1, 2, 1, 2), one("m", 1, 2, 1, 2), ""},
		"other tiling":   {one("m", 2, 2, 1, 2, 3, 4), tiled, ""},
		"a value":        {one("m", 1, 2, 1, 2), one("m", 1, 2, 1, 3), `cell (0,1) is "2" and "3"`},
		"any NaN":        {one("m", 1, 1, nan), one("m", 1, 1, other), ""},
		"sign of zero":   {one("m", 1, 1, 0), one("m", 1, 1, zero), `"0" and "-0"`},
		"size":           {one("m", 1, 2, 1, 2), one("m", 2, 1, 1, 2), "1 x 2"},
		"type":           {one("m", 2, 2, 1, 2, 3, 4), wide, "f64"},
		"name":           {one("m", 1, 1, 1), one("n", 1, 1, 1), `"m"`},
		"number":         {one("m", 1, 1, 1), both(one("m", 1, 1, 1), one("n", 1, 1, 1)), "1 matrices and 2"},
		"a block less":   {one("m", 2, 2, 1, 2, 3, 4), short, "absent"},
		"a block more":   {short, one("m", 2, 2, 1, 2, 3, 4), "absent"},
		"cells only one": {sparse("s", 9, []int64{3}, 1), sparse("s", 9, nil), `is "1" and absent`},
		"cells only two": {sparse("s", 9, nil), sparse("s", 9, []int64{3}, 1), `is absent and "1"`},
		"a cell more":    {sparse("s", 9, []int64{3}, 1), sparse("s", 9, []int64{3, 5}, 1, 2), `(0,5)`},
		"sparse, dense":  {sparse("s", 2, []int64{0, 1}, 1, 2), one("s", 1, 2, 1, 2), ""},
		"nothing":        {sparse("s", 9, nil), sparse("s", 9, nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := format.Diff(context.Background(), c.a, c.b)
			if err != nil || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// asked counts how often it is asked for blocks, which it bears a hundred times.
type asked struct {
	*held
	times int
}

func (r *asked) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	if r.times++; r.times > 100 {
		return (&held{fail: errors.New("asked again and again")}).Blocks(ctx, name, want)
	}
	return r.held.Blocks(ctx, name, want)
}

// TestDiffInPieces compares cells that are not the same bits: dense ones a piece at a time, of which not all are in memory as text;
// the few of a sparse row at once, however wide it is.
func TestDiffInPieces(t *testing.T) {
	const n = 1 << 18
	val := make([]float32, n)
	val[n-1] = float32(math.NaN())
	other := slices.Clone(val)
	other[n-1] = math.Float32frombits(math.Float32bits(val[n-1]) ^ 1)
	for name, c := range map[string]struct {
		a, b *held
		fits func(r *asked) bool
	}{
		"dense":  {one("m", 1, n, val...), one("m", 1, n, other...), func(r *asked) bool { return r.times > 2 }},
		"sparse": {sparse("m", math.MaxInt64, []int64{1 << 60}, 1), sparse("m", math.MaxInt64, []int64{1 << 60}, 1), func(r *asked) bool { return r.times < 4 }},
	} {
		r := &asked{held: c.b}
		if diff, err := format.Diff(t.Context(), c.a, r); diff != "" || err != nil || !c.fits(r) {
			t.Errorf("%s: %q, %v, asked for %d times", name, diff, err, r.times)
		}
	}
}

// TestDiffErrors checks that an error of either reader ends the comparison.
func TestDiffErrors(t *testing.T) {
	broken := one("m", 1, 1, 1)
	broken.fail = format.ErrCorrupt
	for _, pair := range [][2]format.Reader{{broken, one("m", 1, 1, 1)}, {one("m", 1, 1, 1), broken}} {
		if diff, err := format.Diff(context.Background(), pair[0], pair[1]); !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%q, %v, want the error of the reader", diff, err)
		}
	}
}

func TestCat(t *testing.T) {
	holes := one("m", 2, 2)
	holes.blocks["m"] = []matrix.Block{{At: matrix.At(0, 1, 0, 2), Data: matrix.Empty{D: matrix.F32}},
		{At: matrix.At(1, 2, 0, 2), Data: &matrix.COO[float32]{Row: []int64{0}, Col: []int64{1}, Val: []float32{7}}}}
	tiles := one("m", 2, 2)
	tiles.blocks["m"] = []matrix.Block{{At: matrix.At(0, 2, 1, 2), Data: &matrix.Dense[float32]{Val: []float32{2, 4}}},
		{At: matrix.At(0, 2, 0, 1), Data: &matrix.Dense[float32]{Val: []float32{1, 3}}}}
	for name, c := range map[string]struct {
		r    *held
		want string
	}{
		"dense":  {one("m", 2, 2, 1, -2, 0.5, 1e30), "0\t0\t1\n0\t1\t-2\n1\t0\t0.5\n1\t1\t1e+30\n"},
		"sparse": {sparse("s", 1<<40, []int64{3, 1 << 39}, 1, 0), "0\t3\t1\n0\t549755813888\t0\n"},
		"tiles":  {tiles, "0\t0\t1\n0\t1\t2\n1\t0\t3\n1\t1\t4\n"},
		"holes":  {holes, "0\t0\t0\n0\t1\t0\n1\t0\t0\n1\t1\t7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := format.Cat(context.Background(), &out, c.r, c.r.ms[0], c.r.ms[0].Rect()); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("%q, want %q", out.String(), c.want)
			}
		})
	}
}

// TestCatMany checks that cells which are too many to be put in order are all printed.
func TestCatMany(t *testing.T) {
	const rows = 40_000
	r := one("m", rows, 2)
	val := make([]float32, rows)
	r.blocks["m"] = []matrix.Block{{At: matrix.At(0, rows, 1, 2), Data: &matrix.Dense[float32]{Val: val}},
		{At: matrix.At(0, rows, 0, 1), Data: &matrix.Dense[float32]{Val: val}}}
	var out bytes.Buffer
	if err := format.Cat(context.Background(), &out, r, r.ms[0], r.ms[0].Rect()); err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(out.String()) {
		lines[line]++
	}
	for row := range rows {
		for col := range 2 {
			if line := fmt.Sprintf("%d\t%d\t0\n", row, col); lines[line] != 1 {
				t.Fatalf("%q: %d times, want once", line, lines[line])
			}
		}
	}
	if len(lines) != 2*rows {
		t.Errorf("%d lines, want %d", len(lines), 2*rows)
	}
}

// TestConvertFull makes a dense file of a sparse matrix with every cell, which it is held to.
func TestConvertFull(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	src := sparse("a", 3, []int64{0, 1, 2}, 5, 6, 7)
	if err := format.Convert(ctx, src, npy.Codec, b, "a.npy", format.Options{}, nil, nil); !errors.Is(err, format.ErrLossy) {
		t.Errorf("%v, want ErrLossy where nobody knows what is stored", err)
	}
	src.ms[0].Stored = 3
	if err := format.Convert(ctx, src, npy.Codec, b, "a.npy", format.Options{}, nil, nil); err != nil {
		t.Error(err)
	}
	src = sparse("a", 3, []int64{0, 2}, 5, 7)
	src.ms[0].Stored = 3
	if err := format.Convert(ctx, src, npy.Codec, b, "b.npy", format.Options{}, nil, nil); !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt for a cell less than there should be", err)
	}
	if infos, err := b.List(ctx, "b.npy"); len(infos) > 0 || err != nil {
		t.Errorf("%v, %v, want nothing left", infos, err)
	}
}

func TestConvert(t *testing.T) {
	ctx := context.Background()
	src := both(one("a", 1, 2, 1, 2), one("b", 2, 1, 3, 4))
	b := &blob.Mem{}
	n := 0
	if err := format.Convert(ctx, src, paddle.Codec, b, "all", format.Options{}, nil, func(k int) { n += k }); err != nil {
		t.Fatal(err)
	}
	if n != 4 {
		t.Errorf("told of %d values, want 4", n)
	}
	if err := format.Convert(ctx, src, npy.Codec, b, "b.npy", format.Options{}, []string{"b"}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := npy.Codec.Open(ctx, b, "b.npy", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff, err := format.Diff(ctx, one("b", 2, 1, 3, 4), r); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	err = format.Convert(ctx, src, npy.Codec, b, "c.npy", format.Options{}, []string{"c"}, nil)
	if !errors.Is(err, format.ErrMatrix) {
		t.Errorf("%v, want ErrMatrix", err)
	}
	src.fail = format.ErrCorrupt
	err = format.Convert(ctx, src, npy.Codec, b, "d/", format.Options{}, nil, nil)
	if infos, lerr := b.List(ctx, "d"); !errors.Is(err, format.ErrCorrupt) || len(infos) > 0 || lerr != nil {
		t.Errorf("%v, left %v, want the error of the source and nothing left", err, infos)
	}
	src.fail, src.files = nil, map[string][]byte{"graph.json": []byte("{}")}
	var lost []string
	o := format.Options{Lost: func(what string) { lost = append(lost, what) }}
	if err := format.Convert(ctx, src, paddle.Codec, b, "e", o, nil, nil); err != nil || len(lost) != 0 {
		t.Errorf("%v, lost %q, want the file beside it", err, lost)
	}
	e, err := format.Open(ctx, paddle.Codec, b, "e", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(e.Files()["graph.json"]); got != "{}" {
		t.Errorf("graph.json is %q, want {}", got)
	}
	src.files = map[string][]byte{"notes.txt": []byte("by hand")}
	if err := format.Convert(ctx, src, paddle.Codec, b, "f", format.Options{}, nil, nil); !errors.Is(err, format.ErrLossy) {
		t.Errorf("%v, want ErrLossy for a file without a place", err)
	}
	o.Lossy = true
	if err := format.Convert(ctx, src, paddle.Codec, b, "f", o, nil, nil); err != nil || len(lost) != 1 {
		t.Errorf("%v, lost %q, want the file named", err, lost)
	}
}
