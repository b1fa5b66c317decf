package safetensors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/csv"
	"thole.example/format/paddle"
	"thole.example/matrix"
)

// codes are all bytes from 0 on, so long.
func codes(n int) []byte {
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(i)
	}
	return raw
}

// one is a file of one tensor, padded as we write it.
func one(dtype, shape string, values []byte) []byte {
	header := fmt.Sprintf(`{"w":{"dtype":"%s","shape":%s,"data_offsets":[0,%d]}}`, dtype, shape, len(values))
	return file(header+strings.Repeat(" ", -len(header)&7), values...)
}

// convert reads the path and writes it to another.
func convert(b blob.Bucket, from format.Codec, path string, to format.Codec, as string, o format.Options) error {
	r, err := from.Open(context.Background(), b, path, format.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	return format.Convert(context.Background(), r, to, b, as, o, nil, nil)
}

// origin is a tensor of a type that is none of ours, and the matrix that it is.
type origin struct {
	dtype, shape string
	size         int
	want         matrix.Meta
	paddle       bool // Paddle has the type
}

var originCases = []origin{
	{"F8_E4M3", "[16,16]", 256, matrix.Meta{Rows: 16, Cols: 16, DType: matrix.F16, Origin: "fp8_e4m3fn", Dims: []int64{16, 16}}, true},
	{"F8_E5M2", "[256]", 256, matrix.Meta{Rows: 1, Cols: 256, DType: matrix.F16, Origin: "fp8_e5m2", Dims: []int64{256}}, true},
	{"F8_E5M2", "[0,7]", 0, matrix.Meta{Rows: 0, Cols: 7, DType: matrix.F16, Origin: "fp8_e5m2", Dims: []int64{0, 7}}, true},
	{"F8_E4M3FNUZ", "[2,2,64]", 256, matrix.Meta{Rows: 2, Cols: 128, DType: matrix.F16, Origin: "fp8_e4m3fnuz", Dims: []int64{2, 2, 64}}, false},
	{"F8_E5M2FNUZ", "[256]", 256, matrix.Meta{Rows: 1, Cols: 256, DType: matrix.F16, Origin: "fp8_e5m2fnuz", Dims: []int64{256}}, false},
	{"C64", "[2,3]", 48, matrix.Meta{Rows: 2, Cols: 6, DType: matrix.F32, Origin: "complex64", Dims: []int64{2, 3, 2}}, true},
	{"C64", "[3]", 24, matrix.Meta{Rows: 3, Cols: 2, DType: matrix.F32, Origin: "complex64", Dims: []int64{3, 2}}, true},
	{"C64", "[]", 8, matrix.Meta{Rows: 1, Cols: 2, DType: matrix.F32, Origin: "complex64", Dims: []int64{2}}, true},
	{"C64", "[0]", 0, matrix.Meta{Rows: 0, Cols: 2, DType: matrix.F32, Origin: "complex64", Dims: []int64{0, 2}}, true},
}

// TestOrigins reads every code of types that are none of ours, writes them, alone and as one of several writers, and
// carries them through every layout of Paddle that has the type: the same bytes.
func TestOrigins(t *testing.T) {
	ctx := context.Background()
	for _, c := range originCases {
		t.Run(c.dtype+c.shape, func(t *testing.T) {
			data, b := one(c.dtype, c.shape, codes(c.size)), &blob.Mem{}
			if err := blob.WriteAll(ctx, b, path, data); err != nil {
				t.Fatal(err)
			}
			got, err := load(b)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Name = "w"
			if fmt.Sprint(got.ms[0]) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", got.ms[0], c.want)
			}
			for _, stage := range []string{"", "x"} {
				if again := save(t, &blob.Mem{}, got, format.Options{Stage: stage}); !bytes.Equal(again, data) {
					t.Errorf("written again %q, want %q", again, data)
				}
			}
			for _, layout := range []string{"stream", "seed004", "separate", "combined"} {
				between := map[string]string{"stream": "a/w", "seed004": "a/w.params"}[layout]
				if between == "" {
					between = layout
				}
				err := convert(b, Codec, path, paddle.Codec, between, format.Options{Set: map[string]string{"layout": layout}})
				if !c.paddle {
					if !errors.Is(err, format.ErrLossy) {
						t.Errorf("to Paddle: %v, want ErrLossy", err)
					}
					return
				}
				if err == nil {
					err = convert(b, paddle.Codec, between, Codec, "back.safetensors", format.Options{Over: blob.Anything})
				}
				if err != nil {
					t.Fatalf("%s: %v", layout, err)
				}
				if back, err := blob.ReadAll(ctx, b, "back.safetensors", 1<<20); err != nil || !bytes.Equal(back, data) {
					t.Errorf("through %s: %q, %v, want %q", layout, back, err, data)
				}
			}
		})
	}
}

// TestOriginsRefused checks what is lost: by formats that do not have the types, and by matrices that changed.
func TestOriginsRefused(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, path, one("C64", "[3]", codes(24))); err != nil {
		t.Fatal(err)
	}
	if err := convert(b, Codec, path, csv.Codec, "w.csv", format.Options{}); !errors.Is(err, format.ErrLossy) {
		t.Errorf("to another format: %v, want ErrLossy", err)
	}
	for _, m := range []matrix.Meta{
		{Name: "w", Rows: 1, Cols: 2, DType: matrix.F32, Origin: "fp8_e4m3fn"},
		{Name: "w", Rows: 1, Cols: 2, DType: matrix.F32, Origin: "complex64"},
		{Name: "w", Rows: 1, Cols: 3, DType: matrix.F32, Origin: "complex64", Dims: []int64{3}},
		{Name: "w", Rows: 1, Cols: 2, DType: matrix.F64, Origin: "complex64", Dims: []int64{2}},
	} {
		if _, err := Codec.Create(ctx, b, "y", []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLossy) {
			t.Errorf("%v as %s: %v, want ErrLossy", m.DType, m.Origin, err)
		}
	}
	half := matrix.Meta{Name: "w", Rows: 1, Cols: 1, DType: matrix.F16, Origin: "fp8_e5m2"}
	w, err := Codec.Create(ctx, b, "x", []matrix.Meta{half}, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	third := matrix.Block{At: half.Rect(), Data: &matrix.Dense[matrix.Float16]{Val: []matrix.Float16{matrix.ToFloat16(1. / 3)}}}
	if _, err := w.Put(ctx, "w", third); !errors.Is(err, format.ErrLossy) {
		t.Errorf("a third as 8 bits: %v, want ErrLossy", err)
	}
}

// TestManyDimensions has a complex tensor of as many dimensions as fit, which is a matrix of one more.
func TestManyDimensions(t *testing.T) {
	data := one("C64", "[1"+strings.Repeat(",1", rankLimit-1)+"]", codes(8))
	c, err := loadBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if again := save(t, &blob.Mem{}, c, format.Options{}); !bytes.Equal(again, data) {
		t.Errorf("written again %q, want %q", again, data)
	}
	c.ms[0].Dims = append([]int64{1}, c.ms[0].Dims...)
	if _, err := Codec.Create(t.Context(), &blob.Mem{}, path, c.ms, format.Options{}); !errors.Is(err, format.ErrLossy) {
		t.Errorf("a dimension more: %v, want ErrLossy", err)
	}
	if again, want := save(t, &blob.Mem{}, c, format.Options{Lossy: true}), one("C64", "[1,1]", codes(8)); !bytes.Equal(again, want) {
		t.Errorf("a dimension less %q, want %q", again, want)
	}
}

// TestOrder checks in which order the library writes one tensor of each type.
func TestOrder(t *testing.T) {
	want := "U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ F8_E4M3 F8_E5M2 I8 U8 BOOL"
	c := content{values: map[string][]byte{}}
	for i := range types {
		e := types[len(types)-1-i].element
		m := matrix.Meta{Name: e.String(), DType: e.Held(), Origin: e.Origin, Dims: e.Shape([]int64{})}
		m.Rows, m.Cols, _ = matrix.Shape(m.Dims)
		c.ms = append(c.ms, m)
	}
	b := &blob.Mem{}
	save(t, b, c, format.Options{})
	o, err := b.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	h, err := readHead(o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range h.tensors {
		got = append(got, types[rankOf(e.element)].text)
		if size := int64(e.element.DType.Size()); (h.values+e.begin)%size != 0 {
			t.Errorf("%v begins at %d, want a multiple of %d", e.element, h.values+e.begin, size)
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestViewOfOrigins looks at complex numbers in place, and at 8-bit floats, which are not in the file as we hold them.
func TestViewOfOrigins(t *testing.T) {
	for _, c := range originCases {
		b := blob.NewDir(t.TempDir())
		if err := blob.WriteAll(t.Context(), b, path, one(c.dtype, c.shape, codes(c.size))); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(t.Context(), b, path, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ok, err := r.(format.Viewer).View(t.Context(), "w", func(blk matrix.Block) error {
			if blk.Data.DType() != matrix.F32 {
				t.Errorf("%s: block of %v", c.dtype, blk.Data.DType())
			}
			return nil
		})
		if err != nil || ok != (c.dtype == "C64") {
			t.Errorf("%s%s: %v, %v", c.dtype, c.shape, ok, err)
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, c.want.Origin+" in 1 tensors, held as") {
			t.Errorf("notes %q", notes)
		}
		r.Close()
	}
}

// TestExplainOrigins checks that values are shown, not their bits.
func TestExplainOrigins(t *testing.T) {
	for want, data := range map[string][]byte{
		"from value 1: (2, -1)":               one("C64", "[2]", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 128, 191}),
		"from value 0: 0.5, 448, NaN":         one("F8_E4M3", "[3]", []byte{0x30, 0x7e, 0x7f}),
		"from value 0: 57344, +Inf":           one("F8_E5M2", "[2]", []byte{0x7b, 0x7c}),
		`tensor "w": fp8_e4m3fnuz, shape [1]`: one("F8_E4M3FNUZ", "[1]", []byte{0x80}),
		"from value 0: 57344, -7.6293945e-06": one("F8_E5M2FNUZ", "[2]", []byte{0x7f, 0x81}),
	} {
		b, out := &blob.Mem{}, &bytes.Buffer{}
		if err := blob.WriteAll(t.Context(), b, path, data); err != nil {
			t.Fatal(err)
		}
		if err := Codec.Explain(t.Context(), b, path, dump.New(out)); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, explained as\n%s, want %q", err, out, want)
		}
	}
}
