package graph

import (
	"thole.example/data"
	"thole.example/kernel"
)

// places finds where a table has a column: counted from 1 on; at 0 are zeros, for columns that it does not have.
type places struct {
	lo, n  int64 // without lines: columns [lo, lo+n), one after the other
	spread kernel.Spread
	lines  []kernel.Line // of the keys, as kernel.Find searches them
}

// spare is up to how many columns a table keeps for each that it has, where that spares it the search for keys.
const spare = 8

// placesOf are places for the columns.
func placesOf(c *data.Columns) places {
	n := int64(len(c.Keys))
	if c.Keys == nil || c.Hi-c.Lo <= spare*n {
		return places{lo: c.Lo, n: c.Hi - c.Lo}
	}
	lines := uint64(n/2 + 1) // two of five slots are taken: nearly all searches end where they begin
	p := places{n: n, spread: kernel.Spread{Lines: lines, Wide: lines}, lines: make([]kernel.Line, lines, lines+64)}
	for i, key := range c.Keys {
		p.insert(uint64(key), uint32(i+1))
	}
	p.lines = append(p.lines, kernel.Line{}) // where every search ends
	return p
}

func (p *places) insert(key uint64, at uint32) {
	for line := p.spread.Line(kernel.Hash(key)); ; line++ {
		if int(line) == len(p.lines) {
			p.lines = append(p.lines, kernel.Line{})
		}
		if l := &p.lines[line]; !l.Full() {
			i := l.Taken()
			l.Key[i], l.Row[i] = key, at
			return
		}
	}
}

// ahead is how many columns before its turn the line of one is fetched.
const ahead = 32

// find writes the place of each column to at.
func (p *places) find(cols []int64, at []uint32) {
	if p.lines != nil {
		kernel.Locate(&p.spread, cols, at)
		new(kernel.Finder).Find(p.lines, cols, at, at, at[min(ahead, len(at)):])
		return
	}
	kernel.FindNext(p.lo, p.n, cols, at)
}
