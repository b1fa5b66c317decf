package angel

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// counting counts the bytes that are read of data files.
type counting struct {
	blob.Bucket
	bytes atomic.Int64
}

func (c *counting) Open(ctx context.Context, name string) (blob.Object, error) {
	o, err := c.Bucket.Open(ctx, name)
	return &countingObject{o, c}, err
}

type countingObject struct {
	blob.Object
	c *counting
}

func (o *countingObject) ReadAt(p []byte, off int64) (int, error) {
	o.c.bytes.Add(int64(len(p)))
	return o.Object.ReadAt(p, off)
}

// large is a matrix with rows of more than minSkip bytes: of a sparse one every third column is stored.
func large(kind rowType) sample {
	m := matrix.Meta{Name: "w", Rows: 6, Cols: 30_000, BlockCols: 30_000, DType: matrix.F32, Layout: kind.Layout(),
		Attrs: map[string]string{attrRowType: kind.String()}}
	rng := rand.New(rand.NewPCG(1, 2))
	d := &matrix.CSR[float32]{Ptr: []int{0}}
	for range m.Rows {
		for c := range m.Cols {
			if m.Layout == matrix.RowDense || c%3 == 1 {
				d.Idx, d.Val = append(d.Idx, c), append(d.Val, float32(rng.NormFloat64()))
			}
		}
		d.Ptr = append(d.Ptr, len(d.Idx))
	}
	b := matrix.Block{At: m.Rect(), Data: d}
	if m.Layout == matrix.RowDense {
		b = b.ToDense()
	}
	return sample{m, b}
}

// TestPartsAreSought reads a row, a range of columns and single columns: the right values, and only a small part of the
// data where places are known.
func TestPartsAreSought(t *testing.T) {
	for _, kind := range []rowType{7, 10} {
		s := large(kind)
		for _, l := range writable {
			if kind == 10 && !l.colID {
				continue
			}
			mem := &blob.Mem{}
			if err := save(mem, &s, 1, []matrix.Block{s.b}, map[string]string{optFormat: l.name}); err != nil {
				t.Fatal(err)
			}
			b := &counting{Bucket: mem}
			r, err := Codec.Open(ctx, b, "model", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			total := int64(0)
			for f, data := range everything(t, mem) {
				if f != "model/w/_meta" {
					total += int64(len(data))
				}
			}
			for place, share := range map[matrix.Rect]int64{
				matrix.At(2, 3, 0, 30_000): 5, matrix.At(0, 6, 10_000, 10_100): 50, matrix.At(0, 6, 22_221, 22_223): 500, matrix.At(1, 5, 7, 8): 500,
			} {
				if l.column && place.Cols.Len() == 30_000 || l.text && (l.column || share > 5) {
					share = 1 // read in order
				}
				if l.text && !l.column && place.Rows.Len() == 1 {
					share = 5
				}
				checkPart(t, r, &s, place, l.name)
				b.bytes.Store(0)
				for range r.Blocks(ctx, "w", place) {
				}
				if got := b.bytes.Load(); got > total/share+window/16 && share > 1 || got > 2*total {
					t.Errorf("%s %v, %v: %d of %d bytes were read, want %d", l.name, kind, place, got, total, total/share)
				}
			}
		}
	}
}

func checkPart(t *testing.T, r format.Reader, s *sample, place matrix.Rect, what string) {
	t.Helper()
	want := map[cell]string{}
	_ = s.b.Cut(place).EachText(func(row, col int64, v []byte) error { want[cell{row, col}] = string(v); return nil })
	got, err := values(r, r.Matrices()[0], place)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%s, %v: %d cells, %v, want %d", what, place, len(got), err, len(want))
	}
	for c, v := range want {
		if got[c] != v {
			t.Fatalf("%s, %v: cell %v is %q, want %q", what, place, c, got[c], v)
		}
	}
}

// TestStrayParts reads parts of data whose ids are not in order, where no place can be calculated: the same cells.
func TestStrayParts(t *testing.T) {
	s := large(7)
	for _, l := range []*layout{&colIDValueBinary, &rowIDColIDValueBinary, &binaryColumn} {
		b := &blob.Mem{}
		if err := save(b, &s, 1, []matrix.Block{s.b}, map[string]string{optFormat: l.name, optCompat: "angel-3.2"}); err != nil {
			t.Fatal(err)
		}
		data := everything(t, b)["model/w/0"]
		each := int(l.fixed(style{}, 1, 4))
		if l.column {
			each = int(l.fixed(style{}, 6, 4))
		}
		swap := func(i, k int) {
			for x := range each {
				data[i*each+x], data[k*each+x] = data[k*each+x], data[i*each+x]
			}
		}
		swap(3, 20_000)
		if !l.column {
			swap(90_003, 110_000) // row 3
		}
		if err := blob.WriteAll(ctx, b, "model/w/0", data); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range []matrix.Rect{matrix.At(0, 6, 3, 4), matrix.At(0, 1, 0, 30_000), matrix.At(0, 2, 19_990, 20_010), s.m.Rect()} {
			checkPart(t, r, &s, place, l.name)
		}
	}
}
