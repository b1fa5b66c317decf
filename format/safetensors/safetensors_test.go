package safetensors

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const path = "d/a.safetensors"

// file is the bytes with that header, unpadded.
func file(header string, values ...byte) []byte {
	return append(append(wire.AppendU64(nil, wire.Little, uint64(len(header))), header...), values...)
}

// content is everything that a file says.
type content struct {
	ms     []matrix.Meta
	values map[string][]byte
	files  map[string][]byte
}

// load reads a file, each matrix in a few places.
func load(b blob.Bucket) (c content, err error) {
	ctx := context.Background()
	r, err := Codec.Open(ctx, b, path, format.Options{})
	if err != nil {
		return c, err
	}
	defer r.Close()
	c = content{r.Matrices(), map[string][]byte{}, r.Files()}
	for _, m := range c.ms {
		whole := matrix.NewDense(m.DType, m.Rect())
		for _, at := range []matrix.Rect{matrix.At(0, m.Rows/2, 0, m.Cols), matrix.At(m.Rows/2, m.Rows, 0, m.Cols/3), matrix.At(m.Rows/2, m.Rows, m.Cols/3, m.Cols)} {
			for blk, err := range r.Blocks(ctx, m.Name, at) {
				if err != nil {
					return c, err
				}
				if err := matrix.Put(whole, blk); err != nil {
					return c, err
				}
			}
		}
		raw, _ := wire.ViewAny(whole.Data.Values())
		c.values[m.Name] = raw
	}
	return c, nil
}

func loadBytes(t testing.TB, data []byte) (content, error) {
	b := &blob.Mem{}
	if err := blob.WriteAll(context.Background(), b, path, data); err != nil {
		t.Fatal(err)
	}
	return load(b)
}

type fataler interface{ Fatal(...any) }

// save writes everything and gives the bytes.
func save(t fataler, b blob.Bucket, c content, o format.Options) []byte {
	ctx := context.Background()
	o.Files = c.files
	w, err := Codec.Create(ctx, b, path, c.ms, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, m := range c.ms {
		blk := matrix.NewDense(m.DType, m.Rect())
		raw, _ := wire.ViewAny(blk.Data.Values())
		copy(raw, c.values[m.Name])
		p, err := w.Put(ctx, m.Name, blk)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	data, err := blob.ReadAll(ctx, b, path, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestBytes checks that files are as the library writes them: order, padding, offsets, escapes.
func TestBytes(t *testing.T) {
	c := content{
		ms: []matrix.Meta{
			{Name: "b", Rows: 1, Cols: 3, DType: matrix.U8, Dims: []int64{3}},
			{Name: "emb.\"ü\"\n\x01", Rows: 2, Cols: 1, DType: matrix.F32},
			{Name: "a", Rows: 1, Cols: 1, DType: matrix.F32, Dims: []int64{}},
		},
		values: map[string][]byte{"b": {7, 8, 9}, "emb.\"ü\"\n\x01": {0, 0, 128, 63, 0, 0, 0, 64}, "a": {1, 2, 3, 4}},
		files:  map[string][]byte{"metadata.json": []byte(`{"format": "pt"}`), "graph.json": []byte("{}")},
	}
	header := `{"__metadata__":{"file/graph.json":"{}","format":"pt"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},` +
		`"emb.\"ü\"\n\u0001":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},"b":{"dtype":"U8","shape":[3],"data_offsets":[12,15]}}`
	for len(header)%8 != 0 {
		header += " "
	}
	want := file(header, 1, 2, 3, 4, 0, 0, 128, 63, 0, 0, 0, 64, 7, 8, 9)
	for _, stage := range []string{"", "one"} {
		if got := save(t, &blob.Mem{}, c, format.Options{Stage: stage}); !bytes.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRead are headers that are good although we would not write them.
func TestRead(t *testing.T) {
	for name, header := range map[string]string{
		"empty":     `{}`,
		"spaces":    "{ \"a\" : { \"shape\" : [ 1 , 2 ] ,\n\t\"data_offsets\" : [ 0 , 2 ] , \"dtype\" : \"I8\" } } \r\n  ",
		"order":     `{"b":{"dtype":"I8","shape":[1],"data_offsets":[1,2]},"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}`,
		"zero":      `{"b":{"dtype":"F64","shape":[9223372036854775807,0,9],"data_offsets":[1,1]},"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}`,
		"escapes":   `{"\u0061\/\ud83d\ude00\\\"\b\f\n\r\t":{"dtype":"I16","shape":[],"data_offsets":[0,2]},"__metadata__":{"":"\u0000"}}`,
		"odd start": `{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}     `,
	} {
		t.Run(name, func(t *testing.T) {
			values := []byte{1, 0}
			if header == "{}" {
				values = nil
			}
			if name == "zero" {
				_, err := loadBytes(t, file(header, values...)) // an empty tensor between the bytes of another
				if !errors.Is(err, format.ErrCorrupt) {
					t.Errorf("%v, want ErrCorrupt", err)
				}
				header = strings.Replace(header, "[1,1]", "[2,2]", 1)
			}
			c, err := loadBytes(t, file(header, values...))
			if err != nil {
				t.Fatal(err)
			}
			again, err := loadBytes(t, save(t, &blob.Mem{}, c, format.Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(c.values, again.values, bytes.Equal) || !maps.EqualFunc(c.files, again.files, bytes.Equal) {
				t.Errorf("%v, want %v", again, c)
			}
			if name == "escapes" && (c.ms[0].Name != "a/😀\\\"\b\f\n\r\t" || string(c.files[metadataFile]) != `{"":"\u0000"}`) {
				t.Errorf("name %q, metadata %q", c.ms[0].Name, c.files)
			}
		})
	}
}

const plainHeader = `{"a":{"dtype":"I16","shape":[2,2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[2],"data_offsets":[8,10]}}`

// draw is any content that the format holds.
func draw(t *rapid.T) content {
	c := content{values: map[string][]byte{}}
	if rapid.Bool().Draw(t, "metadata") {
		all := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "entries")
		maps.DeleteFunc(all, func(k, v string) bool { _, _, ok := fileOf(k, v); return ok })
		c.files = map[string][]byte{"a.json": []byte(rapid.String().Draw(t, "a.json"))}
		if len(all) > 0 {
			c.files[metadataFile] = appendMetadata(nil, all)
		}
	}
	names := rapid.SliceOfNDistinct(rapid.String().Filter(func(s string) bool { return s != metadataKey }), 0, 5, rapid.ID[string]).Draw(t, "names")
	for _, name := range names {
		m := matrix.Meta{Name: name, DType: rapid.SampledFrom(matrix.DTypes()).Draw(t, "type")}
		m.Dims = rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 5).Draw(t, "dims")
		m.Rows, m.Cols, _ = matrix.Shape(m.Dims)
		raw := make([]byte, m.Rows*m.Cols*int64(m.DType.Size()))
		for i := range raw {
			if raw[i] = rapid.Byte().Draw(t, "byte"); m.DType == matrix.Bool {
				raw[i] &= 1
			}
		}
		c.ms, c.values[name] = append(c.ms, m), raw
	}
	return c
}

// TestRoundTrip writes and reads tensors of any name, type and shape, and looks at them in place.
func TestRoundTrip(t *testing.T) {
	dir := blob.NewDir(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t)
		for _, b := range []blob.Bucket{&blob.Mem{}, dir} {
			data := save(t, b, c, format.Options{})
			if n := wire.Little.Uint64(data); n%alignment != 0 {
				t.Fatalf("header of %d bytes, want a multiple of %d", n, alignment)
			}
			got, err := load(b)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(got.values, c.values, bytes.Equal) || !maps.EqualFunc(got.files, c.files, bytes.Equal) {
				t.Fatalf("%v, want %v", got, c)
			}
			for _, m := range c.ms {
				i := slices.IndexFunc(got.ms, func(n matrix.Meta) bool { return n.Name == m.Name })
				if n := got.ms[i]; n.DType != m.DType || !slices.Equal(n.Dims, m.Dims) || n.Check() != nil {
					t.Fatalf("%+v, want %+v", n, m)
				}
			}
			if again := save(t, b, got, format.Options{Stage: "x"}); !bytes.Equal(again, data) {
				t.Fatalf("written again\n%q, want\n%q", again, data)
			}
			lookAt(t, b, c)
		}
	})
}

func lookAt(t *rapid.T, b blob.Bucket, c content) {
	r, err := Codec.Open(context.Background(), b, path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, m := range c.ms {
		looked := false
		ok, err := r.(format.Viewer).View(t.Context(), m.Name, func(blk matrix.Block) error {
			looked = true
			raw, _ := wire.ViewAny(blk.Data.Values())
			if !bytes.Equal(raw, c.values[m.Name]) || blk.At != m.Rect() {
				t.Errorf("%q at %v, want %q", raw, blk.At, c.values[m.Name])
			}
			return blk.Check()
		})
		if err != nil || ok != looked {
			t.Fatalf("view: %v, %v, looked %v", ok, err, looked)
		}
		if _, mem := b.(*blob.Mem); !mem && !looked {
			t.Fatal("a file that we wrote cannot be seen in place")
		}
	}
	if _, err := r.(format.Viewer).View(t.Context(), "no such", nil); !errors.Is(err, format.ErrMatrix) {
		t.Fatalf("%v, want ErrMatrix", err)
	}
}

// TestViewOfCutFile looks at a file that becomes shorter meanwhile.
func TestViewOfCutFile(t *testing.T) {
	dir := t.TempDir()
	b := blob.NewDir(dir)
	m := matrix.Meta{Name: "a", Rows: 64, Cols: 1024, DType: matrix.F32}
	save(t, b, content{ms: []matrix.Meta{m}}, format.Options{})
	r, err := Codec.Open(t.Context(), b, path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sum := float32(0)
	ok, err := r.(format.Viewer).View(t.Context(), "a", func(blk matrix.Block) error {
		if err := os.Truncate(filepath.Join(dir, path), 8192); err != nil {
			return err
		}
		for _, v := range blk.Data.Values().([]float32) {
			sum += v
		}
		return nil
	})
	var at *format.Error
	if !ok || !errors.Is(err, format.ErrCorrupt) || !errors.As(err, &at) || at.Off != 8192 {
		t.Errorf("%v, %v (%v), want ErrCorrupt at byte 8192", ok, err, sum)
	}
}

// TestLosses are what tensors cannot say.
func TestLosses(t *testing.T) {
	base := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F32}
	change := func(f func(*matrix.Meta)) matrix.Meta {
		m := base.Clone()
		f(&m)
		return m
	}
	many := slices.Repeat([]int64{1}, rankLimit+1)
	many[0], many[1] = 2, 2
	for name, m := range map[string]matrix.Meta{
		"sparse": change(func(m *matrix.Meta) { m.Layout = matrix.RowSparse }),
		"labels": change(func(m *matrix.Meta) { m.Labels = []string{"a", "b"} }),
		"lod":    change(func(m *matrix.Meta) { m.LoD = [][]int64{{0, 2}} }),
		"rank":   change(func(m *matrix.Meta) { m.Dims = many }),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Codec.Create(t.Context(), &blob.Mem{}, path, []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLossy) {
				t.Errorf("%v, want ErrLossy", err)
			}
			lost := 0
			save(t, &blob.Mem{}, content{ms: []matrix.Meta{m}}, format.Options{Lossy: true, Lost: func(string) { lost++ }})
			if lost != 1 {
				t.Errorf("%d losses, want 1", lost)
			}
		})
	}
	for _, name := range []string{metadataKey, "\xff"} {
		m := base
		m.Name = name
		if _, err := Codec.Create(t.Context(), &blob.Mem{}, path, []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLimit) {
			t.Errorf("name %q: %v, want ErrLimit", name, err)
		}
	}
	var lost []string
	files := map[string][]byte{"metadata.json": []byte("[]"), "picture.png": {0xff}, "a/b": nil, "note": []byte("kept")}
	o := format.Options{Lossy: true, Lost: func(what string) { lost = append(lost, what) }}
	c, err := loadBytes(t, save(t, &blob.Mem{}, content{files: files}, o))
	if err != nil || len(lost) != 2 || len(c.files) != 2 || string(c.files["picture.png"]) != "\xff" || string(c.files["note"]) != "kept" {
		t.Errorf("files %q, lost %q, %v", c.files, lost, err)
	}
}

// TestDocument checks the worked example of the format's page: the bytes that it shows are what we write and explain so.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/safetensors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```dump\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the page has no block of kind dump")
	}
	c := content{
		ms: []matrix.Meta{
			{Name: "w", Rows: 2, Cols: 3, DType: matrix.F32},
			{Name: "bias", Rows: 1, Cols: 3, DType: matrix.BF16, Dims: []int64{3}},
		},
		values: map[string][]byte{
			"w":    {0, 0, 128, 63, 0, 0, 0, 192, 0, 0, 0, 63, 0, 0, 80, 64, 0, 0, 0, 190, 0, 0, 200, 66},
			"bias": {128, 63, 0, 192, 0, 63},
		},
		files: map[string][]byte{metadataFile: []byte(`{"format":"pt"}`)},
	}
	b := &blob.Mem{}
	data := save(t, b, c, format.Options{})
	var out bytes.Buffer
	if err := Codec.Explain(t.Context(), b, path, dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	if out.String() != example {
		t.Errorf("explained as\n%s, want\n%s", out.String(), example)
	}
	for line := range strings.Lines(example) { // every byte that the page shows
		var off int
		if _, err := fmt.Sscanf(line, "%x", &off); err != nil || strings.Contains(line, "…") {
			continue
		}
		shown, err := hex.DecodeString(strings.ReplaceAll(line[10:33], " ", ""))
		if err != nil {
			quoted, _, _ := strings.Cut(line[10:], "  ")
			text, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			shown = []byte(text)
		}
		if !bytes.HasPrefix(data[off:], shown) {
			t.Errorf("%q at byte %d, want %q", data[off:], off, shown)
		}
	}
}
