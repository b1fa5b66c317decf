package shard

import (
	"runtime"
	"sync/atomic"
)

// taking is how far a mark is with each of its chunks of cells. The owner of the shard changes them and one other reads them
// at the same time: whoever comes first to one that waits has it. The reader makes it busy while it reads, and the owner sees to a
// copy before it changes anything, for which it waits until what is busy is not. Both do so by atomic operations alone, which also
// order what they do with the values.
type taking []atomic.Uint64

// What becomes of a chunk, or of a row. It waits until it is either copied aside by the owner or read, and in the end it is read.
const (
	waits uint64 = iota
	busy
	aside
	taken
)

func newTaking(n int) taking { return make(taking, n/32+1) }

func (t taking) of(i uint32) uint64 { return t[i/32].Load() >> (i % 32 * 2) & 3 }

// move goes from one state to another, if it is in the former.
func (t taking) move(i uint32, from, to uint64) bool {
	word, shift := &t[i/32], i%32*2
	for {
		was := word.Load()
		if was>>shift&3 != from {
			return false
		}
		if word.CompareAndSwap(was, was^(from^to)<<shift) {
			return true
		}
	}
}

// put has the owner say that there is a copy of what waits. It is false if it has been read meanwhile, or there is another copy.
func (t taking) put(i uint32) bool {
	for !t.move(i, waits, aside) {
		if t.of(i) != busy && t.of(i) != waits {
			return false
		}
		runtime.Gosched() // to the reader, which has a few rows at a time
	}
	return true
}

// open waits until the reader is not busy with it, and reports whether the owner has to copy it.
func (t taking) open(i uint32) bool {
	for {
		switch t.of(i) {
		case waits:
			return true
		case busy:
			runtime.Gosched()
		default:
			return false
		}
	}
}

// became is what became of the rows of a mark, for whoever has its turn: rows are small, and an atomic operation for each would take
// longer than to copy it.
type became []uint64

func newBecame(n int) became { return make(became, n/32+1) }

func (b became) of(row uint32) uint64 { return b[row/32] >> (row % 32 * 2) & 3 }

// become is what a row is from then on: aside after it has waited, or taken after either.
func (b became) become(row uint32, state uint64) { b[row/32] |= state << (row % 32 * 2) }
