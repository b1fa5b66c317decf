package all

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// sample is a matrix with the blocks that hold its values.
type sample struct {
	what   string
	meta   matrix.Meta
	blocks []matrix.Block
	beside []sample          // matrices that belong to it
	files  map[string][]byte // that lie beside them
}

// all are the sample and those beside it.
func (s sample) all() []sample { return append([]sample{s}, s.beside...) }

func (s sample) metas() (ms []matrix.Meta) {
	for _, one := range s.all() {
		ms = append(ms, one.meta)
	}
	return ms
}

// namedBlock is a block and its matrix.
type namedBlock struct {
	name string
	matrix.Block
}

func (s sample) named() (all []namedBlock) {
	for _, one := range s.all() {
		for _, b := range one.blocks {
			all = append(all, namedBlock{one.meta.Name, b})
		}
	}
	return all
}

// samples are those of newSamples, made once for all tests, which leave them as they are.
func samples(d matrix.DType) []sample { return everySample()[d] }

var everySample = sync.OnceValue(func() map[matrix.DType][]sample {
	all := map[matrix.DType][]sample{}
	for _, d := range matrix.DTypes() {
		all[d] = newSamples(d)
	}
	return all
})

// newSamples are matrices at the edges of what formats must hold, of one element type.
func newSamples(d matrix.DType) []sample {
	sparse := matrix.RowSparse
	list := []sample{
		dense("no rows", d, 0, 5), dense("no columns", d, 4, 0), dense("nothing", d, 0, 0),
		dense("one cell", d, 1, 1), dense("one row", d, 1, 7), dense("one column", d, 7, 1),
		dense("special values", d, 2, 4), dense("wide", d, 2, 100_000),
		tiled("ragged columns", dense("", d, 5, 23), []int64{0, 5}, []int64{0, 1, 9, 10, 23}),
		tiled("ragged rows and columns", dense("", d, 7, 11), []int64{0, 3, 4, 7}, []int64{0, 2, 11}),
		{what: "sparse, no stored cell", meta: meta(d, 4, 6, sparse)},
		thin("sparse", d, 6, 40, 3), thin("sparse, wide", d, 2, 100_000, 997), thin("sparse, one row", d, 1, 50, 4),
		tiled("sparse, ragged columns", thin("", d, 5, 60, 4), []int64{0, 5}, []int64{0, 7, 8, 60}),
	}
	list = append(list, keyed(d))
	return list
}

// meta is named as the file that write makes of it.
func meta(d matrix.DType, rows, cols int64, l matrix.Layout) matrix.Meta {
	return matrix.Meta{Name: "m", Rows: rows, Cols: cols, DType: d, Layout: l}
}

// dense has a value in every cell, among them the special ones of the type.
func dense(what string, d matrix.DType, rows, cols int64) sample {
	s := sample{what: what, meta: meta(d, rows, cols, matrix.RowDense)}
	b := matrix.NewDense(d, s.meta.Rect())
	fill(b.Data)
	if !b.At.Empty() {
		s.blocks = []matrix.Block{b}
	}
	return s
}

// thin stores every step-th cell.
func thin(what string, d matrix.DType, rows, cols, step int64) sample {
	s := sample{what: what, meta: meta(d, rows, cols, matrix.RowSparse)}
	ptr, idx := []int{0}, []int64{}
	for r := range rows {
		for c := r % step; c < cols; c += step {
			idx = append(idx, c)
		}
		ptr = append(ptr, len(idx))
	}
	data := matrix.KindOf(d).CSR(ptr, idx)
	fill(data)
	s.blocks = []matrix.Block{{At: s.meta.Rect(), Data: data}}
	return s
}

// keyed has columns at the ends of what ids can be.
func keyed(d matrix.DType) sample {
	s := sample{what: "sparse, hashed keys", meta: meta(d, 1, math.MaxInt64, matrix.RowSparse)}
	data := matrix.KindOf(d).CSR([]int{0, 3}, []int64{0, 1 << 40, math.MaxInt64 - 1})
	fill(data)
	s.blocks = []matrix.Block{{At: s.meta.Rect(), Data: data}}
	return s
}

// tiled cuts the only block of s at the rows and columns.
func tiled(what string, s sample, rows, cols []int64) sample {
	whole := s.blocks[0]
	s.what, s.blocks = what, nil
	for i := 1; i < len(rows); i++ {
		for k := 1; k < len(cols); k++ {
			s.blocks = append(s.blocks, whole.Cut(matrix.At(rows[i-1], rows[i], cols[k-1], cols[k])))
		}
	}
	return s
}

// special are values at the edges of the type, as bits of an element.
func special(d matrix.DType) []uint64 {
	top := uint64(1)<<(8*d.Size()-1) - 1 // the largest signed number
	switch d {
	case matrix.F64:
		return []uint64{1 << 63, math.Float64bits(math.NaN()), math.Float64bits(math.Inf(1)),
			math.Float64bits(math.Inf(-1)), math.Float64bits(math.MaxFloat64), 1}
	case matrix.F32:
		return []uint64{1 << 31, 0x7fc00000, 0x7f800000, 0xff800000, 0x7f7fffff, 1}
	case matrix.F16:
		return []uint64{1 << 15, 0x7e00, 0x7c00, 0xfc00, 0x7bff, 1}
	case matrix.BF16:
		return []uint64{1 << 15, 0x7fc0, 0x7f80, 0xff80, 0x7f7f, 1}
	case matrix.Bool:
		return []uint64{1, 0}
	}
	return []uint64{top, top + 1, math.MaxUint64, 0}
}

// fill puts the special values first and behind them others, none of them zero.
func fill(data matrix.Data) {
	raw, size := wire.ViewAny(data.Values())
	rnd := rand.New(rand.NewPCG(1, 2))
	edge := special(data.DType())
	for i := 0; i*size < len(raw); i++ {
		bits := uint64(1 + rnd.IntN(100))
		switch {
		case i < len(edge):
			bits = edge[i]
		case data.DType() == matrix.Bool:
			bits = 1
		case data.DType().Float(): // a number between 1 and 2
			one := matrix.Block{Data: &matrix.Dense[float64]{Val: []float64{1 + rnd.Float64()}}, At: matrix.At(0, 1, 0, 1)}
			as, _ := one.Cast(data.DType())
			bits = bitsOf(as.Data, 0)
		}
		for k := range size {
			raw[i*size+k] = byte(bits >> (8 * k))
		}
	}
}

// bitsOf are the bits of the i-th value.
func bitsOf(data matrix.Data, i int) uint64 {
	raw, size := wire.ViewAny(data.Values())
	bits := uint64(0)
	for k := range size {
		bits |= uint64(raw[i*size+k]) << (8 * k)
	}
	return bits
}

// write stores the sample through one writer.
func write(t testing.TB, b blob.Bucket, c kind, s sample, o format.Options) error {
	t.Helper()
	ctx := context.Background()
	o.Set, o.Files = c.set, s.files
	w, err := format.Create(ctx, c, b, pathOf(c), s.metas(), o)
	if err != nil {
		return err
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, blk := range s.named() {
		p, err := w.Put(ctx, blk.name, blk.Block)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	return w.Commit(ctx, parts)
}

// cell is a place in a matrix.
type cell struct {
	name     string
	row, col int64
}

// cells are stored values by place, as text: every NaN is the same one.
func cells(ctx context.Context, r format.Reader) (map[cell]string, error) {
	all := map[cell]string{}
	for _, m := range r.Matrices() {
		for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
			if err != nil {
				return all, err
			}
			if err := b.Check(); err != nil {
				return all, fmt.Errorf("block that breaks the rules: %w", err)
			}
			if err := b.EachText(func(row, col int64, v []byte) error {
				key := cell{m.Name, row, col}
				if _, twice := all[key]; twice {
					return fmt.Errorf("cell %v twice", key)
				}
				all[key] = string(v)
				return nil
			}); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// sentinel reports whether the error is one that the package format promises.
func sentinel(err error) bool {
	for _, known := range []error{format.ErrUnknown, format.ErrCorrupt, format.ErrVersion, format.ErrLimit,
		format.ErrLossy, format.ErrMatrix, format.ErrOption} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// snapshot is the bytes of everything in the bucket.
func snapshot(t testing.TB, b blob.Bucket) map[string]string {
	t.Helper()
	infos, err := b.List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, i := range infos {
		data, err := blob.ReadAll(context.Background(), b, i.Name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		all[i.Name] = string(data)
	}
	for name := range all {
		if strings.Contains(name, "_tmp.") {
			t.Errorf("%s is left over", name)
		}
	}
	return all
}
