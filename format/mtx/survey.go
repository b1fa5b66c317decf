package mtx

import (
	"context"
	"math/bits"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// bucketBits is the number of buckets of a survey, as a power of two.
const bucketBits = 16

// survey says where in a large coordinate file which cells stand. The cells of the matrix are cut into buckets that
// follow each other in the order of rows and columns: of some rows each, or of a part of one row.
type survey struct {
	rowShift, colShift int // a bucket has 2^rowShift rows
	perRow             int // log2 of the number of buckets of a row; 0 if a bucket has several rows
	height             int64
	pieces             []span
	reach              [][2]int // the first and the last bucket that a piece has entries of
	bands              []band
}

// span is some lines of the file, and the number of lines before them.
type span struct{ off, end, lines int64 }

// band is the buckets from lo to hi-1 and the number of their entries. It has whole rows, or a part of one row.
type band struct {
	lo, hi  int
	entries int64
}

func (b band) has(bucket int) bool { return bucket >= b.lo && bucket < b.hi }

// newSurvey chooses the buckets of a matrix.
func newSurvey(rows, cols int64) *survey {
	length := bits.Len64(uint64(max(rows, 1) - 1))
	s := &survey{rowShift: max(0, length-bucketBits), height: rows}
	s.perRow = bucketBits - (length - s.rowShift)
	s.colShift = max(0, bits.Len64(uint64(max(cols, 1)-1))-s.perRow)
	return s
}

// bucket is that of a cell.
func (s *survey) bucket(row, col int64) int {
	return int(row>>s.rowShift)<<s.perRow | int(col>>s.colShift)
}

// rows are those that the band has cells of.
func (s *survey) rows(b band) matrix.Range {
	last := int64((b.hi-1)>>s.perRow)<<s.rowShift | (1<<s.rowShift - 1)
	return matrix.Range{Lo: int64(b.lo>>s.perRow) << s.rowShift, Hi: min(last, s.height-1) + 1}
}

// look goes through the file and counts the entries of the buckets.
func (t *table[T]) look(ctx context.Context, o blob.Object) (*survey, error) {
	s := newSurvey(t.h.rows, t.h.width())
	p := &parser[T]{h: t.h, skim: true}
	counts := make([]int64, 1<<bucketBits)
	c := counter{h: t.h, lines: t.h.lines}
	for one, err := range format.ParseLines(ctx, o, t.h.values, t.h.size, p.entries) {
		before := c.lines
		if err == nil {
			err = c.add(one.lines, one.entries, one.at, one.open, one.err)
		}
		if err != nil {
			return nil, err
		}
		t.sides |= one.sides
		reach := [2]int{1 << bucketBits, -1}
		for i, row := range one.row {
			b := s.bucket(row, one.col[i])
			counts[b]++
			reach[0], reach[1] = min(reach[0], b), max(reach[1], b)
		}
		s.pieces, s.reach = append(s.pieces, span{one.off, one.end, before}), append(s.reach, reach)
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	s.cut(counts, t.limit)
	return s, nil
}

// cut makes bands of up to limit entries, or of one bucket that has more.
func (s *survey) cut(counts []int64, limit int64) {
	row := 1 << s.perRow // buckets that stay together if they can
	var b band
	add := func(hi int, n int64) {
		if b.entries+n > limit && b.entries > 0 {
			s.bands = append(s.bands, b)
			b = band{lo: b.hi}
		}
		b.hi, b.entries = hi, b.entries+n
	}
	flush := func() {
		if b.entries > 0 {
			s.bands = append(s.bands, b)
		}
		b = band{lo: b.hi, hi: b.hi}
	}
	for lo := 0; lo < len(counts); lo += row {
		n := int64(0)
		for _, c := range counts[lo : lo+row] {
			n += c
		}
		if n <= limit {
			add(lo+row, n)
			continue
		}
		flush()
		for i, c := range counts[lo : lo+row] {
			add(lo+i+1, c)
		}
		flush()
	}
	flush()
}

// spans are the pieces of the file that have entries of the band, neighbours joined.
func (s *survey) spans(b band) (all []span) {
	for i, p := range s.pieces {
		if s.reach[i][0] >= b.hi || s.reach[i][1] < b.lo {
			continue
		}
		if n := len(all); n > 0 && all[n-1].end == p.off {
			all[n-1].end = p.end
			continue
		}
		all = append(all, p)
	}
	return slices.Clip(all)
}
