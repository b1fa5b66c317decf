package state

import (
	"encoding/json"
	"fmt"

	"thole.example/blockio"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// record is what was read of a record.
type record struct {
	p     *Partition
	count int64
	last  int64 // key of the last column
	next  int64 // cells before this one were read, or have not changed

	rates int64 // of the last steps

	waiting int64 // candidates
	younger int64 // key of the last of them

	removed int64
	lost    int64 // key of the last of them
}

func (r *record) end(body []byte, off int64) error {
	var e endJSON
	if err := json.Unmarshal(body, &e); err != nil {
		return at(off, "end: %w", err)
	}
	want := r.count
	if !r.p.Sparse && !r.p.Partial {
		want, _ = r.p.At.Cells()
	}
	if e.Count != r.count || r.count != want {
		return at(off, "end after %d of partition %d of matrix %q, which says %d and has %d", r.count, r.p.ID, r.p.Matrix, e.Count, want)
	}
	if e.Candidates != r.waiting {
		return at(off, "end after %d candidates of partition %d of matrix %q, which says %d", r.waiting, r.p.ID, r.p.Matrix, e.Candidates)
	}
	if e.Removed != r.removed {
		return at(off, "end after %d removed columns of partition %d of matrix %q, which says %d", r.removed, r.p.ID, r.p.Matrix, e.Removed)
	}
	return nil
}

func (r *record) band(c *wire.Cursor) (b Band, err error) {
	if r.p.Sparse {
		b, err = r.columns(c)
	} else {
		b, err = r.cells(c)
	}
	if err == nil {
		c.End("the frame")
		err = c.Err()
	}
	return b, err
}

// dense reads a dense block of the type, and of the place if it is known. Its values are valid until the next frame is read.
func dense(c *wire.Cursor, d matrix.DType, place *matrix.Rect) matrix.Block {
	off := c.Off()
	h, err := blockio.Decoder{}.Head(c)
	if err != nil {
		return matrix.Block{}
	}
	if h.Kind != blockio.Dense || h.Type != d || place != nil && h.At != *place {
		c.FailAt(off, "%v block of %v at %v, want a dense one of %v%s", h.Kind, h.Type, h.At, d, atPlace(place))
		return matrix.Block{}
	}
	b, _ := blockio.Decoder{InPlace: true}.Body(c, h) // the cursor has the error
	return b
}

func atPlace(place *matrix.Rect) string {
	if place == nil {
		return ""
	}
	return fmt.Sprintf(" at %v", *place)
}

// keys reads keys.
func keys(c *wire.Cursor) []int64 {
	off := c.Off()
	b := dense(c, matrix.I64, nil)
	if c.Err() == nil && b.At != matrix.At(0, b.At.Rows.Len(), 0, 1) {
		c.FailAt(off, "keys at %v, want one column from 0 on", b.At)
	}
	if c.Err() != nil {
		return nil
	}
	return b.Data.Values().([]int64)
}

func (r *record) columns(c *wire.Cursor) (Band, error) {
	ids := r.keys(c, r.count == 0, &r.last)
	place := matrix.At(0, int64(len(ids)), 0, r.p.Width())
	rows := dense(c, r.p.DType, &place)
	b := Band{Keys: ids, Values: []matrix.Block{rows}}
	if r.p.Aged {
		b.Last = r.steps(c, len(ids), 0, "named last")
	}
	if r.p.Stale {
		b.Stamps = r.steps(c, len(ids), r.p.Steps-r.rates, "left")
	}
	r.ranks(c, &b)
	if c.Err() != nil {
		return Band{}, c.Err()
	}
	r.count += int64(len(ids))
	return b, nil
}

// ranks reads those of the band's keys, if the partition has them.
func (r *record) ranks(c *wire.Cursor, b *Band) {
	if !r.p.Ranked {
		return
	}
	place := matrix.At(0, int64(len(b.Keys)), 0, 1)
	if ranks := dense(c, matrix.U8, &place); c.Err() == nil {
		b.Ranks = ranks.Data.Values().([]uint8)
	}
}

// steps reads a step for each of n columns, from the earliest on.
func (r *record) steps(c *wire.Cursor, n int, earliest int64, what string) []int64 {
	begin, place := c.Off(), matrix.At(0, int64(n), 0, 1)
	b := dense(c, matrix.I64, &place)
	if c.Err() != nil {
		return nil
	}
	steps := b.Data.Values().([]int64)
	r.checkSteps(c, begin, steps, earliest, what)
	return steps
}

// checkSteps wants steps that the partition's rule has made, and of which enough is known.
func (r *record) checkSteps(c *wire.Cursor, off int64, steps []int64, earliest int64, what string) {
	for _, t := range steps {
		if t < earliest || t > r.p.Steps {
			c.FailAt(off, "a column that step %d %s in a partition after %d steps, want one from %d on", t, what, r.p.Steps, earliest)
			return
		}
	}
}

// past reads the rates of the last steps.
func (r *record) past(c *wire.Cursor) (Band, error) {
	begin := c.Off()
	b := dense(c, matrix.F64, nil)
	n := b.At.Rows.Len()
	if c.Err() == nil && (b.At != matrix.At(0, n, 0, 1) || n == 0 || n > r.p.Steps) {
		c.FailAt(begin, "rates at %v in a partition after %d steps, want one column of 1 to as many", b.At, r.p.Steps)
	}
	if c.End("the frame"); c.Err() != nil {
		return Band{}, c.Err()
	}
	r.rates = n
	return Band{Rates: b.Data.Values().([]float64)}, nil
}

// candidates reads columns that are not made.
func (r *record) candidates(c *wire.Cursor) (Band, error) {
	b := Band{Keys: r.keys(c, r.waiting == 0, &r.younger)}
	begin := c.Off()
	place := matrix.At(0, int64(len(b.Keys)), 0, 2)
	pairs := dense(c, matrix.I64, &place)
	r.ranks(c, &b)
	if c.End("the frame"); c.Err() != nil {
		return Band{}, c.Err()
	}
	val := pairs.Data.Values().([]int64)
	for i := range b.Keys {
		if val[2*i] < 1 || val[2*i] > matrix.KeepLimit {
			c.FailAt(begin, "candidate %d was named %d times, want 1 to 2^30", b.Keys[i], val[2*i])
		}
		b.Counts, b.Last = append(b.Counts, val[2*i]), append(b.Last, val[2*i+1])
	}
	r.checkSteps(c, begin, b.Last, 0, "named last")
	r.waiting += int64(len(b.Keys))
	return b, c.Err()
}

// gone reads columns that were removed.
func (r *record) gone(c *wire.Cursor) (Band, error) {
	b := Band{Removed: r.keys(c, r.removed == 0, &r.lost)}
	c.End("the frame")
	r.removed += int64(len(b.Removed))
	return b, c.Err()
}

// keys reads the keys of a frame: some of the partition, after the last one in the order of hashes unless they are the first.
func (r *record) keys(c *wire.Cursor, none bool, last *int64) []int64 {
	begin := c.Off()
	ids := keys(c)
	if len(ids) == 0 {
		c.FailAt(begin, "no columns in a frame of columns")
	}
	before := kernel.Hash(uint64(*last))
	for i, key := range ids {
		first, hash := none && i == 0, kernel.Hash(uint64(key))
		switch {
		case !r.p.At.Cols.Has(key):
			c.FailAt(begin, "column %d, want one in %v", key, r.p.At.Cols)
		case r.p.Bits > 0 && hash>>(64-r.p.Bits) != uint64(r.p.ID):
			c.FailAt(begin, "column %d in partition %d by %d bits, where its hash %#x does not belong", key, r.p.ID, r.p.Bits, hash)
		case !first && hash <= before:
			c.FailAt(begin, "column %d after column %d, want them in ascending order of their hashes", key, *last)
		}
		*last, before = key, hash
	}
	return ids
}

func (r *record) cells(c *wire.Cursor) (Band, error) {
	off := c.Off()
	first := dense(c, r.p.DType, nil)
	if c.Err() != nil {
		return Band{}, c.Err()
	}
	whole, width := r.p.At, r.p.At.Cols.Len()
	n, _ := first.At.Cells() // they were there
	down, right := first.At.Rows.Lo-whole.Rows.Lo, first.At.Cols.Lo-whole.Cols.Lo
	rows := first.At.Cols == whole.Cols || first.At.Rows.Len() == 1
	place := down*width + right
	if n == 0 || !whole.Contains(first.At) || !rows || place != r.next && !(r.p.Partial && place > r.next) {
		c.FailAt(off, "cells at %v after %d of the %v, want rows or a part of one that follow", first.At, r.next, whole)
		return Band{}, c.Err()
	}
	r.count, r.next = r.count+n, place+n
	b := Band{Values: []matrix.Block{first}}
	for range r.p.Slots {
		b.Values = append(b.Values, dense(c, r.p.DType, &first.At))
	}
	return b, c.Err()
}
