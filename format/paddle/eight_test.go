package paddle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/csv"
	"thole.example/matrix"
)

// typed is the stream of a tensor with every byte from 0 on.
func typed(code byte, dims []int64, size int) []byte {
	desc := descOf(code, dims, false)
	raw := make([]byte, size)
	for i := range raw {
		raw[i] = byte(i)
	}
	return slices.Concat(le32(0), le64(0), le32(0), le32(len(desc)), desc, raw)
}

// TestOrigins reads tensors of types that are none of ours, and writes them again in every layout: the same bytes, or
// the same matrices.
func TestOrigins(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		code   byte
		dims   []int64
		size   int
		origin string
		want   matrix.Meta
	}{
		{23, []int64{2, 3}, 48, format.Complex64, matrix.Meta{Rows: 2, Cols: 6, DType: matrix.F32, Dims: []int64{2, 3, 2}}},
		{24, []int64{3}, 48, format.Complex128, matrix.Meta{Rows: 3, Cols: 2, DType: matrix.F64, Dims: []int64{3, 2}}},
		{24, []int64{}, 16, format.Complex128, matrix.Meta{Rows: 1, Cols: 2, DType: matrix.F64, Dims: []int64{2}}},
		{32, []int64{16, 16}, 256, format.Float8E4M3, matrix.Meta{Rows: 16, Cols: 16, DType: matrix.F16, Dims: []int64{16, 16}}},
		{33, []int64{256}, 256, format.Float8E5M2, matrix.Meta{Rows: 1, Cols: 256, DType: matrix.F16, Dims: []int64{256}}},
	} {
		t.Run(fmt.Sprint(c.origin, c.dims), func(t *testing.T) {
			data, b := typed(c.code, c.dims, c.size), &blob.Mem{}
			if err := blob.WriteAll(ctx, b, "w", data); err != nil {
				t.Fatal(err)
			}
			c.want.Name, c.want.Origin = "w", c.origin
			from := "w"
			for i, layout := range []string{"stream", "seed004", "separate", "combined", "stream"} {
				r, err := Codec.Open(ctx, b, from, format.Options{})
				if err != nil {
					t.Fatal(err)
				}
				m := r.Matrices()[0]
				m.Unnamed = false // where a file alone names it
				if fmt.Sprint(m) != fmt.Sprint(c.want) {
					t.Errorf("%s: %v, want %v", from, m, c.want)
				}
				if from = fmt.Sprintf("to%d/w", i); layout == "seed004" {
					from += ".params"
				}
				err = format.Convert(ctx, r, Codec, b, from, format.Options{Set: map[string]string{"layout": layout}}, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Close()
			}
			if got, err := blob.ReadAll(ctx, b, from, 1<<20); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes came back, %v, want the %d that were read", len(got), err, len(data))
			}
		})
	}
}

// TestOriginsRefused checks what a matrix may no longer be written as.
func TestOriginsRefused(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	half := matrix.Meta{Name: "w", Rows: 1, Cols: 2, DType: matrix.F16, Origin: format.Float8E4M3}
	w, err := Codec.Create(ctx, b, "x", []matrix.Meta{half}, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	third := matrix.Block{At: half.Rect(), Data: &matrix.Dense[matrix.Float16]{Val: []matrix.Float16{0, matrix.ToFloat16(1. / 3)}}}
	if _, err := w.Put(ctx, "w", third); !errors.Is(err, format.ErrLossy) {
		t.Errorf("a third as 8 bits: %v, want ErrLossy", err)
	}
	for _, m := range []matrix.Meta{
		{Name: "w", Rows: 1, Cols: 2, DType: matrix.F32, Origin: format.Float8E4M3},
		{Name: "w", Rows: 1, Cols: 2, DType: matrix.F32, Origin: format.Complex64},
		{Name: "w", Rows: 1, Cols: 3, DType: matrix.F32, Origin: format.Complex64, Dims: []int64{3}},
		{Name: "w", Rows: 1, Cols: 2, DType: matrix.F64, Origin: format.Complex64, Dims: []int64{2}},
	} {
		if _, err := Codec.Create(ctx, b, "y", []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLossy) {
			t.Errorf("%v as %s: %v, want ErrLossy", m.DType, m.Origin, err)
		}
	}
}

// TestComplexPickle reads an array of complex numbers.
func TestComplexPickle(t *testing.T) {
	data, err := os.ReadFile("testdata/pickle/complex.pdparams")
	if err != nil {
		t.Fatal(err)
	}
	r, err := put(t, "complex.pdparams", data)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Matrices(), func(m matrix.Meta) bool { return m.Origin != "" })
	if i < 0 {
		t.Fatal("no complex numbers")
	}
	m := r.Matrices()[i]
	if m.Origin != format.Complex64 || m.DType != matrix.F32 || m.Dims[len(m.Dims)-1] != 2 || len(floats(t, r, m)) != int(m.Rows*m.Cols) {
		t.Errorf("%+v, want pairs of f32", m)
	}
	for _, lossy := range []bool{false, true} {
		var lost []string
		o := format.Options{Lossy: lossy, Lost: func(what string) { lost = append(lost, what) }}
		err := format.Convert(context.Background(), r, csv.Codec, &blob.Mem{}, "x.csv", o, []string{m.Name}, nil)
		if lossy != (err == nil) || !lossy && !errors.Is(err, format.ErrLossy) || lossy && !strings.Contains(fmt.Sprint(lost), format.Complex64) {
			t.Errorf("another format, lossy %v: %v, lost %q", lossy, err, lost)
		}
	}
}
