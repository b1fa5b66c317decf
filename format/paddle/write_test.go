package paddle

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// TestFlags checks that a file keeps to the document where it can.
func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		m    matrix.Meta
		set  map[string]string
		want byte
	}{
		"plain":   {matrix.Meta{Rows: 2, Cols: 3, DType: matrix.F32}, nil, 0},
		"lod":     {matrix.Meta{Rows: 2, Cols: 3, DType: matrix.F32, Dims: []int64{2, 3}, LoD: [][]int64{{0, 2}}}, nil, 1},
		"type":    {matrix.Meta{Rows: 2, Cols: 3, DType: matrix.I64}, nil, 2},
		"wide":    {matrix.Meta{Rows: 0, Cols: 1 << 31, DType: matrix.F32}, nil, 4},
		"digest":  {matrix.Meta{Rows: 2, Cols: 3, DType: matrix.F32}, map[string]string{"digest": "true"}, 8},
		"aligned": {matrix.Meta{Rows: 2, Cols: 3, DType: matrix.F32}, map[string]string{"align": "true"}, 16},
		"u32":     {matrix.Meta{Rows: 2, Cols: 3, DType: matrix.U32}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := format.Options{Set: c.set, Lossy: true}
			x := tensor{c.m, matrix.NewDense(c.m.DType, c.m.Rect())}
			data := save(t, o, x)
			if data[headerLen] != c.want {
				t.Errorf("flags %#x, want %#x", data[headerLen], c.want)
			}
			list, _, err := load(data, "")
			if err != nil {
				t.Fatal(err)
			}
			if m := list[0].meta; m.Rows != c.m.Rows || m.Cols != c.m.Cols || len(m.Dims) != 2 {
				t.Errorf("read %d x %d, dims %v", m.Rows, m.Cols, m.Dims)
			}
		})
	}
}

// TestLosses are what the layout cannot say, and the types that it stores as others.
func TestLosses(t *testing.T) {
	base := matrix.Meta{Name: "m", Rows: 2, Cols: 2, DType: matrix.F32}
	change := func(f func(*matrix.Meta)) matrix.Meta {
		m := base.Clone()
		f(&m)
		return m
	}
	for name, m := range map[string]matrix.Meta{
		"sparse":  change(func(m *matrix.Meta) { m.Layout = matrix.RowSparse }),
		"saved":   change(func(m *matrix.Meta) { m.Saved = []matrix.Range{{Lo: 0, Hi: 1}} }),
		"column":  change(func(m *matrix.Meta) { m.ColLo = -1 }),
		"labels":  change(func(m *matrix.Meta) { m.Labels = []string{"a", "b"} }),
		"types":   change(func(m *matrix.Meta) { m.ColTypes = []matrix.DType{matrix.F32, matrix.F64} }),
		"u32":     change(func(m *matrix.Meta) { m.DType = matrix.U32 }),
		"u16":     change(func(m *matrix.Meta) { m.DType = matrix.U16 }),
		"rank 10": change(func(m *matrix.Meta) { m.Dims = []int64{2, 2, 1, 1, 1, 1, 1, 1, 1, 1} }),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, b := context.Background(), &blob.Mem{}
			if _, err := Codec.Create(ctx, b, "w", []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLossy) {
				t.Errorf("%v, want ErrLossy", err)
			}
			lost := 0
			w, err := Codec.Create(ctx, b, "w", []matrix.Meta{m}, format.Options{Lossy: true, Lost: func(string) { lost++ }})
			if err != nil || lost != 1 {
				t.Fatalf("%v, %d losses, want 1", err, lost)
			}
			w.Abort(ctx)
		})
	}
	same := change(func(m *matrix.Meta) { m.ColTypes = []matrix.DType{matrix.F32, matrix.F32} })
	if err := format.LoseToDense(&same, &format.Options{}); err != nil {
		t.Errorf("columns of the matrix's own type: %v", err)
	}
}

// TestRefusals are matrices and options that no file can hold.
func TestRefusals(t *testing.T) {
	good := matrix.Meta{Name: "m", Rows: 2, Cols: 2, DType: matrix.F32}
	named := func(n string) matrix.Meta { m := good; m.Name = n; return m }
	lod := func(l ...[]int64) matrix.Meta { m := good; m.LoD = l; return m }
	for name, c := range map[string]struct {
		ms  []matrix.Meta
		set map[string]string
	}{
		"none":         {nil, nil},
		"twice":        {[]matrix.Meta{good, good}, nil},
		"long name":    {[]matrix.Meta{named(strings.Repeat("x", maxName+1))}, nil},
		"NUL":          {[]matrix.Meta{named("a\x00")}, nil},
		"not UTF-8":    {[]matrix.Meta{named("\xff")}, nil},
		"lod start":    {[]matrix.Meta{lod([]int64{1, 2})}, nil},
		"lod end":      {[]matrix.Meta{lod([]int64{0, 3})}, nil},
		"lod order":    {[]matrix.Meta{lod([]int64{0, 2, 1, 2})}, nil},
		"lod empty":    {[]matrix.Meta{lod([]int64{})}, nil},
		"lod levels":   {[]matrix.Meta{lod([]int64{0, 2}, []int64{0, 2})}, nil},
		"lod rank":     {[]matrix.Meta{{Name: "m", Rows: 1, Cols: 1, DType: matrix.F32, Dims: []int64{}, LoD: [][]int64{{0, 1}}}}, nil},
		"size":         {[]matrix.Meta{{Name: "m", Rows: 1 << 40, Cols: 1 << 22, DType: matrix.F32}}, nil},
		"meta":         {[]matrix.Meta{{Name: "m", Rows: -1, DType: matrix.F32}}, nil},
		"option":       {[]matrix.Meta{good}, map[string]string{"endia": "big"}},
		"endian":       {[]matrix.Meta{good}, map[string]string{"endian": "middle"}},
		"digest":       {[]matrix.Meta{good}, map[string]string{"digest": "maybe"}},
		"align":        {[]matrix.Meta{good}, map[string]string{"align": "8x"}},
		"wide, beyond": {[]matrix.Meta{{Name: "m", Rows: 1 << 62, Cols: 1, DType: matrix.F64}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if w, err := Codec.Create(context.Background(), &blob.Mem{}, "w", c.ms, format.Options{Set: c.set}); err == nil {
				w.Abort(context.Background())
				t.Error("no error")
			}
		})
	}
	if _, _, err := load(small(t, "little"), "perhaps"); !errors.Is(err, format.ErrOption) {
		t.Errorf("verify perhaps: %v, want ErrOption", err)
	}
}

// TestManyWriters puts column pieces of two tensors by three writers: the bytes of one writer.
func TestManyWriters(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	var list []tensor
	for _, name := range []string{"a", "b"} {
		m := matrix.Meta{Name: name, Rows: 3, Cols: 5, DType: matrix.I16}
		x := tensor{m, matrix.NewDense(m.DType, m.Rect())}
		for i, v := range x.block.Data.Values().([]int16) {
			x.block.Data.Values().([]int16)[i] = v + int16(i*7)
		}
		list = append(list, x)
	}
	set := map[string]string{"digest": "true", "endian": "big"}
	want := save(t, format.Options{Set: set}, list...)
	var ws []format.Writer
	for range 3 {
		w, err := Codec.Create(ctx, b, "w", []matrix.Meta{list[0].meta, list[1].meta}, format.Options{Set: set, Stage: "s"})
		if err != nil {
			t.Fatal(err)
		}
		ws = append(ws, w)
	}
	var parts []format.Part
	for i, cols := range []matrix.Range{{Lo: 4, Hi: 5}, {Lo: 0, Hi: 3}, {Lo: 3, Hi: 4}} {
		for _, x := range list {
			p, err := ws[i].Put(ctx, x.meta.Name, x.block.Cut(matrix.Rect{Rows: matrix.Range{Hi: 3}, Cols: cols}))
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
	}
	if err := ws[1].Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	got, err := blob.ReadAll(ctx, b, "w", 1<<20)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("% x, %v, want % x", got, err, want)
	}
}

// TestExplainDamaged prints up to the damage.
func TestExplainDamaged(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	data := small(t, "little")
	if err := blob.WriteAll(ctx, b, "w", data[:len(data)-1]); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Codec.Explain(ctx, b, "w", dump.New(&out))
	if !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("%v, want damage", err)
	}
	for _, want := range []string{"byte order", "LoDTensor, digest, aligned", "# record 2", `name "z"`, "element type 0 (bool)", "padding"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("explanation has no %q:\n%s", want, out.String())
		}
	}
}
