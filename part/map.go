package part

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sort"

	"thole.example/kernel"
	"thole.example/matrix"
)

// Map routes to the partitions of one matrix. It is data, the same at both ends, and never changed: a newer map has a
// greater version. Maps come from NewMap or Parse.
type Map struct {
	Version uint32  `json:"version"`
	Bits    int     `json:"bits,omitempty"` // there are 2^Bits hash partitions; 0: partitions are rectangles
	Rows    []int64 `json:"rows"`           // bounds of rows, ascending: band b is [Rows[b], Rows[b+1])
	Cols    []int64 `json:"cols"`           // bounds of columns
	Owners  []int   `json:"owners"`         // server of each partition, band after band

	factor uint64 // 2^64 times partitions by columns
}

// Limits of a map: every server and client keeps a list of all partitions.
const (
	leastBits = 4
	mostBits  = 16
	// shareOfServer is how many hash partitions a server has at least, so that one more server can take some of each.
	shareOfServer = 4
	partsLimit    = 1 << mostBits
)

// NewMap cuts the matrix for the number of servers.
func NewMap(m *matrix.Meta, p Partitioner, servers int, version uint32) (*Map, error) {
	if servers < 1 || servers > partsLimit {
		return nil, fmt.Errorf("part: %d servers, want 1 to %d", servers, partsLimit)
	}
	at := m.Rect()
	out := &Map{Version: version, Rows: []int64{at.Rows.Lo, at.Rows.Hi}, Cols: []int64{at.Cols.Lo, at.Cols.Hi}}
	n := 1
	switch {
	case p.Hash:
		out.Bits = min(max(leastBits, bits.Len(uint(shareOfServer*servers-1))), mostBits)
		n = 1 << out.Bits
	case !at.Empty():
		var err error
		if out.Rows, out.Cols, err = grid(m, p, servers); err != nil {
			return nil, fmt.Errorf("part: matrix %q: %w", m.Name, err)
		}
		n = out.Bands() * out.Beside()
	}
	out.Owners = make([]int, n)
	for i := range out.Owners {
		out.Owners[i] = i * servers / n
	}
	out.prepare()
	return out, nil
}

// Parse reads a map of the matrix that another process wrote, and checks it.
func Parse(text []byte, m *matrix.Meta, servers int) (*Map, error) {
	out := &Map{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("part: map of matrix %q: %w", m.Name, err)
	}
	if err := out.check(m, servers); err != nil {
		return nil, fmt.Errorf("part: map of matrix %q: %w", m.Name, err)
	}
	out.prepare()
	return out, nil
}

func (m *Map) check(meta *matrix.Meta, servers int) error {
	at := meta.Rect()
	if err := checkBounds("rows", m.Rows, at.Rows); err != nil {
		return err
	}
	if err := checkBounds("columns", m.Cols, at.Cols); err != nil {
		return err
	}
	n := m.Bands() * (len(m.Cols) - 1) // both at most 2^16
	switch {
	case m.Bits < 0 || m.Bits > mostBits:
		return fmt.Errorf("2^%d hash partitions, want 0 to %d bits", m.Bits, mostBits)
	case m.Bits > 0 && n != 1:
		return fmt.Errorf("%d bounds of hash partitions, want none within the matrix", n)
	case m.Bits > 0 && meta.Layout != matrix.RowSparse:
		return fmt.Errorf("hash partitions of a dense matrix")
	case m.Bits > 0:
		n = 1 << m.Bits
	}
	if n > partsLimit || len(m.Owners) != n {
		return fmt.Errorf("%d owners of %d partitions, want as many and at most %d", len(m.Owners), n, partsLimit)
	}
	for p, s := range m.Owners {
		if s < 0 || s >= servers {
			return fmt.Errorf("partition %d is owned by server %d, want one of %d", p, s, servers)
		}
	}
	return nil
}

// checkBounds wants bounds that ascend from one end of the range to the other; of an empty range both ends alone.
func checkBounds(what string, bounds []int64, r matrix.Range) error {
	if n := len(bounds); n < 2 || n > partsLimit+1 || bounds[0] != r.Lo || bounds[n-1] != r.Hi {
		return fmt.Errorf("%d bounds of %s, want some from %d to %d", len(bounds), what, r.Lo, r.Hi)
	}
	for i := 1; i < len(bounds); i++ {
		if bounds[i] <= bounds[i-1] && len(bounds) > 2 {
			return fmt.Errorf("bound of %s %d after %d, want ascending ones", what, bounds[i], bounds[i-1])
		}
	}
	return nil
}

// prepare computes what lookups need beside the data.
func (m *Map) prepare() {
	n, width := uint64(m.Beside()), uint64(m.Cols[len(m.Cols)-1]-m.Cols[0])
	m.factor = 1<<64 - 1
	if n < width {
		m.factor, _ = bits.Div64(n, 0, width)
	}
}

// Bands is how many rows of blocks there are; 1 for hash partitions.
func (m *Map) Bands() int { return len(m.Rows) - 1 }

// Beside is how many partitions lie beside each other in a band: all hash partitions, or the blocks of columns.
func (m *Map) Beside() int {
	if m.Bits > 0 {
		return 1 << m.Bits
	}
	return len(m.Cols) - 1
}

// At is the rectangle of partition p. Hash partitions have that of the matrix.
func (m *Map) At(p int) matrix.Rect {
	if m.Bits > 0 {
		return matrix.At(m.Rows[0], m.Rows[1], m.Cols[0], m.Cols[1])
	}
	band, col := p/m.Beside(), p%m.Beside()
	return matrix.At(m.Rows[band], m.Rows[band+1], m.Cols[col], m.Cols[col+1])
}

// Band is the rows of a band.
func (m *Map) Band(b int) matrix.Range { return matrix.Range{Lo: m.Rows[b], Hi: m.Rows[b+1]} }

// AllBands is the rows of every band.
func (m *Map) AllBands() []matrix.Range {
	all := make([]matrix.Range, m.Bands())
	for b := range all {
		all[b] = m.Band(b)
	}
	return all
}

// Of is the partition of a column of the matrix in the first band; band b has the column in partition Of + b*Beside.
func (m *Map) Of(key int64) int {
	if m.Bits > 0 {
		return int(kernel.Hash(uint64(key)) >> (64 - m.Bits))
	}
	// Blocks are about equally wide, so the first guess is right or beside it.
	guess, _ := bits.Mul64(uint64(key-m.Cols[0]), m.factor)
	g := min(int(guess), len(m.Cols)-2)
	switch {
	case key < m.Cols[g] && g > 0 && key >= m.Cols[g-1]:
		return g - 1
	case key >= m.Cols[g+1] && g+2 < len(m.Cols) && key < m.Cols[g+2]:
		return g + 1
	case key < m.Cols[g] || key >= m.Cols[g+1]:
		return sort.Search(len(m.Cols)-1, func(i int) bool { return m.Cols[i+1] > key })
	}
	return g
}

// Route yields the partitions that have some of the rectangle, ascending, each with what it has of it. Of a hash map
// these are all, each with the whole rectangle.
func (m *Map) Route(at matrix.Rect) iter.Seq2[int, matrix.Rect] {
	return func(yield func(int, matrix.Rect) bool) {
		if at.Empty() {
			return
		}
		beside := m.Beside()
		first, last := 0, beside
		if m.Bits == 0 {
			first, last = overlap(m.Cols, at.Cols)
		}
		top, bottom := overlap(m.Rows, at.Rows)
		for b := top; b < bottom; b++ {
			for p := b*beside + first; p < b*beside+last; p++ {
				if both := m.At(p).Intersect(at); !both.Empty() && !yield(p, both) {
					return
				}
			}
		}
	}
}

// overlap is which of the ranges between bounds have some of r.
func overlap(bounds []int64, r matrix.Range) (first, end int) {
	n := len(bounds) - 1
	first = sort.Search(n, func(i int) bool { return bounds[i+1] > r.Lo })
	end = first + sort.Search(n-first, func(i int) bool { return bounds[first+i] >= r.Hi })
	return first, end
}

// Owned are the partitions of a server, ascending.
func (m *Map) Owned(server int) []int {
	var own []int
	for p, s := range m.Owners {
		if s == server {
			own = append(own, p)
		}
	}
	return own
}

// SameColumns reports whether both maps cut columns alike: Of is the same in both.
func (m *Map) SameColumns(o *Map) bool { return m.Bits == o.Bits && slices.Equal(m.Cols, o.Cols) }

// Digest tells the map from others, so that whoever computes the same need not be told it: with many servers it is long, and each of them
// would tell it to each task.
func (m *Map) Digest() string {
	text, _ := json.Marshal(m) // numbers alone
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Equal reports whether both maps are the same data.
func (m *Map) Equal(o *Map) bool {
	return m.Version == o.Version && m.Bits == o.Bits && slices.Equal(m.Rows, o.Rows) && slices.Equal(m.Cols, o.Cols) &&
		slices.Equal(m.Owners, o.Owners)
}
