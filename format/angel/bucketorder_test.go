package angel

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
)

// span lists the ids from lo to before hi.
func idsFrom(lo, hi int32) (ids []int32) {
	for id := lo; id < hi; id++ {
		ids = append(ids, id)
	}
	return ids
}

// bucketOrders are row blocks as Angel 2.2.0 saved them: how many rows a block has, in which order the second block lists
// its rows, and in which its data have them.
var bucketOrders = []struct {
	block        int32
	last         int32 // rows of the matrix
	listed, data []int32
}{
	{12, 23, slices.Concat(idsFrom(16, 23), idsFrom(12, 16)), slices.Concat(idsFrom(16, 23), idsFrom(12, 16))},
	{12, 24, slices.Concat(idsFrom(16, 24), idsFrom(12, 16)), idsFrom(12, 24)},
	{20, 40, slices.Concat(idsFrom(32, 40), idsFrom(20, 32)), slices.Concat(idsFrom(32, 40), idsFrom(20, 32))},
}

// inOldOrder writes the sample as 2.2.0 did; later says that nnz is that of later versions, and the rows ascend.
func inOldOrder(t *testing.T, s *sample, format string, c int, later bool, sep string) *blob.Mem {
	t.Helper()
	b := saved(t, s, map[string]string{optFormat: format, optBlockRows: itoa(int(bucketOrders[c].block))})
	m := metaOf(t, b)
	for i := range m.parts {
		p := &m.parts[i]
		data := everything(t, b)["model/w/"+p.file]
		end := func(k int) int64 {
			if k+1 < p.rowMetas.n {
				return p.rowMetas.at(k + 1).off
			}
			return p.size
		}
		bytesOf, metas := map[int32][]byte{}, map[int32]rowMeta{}
		for k, r := range p.rowMetas.all() {
			bytesOf[r.id], metas[r.id] = data[r.off:end(k)], r
		}
		order, listed := idsFrom(0, bucketOrders[c].block), idsFrom(0, bucketOrders[c].block)
		if i > 0 {
			order, listed = slices.Clone(bucketOrders[c].data), bucketOrders[c].listed
		}
		if later {
			slices.Sort(order)
		}
		var out []byte
		p.rowMetas = rowList{}
		for _, id := range order {
			out = append(out, bytesOf[id]...)
		}
		for _, id := range listed {
			p.rowMetas.add(metas[id])
		}
		if !later {
			p.nnz = int64(p.rowMetas.at(len(listed) - 1).n)
		}
		out = []byte(strings.ReplaceAll(string(out), "\n", sep))
		p.version, p.hasSum, p.size = 0, false, int64(len(out))
		if err := blob.WriteAll(ctx, b, "model/w/"+p.file, out); err != nil {
			t.Fatal(err)
		}
	}
	m.version, m.sum = 0, metaSum{}
	if err := blob.WriteAll(ctx, b, "model/w/meta", metaFile(t, m)); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(ctx, "model/w/_meta"); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBucketOrder reads rows in the order of the hash table that 2.0 to 2.2 kept them in.
func TestBucketOrder(t *testing.T) {
	for c, order := range bucketOrders {
		for _, l := range writable {
			for _, kind := range []rowType{7, 12} {
				if l.column || l.framed || kind == 12 && !l.colID {
					continue
				}
				for _, later := range []bool{false, true} {
					s := plainSample(kind, int64(order.last), 5)
					sep := "\n"
					if l.text && c == 2 {
						sep = "\r\n"
					}
					b := inOldOrder(t, &s, l.name, c, later, sep)
					r, err := Codec.Open(ctx, b, "model", format.Options{})
					if err != nil {
						t.Fatal(err)
					}
					want := s.stored(t)
					got, err := values(r, r.Matrices()[0], s.m.Rect())
					if err != nil || !maps.Equal(got, want) {
						t.Errorf("%s %v, %d rows, later %v: got %v, %v", l.name, kind, order.last, later, got, err)
					}
					wrapped := !slices.IsSorted(order.data) && !later && !l.rowID
					if notes := strings.Join(r.Notes(), "\n"); wrapped != strings.Contains(notes, "order of a hash table") {
						t.Errorf("%s %v: notes %q", l.name, kind, notes)
					}
					if c == 0 && !later {
						everyPart(t, r, r.Matrices()[0], want)
					}
				}
			}
		}
	}
}

// TestBrokenBucketOrder damages such a model.
func TestBrokenBucketOrder(t *testing.T) {
	for _, name := range []string{"ColIdValueTextRowFormat", "ValueBinaryRowFormat"} {
		s := plainSample(7, 23, 1)
		b := inOldOrder(t, &s, name, 0, false, "\n")
		want, err := attempt(b)
		if err != nil {
			t.Fatal(err)
		}
		everyPrefix(t, b, want)
		if out := explained(t, b); !strings.Contains(out, "partition 1") {
			t.Errorf("explained as\n%s", out)
		}
	}
}
