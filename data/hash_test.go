package data

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestHashColumn pins the function, by values computed elsewhere: models that were trained with another one are worth nothing.
func TestHashColumn(t *testing.T) {
	for _, c := range []struct{ id, n, want int64 }{
		{0, 100, 0}, {1, 1 << 20, 268187}, {2, 1 << 20, 117142}, {12345, 1000, 818}, {math.MaxInt64 - 1, 1 << 40, 712689325069}, {7, 1, 0},
	} {
		if got := HashColumn(c.id, c.n); got != c.want {
			t.Errorf("id %d of %d columns: column %d, want %d", c.id, c.n, got, c.want)
		}
	}
	const n = 1000
	count := make([]int, n)
	for id := range int64(100 * n) {
		count[HashColumn(id*4096, n)]++
	}
	if lo, hi := slices.Min(count), slices.Max(count); lo < 50 || hi > 160 { // 100 with a deviation of 10
		t.Errorf("columns with %d to %d features, want about 100", lo, hi)
	}
}

// TestHash holds hashed rows to a map of the columns of each field.
func TestHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		named := rapid.Bool().Draw(t, "fields")
		n := rapid.Int64Range(1, 200).Draw(t, "columns")
		var text strings.Builder
		var want []map[[2]int64]float32
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			text.WriteByte('1')
			row, seen := map[[2]int64]float32{}, map[[2]int64]bool{}
			for range rapid.IntRange(0, 90).Draw(t, "values") {
				field, id := int64(0), rapid.Int64Range(0, math.MaxInt64-2).Draw(t, "id")
				if named {
					field = rapid.Int64Range(0, 3).Draw(t, "field")
				}
				if seen[[2]int64{field, id}] {
					continue
				}
				seen[[2]int64{field, id}] = true
				v := rapid.SampledFrom([]float32{1, 1, -2, 0.5}).Draw(t, "value") // whose sums are exact in any order
				row[[2]int64{field, HashColumn(id, n)}] += v
				if named {
					fmt.Fprintf(&text, " %d:%d:%v", field, id, v)
				} else {
					fmt.Fprintf(&text, " %d:%v", id, v)
				}
			}
			text.WriteByte('\n')
			want = append(want, row)
		}
		format := map[bool]string{false: "libsvm", true: "libffm"}[named]
		in := Input{Name: "x", R: strings.NewReader(text.String()), Size: int64(text.Len())}
		b, err := Load(context.Background(), in, Options{Format: format, Base: Base0, Hash: n, NoLabel: false})
		if err != nil {
			t.Fatal(err)
		}
		rows := b.Rows()
		if b.Dim() != n || b.Len() != len(want) {
			t.Fatalf("%d rows of %d columns, want %d of %d", b.Len(), b.Dim(), len(want), n)
		}
		for r, row := range want {
			lo, hi := rows.Ptr[r], rows.Ptr[r+1]
			if hi-lo != len(row) {
				t.Fatalf("row %d: %d values, want %d", r, hi-lo, len(row))
			}
			for p := lo; p < hi; p++ {
				key := [2]int64{0, rows.Idx[p]}
				if named {
					key[0] = int64(b.Field[p])
				}
				if v, ok := row[key]; !ok || v != rows.Val[p] {
					t.Fatalf("row %d, field and column %v: %v, want %v", r, key, rows.Val[p], v)
				}
				if p > lo && (!named || b.Field[p] == b.Field[p-1]) && rows.Idx[p] <= rows.Idx[p-1] {
					t.Fatalf("row %d: columns %v out of order", r, rows.Idx[lo:hi])
				}
			}
		}
	})
}

func TestHashErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		opt  Options
		want string
	}{
		{"1 1:1\n", Options{Hash: -1}, "-1 columns to hash features to"},
		{"1 1:1\n", Options{Hash: math.MaxInt64}, "columns to hash features to"},
		{"1 1:1\n", Options{Hash: 8, Dim: 9}, "9 columns, and features are hashed to 8"},
		{"1 1 0\n", Options{Hash: 8, Format: "dense"}, "features to hash in dense"},
		{"1 1:1\n1 3:3e38 5:3e38\n", Options{Hash: 1}, "x:2: values of features that hash to one column"},
		{"1 3:1 3:1\n", Options{Hash: 1}, "x:1: index 3 twice"},
		{"1 3:1\n", Options{Hash: 8, Columns: &Columns{}, Strict: true}, "x:1: a feature hashed to column"},
	} {
		_, err := Load(context.Background(), Input{Name: "x", R: strings.NewReader(c.text), Size: int64(len(c.text))}, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %+v: error %v, want %q", c.text, c.opt, err, c.want)
		}
	}
	// fields begin at indices, whatever columns those are hashed to
	in := Input{Name: "x", R: strings.NewReader("1 1000:1 5:1\n"), Size: 13}
	b, err := Load(context.Background(), in, Options{Hash: 8, Fields: Fields{First: []int64{0, 900}}})
	if err != nil || !slices.Equal(b.Field, []int32{0, 1}) || b.Dim() != 8 {
		t.Errorf("fields %v of %d columns (%v), want 0 and 1 of 8", b.Field, b.Dim(), err)
	}
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{14, 39, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := Options{Hash: 1 << 20}.settings("")
			if err != nil {
				b.Fatal(err)
			}
			c := &chunk{}
			for b.Loop() {
				c.rows.reset()
				for i := range n {
					c.idx, c.val = append(c.idx, int64(i*4099)), append(c.val, 1)
				}
				if err := c.hash(s, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
