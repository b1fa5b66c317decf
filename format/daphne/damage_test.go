package daphne_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
)

// readAll is what a reader of the bytes has to say: an error or cells.
func readAll(t testing.TB, data []byte) (map[[2]int64]string, error) {
	r, err := open(t, data, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := r.Matrices()[0]
	if m.Layout == matrix.RowDense && (m.Rows > 1<<10 || m.Cols > 1<<10) {
		for _, err := range r.Blocks(t.Context(), m.Name, m.Rect()) { // not every cell: an empty block may be vast
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return stored(t.Context(), r, m.Rect())
}

func TestTruncatedGoldens(t *testing.T) {
	for _, g := range goldens(t) {
		if !strings.HasSuffix(g.file, ".dbdf") || g.Expect != "" {
			continue
		}
		for n := range g.data {
			if g.DT != "Frame" && n == otherLen(g) {
				continue // what is left is a whole file of the document's layout, of smaller values
			}
			if cells, err := readAll(t, g.data[:n]); err == nil && len(g.expected()) > 0 {
				t.Errorf("%s: %d of %d bytes were read as %v", g.file, n, len(g.data), cells)
			}
		}
	}
}

// otherLen is the length that a dense file with DAPHNE's codes would have if its value type were the document's.
func otherLen(g golden) int {
	sizes := []int{0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8}
	if len(g.data) <= 45 || g.Dialect == "document" || g.Dialect == "daphne-v0.1" {
		return -1
	}
	return 45 + int(g.Rows*g.Cols)*sizes[g.data[18]]
}

// TestFlippedHeader turns every bit of the bytes that say sizes, types and counts: all of them are said twice or decide
// the length, so that none may pass with another number of cells.
func TestFlippedHeader(t *testing.T) {
	for _, g := range goldens(t) {
		if g.DT != "DenseMatrix" || g.Dialect != "document" || strings.Contains(g.file, "multi") {
			continue
		}
		cells := g.expected()
		for i := range 45 * 8 {
			data := bytes.Clone(g.data)
			data[i/8] ^= 1 << (i % 8)
			got, err := readAll(t, data)
			if err == nil && len(got) != len(cells) {
				t.Errorf("%s: bit %d of byte %d: %d cells, want an error or %d", g.file, i%8, i/8, len(got), len(cells))
			}
		}
	}
}

func TestBlockNumbersBeyondInt64(t *testing.T) {
	b := []byte{1, 1}
	for _, v := range []uint64{4, 1} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, 1)
	for _, rx := range []uint64{0, 1 << 62} {
		b = binary.LittleEndian.AppendUint64(b, rx)
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	if _, err := readAll(t, b); err == nil {
		t.Error("a block at row 2^62 of 4 was read")
	}
}

func TestSniffDamaged(t *testing.T) {
	ctx := context.Background()
	b := &blob.Mem{}
	for name, want := range map[string]string{"x.dbdf": "damaged", "x.bin": ""} {
		if err := blob.WriteAll(ctx, b, name, append([]byte{1, 1}, make([]byte, 40)...)); err != nil {
			t.Fatal(err)
		}
		if got, err := daphne.Codec.Sniff(ctx, b, name); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\x01\x03000000\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")) // a frame without columns
	for _, g := range goldens(f) {
		f.Add(g.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := readAll(t, data)
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "x.dbdf", data); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_ = daphne.Codec.Explain(t.Context(), b, "x.dbdf", dump.New(&out)) // only must not panic
		if err != nil {
			return
		}
		rewrite(t, b)
	})
}

// rewrite writes what was read, which must be possible and give the same cells.
func rewrite(t *testing.T, b blob.Bucket) {
	r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := format.Convert(t.Context(), r, daphne.Codec, b, "y/x.dbdf", format.Options{}, nil, nil); err != nil {
		if m := r.Matrices()[0]; m.Labels != nil || m.Rows > 1<<20 || m.Cols > 1<<20 {
			return // labels that come twice, sizes beyond what is cut
		}
		t.Fatal(err)
	}
	again, err := daphne.Codec.Open(t.Context(), b, "y/x.dbdf", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if m := r.Matrices()[0]; m.Rows > 1<<6 || m.Cols > 1<<6 {
		return
	}
	if diff, err := format.Diff(t.Context(), r, again); err != nil || diff != "" {
		t.Fatalf("%s, %v", diff, err)
	}
}
