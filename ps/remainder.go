package ps

import (
	"cmp"
	"maps"
	"runtime"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// owingLimit is how many bytes of remainders a matrix keeps: the change after there are more is sent as it is, and with it all of them.
const owingLimit = 256 << 20

// remainders are what rounding lost: what was to be sent less what was sent. The next increments of a cell are added to its own.
type remainders[T matrix.Elem] struct {
	rows  map[int64][]T                  // of rows that were sent whole
	keyed map[matrix.Range]*keyedRest[T] // of keys, by the rows that were sent together
	bytes int
}

// of is the remainders of keys of some rows.
func (r *remainders[T]) of(rows matrix.Range) *keyedRest[T] {
	k := r.keyed[rows]
	if k == nil {
		if r.keyed == nil {
			r.keyed = map[matrix.Range]*keyedRest[T]{}
		}
		k = newKeyedRest[T](int(rows.Len()))
		r.keyed[rows] = k
	}
	return k
}

// keyedRest are the remainders of keys, each of n rows.
type keyedRest[T matrix.Elem] struct {
	n      int
	count  int // of keys
	vals   []T // from n on
	index  *restIndex
	memory *restMemory
}

// restMemory lies outside of the Go heap once it is large, and is given back with what it is of.
type restMemory struct{ lines, vals *kernel.Memory }

func (m *restMemory) free() {
	m.lines.Free()
	m.vals.Free()
}

func newKeyedRest[T matrix.Elem](n int) *keyedRest[T] {
	r := &keyedRest[T]{n: n, index: &restIndex{}, memory: &restMemory{&kernel.Memory{}, &kernel.Memory{}}}
	runtime.AddCleanup(r, (*restMemory).free, r.memory)
	return r
}

// size is the bytes of a key's values.
func (r *keyedRest[T]) size() int { return r.n * matrix.DTypeOf[T]().Size() }

// reserve makes room for more keys. It reports whether there is any.
func (r *keyedRest[T]) reserve(more int) bool {
	keys := r.count + more
	if r.memory.vals.Grow((keys+1)*r.size()) != nil {
		return false
	}
	r.vals, _ = wire.Numbers[T](r.memory.vals.Data()[:(keys+1)*r.size()])
	if uint64(keys) <= 3*r.index.spread.Lines { // of five slots three are taken, about
		return true
	}
	x := &restIndex{memory: &kernel.Memory{}}
	if !x.fill(max(slack, keys*2/3), r.index.lines) {
		x.memory.Free()
		return false
	}
	r.memory.lines.Free()
	r.index, r.memory.lines = x, x.memory
	return true
}

// restIndex finds the row of a key among the values. A key stands in its line or in the first one after it that was not full.
type restIndex struct {
	spread kernel.Spread
	lines  []kernel.Line // the last one has a free slot
	memory *kernel.Memory
}

// slack is how many lines there are at least after those where searches begin.
const slack = 64

// fill makes an index of so many lines, with all keys of others. It reports whether there is memory for it.
func (x *restIndex) fill(lines int, others []kernel.Line) bool {
	x.spread = kernel.Spread{Lines: uint64(lines), From: 1 << 32}
	if !x.extend(lines) {
		return false
	}
	for i := range others {
		l := &others[i]
		for k := range l.Taken() {
			if !x.put(x.spread.Line(kernel.Hash(l.Key[k])), l.Key[k], l.Row[k]) {
				return false
			}
		}
	}
	return true
}

// extend makes room for lines and some more.
func (x *restIndex) extend(lines int) bool {
	if x.memory.Grow(lineBytes*(lines+slack)) != nil {
		return false
	}
	x.lines = kernel.Lines(x.memory.Data())[:lines+slack]
	return true
}

const lineBytes = 64

// put puts a key that is not there into the first free slot from a line on.
func (x *restIndex) put(line uint32, key uint64, row uint32) bool {
	for x.lines[line].Full() {
		line++
	}
	if int(line)+1 == len(x.lines) && !x.extend(len(x.lines)) {
		return false
	}
	l := &x.lines[line]
	at := l.Taken()
	l.Key[at], l.Row[at] = key, row
	return true
}

// restBlock is how many keys are looked for together, so that the memory of one block comes while another is worked on.
const restBlock = 64

// search is a block of keys on the way to their remainders.
type search struct {
	keys     []int64
	at, rows [restBlock]uint32
}

// round rounds the values of different keys to the type, with what was lost of them before, and keeps what is lost. It reports whether
// there is memory to keep it; if not, some have been rounded.
func (r *keyedRest[T]) round(as matrix.DType, keys []int64, vals []T) bool {
	var ring [3]search
	const chunk = restBlock * restBlock
	for ; len(keys) > 0; keys, vals = keys[min(chunk, len(keys)):], vals[min(chunk, len(keys))*r.n:] {
		some := keys[:min(chunk, len(keys))]
		if !r.reserve(len(some)) {
			return false
		}
		blocks := (len(some) + restBlock - 1) / restBlock
		for b := range blocks + 2 {
			s := &ring[b%3]
			s.keys = some[min(b*restBlock, len(some)):min((b+1)*restBlock, len(some))]
			kernel.Locate(&r.index.spread, s.keys, s.at[:len(s.keys)])
			if b > 0 && b <= blocks && !r.find(&ring[(b-1)%3], s) {
				return false
			}
			if b > 1 {
				s := &ring[(b-2)%3]
				roundTo(as, vals[(b-2)*restBlock*r.n:][:len(s.keys)*r.n], r.vals, r.n, s.rows[:len(s.keys)])
			}
		}
	}
	return true
}

// find finds or makes the remainders of a block's keys, and has the processor fetch them, and what those of the next one are found by.
func (r *keyedRest[T]) find(s, next *search) bool {
	n := len(s.keys)
	f := kernel.NewFinder(nil, r.memory.vals.Data(), r.size(), r.size())
	if f.Find(r.index.lines, s.keys, s.at[:n], s.rows[:n], next.at[:len(next.keys)]) > 0 {
		for i, row := range s.rows[:n] {
			if row > 0 {
				continue
			}
			if !r.index.put(s.at[i], uint64(s.keys[i]), uint32(r.count+1)) {
				return false
			}
			r.count++
			s.rows[i] = uint32(r.count)
		}
	}
	return true
}

// each calls f for each key with what is left of it, in no order.
func (r *keyedRest[T]) each(f func(key int64, row uint32, left []T)) {
	for i := range r.index.lines {
		l := &r.index.lines[i]
		for k := range l.Taken() {
			f(int64(l.Key[k]), l.Row[k], r.vals[int(l.Row[k])*r.n:][:r.n])
		}
	}
}

// take gives the keys of which something is left, ascending, and what that is, and gives the memory back.
func (r *keyedRest[T]) take() (keys []int64, vals []T) {
	type owing struct {
		key int64
		row uint32
	}
	var all []owing
	r.each(func(key int64, row uint32, left []T) {
		if slices.ContainsFunc(left, func(v T) bool { return v != 0 }) {
			all = append(all, owing{key, row})
		}
	})
	slices.SortFunc(all, func(a, b owing) int { return cmp.Compare(a.key, b.key) })
	for _, o := range all {
		keys, vals = append(keys, o.key), append(vals, r.vals[int(o.row)*r.n:][:r.n]...)
	}
	r.memory.free()
	return keys, vals
}

// repay puts all remainders back into the sums.
func (s *sumsOf[T]) repay() error {
	lost := s.lost
	s.lost = remainders[T]{}
	for _, r := range slices.Sorted(maps.Keys(lost.rows)) {
		at := matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: s.m.meta.Rect().Cols}
		if err := s.block(matrix.Block{At: at, Data: &matrix.Dense[T]{Val: lost.rows[r]}}); err != nil {
			return err
		}
	}
	order := slices.SortedFunc(maps.Keys(lost.keyed), func(a, b matrix.Range) int {
		return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Hi, b.Hi))
	})
	for _, rows := range order {
		keys, vals := lost.keyed[rows].take()
		if len(keys) == 0 {
			continue
		}
		if err := s.keyed(rows, keys, nil, wire.View(vals)); err != nil {
			return err
		}
	}
	return nil
}
