package shard

import (
	"math"

	"thole.example/kernel"
)

// How full the index is. It begins to grow by an eighth when more than startFull of its slots are taken; for every new key
// movesPerKey others move, so that it is done long before searches become slow; a small index, where one batch can fill all
// slots, moves the rest at once when mustFull are taken.
const (
	startFull   = 0.78
	mustFull    = 0.9
	movesPerKey = 24
	growPart    = 8
	growLines   = 16 // at least
)

func (x *index) growing() bool { return x.edge > 0 }

// filled reports whether n keys more would take more than the part of all slots.
func (x *index) filled(n int, part float64) bool {
	return float64(x.keys+n) > part*float64(x.spread.Lines*kernel.Slots)
}

// reserve makes room for n keys more, of at most a block.
func (x *index) reserve(n int) error {
	for {
		if !x.growing() {
			if !x.filled(n, startFull) {
				return x.extend(n)
			}
			if err := x.begin(); err != nil {
				return err
			}
		}
		moves := n * movesPerKey
		if x.filled(n, mustFull) {
			moves = math.MaxInt
		}
		if err := x.advance(moves); err != nil {
			return err
		}
		if x.growing() {
			return x.extend(n)
		}
	}
}

// begin makes the index larger for hashes from some point on; at first there are none.
func (x *index) begin() error {
	x.spread.Wide = x.spread.Lines + max(x.spread.Lines/growPart, growLines)
	if err := x.extend(0); err != nil {
		x.spread.Wide = x.spread.Lines
		return err
	}
	x.edge = int(x.spread.Lines)
	return nil
}

// extend makes lines for all places and for n keys more, were they all behind the last one.
func (x *index) extend(n int) error {
	need := max(int(x.spread.Wide), x.last+1) + n/kernel.Slots + 2
	if need <= len(x.lines) {
		return nil
	}
	if err := x.mem.Grow(64 * need); err != nil {
		return err
	}
	x.lines = kernel.Lines(x.mem.Data())
	return nil
}

// advance moves runs of keys from the end to their wider places, until the moves are spent or all have moved. A place only
// moves right, and what is right of a run has moved before, so there is always room.
func (x *index) advance(moves int) error {
	for moves > 0 && x.edge > 0 {
		from, to := x.lastRun()
		if err := x.extend((to - from) * kernel.Slots); err != nil {
			return err
		}
		x.take(from, to)
		for _, s := range x.run {
			x.put(s)
		}
		moves -= max(1, len(x.run))
	}
	if x.edge == 0 {
		x.spread.Lines, x.spread.From = x.spread.Wide, allPoints
	}
	return nil
}

// lastRun is the lines that a search beginning in the line before the edge may come from or go to: before it and at its end
// there are free slots.
func (x *index) lastRun() (from, to int) {
	from, to = x.edge-1, x.edge-1
	for from > 0 && x.lines[from-1].Full() {
		from--
	}
	for x.lines[to].Full() {
		to++
	}
	return from, to + 1
}

// take moves the edge to the first line of a run and takes out all keys of its lines.
func (x *index) take(from, to int) {
	x.run = x.run[:0]
	for i := range x.lines[from:to] {
		l := &x.lines[from+i]
		for i := range l.Taken() {
			x.run = append(x.run, slot{l.Key[i], l.Row[i]})
		}
		*l = kernel.Line{}
	}
	x.edge = from
	x.spread.From = (uint64(from)<<32 + x.spread.Lines - 1) / x.spread.Lines
}
