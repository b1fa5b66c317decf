package shard

import (
	"thole.example/kernel"
)

// block is how many keys are worked on at a time: enough for the fetches of a block to overlap, few enough for what was
// fetched to stay in the nearest cache until it is used.
const block = 64

// walk goes over keys in blocks. While one block is worked on, the rows of the next one and the lines of the index of the
// one after it are fetched.
type walk struct {
	keys  []int64
	at    int // of the first key of the block to work on
	size  int // bytes of each row to fetch
	from  int // of those before them in the row
	found int // keys whose rows are known
	fresh bool
	err   error

	line, row [2][block]uint32
	missing   [2]int
}

// rows are those of the block, 0 for columns that are not there.
func (w *walk) rows() []uint32 {
	return w.row[w.at/block%2][:min(block, len(w.keys)-w.at)]
}

// absent is how many of the rows are 0.
func (w *walk) absent() int { return w.missing[w.at/block%2] }

// begin prepares a walk over keys that fetches a part of each row. With fresh set, columns that are not there are made.
func (k *keyed[T]) begin(w *walk, keys []int64, from, size int, fresh bool) {
	w.keys, w.at, w.from, w.size, w.fresh = keys, -block, from, size, fresh
	k.locate(w, 0)
	k.find(w, 0)
}

// next goes on to the next block; false at the end, or when columns could not be made (err).
func (k *keyed[T]) next(w *walk) bool {
	w.at += block
	if w.at >= len(w.keys) || w.err != nil {
		return false
	}
	k.find(w, w.at+block)
	return w.err == nil
}

func (k *keyed[T]) locate(w *walk, at int) {
	if at < len(w.keys) {
		keys := w.keys[at:min(at+block, len(w.keys))]
		kernel.Locate(&k.index.spread, k.index.lines, keys, w.line[at/block%2][:])
	}
}

// find finds the rows of the block that begins at a key, whose lines are located, and locates those of the one behind it.
func (k *keyed[T]) find(w *walk, at int) {
	k.locate(w, at+block)
	if at >= len(w.keys) {
		return
	}
	keys, b := w.keys[at:min(at+block, len(w.keys))], at/block%2
	rows := w.row[b][:len(keys)]
	missing := kernel.Find(k.index.lines, keys, w.line[b][:], rows)
	if missing > 0 && w.fresh {
		if w.err = k.insert(keys, rows, missing); w.err != nil {
			return
		}
		k.locate(w, at+block) // the index may have grown
	}
	w.missing[b] = missing
	kernel.Fetch(k.slab.data()[w.from:], k.slab.stride*k.size, w.size, rows)
}

// insert makes the columns of a block that are not there, with their initial values.
func (k *keyed[T]) insert(keys []int64, rows []uint32, missing int) error {
	if err := k.slab.reserve(missing); err != nil {
		return err
	}
	if err := k.index.reserve(missing); err != nil {
		return err
	}
	for j, key := range keys {
		if rows[j] != 0 {
			continue
		}
		line, at, ok := k.index.find(uint64(key))
		if ok { // the key comes twice
			rows[j] = k.index.lines[line].Row[at]
			continue
		}
		row := k.slab.take(len(k.marks) == 0)
		k.index.set(line, at, slot{uint64(key), row})
		k.index.keys++
		if k.init != nil {
			k.initial(key, k.at.Rows.Lo, k.slab.row(row)[:k.rows])
		}
		rows[j] = row
	}
	return nil
}
