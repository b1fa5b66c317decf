package ps

import (
	"thole.example/matrix"
)

// keyLog is what was added by key to some rows: runs of keys, each with the values of all rows. Keys come again until the log is
// compacted, which adds up the values of each in their order.
type keyLog[T matrix.Elem] struct {
	rows matrix.Range
	keys []int64
	vals []T
	next int // bytes at which to compact
}

// firstCompact is how many bytes a log has before it is compacted for the first time: it is once more when it is sent.
const firstCompact = 8 << 20

// lump is how many values a key has.
func (l *keyLog[T]) lump() int { return int(l.rows.Len()) }

// bytes is what the log takes.
func (l *keyLog[T]) bytes() int {
	return 8*len(l.keys) + matrix.DTypeOf[T]().Size()*len(l.vals)
}

// add appends keys, the values of which begin at vals[0], vals[stride] and so on.
func (l *keyLog[T]) add(keys []int64, vals []T, stride int) {
	n := l.lump()
	l.keys = append(l.keys, keys...)
	if stride == n {
		l.vals = append(l.vals, vals[:n*len(keys)]...)
		return
	}
	for i := range keys {
		l.vals = append(l.vals, vals[i*stride:][:n]...)
	}
}

// compact leaves each key once. k is memory for it.
func (l *keyLog[T]) compact(k *Keys, m *Matrix) error {
	if err := k.plan(m.parts, m.meta.Rect().Cols, l.keys); err != nil {
		return err
	}
	n := l.lump()
	keys, vals := append([]int64(nil), k.unique...), make([]T, len(k.unique)*n)
	for r := range k.runs(m.parts, 0, len(l.keys)) {
		sum(&lumps{k: k, run: r, lump: n, n: n}, vals[r.lo*n:r.hi*n], l.vals)
	}
	l.keys, l.vals = keys, vals
	l.next = max(firstCompact, 2*l.bytes())
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
	return sent
}
