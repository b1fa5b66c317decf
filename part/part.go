// Package part says who owns which rectangle of a matrix: the partitioners that cut a matrix into partitions, and the
// immutable map that routes a rectangle or a column to the partitions that hold it.
//
// How a matrix is cut depends on the matrix alone, never on the number of servers: so the same job gives the same
// partitions, files and bits on any number of servers.
package part

import (
	"fmt"
	"iter"
	"slices"
	"sort"

	"thole.example/matrix"
)

// Partition is a piece of a matrix with the server that owns it. Hash partitions share their rectangle; what is in
// one of them is decided by the key's hash.
type Partition struct {
	ID     int
	At     matrix.Rect
	Server int // index into the list of servers
}

// Partitioner cuts matrices.
type Partitioner struct {
	Name string
	Help string
	// Split is the places of the partitions, in the order of their ids.
	Split func(m *matrix.Meta) ([]matrix.Rect, error)
	// Hash tells that all partitions have the same place and keys are spread by Slot.
	Hash bool
}

// Partitioners is the table of partitioners, a new slice on every call.
func Partitioners() []Partitioner {
	return []Partitioner{rangePartitioner, columnPartitioner, hashPartitioner}
}

// Lookup finds a partitioner; "" is the default for the matrix: columns.
func Lookup(name string) (Partitioner, error) {
	for _, p := range Partitioners() {
		if p.Name == name || name == "" && p.Name == columnPartitioner.Name {
			return p, nil
		}
	}
	return Partitioner{}, fmt.Errorf("part: partitioner %q, want one of range, column, hash", name)
}

// Map routes to the partitions of one matrix. It is immutable; a newer map has a greater Version.
type Map struct {
	Version int64
	Parts   []Partition
	Hash    bool
	cols    []matrix.Range // of each partition in the first row of blocks, ascending; nil if Hash
	perRow  int            // partitions in a row of blocks
}

// NewMap cuts the matrix and deals the partitions out to the servers in turn.
func NewMap(m *matrix.Meta, p Partitioner, servers int, version int64) (*Map, error) {
	if servers < 1 {
		return nil, fmt.Errorf("part: %d servers, want at least 1", servers)
	}
	parts, err := p.Split(m)
	if err != nil {
		return nil, fmt.Errorf("part: matrix %q: %w", m.Name, err)
	}
	out := &Map{Version: version, Hash: p.Hash}
	for id, at := range parts {
		out.Parts = append(out.Parts, Partition{id, at, id % servers})
		if !p.Hash && at.Rows == out.Parts[0].At.Rows {
			out.cols = append(out.cols, at.Cols)
		}
	}
	out.perRow = max(1, len(out.cols))
	return out, nil
}

// Route yields the partitions that hold some of the rectangle, with the piece that each holds, in the order of ids.
func (m *Map) Route(at matrix.Rect) iter.Seq2[Partition, matrix.Rect] {
	return func(yield func(Partition, matrix.Rect) bool) {
		for _, p := range m.Parts {
			if piece := p.At.Intersect(at); !piece.Empty() && !yield(p, piece) {
				return
			}
		}
	}
}

// Columns yields, for ascending column keys, runs of keys that lie in the same partition of the first row of blocks:
// the index of the partition in that row, and the run. Not for hash maps.
func (m *Map) Columns(keys []int64) iter.Seq2[int, []int64] {
	return func(yield func(int, []int64) bool) {
		for len(keys) > 0 {
			i := sort.Search(len(m.cols), func(i int) bool { return m.cols[i].Hi > keys[0] })
			if i == len(m.cols) {
				return
			}
			n := sort.Search(len(keys), func(k int) bool { return keys[k] >= m.cols[i].Hi })
			if !yield(i, keys[:n]) {
				return
			}
			keys = keys[n:]
		}
	}
}

// PerRow is the number of partitions beside each other in a row of blocks.
func (m *Map) PerRow() int { return m.perRow }

// Servers lists the servers that own partitions of the rectangle, ascending.
func (m *Map) Servers(at matrix.Rect) []int {
	var s []int
	for p := range m.Route(at) {
		s = append(s, p.Server)
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// Slot is the partition of a key among n hash partitions. It depends on nothing but key and n, and spreads keys that
// are equal in their low bits.
func Slot(key int64, n int) int {
	h := uint64(key)
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return int(h % uint64(n))
}
