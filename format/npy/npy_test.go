package npy

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// file is an array with the given parts.
func file(version byte, text string, values []byte) []byte {
	b := append([]byte(magic), version, 0)
	if version == 1 {
		b = wire.AppendU16(b, wire.Little, uint16(len(text)))
		b = append(b, text...)
	} else {
		b = wire.AppendString(b, wire.Little, text)
	}
	return append(b, values...)
}

// load reads an array, as one block.
func load(data []byte) (m matrix.Meta, whole matrix.Block, err error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "d/a.npy", data); err != nil {
		return m, whole, err
	}
	r, err := Codec.Open(ctx, b, "d/a.npy", format.Options{})
	if err != nil {
		return m, whole, err
	}
	defer r.Close()
	m = r.Matrices()[0]
	whole = matrix.NewDense(m.DType, m.Rect())
	for blk, err := range r.Blocks(ctx, "a", m.Rect()) {
		if err != nil {
			return m, whole, err
		}
		paste(whole, blk)
	}
	return m, whole, nil
}

// paste copies the cells of a block into a larger one.
func paste(into, b matrix.Block) {
	dst, size := wire.ViewAny(into.Data.Values())
	src, _ := wire.ViewAny(b.Data.Values())
	width := int(b.At.Cols.Len()) * size
	for r := range int(b.At.Rows.Len()) {
		at := ((int64(r)+b.At.Rows.Lo)*into.At.Cols.Len() + b.At.Cols.Lo) * int64(size)
		copy(dst[at:], src[r*width:(r+1)*width])
	}
}

// save writes a matrix and gives the bytes.
func save(t fataler, m matrix.Meta, blk matrix.Block) []byte {
	ctx, b := context.Background(), &blob.Mem{}
	w, err := Codec.Create(ctx, b, "a.npy", []matrix.Meta{m}, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Put(ctx, m.Name, blk)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(ctx, []format.Part{p}); err != nil {
		t.Fatal(err)
	}
	data, err := blob.ReadAll(ctx, b, "a.npy", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type fataler interface{ Fatal(...any) }

const plainText = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }"

// TestRead reads arrays of all versions, orders and spellings that hold 1..6 as a 2 x 3 matrix or 1 x 6.
func TestRead(t *testing.T) {
	little, big := []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}, []byte{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6}
	turned := []byte{1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0}
	flat := func(s string) string { return strings.Replace(plainText, "(2, 3)", s, 1) }
	for name, c := range map[string]struct {
		version byte
		text    string
		values  []byte
		dims    string
	}{
		"version 1":      {1, plainText, little, "[2 3]"},
		"version 2":      {2, plainText + "   \n", little, "[2 3]"},
		"version 3":      {3, plainText, little, "[2 3]"},
		"big":            {1, strings.Replace(plainText, "<", ">", 1), big, "[2 3]"},
		"other quotes":   {1, strings.ReplaceAll(plainText, "'", `"`), little, "[2 3]"},
		"close":          {1, "{'shape':(2,3),'fortran_order':False,'descr':'<i2'}", little, "[2 3]"},
		"wide spaces":    {1, " { 'descr' : '<i2' ,\t'fortran_order' : False , 'shape' : ( 2 , 3 , ) , } ", little, "[2 3]"},
		"python 2":       {1, flat("(2L, 3L)"), little, "[2 3]"},
		"Fortran":        {1, strings.Replace(plainText, "False", "True", 1), turned, "[2 3]"},
		"rank 1":         {1, flat("(6,)"), little, "[6]"},
		"Fortran flat":   {1, strings.Replace(flat("(1, 6, 1)"), "False", "True", 1), little, "[1 6 1]"},
		"rank 3":         {1, flat("(2, 3, 1)"), little, "[2 3 1]"},
		"Fortran rank 3": {1, strings.Replace(flat("(2, 1, 3)"), "False", "True", 1), turned, "[2 1 3]"},
	} {
		t.Run(name, func(t *testing.T) {
			m, b, err := load(file(c.version, c.text, c.values))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(b.Data.Values()); got != "[1 2 3 4 5 6]" || fmt.Sprint(m.Dims) != c.dims || m.Name != "a" {
				t.Errorf("%s %v %s, want [1 2 3 4 5 6] %s", m.Name, m.Dims, got, c.dims)
			}
		})
	}
}

// TestComplex reads pairs, in both orders of bytes and of dimensions, as NumPy 2.3 lays them out, and writes them as they were.
func TestComplex(t *testing.T) {
	const text = "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }"
	number := func(i int) []float32 { return []float32{float32(i), -float32(i) / 2} }
	values := func(order wire.Order, of ...int) (b []byte) {
		for _, i := range of {
			for _, v := range number(i) {
				b = wire.AppendU32(b, order, math.Float32bits(v))
			}
		}
		return b
	}
	want := []float32{}
	for i := range 6 {
		want = append(want, number(i)...)
	}
	plain := values(wire.Little, 0, 1, 2, 3, 4, 5)
	for name, c := range map[string]struct {
		text   string
		values []byte
		dims   string
	}{
		"C":            {text, plain, "[2 3 2]"},
		"big":          {strings.Replace(text, "<", ">", 1), values(wire.Big, 0, 1, 2, 3, 4, 5), "[2 3 2]"},
		"Fortran":      {strings.Replace(text, "False", "True", 1), values(wire.Little, 0, 3, 1, 4, 2, 5), "[2 3 2]"},
		"rank 1":       {strings.Replace(text, "2, 3", "6,", 1), plain, "[6 2]"},
		"Fortran flat": {strings.NewReplacer("2, 3", "6, 1", "False", "True").Replace(text), plain, "[6 1 2]"},
	} {
		t.Run(name, func(t *testing.T) {
			m, b, err := load(file(1, c.text, c.values))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(b.Data.Values().([]float32), want) || fmt.Sprint(m.Dims) != c.dims || m.Origin != format.Complex64 {
				t.Errorf("%s %v %v, want %v %s", m.Origin, m.Dims, b.Data.Values(), want, c.dims)
			}
			back, again, err := load(save(t, m, b))
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(back) != fmt.Sprint(m) || !slices.Equal(again.Data.Values().([]float32), want) {
				t.Errorf("%v %v, want %v", back, again.Data.Values(), m)
			}
		})
	}
}

// TestComplexParts reads some columns of an array in Fortran order: also halves of numbers.
func TestComplexParts(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	var raw []byte
	for col := range 5 {
		for row := range 4 {
			raw = wire.AppendU64(raw, wire.Little, math.Float64bits(float64(10*row+2*col)))
			raw = wire.AppendU64(raw, wire.Little, math.Float64bits(float64(10*row+2*col+1)))
		}
	}
	data := file(1, "{'descr': '<c16', 'fortran_order': True, 'shape': (4, 5), }", raw)
	if err := blob.WriteAll(ctx, b, "a.npy", data); err != nil {
		t.Fatal(err)
	}
	r, err := Codec.Open(ctx, b, "a.npy", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for lo := range int64(10) {
		for hi := lo + 1; hi <= 10; hi++ {
			want := matrix.At(1, 3, lo, hi)
			cells := 0
			for blk, err := range r.Blocks(ctx, "a", want) {
				if err != nil {
					t.Fatal(err)
				}
				if err := blk.EachText(func(row, col int64, v []byte) error {
					cells++
					if string(v) != fmt.Sprint(10*row+col) || !want.Rows.Has(row) || !want.Cols.Has(col) {
						t.Errorf("cell (%d,%d) is %s", row, col, v)
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if cells != int(2*(hi-lo)) {
				t.Errorf("columns %d to %d: %d cells", lo, hi, cells)
			}
		}
	}
}

// TestRefused are headers that contradict the format or themselves.
func TestRefused(t *testing.T) {
	change := func(from, to string) []byte {
		if !strings.Contains(plainText, from) {
			t.Fatal(from)
		}
		return file(1, strings.Replace(plainText, from, to, 1), make([]byte, 12))
	}
	long := file(2, plainText, make([]byte, 12))
	wire.Little.PutUint32(long[8:], maxHeader+1)
	for name, c := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"nothing":      {nil, format.ErrCorrupt, "magic"},
		"other magic":  {[]byte("PK\x03\x04 and more"), format.ErrCorrupt, "want 93"},
		"version 4":    {file(4, plainText, nil), format.ErrVersion, "4.0"},
		"version 0":    {file(0, plainText, nil), format.ErrVersion, "0.0"},
		"long header":  {long, format.ErrLimit, "16777217"},
		"complex":      {change("<i2", "<c32"), format.ErrVersion, `"<c32" (long complex`},
		"object":       {change("<i2", "|O"), format.ErrVersion, `"|O" (objects`},
		"text":         {change("<i2", "<U1"), format.ErrVersion, "<U1"},
		"long double":  {change("<i2", "<f16"), format.ErrVersion, "<f16"},
		"no type l":    {change("<i2", "l"), format.ErrVersion, "\"l\""},
		"long word":    {change("<i2", ">int16"), format.ErrVersion, ">int16"},
		"wrong order":  {change("<i2", "|i2"), format.ErrCorrupt, "byte order"},
		"short type":   {change("<i2", "<"), format.ErrCorrupt, "type"},
		"no type":      {change("'<i2'", "2"), format.ErrCorrupt, "quotes"},
		"open text":    {change("'<i2'", "'<i2"), format.ErrCorrupt, ""},
		"escape":       {change("'<i2'", `'<i\q'`), format.ErrCorrupt, "backslash"},
		"not a truth":  {change("False", "Falsch"), format.ErrCorrupt, "True or False"},
		"number truth": {change("False", "0"), format.ErrCorrupt, "True or False"},
		"negative":     {change("(2, 3)", "(-2, -3)"), format.ErrCorrupt, "size"},
		"beyond int64": {change("(2, 3)", "(9223372036854775808, 0)"), format.ErrCorrupt, "size"},
		"product":      {change("(2, 3)", "(4294967296, 4294967296)"), format.ErrCorrupt, "2^63"},
		"bytes":        {change("(2, 3)", "(4611686018427387904, 1)"), format.ErrCorrupt, "remain"},
		"no comma":     {change("(2, 3)", "(6)"), format.ErrCorrupt, "comma"},
		"no tuple":     {change("(2, 3)", "6"), format.ErrCorrupt, ""},
		"nested":       {change("(2, 3)", "((2, 3),)"), format.ErrCorrupt, "size"},
		"expression":   {change("(2, 3)", "(1+1, 3)"), format.ErrCorrupt, ""},
		"too many":     {change("(2, 3)", "("+strings.Repeat("1, ", maxRank+1)+")"), format.ErrLimit, "dimensions"},
		"key twice":    {change("'shape'", "'descr'"), format.ErrCorrupt, "twice"},
		"key unknown":  {change("'shape'", "'shapes'"), format.ErrCorrupt, "shapes"},
		"key missing":  {change(", 'shape': (2, 3), ", ""), format.ErrCorrupt, `no key "shape"`},
		"no brace":     {change("{", "["), format.ErrCorrupt, "want '{'"},
		"no end":       {change("}", ""), format.ErrCorrupt, ""},
		"behind":       {change("}", "} or 1"), format.ErrCorrupt, "behind"},
		"fewer values": {file(1, plainText, make([]byte, 11)), format.ErrCorrupt, "remain"},
		"more values":  {file(1, plainText, make([]byte, 13)), format.ErrCorrupt, "1 bytes behind"},
		"truth value":  {file(1, strings.Replace(plainText, "<i2", "|b1", 1), []byte{0, 1, 0, 1, 2, 0}), format.ErrCorrupt, "(1,1)"},
		"deep":         {file(2, strings.Repeat("{", 100_000), nil), format.ErrCorrupt, "quotes"},
		"turned truth": {file(1, "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 2), }", []byte{0, 7, 0, 1}), format.ErrCorrupt, "(1,0)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(c.data)
			if !errors.Is(err, c.want) || err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
			var where *format.Error
			if !errors.As(err, &where) || where.Off < 0 {
				t.Errorf("%v, want the byte", err)
			}
		})
	}
}

// TestRoundTrip writes random arrays of every type and reads them, also as if they were in Fortran order.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := matrix.Meta{Name: "a", DType: rapid.SampledFrom(matrix.DTypes()).Filter(func(d matrix.DType) bool {
			return d != matrix.BF16
		}).Draw(t, "type")}
		m.Dims = rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 4).Draw(t, "dims")
		m.Rows, m.Cols, _ = matrix.Shape(m.Dims)
		b := matrix.NewDense(m.DType, m.Rect())
		raw, size := wire.ViewAny(b.Data.Values())
		for i := range raw {
			if raw[i] = rapid.Byte().Draw(t, "byte"); m.DType == matrix.Bool {
				raw[i] &= 1
			}
		}
		data := save(t, m, b)
		if start := len(data) - len(raw); start%alignment != 0 {
			t.Fatalf("values at %d, want a multiple of %d", start, alignment)
		}
		check := func(data []byte) {
			n, got, err := load(data)
			if err != nil {
				t.Fatal(err)
			}
			bits, _ := wire.ViewAny(got.Data.Values())
			if fmt.Sprint(n.Dims) != fmt.Sprint(m.Dims) || n.DType != m.DType || !bytes.Equal(bits, raw) {
				t.Fatalf("%v %v % x, want %v %v % x", n.Dims, n.DType, bits, m.Dims, m.DType, raw)
			}
		}
		check(data)
		data = bytes.Replace(data, []byte("False"), []byte("True "), 1)
		turn(data[len(data)-len(raw):], raw, m.Dims, size)
		check(data)
	})
}

// turn puts elements in C order into Fortran order by counting through all indices.
func turn(dst, src []byte, dims []int64, size int) {
	index := make([]int64, len(dims))
	for i := range len(src) / size {
		place, step := int64(0), int64(1)
		for k, n := range dims {
			place += index[k] * step
			step *= n
		}
		copy(dst[place*int64(size):][:size], src[i*size:])
		for k := len(dims) - 1; k >= 0; k-- {
			if index[k]++; index[k] < dims[k] {
				break
			}
			index[k] = 0
		}
	}
}

// TestPartsOfTurned reads places of an array in Fortran order.
func TestPartsOfTurned(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	values := make([]byte, 60)
	for i := range values {
		values[i] = byte(i)
	}
	turned := make([]byte, 60)
	for _, dims := range [][]int64{{6, 10}, {3, 4, 5}, {5, 2, 3, 2}} {
		turn(turned, values, dims, 1)
		text := fmt.Sprintf("{'descr': '|u1', 'fortran_order': True, 'shape': %s, }", shapeText(dims))
		if err := blob.WriteAll(ctx, b, "a.npy", file(1, text, turned)); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, b, "a.npy", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := r.Matrices()[0]
		whole := matrix.Block{At: m.Rect(), Data: &matrix.Dense[uint8]{Val: values}}
		for _, at := range []matrix.Rect{m.Rect(), matrix.At(1, 3, 2, 9), matrix.At(0, m.Rows, 3, 4), matrix.At(2, 3, 0, m.Cols)} {
			got := matrix.NewDense(matrix.U8, at)
			for blk, err := range r.Blocks(ctx, "a", at) {
				if err != nil {
					t.Fatal(err)
				}
				got = blk
			}
			if want := whole.Cut(at); got.At != want.At || fmt.Sprint(got.Data.Values()) != fmt.Sprint(want.Data.Values()) {
				t.Errorf("%v: %v is %v, want %v", dims, at, got.Data.Values(), want.Data.Values())
			}
		}
		r.Close()
	}
}

// TestLosses are what an array cannot say.
func TestLosses(t *testing.T) {
	base := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F32}
	change := func(f func(*matrix.Meta)) matrix.Meta {
		m := base.Clone()
		f(&m)
		return m
	}
	many := make([]int64, maxRank+1)
	for i := range many {
		many[i] = 1
	}
	many[0], many[1] = 2, 2
	for name, m := range map[string]matrix.Meta{
		"bf16":   change(func(m *matrix.Meta) { m.DType = matrix.BF16 }),
		"sparse": change(func(m *matrix.Meta) { m.Layout = matrix.RowSparse }),
		"lod":    change(func(m *matrix.Meta) { m.LoD = [][]int64{{0, 2}} }),
		"rank":   change(func(m *matrix.Meta) { m.Dims = many }),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, b := context.Background(), &blob.Mem{}
			if _, err := Codec.Create(ctx, b, "a.npy", []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLossy) {
				t.Errorf("%v, want ErrLossy", err)
			}
			blk := matrix.NewDense(m.DType, m.Rect())
			if half, ok := blk.Data.(*matrix.Dense[matrix.BFloat16]); ok {
				half.Val[1] = matrix.ToBFloat16(1.5)
			}
			w, err := Codec.Create(ctx, b, "a.npy", []matrix.Meta{m}, format.Options{Lossy: true})
			if err != nil {
				t.Fatal(err)
			}
			p, err := w.Put(ctx, "a", blk)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Commit(ctx, []format.Part{p}); err != nil {
				t.Fatal(err)
			}
			data, _ := blob.ReadAll(ctx, b, "a.npy", 1<<20)
			n, got, err := load(data)
			if err != nil || n.DType != matrix.F32 || fmt.Sprint(n.Dims) != "[2 2]" {
				t.Fatalf("%v %v, %v, want [2 2] f32", n.Dims, n.DType, err)
			}
			if v := got.Data.Values().([]float32)[1]; (v == 1.5) != (m.DType == matrix.BF16) {
				t.Errorf("value %v", v)
			}
		})
	}
}

// TestFrame checks the padding and the version of long headers.
func TestFrame(t *testing.T) {
	for _, n := range []int{1, 52, 53, 54, 117, 65533 - 10, 65533, 65534, 65535, 70000} {
		b := frame(strings.Repeat("x", n))
		if len(b)%alignment != 0 || b[len(b)-1] != '\n' || b[len(b)-2] != ' ' {
			t.Errorf("%d: %d bytes, want a multiple of %d that ends with a space and a line feed", n, len(b), alignment)
		}
		length := int(wire.Little.Uint16(b[8:])) + 10
		if b[6] == 2 {
			length = int(wire.Little.Uint32(b[8:])) + 12
		}
		if length != len(b) || (b[6] == 2) != (n > 65524) {
			t.Errorf("%d: version %d, length %d of %d", n, b[6], length, len(b))
		}
	}
}

// TestDocument checks the worked example of the format's page against the code: the explanation and the bytes shown.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/npy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```dump\n")
	example, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the page has no block of kind dump")
	}
	text := ""
	values := []byte{}
	for line := range strings.Lines(example) {
		if _, after, ok := strings.Cut(line, `"{`); ok {
			text, _, _ = strings.Cut(after, `"`)
		} else if strings.Contains(line, "from value") {
			b, err := hex.DecodeString(strings.ReplaceAll(line[10:33], " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, b...)
		}
	}
	data := file(1, "{"+text+strings.Repeat(" ", 58)+"\n", values)
	m, blk, err := load(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := save(t, m, blk); !bytes.Equal(again, data) {
		t.Errorf("written\n%q, want\n%q", again, data)
	}
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "a.npy", data); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Codec.Explain(ctx, b, "a.npy", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	if out.String() != example {
		t.Errorf("explained as\n%s, want\n%s", out.String(), example)
	}
}
