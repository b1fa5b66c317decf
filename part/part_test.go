package part_test

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/part"
)

// edges are sizes and first columns where arithmetic may go wrong.
var edges = []int64{0, 1, 2, 31, 32, 33, 255, 256, 8191, 8192, 8193, 1 << 20, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}

// wide draws a matrix of any size, cut into at most some thousand pieces.
func wide(t *rapid.T) matrix.Meta {
	m := matrix.Meta{
		Name: "m", DType: matrix.F32, Layout: matrix.RowSparse,
		Rows: rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64Range(0, 300)).Draw(t, "rows"),
		Cols: rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64Range(0, 300)).Draw(t, "cols"),
	}
	m.ColLo = rapid.SampledFrom([]int64{0, math.MinInt64, -m.Cols / 2, math.MaxInt64 - m.Cols}).Draw(t, "first column")
	pieces := func(n int64) int64 {
		return rapid.SampledFrom([]int64{0, n, n/2 + 1, n/7 + 1, max(1, n-1), math.MaxInt64}).Draw(t, "block")
	}
	m.BlockRows, m.BlockCols = pieces(m.Rows), pieces(m.Cols)
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

func newMap(t *rapid.T, m *matrix.Meta, p part.Partitioner, servers int) *part.Map {
	mp, err := part.NewMap(m, p, servers, 1)
	if err != nil {
		t.Fatal(err)
	}
	return mp
}

func cells(r matrix.Rect) (hi, lo uint64) {
	return bits.Mul64(uint64(r.Rows.Hi-r.Rows.Lo), uint64(r.Cols.Hi-r.Cols.Lo))
}

// TestCover wants every cell in exactly one partition: all lie within, none overlap, and their sizes add up.
func TestCover(t *testing.T) {
	for _, p := range part.Partitioners() {
		if p.Hash {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := wide(t)
				mp := newMap(t, &m, p, 3)
				var hi, lo uint64
				for i, x := range mp.Parts {
					if !m.Rect().Contains(x.At) || x.ID != i || x.At.Empty() && !m.Rect().Empty() {
						t.Fatalf("partition %d is %+v of %v", i, x, m.Rect())
					}
					h, l := cells(x.At)
					lo += l
					if hi += h; lo < l {
						hi++
					}
					for _, y := range mp.Parts[:i] {
						if !x.At.Intersect(y.At).Empty() {
							t.Fatalf("partitions %v and %v overlap", x.At, y.At)
						}
					}
				}
				if h, l := cells(m.Rect()); h != hi || l != lo {
					t.Fatalf("partitions have %d:%d cells, want %d:%d", hi, lo, h, l)
				}
			})
		})
	}
}

// TestServers wants the cut to be the same for any number of servers, and partitions dealt out in turn.
func TestServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(part.Partitioners()).Draw(t, "partitioner")
		m := wide(t)
		one := newMap(t, &m, p, 1)
		n := rapid.IntRange(1, 9).Draw(t, "servers")
		more := newMap(t, &m, p, n)
		if len(one.Parts) != len(more.Parts) || one.PerRow() != more.PerRow() {
			t.Fatalf("%d partitions for one server, %d for %d", len(one.Parts), len(more.Parts), n)
		}
		used := map[int]int{}
		for i, x := range more.Parts {
			if x.At != one.Parts[i].At || x.Server < 0 || x.Server >= n {
				t.Fatalf("partition %+v for %d servers, %+v for one", x, n, one.Parts[i])
			}
			used[x.Server]++
		}
		if len(used) != min(n, len(more.Parts)) {
			t.Fatalf("%d of %d servers used for %d partitions", len(used), n, len(more.Parts))
		}
	})
}

// TestRoute compares Route, Servers and Columns with a search through all partitions.
func TestRoute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(part.Partitioners()[:2]).Draw(t, "partitioner")
		m := wide(t)
		mp := newMap(t, &m, p, rapid.IntRange(1, 5).Draw(t, "servers"))
		at := matrix.Rect{Rows: within(t, m.Rect().Rows), Cols: within(t, m.Rect().Cols)}
		want, servers := map[int]matrix.Rect{}, map[int]bool{}
		for _, x := range mp.Parts {
			if both := x.At.Intersect(at); !both.Empty() {
				want[x.ID], servers[x.Server] = both, true
			}
		}
		last := -1
		for x, piece := range mp.Route(at) {
			if x.ID <= last || want[x.ID] != piece {
				t.Fatalf("route of %v: partition %d after %d with %v, want %v", at, x.ID, last, piece, want[x.ID])
			}
			last = x.ID
			delete(want, x.ID)
		}
		if len(want) > 0 {
			t.Fatalf("route of %v leaves out %v", at, want)
		}
		if got := mp.Servers(at); len(got) != len(servers) || !slices.IsSorted(got) {
			t.Fatalf("servers of %v are %v, want %v", at, got, servers)
		}
		columns(t, mp, at.Cols)
	})
}

// columns checks runs of keys against the partitions of the first row of blocks.
func columns(t *rapid.T, mp *part.Map, cols matrix.Range) {
	var keys []int64
	for range rapid.IntRange(0, 20).Draw(t, "keys") {
		if cols.Len() > 0 {
			keys = append(keys, rapid.Int64Range(cols.Lo, cols.Hi-1).Draw(t, "key"))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	var got []int64
	last := -1
	for i, run := range mp.Columns(keys) {
		if i <= last || i >= mp.PerRow() || len(run) == 0 {
			t.Fatalf("run %v in partition %d of %d, after %d", run, i, mp.PerRow(), last)
		}
		last = i
		for _, k := range run {
			for at := i; at < len(mp.Parts); at += mp.PerRow() {
				if !mp.Parts[at].At.Cols.Has(k) {
					t.Fatalf("key %d is not in partition %d at %v", k, at, mp.Parts[at].At)
				}
			}
		}
		got = append(got, run...)
	}
	if !slices.Equal(got, keys) {
		t.Fatalf("runs hold %v, want %v", got, keys)
	}
}

func within(t *rapid.T, r matrix.Range) matrix.Range {
	if rapid.Bool().Draw(t, "all") || r.Lo == r.Hi {
		return r
	}
	lo := rapid.Int64Range(r.Lo, r.Hi).Draw(t, "lo")
	return matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo, r.Hi).Draw(t, "hi")}
}

// TestSlot wants keys spread evenly, also those that are equal in their low or high bits.
func TestSlot(t *testing.T) {
	const parts, keys = 16, 16 << 10
	for _, c := range []struct {
		name string
		key  func(i int64) int64
	}{
		{"counting", func(i int64) int64 { return i }},
		{"equal mod 2^32", func(i int64) int64 { return i<<32 + 5 }},
		{"equal mod 2^16", func(i int64) int64 { return i << 16 }},
		{"negative", func(i int64) int64 { return math.MinInt64 + i }},
		{"from the top", func(i int64) int64 { return math.MaxInt64 - i }},
	} {
		var count [parts]int
		for i := range int64(keys) {
			s := part.Slot(c.key(i), parts)
			if s != part.Slot(c.key(i), parts) {
				t.Fatalf("%s: key %d has two slots", c.name, c.key(i))
			}
			count[s]++
		}
		for s, n := range count {
			if n < keys/parts*3/4 || n > keys/parts*5/4 {
				t.Errorf("%s: slot %d has %d keys, want about %d", c.name, s, n, keys/parts)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for _, p := range part.Partitioners() {
		if got, err := part.Lookup(p.Name); err != nil || got.Name != p.Name || p.Help == "" {
			t.Errorf("%q finds %q, %v", p.Name, got.Name, err)
		}
	}
	if p, err := part.Lookup(""); err != nil || p.Name != "column" {
		t.Errorf("default is %q, %v, want column", p.Name, err)
	}
	if _, err := part.Lookup("rows"); err == nil || !strings.Contains(err.Error(), `"rows", want one of range, column, hash`) {
		t.Errorf("unknown name: %v", err)
	}
}

// TestTooMany wants a cut into countless pieces refused before it takes any memory.
func TestTooMany(t *testing.T) {
	for _, m := range []matrix.Meta{
		{Name: "m", Rows: 1, Cols: 1 << 40, BlockCols: 1},
		{Name: "m", Rows: 1 << 40, Cols: 1 << 40, BlockRows: 1 << 20, BlockCols: 1 << 39},
		{Name: "m", Rows: math.MaxInt64, Cols: math.MaxInt64, BlockRows: 1, BlockCols: 1},
	} {
		_, err := part.NewMap(&m, part.Partitioners()[0], 1, 1)
		if err == nil || !strings.Contains(err.Error(), "partitions, want at most") {
			t.Errorf("%d x %d in blocks of %d x %d: error %v", m.Rows, m.Cols, m.BlockRows, m.BlockCols, err)
		}
	}
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 1}
	if _, err := part.NewMap(&m, part.Partitioners()[0], 0, 1); err == nil {
		t.Error("no servers are enough")
	}
}
