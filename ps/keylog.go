package ps

import (
	"thole.example/matrix"
	"thole.example/rpc"
)

// keyLog is what was added by key to some rows: runs of keys, each with the values of all rows. Keys come again until the log is
// compacted, which adds up the values of each in their order.
type keyLog[T matrix.Elem] struct {
	rows  matrix.Range
	keys  []int64
	vals  []T
	other []T // memory that vals were in before the last compaction, for the next
	next  int // bytes at which to compact

	groups  []rpc.Group // partitions of the first keys, in their order; each of them once or several times
	grouped int         // how many keys these are
}

// firstCompact is how many bytes a log has before it is compacted for the first time, which takes as long as sending it: those of
// single rows, of which there may be many, fewer than one of several rows, which keeps its memory anyway.
func firstCompact(rows matrix.Range) int {
	if rows.Len() == 1 {
		return 8 << 20
	}
	return spareBytes
}

// newKeyLog is a log for some rows.
func newKeyLog[T matrix.Elem](rows matrix.Range) *keyLog[T] {
	return &keyLog[T]{rows: rows, next: firstCompact(rows)}
}

// lump is how many values a key has.
func (l *keyLog[T]) lump() int { return int(l.rows.Len()) }

// bytes is what the log takes.
func (l *keyLog[T]) bytes() int {
	return 8*len(l.keys) + matrix.DTypeOf[T]().Size()*len(l.vals)
}

// addKeys appends keys, in the groups of a plan if it is known.
func (l *keyLog[T]) addKeys(keys []int64, groups []rpc.Group) {
	if l.grouped == len(l.keys) && groups != nil {
		l.groups, l.grouped = append(l.groups, groups...), l.grouped+len(keys)
	}
	l.keys = append(l.keys, keys...)
}

// add appends keys, the values of which begin at vals[0], vals[stride] and so on.
func (l *keyLog[T]) add(keys []int64, groups []rpc.Group, vals []T, stride int) {
	n := l.lump()
	l.addKeys(keys, groups)
	if stride == n {
		l.vals = append(l.vals, vals[:n*len(keys)]...)
		return
	}
	for i := range keys {
		l.vals = append(l.vals, vals[i*stride:][:n]...)
	}
}

// plan plans the keys into k.
func (l *keyLog[T]) plan(k *Keys, m *Matrix) error {
	if l.grouped == len(l.keys) {
		return k.planGrouped(m.parts, l.groups, l.keys)
	}
	return k.plan(m.parts, m.meta.Rect().Cols, l.keys)
}

// clear empties the log and keeps its memory.
func (l *keyLog[T]) clear() {
	l.keys, l.vals, l.groups, l.grouped, l.next = l.keys[:0], l.vals[:0], l.groups[:0], 0, firstCompact(l.rows)
}

// compact leaves each key once. It comes again when the log has twice as much, or where it took little away, four times. k is memory
// for it.
func (l *keyLog[T]) compact(k *Keys, m *Matrix) error {
	if err := l.plan(k, m); err != nil {
		return err
	}
	n, before := l.lump(), len(l.keys)
	vals := resize(&l.other, len(k.unique)*n)
	for r := range k.runs(m.parts, 0, len(l.keys)) {
		sum(&lumps{k: k, run: r, lump: n, n: n}, vals[r.lo*n:r.hi*n], l.vals)
	}
	l.keys = append(l.keys[:0], k.unique...)
	l.vals, l.other = vals, l.vals
	l.groups, l.grouped = append(l.groups[:0], k.groups...), len(l.keys)
	times := 2
	if len(l.keys) > before*3/4 {
		times = 4
	}
	l.next = max(firstCompact(l.rows), times*l.bytes())
	return nil
}

// split takes the cells out that are to be sent. Keys come once.
func (l *keyLog[T]) split(send func(T) bool) (sent *keyLog[T]) {
	sent = &keyLog[T]{rows: l.rows}
	n, kept := l.lump(), 0
	for i, key := range l.keys {
		cells := l.vals[i*n : (i+1)*n]
		out, stays := len(sent.vals), false
		for c, v := range cells {
			if !send(v) {
				stays = stays || v != 0
				continue
			}
			if len(sent.vals) == out {
				sent.keys = append(sent.keys, key)
				sent.vals = append(sent.vals, make([]T, n)...)
			}
			sent.vals[out+c], cells[c] = v, 0
		}
		if stays {
			l.keys[kept] = key
			copy(l.vals[kept*n:(kept+1)*n], cells)
			kept++
		}
	}
	l.keys, l.vals = l.keys[:kept], l.vals[:kept*n]
	l.groups, l.grouped = nil, 0
	return sent
}
