package shard

import (
	"thole.example/kernel"
	"thole.example/matrix"
)

// block is how many keys are worked on at a time: enough for the fetches of a block to overlap, few enough for what was
// fetched to stay in the nearest cache until it is used.
const block = 32

// walk goes over keys in blocks. While one block is worked on, the rows of the next one are known and being fetched; while these are
// found the lines of the index for the one after it are.
type walk struct {
	keys  []int64
	at    int // of the first key of the block to work on
	fresh making
	err   error

	line, row [2][block]uint32
	missing   [2]int
	finder    kernel.Finder
	delta     int32 // of a step's, that the keys are of
}

// making is what becomes of columns that are not there.
type making uint8

const (
	makeNone making = iota
	makeAll
	makeBare  // all, without their initial values: every value of them is going to be set
	makeNamed // those that a step names and that matrix.Keep admits; the rows of the others stay 0
)

// toSet is what becomes of columns that are not there when values of these rows are set.
func (k *keyed[T]) toSet(rows matrix.Range) making {
	if rows.Contains(k.at.Rows) {
		return makeBare
	}
	return makeAll
}

// part is the keys of the block that begins at one of them.
func (w *walk) part(at int) []int64 {
	return w.keys[min(at, len(w.keys)):min(at+block, len(w.keys))]
}

// rows are those of the block, 0 for columns that are not there.
func (w *walk) rows() []uint32 { return w.row[w.at/block%2][:len(w.part(w.at))] }

// ahead are those of the next block.
func (w *walk) ahead() []uint32 { return w.row[(w.at/block+1)%2][:len(w.part(w.at+block))] }

// absent is how many of the block's rows are 0.
func (w *walk) absent() int { return w.missing[w.at/block%2] }

// begin prepares a walk: next goes to the first block.
func (k *keyed[T]) begin(w *walk, keys []int64, fresh making) {
	w.keys, w.at, w.fresh, w.err = keys, -block, fresh, nil
	if k.age != nil && fresh == makeNamed {
		w.finder = kernel.NewFinder(&k.age.named, nil, 0, 0)
	}
	k.locate(w, 0)
	k.find(w, 0)
}

// next goes on to the next block; false at the end, or at a block with columns that could not be made (err).
func (k *keyed[T]) next(w *walk) bool {
	w.at += block
	if w.at >= len(w.keys) || w.err != nil {
		return false
	}
	k.find(w, w.at+block)
	return true
}

// locate finds where the search for the keys of a block begins.
func (k *keyed[T]) locate(w *walk, at int) {
	kernel.Locate(&k.index.spread, w.part(at), w.line[at/block%2][:])
}

// find finds the rows of the block that begins at a key, which is located, and locates the one after it. When new columns
// make the index grow, places move to the right: some keys that were located before seem to be missing then, and insert
// finds them.
func (k *keyed[T]) find(w *walk, at int) {
	k.locate(w, at+block)
	keys, b := w.part(at), at/block%2
	rows := w.row[b][:len(keys)]
	w.missing[b] = k.search(w, at, rows)
	switch {
	case w.missing[b] == 0 || w.fresh == makeNone:
	case w.fresh == makeNamed:
		w.missing[b], w.err = k.admit(w, at, keys, rows)
	default:
		w.err = k.insert(keys, rows, w.missing[b], w.fresh == makeBare)
	}
}

// insert makes the columns of a block that are not there, with their initial values unless they are to be bare.
func (k *keyed[T]) insert(keys []int64, rows []uint32, missing int, bare bool) error {
	if err := k.slab.reserve(missing); err != nil {
		return err
	}
	if err := k.index.reserve(missing); err != nil {
		return err
	}
	if k.now != nil {
		k.now.reach(int(k.slab.used) + missing)
	}
	if k.noted != nil {
		k.noted.reach(int(k.slab.used) + missing)
	}
	if k.lazy != nil {
		if n := int(k.slab.used) + missing; n > len(k.lazy.stamps) {
			if err := k.slab.move(func() error { return k.lazy.reserve(n) }); err != nil {
				return err
			}
		}
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
		row := k.take()
		k.index.set(line, at, slot{uint64(key), row, k.age.now()})
		k.index.keys++
		switch {
		case bare:
		case k.init != nil:
			val := k.slab.open(row)
			k.initial(key, k.at.Rows.Lo, val[:k.rows])
			k.slab.shut(row, val)
		case k.valued: // its slots are 0
			copy(k.slab.bytesOf(row), k.slab.bytesOf(0))
		}
		rows[j] = row
		k.born(key, row)
	}
	return nil
}

// take is a row for a new column. While there are marks no row is used again, except where a budget bounds how many there are.
func (k *keyed[T]) take() uint32 {
	row := k.slab.take(len(k.marks) == 0 || k.buckets != nil)
	for _, m := range k.marks {
		m.reuse(row)
	}
	return row
}

// born tells of a new column.
func (k *keyed[T]) born(key int64, row uint32) {
	if k.bits > 0 {
		k.prefix = kernel.Hash(uint64(key)) >> (64 - k.bits)
	}
	if k.now != nil {
		k.now.changed.set(row)
		k.now.made.set(row)
	}
	k.tally(uint64(key), 1)
	if k.life != nil {
		k.life.created(key)
	}
	if k.lazy != nil {
		k.lazy.stamps[row] = k.lazy.as
	}
}
