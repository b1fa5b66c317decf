package state

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"thole.example/blockio"
	"thole.example/format"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// Reader reads a stream, or the part of one that begins and ends with frames. It is for one goroutine. Errors are *wire.At, with
// the byte of the stream: format.Wrap makes them name the file and count as damage.
type Reader struct {
	src      io.ReaderAt
	off, end int64
	body     []byte // of the last frame
}

// NewReader reads a stream of size bytes.
func NewReader(src io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{src: src, end: size}
	b, err := r.take(int64(len(magic)), "begin of a stream")
	if err != nil {
		return nil, err
	}
	if string(b[:len(magic)-1]) != magic[:len(magic)-1] {
		return nil, at(0, "%q, want %q", b[:len(magic)-1], magic[:len(magic)-1])
	}
	if b[len(magic)-1] != Version {
		return nil, &wire.At{Off: int64(len(magic)) - 1, Err: fmt.Errorf("version %d, want %d: %w", b[len(magic)-1], Version, format.ErrVersion)}
	}
	return r, nil
}

// Section reads n bytes of the stream from off on, where a frame begins.
func (r *Reader) Section(off, n int64) (*Reader, error) {
	if off < int64(len(magic)) || n < 0 || off > r.end || n > r.end-off {
		return nil, at(off, "%d bytes of frames, want some between %d and %d", n, len(magic), r.end)
	}
	return &Reader{src: r.src, off: off, end: off + n}, nil
}

// Rest reads the stream from off on.
func (r *Reader) Rest(off int64) (*Reader, error) { return r.Section(off, r.end-off) }

// at is an error at a byte.
func at(off int64, text string, args ...any) error {
	return &wire.At{Off: off, Err: fmt.Errorf(text, args...)}
}

// take reads n bytes; they are valid until the next frame.
func (r *Reader) take(n int64, what string) ([]byte, error) {
	if n > r.end-r.off {
		return nil, at(r.off, "%s needs %d bytes, %d remain: %w", what, n, r.end-r.off, wire.ErrTruncated)
	}
	if int64(cap(r.body)) < n {
		r.body = make([]byte, n) // no more than the stream has
	}
	b := r.body[:n]
	if err := wire.ReadAt(r.src, b, r.off); err != nil {
		return nil, err
	}
	r.off += n
	return b, nil
}

// More reports whether something follows.
func (r *Reader) More() bool { return r.off < r.end }

// next reads a frame, whose body begins at the byte off and is valid until the next one.
func (r *Reader) next(what string) (k kind, body []byte, off int64, err error) {
	begin := r.off
	b, err := r.take(frameHead, what)
	if err != nil {
		return 0, nil, 0, err
	}
	head := [frameHead]byte(b)
	n := wire.Little.Uint64(head[8:])
	if n > uint64(r.end-r.off) {
		return 0, nil, 0, at(begin+8, "body of %d bytes, %d remain: %w", n, r.end-r.off, wire.ErrTruncated)
	}
	off = r.off
	padded, err := r.take(int64(n)+(-int64(n)&7), what)
	if err != nil {
		return 0, nil, 0, err
	}
	body = padded[:n]
	sum := crc32.Update(crc32.Checksum(head[:4], castagnoli), castagnoli, head[8:])
	if sum = crc32.Update(sum, castagnoli, body); sum != wire.Little.Uint32(head[4:]) {
		return 0, nil, 0, at(begin, "frame with checksum %08x, want %08x", sum, wire.Little.Uint32(head[4:]))
	}
	for _, b := range padded[n:] {
		if b != 0 {
			return 0, nil, 0, at(off+int64(n), "pad byte %#02x, want 0", b)
		}
	}
	return kind(wire.Little.Uint32(head[:])), body, off, nil
}

// jsonLimit is how long JSON in a frame may be: parsed it takes some times as much.
const jsonLimit = 1 << 28

// json reads a frame of JSON.
func (r *Reader) json(k kind, v any) (off int64, err error) {
	begin := r.off
	got, body, off, err := r.next(k.String())
	switch {
	case err != nil:
		return off, err
	case got != k:
		return off, at(begin, "frame of %v, want %v", got, k)
	case len(body) > jsonLimit:
		return off, &wire.At{Off: begin + 8, Err: fmt.Errorf("%v of %d bytes, want at most %d: %w", k, len(body), jsonLimit, format.ErrLimit)}
	}
	if err := json.Unmarshal(body, v); err != nil {
		return off, at(off, "%v: %w", k, err)
	}
	return off, nil
}

// Partition reads the head of the next record; Bands reads the rest.
func (r *Reader) Partition() (Partition, error) {
	var j partitionJSON
	off, err := r.json(kindPartition, &j)
	if err != nil {
		return Partition{}, err
	}
	p := Partition{
		Matrix: j.Matrix, ID: j.Partition, At: matrix.At(j.Rows[0], j.Rows[1], j.Cols[0], j.Cols[1]), Sparse: j.Sparse,
		Bits: j.Bits, Slots: j.Slots, Steps: j.Steps, Aged: j.Aged, Stale: j.Stale, Ranked: j.Ranked, Partial: j.Partial,
	}
	if p.DType, err = typeOf(j.Type); err == nil {
		p.Absent = string(j.Absent)
		err = p.check()
	}
	if err == nil {
		p.Absent = string(swapped(j.Absent, p.DType))
	}
	if err != nil {
		return Partition{}, at(off, "%w", err)
	}
	return p, nil
}

// Bands reads the record that begins with p, up to its end. The walk ends with the first error.
func (r *Reader) Bands(p *Partition) iter.Seq2[Band, error] {
	return func(yield func(Band, error) bool) {
		rec := &record{p: p, last: -1}
		for {
			begin := r.off
			k, body, off, err := r.next("record")
			if err != nil {
				yield(Band{}, err)
				return
			}
			switch {
			case k == kindEnd:
				if err := rec.end(body, off); err != nil {
					yield(Band{}, err)
				}
				return
			case k == kindCandidates && p.Sparse && rec.removed == 0:
				b, err := rec.candidates(wire.NewCursor(body, off, wire.Little))
				if !yield(b, err) || err != nil {
					return
				}
				continue
			case k == kindRemoved && p.Sparse && p.Partial:
				b, err := rec.gone(wire.NewCursor(body, off, wire.Little))
				if !yield(b, err) || err != nil {
					return
				}
				continue
			case k == kindRates && p.Stale && rec.count == 0 && rec.waiting == 0 && rec.rates+rec.removed == 0:
				b, err := rec.past(wire.NewCursor(body, off, wire.Little))
				if !yield(b, err) || err != nil {
					return
				}
				continue
			case k != kindColumns && k != kindCells || p.Sparse != (k == kindColumns) || rec.waiting+rec.removed > 0:
				yield(Band{}, at(begin, "frame of %v in the record of partition %d of matrix %q", k, p.ID, p.Matrix))
				return
			}
			b, err := rec.band(wire.NewCursor(body, off, wire.Little))
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

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

// dense reads a dense block of the type, and of the place if it is known.
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
	b, _ := blockio.Decoder{}.Body(c, h) // the cursor has the error
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
	for i, key := range ids {
		first := none && i == 0
		switch hash := kernel.Hash(uint64(key)); {
		case !r.p.At.Cols.Has(key):
			c.FailAt(begin, "column %d, want one in %v", key, r.p.At.Cols)
		case r.p.Bits > 0 && hash>>(64-r.p.Bits) != uint64(r.p.ID):
			c.FailAt(begin, "column %d in partition %d by %d bits, where its hash %#x does not belong", key, r.p.ID, r.p.Bits, hash)
		case !first && hash <= kernel.Hash(uint64(*last)):
			c.FailAt(begin, "column %d after column %d, want them in ascending order of their hashes", key, *last)
		}
		*last = key
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
