package shard

import (
	"math"

	"thole.example/kernel"
)

// How full the index is. It begins to grow by an eighth when more than startFull of its slots are taken; for every new key
// movesPerKey others move, so that it is done before searches become slow; a small index, where one batch can fill all
// slots, moves the rest at once when mustFull are taken. So from 0.7 to 0.9 of the slots are taken: 14 to 18 bytes a key.
const (
	freshFull   = 0.7
	readyFull   = 0.77
	startFull   = 0.78
	mustFull    = 0.92
	movesPerKey = 8
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
			if x.filled(n, readyFull) {
				if err := x.prepare(1); err != nil {
					return err
				}
			}
			if !x.filled(n, startFull) {
				return x.extend(n)
			}
			x.edge, x.spread.Wide = int(x.spread.Lines), x.wider()
		}
		moves := n * movesPerKey
		if x.filled(n, mustFull) {
			moves = math.MaxInt
		}
		if err := x.advance(moves); err != nil {
			return err
		}
		if x.growing() {
			if err := x.prepare(1 - float64(x.edge)/float64(x.spread.Lines)); err != nil {
				return err
			}
			return x.extend(n)
		}
	}
}

// widen makes an empty index wide enough for n keys. Keys that come in the order of their hashes would else crowd at the
// beginning of one that grows with them.
func (x *index) widen(n int) error {
	lines := uint64(float64(min(n, columnLimit))/(freshFull*kernel.Slots)) + 1
	if x.keys > 0 || x.growing() || lines <= x.spread.Lines {
		return nil
	}
	if err := x.reach(int(lines) + 2); err != nil {
		return err
	}
	x.spread.Lines, x.spread.Wide = lines, lines
	return nil
}

// fit gives an empty index the memory for n keys, and some lines after the last place, once and for all.
func (x *index) fit(n, spare int) error {
	n += block // that seem to come while it is full
	if err := x.mem.Fit(64 * (int(float64(n)/(freshFull*kernel.Slots)) + 1 + spare)); err != nil {
		return err
	}
	x.lines = kernel.Lines(x.mem.Data())
	return x.widen(n)
}

// wider is how many lines the index will have when it has grown once more.
func (x *index) wider() uint64 {
	return x.spread.Wide + max(x.spread.Wide/growPart, growLines)
}

// widened is where a line will be when the index has grown.
func (x *index) widened(line int) int { return int(uint64(line) * x.spread.Wide / x.spread.Lines) }

// prepare has the system prepare what the index will grow into next, from the end on, as it will be written to: a part of it,
// that goes from none to all while it grows this time.
func (x *index) prepare(part float64) error {
	end := int(x.wider())
	if x.readyEnd != end {
		if err := x.reach(end + 2); err != nil {
			return err
		}
		x.ready, x.readyEnd = end, end
	}
	if from := end - int(part*float64(end-int(x.spread.Wide))); from < x.ready {
		x.mem.Ready(64*from, 64*x.ready, true)
		x.ready = from
	}
	return nil
}

// extend makes lines for all places and for n keys more, were they all after the last one.
func (x *index) extend(n int) error {
	return x.reach(max(int(x.spread.Wide), x.last+1) + n/kernel.Slots + 2)
}

// reach makes the lines as many as they have to be.
func (x *index) reach(lines int) error {
	if lines <= len(x.lines) {
		return nil
	}
	if err := x.mem.Grow(64 * lines); err != nil {
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
		x.mem.Await(64*x.widened(from), 64*(x.widened(to)+1))
		x.take(from, to)
		x.putRun()
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
			x.run = append(x.run, slotOf(l, i))
		}
		*l = kernel.Line{}
	}
	x.edge = from
	x.spread.From = (uint64(from)<<32 + x.spread.Lines - 1) / x.spread.Lines
}

// putRun puts keys where they belong now. They come almost in the order of their places, so most go where the last one went.
func (x *index) putRun() {
	at, taken := -1, 0
	for _, s := range x.run {
		if line := x.line(s.key); line != at {
			at, taken = line, x.lines[line].Taken()
		}
		for taken == kernel.Slots {
			at++
			taken = x.lines[at].Taken()
		}
		x.set(at, taken, s)
		taken++
	}
}
