package format

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/wire"
)

// TestWiden holds the table of 8-bit floats to their definition and to values that are known.
func TestWiden(t *testing.T) {
	known := map[string]map[int]float64{
		Float8E4M3:  {0: 0, 1: 1. / 512, 7: 7. / 512, 8: 1. / 64, 0x38: 1, 0xb8: -1, 0x7e: 448, 0xfe: -448, 0x5d: 26},
		Float8E5M2:  {0: 0, 1: 1. / 65536, 4: 1. / 16384, 0x3c: 1, 0xbc: -1, 0x7b: 57344, 0x7c: math.Inf(1), 0xfc: math.Inf(-1)},
		Float8E4M3Z: {0: 0, 1: 1. / 1024, 8: 1. / 128, 0x40: 1, 0xc0: -1, 0x7f: 240, 0xff: -240},
		Float8E5M2Z: {0: 0, 1: 1. / 131072, 4: 1. / 32768, 0x40: 1, 0xc0: -1, 0x7f: 57344, 0xff: -57344},
	}
	for origin, values := range known {
		all, seen := Element{Origin: origin}.Widen(), map[matrix.Float16]bool{}
		for i, v := range all {
			if seen[v] {
				t.Errorf("%s: %#x and another are both %v", origin, i, v.Float32())
			}
			seen[v] = true
			if want, ok := values[i]; ok && float64(v.Float32()) != want {
				t.Errorf("%s: %#x is %v, want %v", origin, i, v.Float32(), want)
			}
		}
		nan := map[string][]int{Float8E4M3: {0x7f, 0xff}, Float8E5M2: {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff},
			Float8E4M3Z: {0x80}, Float8E5M2Z: {0x80}}[origin]
		for i, v := range all {
			if f := v.Float32(); (f != f) != slices.Contains(nan, i) {
				t.Errorf("%s: %#x is %v", origin, i, f)
			}
		}
		if z := all[0x80]; z != 0x8000 && len(nan) > 1 {
			t.Errorf("%s: 0x80 is %#x, want minus zero", origin, z)
		}
	}
}

// TestElementOf checks which matrices are still values of a type that is none of ours.
func TestElementOf(t *testing.T) {
	eight, pair := Element{matrix.U8, Float8E4M3}, Element{matrix.F32, Complex64}
	for what, c := range map[string]struct {
		of     Element
		m      matrix.Meta
		tensor []int64 // nil: no
	}{
		"eight":             {eight, matrix.Meta{DType: matrix.F16, Origin: Float8E4M3, Dims: []int64{3}}, []int64{3}},
		"eight, other type": {eight, matrix.Meta{DType: matrix.F32, Origin: Float8E4M3, Dims: []int64{3}}, nil},
		"another eight":     {eight, matrix.Meta{DType: matrix.F16, Origin: Float8E5M2, Dims: []int64{3}}, nil},
		"plain f16":         {eight, matrix.Meta{DType: matrix.F16, Dims: []int64{3}}, nil},
		"pair":              {pair, matrix.Meta{DType: matrix.F32, Origin: Complex64, Dims: []int64{3, 2}}, []int64{3}},
		"one pair":          {pair, matrix.Meta{DType: matrix.F32, Origin: Complex64, Dims: []int64{2}}, []int64{}},
		"three parts":       {pair, matrix.Meta{DType: matrix.F32, Origin: Complex64, Dims: []int64{3}}, nil},
		"no parts":          {pair, matrix.Meta{DType: matrix.F32, Origin: Complex64, Dims: []int64{}}, nil},
		"no shape":          {pair, matrix.Meta{DType: matrix.F32, Origin: Complex64, Rows: 3, Cols: 2}, nil},
		"wider pair":        {pair, matrix.Meta{DType: matrix.F64, Origin: Complex64, Dims: []int64{2}}, nil},
	} {
		got, ok := c.of.Of(&c.m, c.m.Dims)
		if ok != (c.tensor != nil) || !slices.Equal(got, c.tensor) {
			t.Errorf("%s: %v, %v, want %v", what, got, ok, c.tensor)
		}
		if ok && !slices.Equal(c.of.Shape(got), c.m.Dims) {
			t.Errorf("%s: shape %v of %v, want %v", what, c.of.Shape(got), got, c.m.Dims)
		}
	}
}

// TestElementWriter puts every value of 8 bits, in every layout of a block, and others that 8 bits do not hold.
func TestElementWriter(t *testing.T) {
	ctx := context.Background()
	for _, origin := range []string{Float8E4M3, Float8E5M2, Float8E4M3Z, Float8E5M2Z} {
		e := Element{matrix.U8, origin}
		m := matrix.Meta{Name: "w", Rows: 2, Cols: 128, DType: matrix.F16, Origin: origin}
		all := matrix.Block{At: m.Rect(), Data: &matrix.Dense[matrix.Float16]{Val: e.Widen()[:]}}
		columns, half := make([]int64, 128), matrix.Block{At: m.Rect(), Data: matrix.Empty{D: matrix.F16}}
		for i := range columns {
			columns[i] = int64(i)
		}
		byColumn := &matrix.Cols[matrix.Float16]{Idx: columns}
		byPlace := &matrix.COO[matrix.Float16]{}
		for i, v := range e.Widen() {
			byColumn.Val = append(byColumn.Val, e.Widen()[i%2*128+i/2])
			byPlace.Row, byPlace.Col, byPlace.Val = append(byPlace.Row, int64(i/128)), append(byPlace.Col, int64(i%128)), append(byPlace.Val, v)
		}
		want := make([]byte, 256)
		for i := range want {
			want[i] = byte(i)
		}
		for what, c := range map[string]struct {
			data matrix.Data
			want []byte
		}{
			"dense": {all.Data, want}, "rows": {all.ToCSR().Data, want}, "columns": {byColumn, want}, "places": {byPlace, want},
			"empty": {half.Data, make([]byte, 256)},
		} {
			b := &blob.Mem{}
			f := SlabFile{Size: 256, Slabs: []Target{e.Target(&m, Slab{Order: wire.Little})}}
			w, err := NewElementWriter(ctx, b, "x", Options{}, f, map[string]Element{"w": e})
			if err != nil {
				t.Fatal(err)
			}
			third := matrix.Block{At: m.Rect(), Data: &matrix.Dense[matrix.Float16]{Val: make([]matrix.Float16, 256)}}
			third.Data.(*matrix.Dense[matrix.Float16]).Val[7] = matrix.ToFloat16(1. / 3)
			if _, err := w.Put(ctx, "w", third); !errors.Is(err, ErrLossy) {
				t.Errorf("a third as %s: %v, want ErrLossy", origin, err)
			}
			if _, err := w.Put(ctx, "w", matrix.NewDense(matrix.U8, m.Rect())); err == nil {
				t.Errorf("u8 as %s: no error", origin)
			}
			part, err := w.Put(ctx, "w", matrix.Block{At: m.Rect(), Data: c.data})
			if err == nil {
				err = w.Commit(ctx, []Part{part})
			}
			got, _ := blob.ReadAll(ctx, b, "x", 1<<10)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: % x, %v", origin, what, got, err)
			}
		}
	}
}
