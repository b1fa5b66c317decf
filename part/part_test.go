package part_test

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/part"
)

// edges are sizes and first columns where arithmetic may go wrong.
var edges = []int64{0, 1, 2, 31, 32, 33, 255, 256, 8191, 8192, 8193, 1 << 20, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}

// wide draws a matrix of any size, cut into at most some thousand blocks.
func wide(t *rapid.T) matrix.Meta {
	m := matrix.Meta{
		Name: "m", DType: matrix.F32, Layout: rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout"),
		Rows: rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64Range(0, 300)).Draw(t, "rows"),
		Cols: rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64Range(0, 300)).Draw(t, "cols"),
	}
	m.ColLo = rapid.SampledFrom([]int64{0, math.MinInt64, -m.Cols / 2, math.MaxInt64 - m.Cols}).Draw(t, "first column")
	blocks := func(n int64) int64 {
		return rapid.SampledFrom([]int64{0, n, n/2 + 1, n/7 + 1, max(1, n-1), math.MaxInt64}).Draw(t, "block")
	}
	m.BlockRows, m.BlockCols = blocks(m.Rows), blocks(m.Cols)
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

// rectangles are the partitioners whose partitions are.
func rectangles(t *rapid.T) part.Partitioner {
	return rapid.SampledFrom(part.Partitioners()[:2]).Draw(t, "partitioner")
}

func newMap(t interface{ Fatal(...any) }, m *matrix.Meta, p part.Partitioner, servers int) *part.Map {
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
	rapid.Check(t, func(t *rapid.T) {
		m, p := wide(t), rectangles(t)
		mp := newMap(t, &m, p, rapid.IntRange(1, 30).Draw(t, "servers"))
		var hi, lo uint64
		for i := range mp.Owners {
			x := mp.At(i)
			if !m.Rect().Contains(x) || x.Empty() && !m.Rect().Empty() {
				t.Fatalf("partition %d is %+v of %v", i, x, m.Rect())
			}
			h, l := cells(x)
			lo += l
			if hi += h; lo < l {
				hi++
			}
			for j := range i {
				if !x.Intersect(mp.At(j)).Empty() {
					t.Fatalf("partitions %v and %v overlap", x, mp.At(j))
				}
			}
		}
		if h, l := cells(m.Rect()); h != hi || l != lo {
			t.Fatalf("partitions have %d:%d cells, want %d:%d", hi, lo, h, l)
		}
	})
}

// TestShares: servers own contiguous runs of partitions, as many as the others or one more; and no server is idle where
// the matrix does not fix its blocks and has columns (or what is cut of it) enough.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(part.Partitioners()).Draw(t, "partitioner")
		m := wide(t)
		if rapid.Bool().Draw(t, "free") {
			m.BlockRows, m.BlockCols = 0, 0
		}
		n := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 1000)).Draw(t, "servers")
		mp := newMap(t, &m, p, n)
		shares := make([]int, n)
		for i, s := range mp.Owners {
			if shares[s]++; i > 0 && s < mp.Owners[i-1] {
				t.Fatalf("partition %d is server %d's, the one before server %d's", i, s, mp.Owners[i-1])
			}
		}
		most, least := slices.Max(shares), slices.Min(shares)
		if most-least > 1 {
			t.Fatalf("%d partitions of one server, %d of another", most, least)
		}
		cut := m.Cols
		if p.Name == "range" && m.Layout == matrix.RowDense {
			cut = max(m.Rows, m.Cols)
		}
		switch free := m.BlockRows == 0 && m.BlockCols == 0 && !m.Rect().Empty(); {
		case p.Hash && (least < 4 || len(mp.Owners) < 16):
			t.Fatalf("%d partitions on %d servers", len(mp.Owners), n)
		case !p.Hash && free && cut >= int64(n) && least == 0:
			t.Fatalf("%d partitions of %d columns on %d servers", len(mp.Owners), cut, n)
		case !p.Hash && free && cut >= 64*int64(n) && most != least:
			t.Fatalf("%d and %d partitions a server, want as many for each", most, least)
		}
	})
}

// TestSparseRows: which cells of a sparse matrix are stored does not depend on the number of servers.
func TestSparseRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := wide(t)
		m.Layout = matrix.RowSparse
		p := rapid.SampledFrom(part.Partitioners()).Draw(t, "partitioner")
		one, more := newMap(t, &m, p, 1), newMap(t, &m, p, rapid.IntRange(2, 100).Draw(t, "servers"))
		if !slices.Equal(one.Rows, more.Rows) {
			t.Fatalf("bounds of rows %v for one server, %v for more", one.Rows, more.Rows)
		}
	})
}

// TestNoneIdle has the numbers that clusters had trouble with.
func TestNoneIdle(t *testing.T) {
	for _, c := range []struct {
		cols       int64
		servers    int
		partitions int
	}{{100, 7, 7}, {100, 20, 20}, {100, 10, 10}, {64, 64, 64}, {100_000_000, 20, 80}, {100_000_000, 100, 100}, {5, 7, 5}, {0, 3, 1}} {
		m := matrix.Meta{Name: "m", Rows: 1, Cols: c.cols, DType: matrix.F32}
		mp := newMap(t, &m, part.Partitioners()[1], c.servers)
		if len(mp.Owners) != c.partitions {
			t.Errorf("%d columns on %d servers: %d partitions, want %d", c.cols, c.servers, len(mp.Owners), c.partitions)
		}
	}
	for servers, want := range map[int]int{1: 16, 4: 16, 5: 32, 20: 128, 64: 256, 1024: 4096, 16384: 65536, 40000: 65536} {
		m := matrix.Meta{Name: "m", Rows: 1, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse}
		if mp := newMap(t, &m, part.Partitioners()[2], servers); len(mp.Owners) != want {
			t.Errorf("hash on %d servers: %d partitions, want %d", servers, len(mp.Owners), want)
		}
	}
}

// TestRoute compares Route and Of with a search through all partitions.
func TestRoute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, p := wide(t), rectangles(t)
		mp := newMap(t, &m, p, rapid.IntRange(1, 9).Draw(t, "servers"))
		at := matrix.Rect{Rows: within(t, m.Rect().Rows), Cols: within(t, m.Rect().Cols)}
		want := map[int]matrix.Rect{}
		for i := range mp.Owners {
			if both := mp.At(i).Intersect(at); !both.Empty() {
				want[i] = both
			}
		}
		last := -1
		for i, both := range mp.Route(at) {
			if i <= last || want[i] != both {
				t.Fatalf("route of %v: partition %d after %d with %v, want %v", at, i, last, both, want[i])
			}
			last = i
			delete(want, i)
		}
		if len(want) > 0 {
			t.Fatalf("route of %v leaves out %v", at, want)
		}
		if at.Cols.Len() == 0 {
			return
		}
		key := rapid.Int64Range(at.Cols.Lo, at.Cols.Hi-1).Draw(t, "key")
		for b := range mp.Bands() {
			if i := mp.Of(key) + b*mp.Beside(); !mp.At(i).Cols.Has(key) || mp.At(i).Rows != mp.Band(b) {
				t.Fatalf("key %d of band %v is in partition %d at %v", key, mp.Band(b), i, mp.At(i))
			}
		}
	})
}

func within(t *rapid.T, r matrix.Range) matrix.Range {
	if rapid.Bool().Draw(t, "all") || r.Lo == r.Hi {
		return r
	}
	lo := rapid.Int64Range(r.Lo, r.Hi).Draw(t, "lo")
	return matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo, r.Hi).Draw(t, "hi")}
}

// TestHash wants keys spread evenly, also those that are equal in their low or high bits, and every partition of one map
// split in two by the map of twice as many.
func TestHash(t *testing.T) {
	const keys = 16 << 10
	m := matrix.Meta{Name: "m", Rows: 1, Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse}
	mp, twice := newMap(t, &m, part.Partitioners()[2], 4), newMap(t, &m, part.Partitioners()[2], 8)
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
		var count [16]int
		for i := range int64(keys) {
			p := mp.Of(c.key(i))
			if want := int(kernel.Hash(uint64(c.key(i))) >> 60); p != want || twice.Of(c.key(i))/2 != p {
				t.Fatalf("%s: key %d is in partition %d, want %d; of twice as many in %d", c.name, c.key(i), p, want, twice.Of(c.key(i)))
			}
			count[p]++
		}
		for p, n := range count {
			if n < keys/16*3/4 || n > keys/16*5/4 {
				t.Errorf("%s: partition %d has %d keys, want about %d", c.name, p, n, keys/16)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	dense := &matrix.Meta{Name: "d"}
	sparse := &matrix.Meta{Name: "s", Layout: matrix.RowSparse}
	for _, p := range part.Partitioners() {
		if got, err := part.Lookup(p.Name, sparse); err != nil || got.Name != p.Name || p.Help == "" {
			t.Errorf("%q finds %q, %v", p.Name, got.Name, err)
		}
		if got, err := part.Lookup(p.Name, nil); err != nil || got.Name != p.Name {
			t.Errorf("%q without a matrix finds %q, %v", p.Name, got.Name, err)
		}
	}
	for m, want := range map[*matrix.Meta]string{dense: "column", sparse: "hash", nil: "column"} {
		if p, err := part.Lookup("", m); err != nil || p.Name != want {
			t.Errorf("default of %+v is %q, %v, want %s", m, p.Name, err, want)
		}
	}
	if _, err := part.Lookup("rows", sparse); err == nil || !strings.Contains(err.Error(), `"rows", want one of range, column, hash`) {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := part.Lookup("hash", dense); err == nil || !strings.Contains(err.Error(), `matrix "d" is dense`) {
		t.Errorf("hash of a dense matrix: %v", err)
	}
}

// TestTooMany wants a cut into countless partitions refused before it takes any memory.
func TestTooMany(t *testing.T) {
	for _, m := range []matrix.Meta{
		{Name: "m", Rows: 1, Cols: 1 << 40, BlockCols: 1},
		{Name: "m", Rows: 1 << 40, Cols: 1 << 40, BlockRows: 1 << 20, BlockCols: 1 << 39},
		{Name: "m", Rows: math.MaxInt64, Cols: math.MaxInt64, BlockRows: 1, BlockCols: 1},
		{Name: "m", Rows: math.MaxInt64, Cols: math.MaxInt64, BlockRows: 1},
	} {
		_, err := part.NewMap(&m, part.Partitioners()[0], 1, 1)
		if err == nil || !strings.Contains(err.Error(), "partitions, want at most") {
			t.Errorf("%d x %d in blocks of %d x %d: error %v", m.Rows, m.Cols, m.BlockRows, m.BlockCols, err)
		}
	}
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 1}
	for _, servers := range []int{-1, 0, 1<<16 + 1} {
		if _, err := part.NewMap(&m, part.Partitioners()[0], servers, 1); err == nil {
			t.Errorf("%d servers are good", servers)
		}
	}
}

// TestBlock has the sizes of blocks that matrices are saved in; they were computed by hand from the constants.
func TestBlock(t *testing.T) {
	for _, c := range []struct {
		cut                  string
		rows, cols           int64
		blockRows, blockCols int64
		wantRows, wantCols   int64
	}{
		{"column", 3, 100, 0, 0, 3, 34},
		{"column", 3, 100, 2, 40, 3, 40},
		{"column", 3, 10, 0, 40, 3, 10},
		{"column", 1, 100_000_000, 0, 0, 1, 1_562_500},
		{"range", 100, 3, 0, 0, 34, 3},
		{"range", 100, 300, 7, 0, 7, 38},
		{"range", 300, 100, 7, 0, 7, 34},
		{"hash", 3, 1 << 40, 0, 0, 0, 0},
		{"hash", 3, 1 << 40, 2, 50, 2, 50},
	} {
		m := matrix.Meta{Name: "m", Rows: c.rows, Cols: c.cols, BlockRows: c.blockRows, BlockCols: c.blockCols, Layout: matrix.RowSparse}
		p, err := part.Lookup(c.cut, &m)
		if err != nil {
			t.Fatal(err)
		}
		if r, k := p.Block(&m); r != c.wantRows || k != c.wantCols {
			t.Errorf("%s of %d x %d in %d x %d: %d x %d, want %d x %d", c.cut, c.rows, c.cols, c.blockRows, c.blockCols, r, k, c.wantRows, c.wantCols)
		}
	}
}
