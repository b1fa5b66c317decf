package all

import (
	"context"
	"errors"
	"math"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestConvert converts from every format to every other and back: the same values, or ErrLossy.
func TestConvert(t *testing.T) {
	kept := 0
	// Every format is converted from and to with each of these; what it does to other types is seen in its own round trips.
	types := []matrix.DType{matrix.F64, matrix.F32, matrix.I64, matrix.U8}
	for i, from := range anyKinds(plainKinds()) {
		for j, to := range anyKinds(plainKinds()) {
			d := types[(i+j)%len(types)]
			for _, s := range samples(d) {
				if s.meta.Rows*s.meta.Cols > 1<<10 {
					continue
				}
				t.Run(from.name+" to "+to.name+", "+d.String()+", "+s.what, func(t *testing.T) {
					if thereAndBack(t, from, to, s) {
						kept++
					}
				})
			}
		}
	}
	if kept == 0 {
		t.Error("no conversion kept its values")
	}
}

// thereAndBack reports whether nothing on the way was refused as lossy.
func thereAndBack(t *testing.T, from, to kind, s sample) bool {
	t.Helper()
	ctx := context.Background()
	first, second, third := empty(t), empty(t), empty(t)
	refused := func(err error) bool {
		if err != nil && !errors.Is(err, format.ErrLossy) && !errors.Is(err, format.ErrLimit) {
			t.Fatal(err)
		}
		return err != nil
	}
	if refused(write(t, first, from, s, format.Options{})) {
		return false
	}
	a := open(t, first, from)
	if refused(format.Convert(ctx, a, to, second, pathOf(to), format.Options{}, nil, nil)) {
		return false
	}
	b := open(t, second, to)
	if refused(format.Convert(ctx, b, from, third, pathOf(from), format.Options{}, nil, nil)) {
		return false
	}
	c := open(t, third, from)
	for _, pair := range [][2]format.Reader{{a, b}, {a, c}, {memory{s}, a}, {c, memory{s}}} {
		diff, err := format.Diff(ctx, pair[0], pair[1])
		if err != nil || diff != "" {
			t.Errorf("%s, %v", diff, err)
		}
	}
	return true
}

func open(t *testing.T, b blob.Bucket, c kind) format.Reader {
	t.Helper()
	r, _, err := Codecs().Open(context.Background(), b, pathOf(c), c.Info().Name, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestConvertFrame writes a frame of several types in every format, where losses are allowed: each takes it, and gives
// back the values themselves or, where it has one type for all, the nearest of it.
func TestConvertFrame(t *testing.T) {
	ctx := context.Background()
	m := matrix.Meta{Name: "m", Rows: 2, Cols: 3, DType: matrix.F64, Labels: []string{"a", "b", "c"},
		ColTypes: []matrix.DType{matrix.I64, matrix.U64, matrix.F32}}
	frame := memory{sample{meta: m, blocks: []matrix.Block{
		{At: matrix.At(0, 2, 0, 1), Data: &matrix.Dense[int64]{Val: []int64{1<<53 + 1, math.MinInt64}}},
		{At: matrix.At(0, 2, 1, 2), Data: &matrix.Dense[uint64]{Val: []uint64{math.MaxUint64, 3}}},
		{At: matrix.At(0, 2, 2, 3), Data: &matrix.Dense[float32]{Val: []float32{0.1, -7}}},
	}}}
	plain := m
	plain.Labels, plain.ColTypes = nil, nil
	rounded := memory{sample{meta: plain}}
	for _, b := range frame.s.blocks {
		wide, _ := b.Cast(matrix.F64)
		rounded.s.blocks = append(rounded.s.blocks, wide)
	}
	kept := 0
	for _, to := range anyKinds(plainKinds()) {
		t.Run(to.name, func(t *testing.T) {
			b, told := &blob.Mem{}, 0
			o := format.Options{Lossy: true, Lost: func(string) { told++ }}
			if err := format.Convert(ctx, frame, to, b, pathOf(to), o, nil, nil); err != nil {
				t.Fatal(err)
			}
			r := open(t, b, to)
			want := frame
			switch mixed := r.Matrices()[0].ColTypes != nil; {
			case mixed:
				kept++
			case told == 0:
				t.Error("the types of the columns are lost, and nothing is said")
				fallthrough
			default:
				want = rounded
			}
			if diff, err := format.Diff(ctx, want, r); err != nil || diff != "" {
				t.Errorf("%s, %v", diff, err)
			}
		})
	}
	if kept == 0 {
		t.Error("no format kept the types of columns")
	}
}
