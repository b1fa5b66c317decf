package mtx

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// through reads a coordinate file with tables that hold up to limit entries.
func through(t fataler, text string, limit int64, want matrix.Rect) (cells []string, places []matrix.Rect, err error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "a.mtx", []byte(text)); err != nil {
		t.Fatal(err)
	}
	o, err := b.Open(ctx, "a.mtx")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	h, err := readHead(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	all := &table[int64]{h: &h, limit: limit}
	for blk, err := range all.blocks(ctx, o, want) {
		if err == nil {
			err = blk.Check()
		}
		if err != nil {
			return cells, places, err
		}
		places = append(places, blk.At)
		_ = blk.EachText(func(row, col int64, v []byte) error {
			cells = append(cells, fmt.Sprintf("%d,%d=%s", row, col, v))
			return nil
		})
	}
	return cells, places, nil
}

type fataler interface{ Fatal(...any) }

// drawn is a coordinate file of whole numbers, and the size of its matrix.
func drawn(t *rapid.T) (text string, at matrix.Rect) {
	symmetry := rapid.SampledFrom([]string{general, symmetric, skew}).Draw(t, "symmetry")
	sizes := rapid.SampledFrom([]int64{1, 3, 70, 1 << 17, 1 << 40, math.MaxInt64})
	rows := sizes.Draw(t, "rows")
	cols := sizes.Draw(t, "columns")
	if symmetry != general {
		cols = rows
	}
	near := func(n int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Int64Range(1, n), rapid.Int64Range(1, min(n, 4)), rapid.Int64Range(max(1, n-3), n))
	}
	seen := map[[2]int64]bool{}
	var lines []string
	for range rapid.IntRange(0, 60).Draw(t, "entries") {
		c := [2]int64{near(rows).Draw(t, "row"), near(cols).Draw(t, "column")}
		if seen[c] || symmetry != general && seen[[2]int64{c[1], c[0]}] || symmetry == skew && c[0] == c[1] {
			continue
		}
		seen[c] = true
		lines = append(lines, fmt.Sprintf("%d %d %d", c[0], c[1], len(lines)))
	}
	if rapid.Bool().Draw(t, "sorted") {
		slices.Sort(lines)
	}
	return fmt.Sprintf("%%%%MatrixMarket matrix coordinate integer %s\n%d %d %d\n%s\n", symmetry, rows, cols, len(lines),
		strings.Join(lines, "\n")), matrix.At(0, rows, 0, cols)
}

// TestBands reads files band by band: the same cells in the same order as when they are held as a whole, in blocks that
// do not overlap; damaged files are refused in both ways or in none.
func TestBands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, at := drawn(t)
		limit := rapid.Int64Range(0, 20).Draw(t, "limit")
		want := at
		if rapid.Bool().Draw(t, "part") {
			want.Rows.Lo = rapid.Int64Range(0, at.Rows.Hi).Draw(t, "from")
			want.Cols.Hi = rapid.Int64Range(0, at.Cols.Hi).Draw(t, "until")
		}
		whole, _, err := through(t, text, math.MaxInt64, want)
		if err != nil {
			t.Fatal(err)
		}
		parts, places, err := through(t, text, limit, want)
		if err != nil || !slices.Equal(parts, whole) {
			t.Fatalf("%v, %v, want %v", parts, err, whole)
		}
		if err := format.CheckTiles(want.Cols, nil, places); err != nil {
			t.Fatal(err)
		}
		bad := []byte(text)
		bad[rapid.IntRange(0, len(bad)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		whole, _, err = through(t, string(bad), math.MaxInt64, at)
		parts, _, partErr := through(t, string(bad), limit, at)
		if (err == nil) != (partErr == nil) || err == nil && !slices.Equal(parts, whole) {
			t.Fatalf("%q: %v %v, want %v %v", bad, parts, partErr, whole, err)
		}
	})
}

// TestBandsTwice adds up a cell that stands twice in different pieces of a large file, or says on which lines it does.
func TestBandsTwice(t *testing.T) {
	text := "%%MatrixMarket matrix coordinate integer general\n100 100 4\n7 8 1\n90 1 1\n1 1 1\n7 8 2\n"
	got, _, err := through(t, text, 1, matrix.At(0, 100, 0, 100))
	if err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{
		strings.Replace(text, "7 8 2", "7 8 9223372036854775807", 1),
		strings.NewReplacer("general", "symmetric", "7 8 2", "8 7 2").Replace(text),
	} {
		_, _, err := through(t, bad, 1, matrix.At(0, 100, 0, 100))
		if err == nil || !strings.Contains(err.Error(), "line 6: cell (") || !strings.Contains(err.Error(), "a second time, the first is on line 3") {
			t.Errorf("%v", err)
		}
	}
}

// TestBandsOfSortedFile reads no more of a file in order than the band needs, and all of one in no order.
func TestBandsOfSortedFile(t *testing.T) {
	const n = 400_000 // entries, several MiB of text
	for _, sorted := range []bool{true, false} {
		rows := rand.New(rand.NewPCG(1, 2)).Perm(n)
		if sorted {
			slices.Sort(rows)
		}
		var out strings.Builder
		fmt.Fprintf(&out, "%%%%MatrixMarket matrix coordinate integer general\n%d 5 %d\n", n, n)
		for i, r := range rows {
			fmt.Fprintf(&out, "%d %d %d\n", r+1, 1+i%5, r)
		}
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, "a.mtx", []byte(out.String())); err != nil {
			t.Fatal(err)
		}
		o, err := b.Open(ctx, "a.mtx")
		if err != nil {
			t.Fatal(err)
		}
		h, err := readHead(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		all := &table[int64]{h: &h, limit: n / 16}
		next := int64(0)
		for blk, err := range all.blocks(ctx, o, matrix.At(0, n, 0, 5)) {
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range blk.Data.Values().([]int64) {
				if v != next {
					t.Fatalf("value %d, want %d", v, next)
				}
				next++
			}
		}
		if next != n || len(all.plan.bands) < 16 {
			t.Errorf("%d values in %d bands", next, len(all.plan.bands))
		}
		read := int64(0)
		for _, s := range all.plan.spans(all.plan.bands[0]) {
			read += s.end - s.off
		}
		if part := read < h.size/2; part != sorted {
			t.Errorf("sorted %v: %d of %d bytes are read for the first band", sorted, read, h.size)
		}
		o.Close()
	}
}
