package shard

import (
	"errors"
	"fmt"
	"iter"
	mathbits "math/bits"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// period is what has changed in a partition since a moment that has a name. It grows until the next one begins, and stays as it
// is from then on.
type period struct {
	since   string
	changed bits // rows of the slab that were changed or made, or blocks of cells
	made    bits // rows that were made
	removed []int64
	tables  []*period // of columns of several widths: what has changed in each of their tables; nil: there are none
}

// ErrNotTracked is that of a moment nobody remembers what has changed since it.
var ErrNotTracked = errors.New("what has changed since is not known")

// blockCells is how many cells of a dense partition are remembered as one.
const blockCells = 1 << 10

// lineBits is how many bits a line of the cache has.
const lineBits = 64 * 8

// bits is a set of small numbers.
type bits []uint64

func (b bits) has(i uint32) bool { return int(i/64) < len(b) && b[i/64]>>(i%64)&1 != 0 }

func (b bits) set(i uint32) { b[i/64] |= 1 << (i % 64) }

// count is how many there are of the first n.
func (b bits) count(n int) (all int) {
	for _, word := range b[:min(len(b), n/64+1)] {
		all += mathbits.OnesCount64(word)
	}
	return all
}

func (b bits) add(all []uint32) {
	for _, i := range all {
		b[i/64] |= 1 << (i % 64)
	}
}

// take adds at most a block of numbers, and gives those that were not in the set, each once, in the room. It does not branch, so that
// what it needs is fetched all at once.
func (b bits) take(room *[block]uint32, all []uint32) []uint32 {
	n := 0
	for _, i := range all[:min(len(all), block)] {
		word, bit := &b[i/64], i%64
		room[n] = i
		n += int(^*word >> bit & 1)
		*word |= 1 << bit
	}
	return room[:n]
}

// fetch has the processor fetch what take looks at.
func (b bits) fetch(all []uint32) {
	if len(b) == 0 {
		return
	}
	var lines [block]uint32
	for i, n := range all[:min(len(all), block)] {
		lines[i] = n / lineBits
	}
	kernel.Fetch(wire.View(b), lineBits/8, lineBits/8, lines[:len(all)])
}

func (b bits) clear(i uint32) { b[i/64] &^= 1 << (i % 64) }

// reach makes room for numbers below n, and some more.
func (b *bits) reach(n int) {
	if words := n/64 + 1; words > len(*b) {
		wider := make(bits, words+len(*b)/8)
		copy(wider, *b)
		*b = wider
	}
}

// reach makes room for rows, or blocks, below n.
func (p *period) reach(n int) {
	p.changed.reach(n)
	p.made.reach(n)
}

// remove remembers a column that is about to be removed. One that was made since was not there when the period began.
func (p *period) remove(key uint64, row uint32) {
	if !p.made.has(row) {
		p.removed = append(p.removed, int64(key))
	}
}

func (p *period) bytes() int64 {
	n := int64(8 * (cap(p.changed) + cap(p.made) + cap(p.removed)))
	for _, t := range p.tables {
		n += t.bytes()
	}
	return n
}

// gone is the columns that were removed, in any order.
func (p *period) gone() []int64 {
	keys := slices.Clone(p.removed)
	for _, t := range p.tables {
		keys = append(keys, t.removed...)
	}
	return keys
}

// joined is what has changed in periods that follow each other.
func joined(all []*period) *period {
	if len(all) == 1 {
		return all[0]
	}
	out := &period{since: all[0].since}
	for _, p := range all {
		out.changed.reach(64*len(p.changed) - 1)
		for i, word := range p.changed {
			out.changed[i] |= word
		}
		out.removed = append(out.removed, p.removed...)
	}
	for i := range all[0].tables {
		parts := make([]*period, len(all))
		for j, p := range all {
			parts[j] = p.tables[i]
		}
		out.tables = append(out.tables, joined(parts))
	}
	return out
}

// Track begins to remember what changes, as since the moment of that name: [Shard.MarkSince] tells it. What was remembered before
// is forgotten.
func (s *Shard) Track(name string) {
	p := &period{since: name}
	s.periods = []*period{p}
	s.store.track(p)
}

// turn begins a period. What has changed since base is one period from now on, which it gives: nil if that is not known.
func (s *Shard) turn(base, name string) (since *period) {
	last := s.periods
	i := slices.IndexFunc(last, func(p *period) bool { return p.since == base })
	if s.Track(name); i >= 0 {
		since = joined(last[i:])
		s.periods = append([]*period{since}, s.periods...)
	}
	return since
}

// MarkSince is a [Shard.Mark] that has only what has changed since the moment named base, and gives this moment a name. base
// stays known, and so do both until the next mark of a name is based on one of them: whoever writes down what the mark has, and
// fails, takes the same base again. The others are forgotten. It fails, and does nothing else, if base is not known.
func (s *Shard) MarkSince(base, name string) (*Mark, error) {
	if !slices.ContainsFunc(s.periods, func(p *period) bool { return p.since == base }) {
		return nil, fmt.Errorf("matrix %s: %w", s.meta.Name, ErrNotTracked)
	}
	return s.marked(s.turn(base, name)), nil
}

// MarkAll is a [Shard.Mark] of everything that gives this moment a name, and remembers from now on what changes. What has
// changed since base stays known if it was.
func (s *Shard) MarkAll(base, name string) *Mark {
	s.turn(base, name)
	return s.Mark()
}

// Partial reports whether the mark has only what has changed: see [Shard.MarkSince].
func (m *Mark) Partial() bool { return m.since != nil }

// Columns is how many columns a sparse partition had, with those that have not changed.
func (m *Mark) Columns() int64 { return m.columns }

// Removed is the columns that were removed since the base of a partial mark, in ascending order of kernel.Hash. Some of them may
// have been made again: those have changed too. It needs not be called by the owner of the shard, and may take long.
func (m *Mark) Removed() []int64 {
	if m.since == nil {
		return nil
	}
	keys := m.since.gone()
	slices.SortFunc(keys, func(a, b int64) int { return byHash(uint64(a), uint64(b)) })
	return slices.Compact(keys)
}

// Places is where cells of a dense partition have changed since the base of a partial mark: whole rows or parts of one, of at
// most n cells, one after the other as [Mark.ReadRect] reads them best. It needs not be called by the owner of the shard.
func (m *Mark) Places(n int64) iter.Seq[matrix.Rect] {
	at := m.s.at
	cells, _ := at.Cells()
	return func(yield func(matrix.Rect) bool) {
		for lo := int64(0); m.since != nil && lo < cells; {
			hi := lo
			for hi < cells && m.since.changed.has(uint32(hi/blockCells)) {
				hi += blockCells
			}
			for place := range places(at, lo, min(hi, cells), max(1, n)) {
				if !yield(place) {
					return
				}
			}
			lo = hi + blockCells
		}
	}
}

// places cuts the cells from lo to hi, counted row after row, in whole rows and parts of one of at most n.
func places(at matrix.Rect, lo, hi, n int64) iter.Seq[matrix.Rect] {
	return func(yield func(matrix.Rect) bool) {
		for width := at.Cols.Len(); lo < hi; {
			row, col, end := at.Rows.Lo+lo/width, at.Cols.Lo+lo%width, min(hi, lo+n)
			place := matrix.Rect{Rows: matrix.Range{Lo: row, Hi: row + 1}, Cols: at.Cols}
			if high := (end - lo) / width; high > 0 && col == at.Cols.Lo {
				place.Rows.Hi, end = row+high, lo+high*width
			} else {
				end = min(end, (lo/width+1)*width)
				place.Cols = matrix.Range{Lo: col, Hi: col + end - lo}
			}
			if !yield(place) {
				return
			}
			lo = end
		}
	}
}

// track has a period remember what changes from now on.
func (k *keyed[T]) track(p *period) {
	p.reach(int(k.slab.used))
	k.now = p
	k.note()
}

func (d *dense[T]) track(p *period) {
	p.changed.reach(d.cells / blockCells)
	d.now = p
}
