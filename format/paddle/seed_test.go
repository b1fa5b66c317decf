package paddle

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// tensor is a matrix with all its values in one block.
type tensor struct {
	meta  matrix.Meta
	block matrix.Block
}

// drawTensor makes a tensor of any type that Paddle has, any rank, sometimes with LoD.
func drawTensor(t *rapid.T, name string) tensor {
	types := []matrix.DType{matrix.F32, matrix.F32, matrix.F64, matrix.I64, matrix.I32, matrix.I16, matrix.I8, matrix.U8,
		matrix.U64, matrix.F16, matrix.BF16, matrix.Bool}
	m := matrix.Meta{Name: name, DType: rapid.SampledFrom(types).Draw(t, "type")}
	m.Dims = rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 4).Draw(t, "dims")
	m.Rows, m.Cols, _ = matrix.Shape(m.Dims)
	if len(m.Dims) > 0 && rapid.Bool().Draw(t, "lod") {
		mid := rapid.Int64Range(0, m.Dims[0]).Draw(t, "offset")
		m.LoD = [][]int64{{0, 2}, {0, mid, m.Dims[0]}}
	}
	b := matrix.NewDense(m.DType, m.Rect())
	raw, _ := wire.ViewAny(b.Data.Values())
	for i := range raw {
		raw[i] = rapid.Byte().Draw(t, "byte")
		if m.DType == matrix.Bool {
			raw[i] &= 1
		}
	}
	return tensor{m, b}
}

// save writes the tensors and gives the bytes.
func save(t fataler, o format.Options, list ...tensor) []byte {
	ctx, b := context.Background(), &blob.Mem{}
	var ms []matrix.Meta
	for _, x := range list {
		ms = append(ms, x.meta)
	}
	w, err := Codec.Create(ctx, b, "w", ms, o)
	if err != nil {
		t.Fatal(err)
	}
	var parts []format.Part
	for _, x := range list {
		p, err := w.Put(ctx, x.meta.Name, x.block)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	data, err := blob.ReadAll(ctx, b, "w", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type fataler interface{ Fatal(...any) }

// load reads all tensors of a file, with their values.
func load(data []byte, verify string) (list []tensor, notes []string, err error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "w", data); err != nil {
		return nil, nil, err
	}
	o := format.Options{}
	if verify != "" {
		o.Set = map[string]string{"verify": verify}
	}
	r, err := Codec.Open(ctx, b, "w", o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for _, m := range r.Matrices() {
		x := tensor{meta: m, block: matrix.Block{At: m.Rect(), Data: matrix.KindOf(m.DType).Dense(0)}} // rows can be absent
		for blk, err := range r.Blocks(ctx, m.Name, m.Rect()) {
			if err != nil {
				return nil, nil, err
			}
			x.block = blk
		}
		list = append(list, x)
	}
	return list, r.Notes(), nil
}

// equal compares what both say, and their bits.
func equal(a, b tensor) bool {
	x, _ := wire.ViewAny(a.block.Data.Values())
	y, _ := wire.ViewAny(b.block.Data.Values())
	am, bm := a.meta, b.meta
	return am.Name == bm.Name && am.Rows == bm.Rows && am.Cols == bm.Cols && am.DType == bm.DType &&
		fmt.Sprint(am.Dims, am.LoD) == fmt.Sprint(bm.Dims, bm.LoD) && bytes.Equal(x, y)
}

// TestRoundTrip writes random tensors with random options and reads them.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]string{
			"endian": rapid.SampledFrom([]string{"little", "big"}).Draw(t, "endian"),
			"digest": fmt.Sprint(rapid.Bool().Draw(t, "digest")),
			"align":  fmt.Sprint(rapid.Bool().Draw(t, "align")),
		}
		var list []tensor
		for i := range rapid.IntRange(1, 4).Draw(t, "tensors") {
			list = append(list, drawTensor(t, strings.Repeat("é", i)+rapid.String().Filter(func(s string) bool {
				return !strings.ContainsAny(s, "\x00é")
			}).Draw(t, "name")))
		}
		data := save(t, format.Options{Set: set}, list...)
		for _, verify := range []string{"", "record", "off"} {
			got, _, err := load(data, verify)
			if err != nil || len(got) != len(list) {
				t.Fatalf("%d tensors, %v, want %d", len(got), err, len(list))
			}
			for i := range got {
				if !equal(got[i], list[i]) {
					t.Fatalf("tensor %d is %v, want %v", i, got[i], list[i])
				}
			}
		}
		if set["align"] == "true" {
			checkAligned(t, data)
		}
	})
}

func checkAligned(t *rapid.T, data []byte) {
	b := &blob.Mem{}
	_ = blob.WriteAll(context.Background(), b, "w", data)
	obj, _ := b.Open(context.Background(), "w")
	f, err := walk(obj, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.records {
		if r.values%alignment != 0 {
			t.Fatalf("values at %d, want a multiple of %d", r.values, alignment)
		}
	}
}

// small is a file with everything: LoD, another type, wide dimensions, digests, padding.
func small(t fataler, endian string) []byte {
	x := tensor{meta: matrix.Meta{Name: "x", Rows: 3, Cols: 2, DType: matrix.F32, Dims: []int64{3, 2}, LoD: [][]int64{{0, 1, 3}}}}
	x.block = matrix.Block{At: x.meta.Rect(), Data: &matrix.Dense[float32]{Val: []float32{1, 2, 3, 4, 5, 6}}}
	y := tensor{meta: matrix.Meta{Name: "y", Rows: 0, Cols: 1 << 40, DType: matrix.F32, Dims: []int64{0, 1 << 40}}}
	y.block = matrix.Block{At: y.meta.Rect(), Data: &matrix.Dense[float32]{}}
	z := tensor{meta: matrix.Meta{Name: "z", Rows: 1, Cols: 3, DType: matrix.Bool, Dims: []int64{3}}}
	z.block = matrix.Block{At: z.meta.Rect(), Data: &matrix.Dense[matrix.Boolean]{Val: []matrix.Boolean{0, 1, 1}}}
	return save(t, format.Options{Set: map[string]string{"endian": endian, "digest": "true", "align": "true"}}, x, y, z)
}

// TestTruncation cuts a file at every byte.
func TestTruncation(t *testing.T) {
	for _, endian := range []string{"little", "big"} {
		data := small(t, endian)
		for n := range data {
			for _, verify := range []string{"file", "record", "off"} {
				list, _, err := load(data[:n], verify)
				boundary := verify != "file" && err == nil && len(list) > 0 && len(list) < 3 // a file of fewer records
				if !errors.Is(err, format.ErrCorrupt) && !boundary {
					t.Errorf("%s, verify %s: cut at byte %d of %d: %v, want damage", endian, verify, n, len(data), err)
				}
			}
		}
	}
}

// TestBitFlips turns every bit: the checksum of the file sees those behind it, the digests those of records.
func TestBitFlips(t *testing.T) {
	data := small(t, "little")
	for i := range len(data) * 8 {
		changed := bytes.Clone(data)
		changed[i/8] ^= 1 << (i % 8)
		at := i / 8
		for _, verify := range []string{"file", "record"} {
			_, _, err := load(changed, verify)
			seen := errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrVersion) // an unknown type
			free := at >= 4 && at < 8 || verify == "record" && at >= 8 && at < headerLen   // the version may be another
			if !seen && !free {
				t.Errorf("bit %d of byte %d, verify %s: %v, want damage", i%8, at, verify, err)
			}
		}
	}
}

// TestChecksumErrors names what was stored and what was computed.
func TestChecksumErrors(t *testing.T) {
	data := small(t, "little")
	data[len(data)-1] ^= 1
	for verify, want := range map[string]string{"file": "checksum of the file is", "record": `checksum of the record "z" is`} {
		_, _, err := load(data, verify)
		var sum *ChecksumError
		var where *format.Error
		if !errors.As(err, &sum) || !strings.Contains(err.Error(), want) || !errors.As(err, &where) || where.Off != sum.Off {
			t.Errorf("verify %s: %v, want one with %q at its byte", verify, err, want)
		}
	}
	list, notes, err := load(data, "off")
	if err != nil || len(list) != 3 || !strings.Contains(strings.Join(notes, "\n"), "not verified") {
		t.Errorf("verify off: %d tensors, notes %q, %v", len(list), notes, err)
	}
	clear(data[8:12])
	if _, _, err := load(data, "file"); err == nil || !strings.Contains(err.Error(), `record "z"`) {
		t.Errorf("without a file checksum: %v, want the record's", err)
	}
}

// TestChecksumReadings accepts a checksum in every reading of the document, and says which it is if it is not ours.
func TestChecksumReadings(t *testing.T) {
	for _, endian := range []string{"little", "big"} {
		data := small(t, endian)
		var values []byte
		list, _, err := load(data, "off")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			raw, size := wire.ViewAny(x.block.Data.Values())
			raw = bytes.Clone(raw)
			if endian == "big" {
				wire.Swap(raw, size, wire.Big)
			}
			values = append(values, raw...)
		}
		rest, only := md5.Sum(data[headerLen:]), md5.Sum(values)
		turned := func(sum [16]byte) []byte { return []byte{sum[3], sum[2], sum[1], sum[0]} }
		number := map[string]func([16]byte) []byte{"little": turned, "big": func(sum [16]byte) []byte { return sum[:4] }}[endian]
		for _, c := range []struct {
			sum  []byte
			want string
		}{
			{number(rest), ""},
			{number(only), "the first 8 hex digits of the MD5 of the values alone"},
			{rest[:4], "the first 4 bytes as they are of the MD5 of the bytes behind it"},
			{only[:4], "the first 4 bytes as they are of the MD5 of the values alone"},
			{turned(rest), "none"},
			{turned(only), "none"},
		} {
			if endian == "little" && c.want == "none" {
				continue
			}
			if endian == "big" {
				c.want = strings.Replace(c.want, "the first 4 bytes as they are", "the first 8 hex digits", 1) // which is the same
				c.want = strings.TrimPrefix(c.want, "the first 8 hex digits of the MD5 of the bytes behind it")
			}
			copy(data[8:12], c.sum)
			_, notes, err := load(data, "file")
			var sum *ChecksumError
			if c.want == "none" {
				if !errors.As(err, &sum) {
					t.Errorf("%s-endian, checksum % x: %v, want ChecksumError", endian, c.sum, err)
				}
				continue
			}
			text := strings.Join(notes, "\n")
			if err != nil || !strings.Contains(text, c.want) || strings.Contains(text, "MD5") != (c.want != "") {
				t.Errorf("%s-endian, checksum % x: notes %q, %v, want %q", endian, c.sum, notes, err, c.want)
			}
		}
	}
}

// TestVerifyStops wants Verify to end with the error of its context, not with half of the digests compared.
func TestVerifyStops(t *testing.T) {
	b := &blob.Mem{}
	if err := blob.WriteAll(t.Context(), b, "w", small(t, "little")); err != nil {
		t.Fatal(err)
	}
	r, err := Codec.Open(t.Context(), b, "w", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v := r.(format.Verifier)
	if problems, err := v.Verify(t.Context()); len(problems) != 0 || err != nil {
		t.Errorf("problems %q, %v", problems, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if problems, err := v.Verify(ctx); len(problems) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: problems %q, %v", problems, err)
	}
}

// TestNotComputed accepts a file without a checksum and says so.
func TestNotComputed(t *testing.T) {
	x := tensor{meta: matrix.Meta{Name: "x", Rows: 1, Cols: 1, DType: matrix.F32}}
	x.block = matrix.Block{At: x.meta.Rect(), Data: &matrix.Dense[float32]{Val: []float32{1}}}
	data := save(t, format.Options{}, x)
	clear(data[8:12])
	_, notes, err := load(data, "")
	if err != nil || !strings.Contains(strings.Join(notes, "\n"), "not computed") {
		t.Errorf("notes %q, %v, want one about the checksum", notes, err)
	}
}

// TestDocument checks the worked example of the format's page against the code: bytes, values and the explanation.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/paddle.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```dump\n")
	example, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the page has no block of kind dump")
	}
	var data []byte
	for line := range strings.Lines(example) {
		if len(line) > 33 && line[0] != '#' {
			b, err := hex.DecodeString(strings.ReplaceAll(line[10:33], " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, b...)
		}
	}
	b := &blob.Mem{}
	if err := blob.WriteAll(context.Background(), b, "w", data); err != nil {
		t.Fatal(err)
	}
	list, _, err := load(data, "")
	if err != nil {
		t.Fatal(err)
	}
	if again := save(t, format.Options{}, list...); !bytes.Equal(again, data) {
		t.Errorf("written\n% x, want\n% x", again, data)
	}
	var out bytes.Buffer
	if err := Codec.Explain(context.Background(), b, "w", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	if out.String() != example {
		t.Errorf("explained as\n%s, want\n%s", out.String(), example)
	}
}
