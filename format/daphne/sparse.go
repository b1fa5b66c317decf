package daphne

import (
	"encoding/binary"
	"math"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

// rows reads a CSR block of the document's layout in bands of whole rows, from its begin to the last row wanted: where
// a row begins is known only from the rows before it. The bytes are read here, the jobs decode them.
func (w *walk) rows(e entry, yield func(job) bool) bool {
	s := &rowScan{src: w.src, off: e.off, end: e.off + e.Body, cell: int64(4 + e.Type.Size()), left: e.N}
	for row := e.At.Rows.Lo; row < e.At.Rows.Hi && row < w.want.Rows.Hi; {
		s.buf = w.buffer(min(bandBytes, s.end-s.off))
		n, cells, raw, off, err := s.next(e.At.Rows.Hi - row)
		if err == nil && row+n == e.At.Rows.Hi && s.left != 0 {
			err = misfit(s.off, "the rows have %d non-zeros, the block says %d", e.N-s.left, e.N)
		}
		if err != nil {
			yield(func() ([]matrix.Block, error) { return nil, err })
			return false
		}
		band := matrix.Rect{Rows: matrix.Range{Lo: row, Hi: row + n}, Cols: e.At.Cols}
		row += n
		if band.Intersect(w.want).Empty() {
			w.done(s.buf)
			continue
		}
		buf := s.buf
		if !yield(func() ([]matrix.Block, error) {
			defer w.done(buf)
			h := blockio.Head{At: band, Kind: blockio.CSR, Type: e.Type, N: cells, Body: int64(len(raw))}
			return w.decoded(e, h, raw, off)
		}) {
			return false
		}
	}
	return true
}

// rowScan cuts the bytes of a CSR block where rows end.
type rowScan struct {
	src interface {
		ReadAt([]byte, int64) (int, error)
	}
	off  int64 // of the first byte not yet given
	end  int64
	cell int64
	left int64 // cells not yet given
	buf  []byte
}

// next gives the bytes of as many rows, at most limit, as about a band has, at least one. raw is a part of buf.
func (s *rowScan) next(limit int64) (rows, cells int64, raw []byte, off int64, err error) {
	if err := s.fill(bandBytes); err != nil {
		return 0, 0, nil, 0, err
	}
	o := int64(0)
	for rows < limit {
		if o+4 > int64(len(s.buf)) {
			break
		}
		count := int64(binary.LittleEndian.Uint32(s.buf[o:]))
		if count > s.left-cells {
			return 0, 0, nil, 0, misfit(s.off+o, "a row of %d non-zeros, %d remain of the block", count, s.left-cells)
		}
		next := o + 4 + count*s.cell
		if s.off+next > s.end {
			return 0, 0, nil, 0, misfit(s.off+o, "a row of %d non-zeros: %w", count, wire.ErrTruncated)
		}
		if next > int64(len(s.buf)) {
			if rows > 0 {
				break
			}
			if err := s.fill(next); err != nil { // one row larger than a band
				return 0, 0, nil, 0, err
			}
		}
		o, rows, cells = next, rows+1, cells+count
	}
	if rows == 0 {
		return 0, 0, nil, 0, misfit(s.off, "no more rows: %w", wire.ErrTruncated)
	}
	off = s.off
	s.off, s.left = s.off+o, s.left-cells
	return rows, cells, s.buf[:o], off, nil
}

// fill reads n bytes from off on, fewer at the end of the block.
func (s *rowScan) fill(n int64) error {
	n = min(n, s.end-s.off)
	if int64(cap(s.buf)) < n {
		s.buf = make([]byte, n)
	}
	s.buf = s.buf[:n]
	return wire.ReadAt(s.src, s.buf, s.off)
}

// arrays reads CSR in three arrays, as DAPHNE writes it, in bands of rows: the offsets here, the rest in the jobs.
func (w *walk) arrays(e entry, yield func(job) bool) bool {
	wanted := e.At.Rows.Intersect(w.want.Rows)
	cell := int64(8 + e.Type.Size())
	for lo := wanted.Lo; lo < wanted.Hi; {
		ptr, err := w.offsets(e, lo, min(wanted.Hi, lo+bandBytes/16))
		if err != nil {
			yield(func() ([]matrix.Block, error) { return nil, err })
			return false
		}
		n := int64(1) // rows in the band
		for n < int64(len(ptr))-1 && (ptr[n+1]-ptr[0])*cell <= bandBytes {
			n++
		}
		rows := matrix.Range{Lo: lo, Hi: lo + n}
		if !yield(func() ([]matrix.Block, error) { return w.band(e, rows, ptr[:n+1]) }) {
			return false
		}
		lo += n
	}
	return true
}

// band reads rows of the three arrays. They are handed to package blockio as a wide block, which has the same arrays with
// counts in place of offsets.
func (w *walk) band(e entry, rows matrix.Range, ptr []int64) ([]matrix.Block, error) {
	idx := e.off + 8*(e.At.Rows.Len()+1)
	val := idx + 8*e.N
	n, first, cells := rows.Len(), ptr[0], ptr[rows.Len()]-ptr[0]
	raw := w.buffer(8*n + cells*int64(8+e.Type.Size()))
	defer w.done(raw)
	for i := range n {
		binary.LittleEndian.PutUint64(raw[8*i:], uint64(ptr[i+1]-ptr[i]))
	}
	if err := wire.ReadAt(w.src, raw[8*n:8*(n+cells)], idx+8*first); err != nil {
		return nil, err
	}
	if err := wire.ReadAt(w.src, raw[8*(n+cells):], val+first*int64(e.Type.Size())); err != nil {
		return nil, err
	}
	return w.wide(e, rows, cells, raw, idx+8*(first-n))
}

// wide gives rows whose cells are in the arrays of a wide CSR block. off is the place that the first byte of raw would
// have if all of raw were before the columns as in the file.
func (w *walk) wide(e entry, rows matrix.Range, cells int64, raw []byte, off int64) ([]matrix.Block, error) {
	h := blockio.Head{Wide: true, Kind: blockio.CSR, Type: e.Type, N: cells, Body: int64(len(raw))}
	h.At = matrix.Rect{Rows: rows, Cols: e.At.Cols}
	return w.decoded(e, h, raw, off)
}

// offsets reads the row offsets of the rows from lo to hi and checks that they ascend.
func (w *walk) offsets(e entry, lo, hi int64) ([]int64, error) {
	off := e.off + 8*lo
	ptr := make([]int64, hi-lo+1)
	if err := wire.ReadAt(w.src, wire.View(ptr), off); err != nil {
		return nil, err
	}
	wire.Swap(wire.View(ptr), 8, wire.Little)
	last := int64(0)
	for i, p := range ptr {
		if p < last || p > e.N {
			return nil, misfit(off+8*int64(i), "row offset %d after %d, want ascending ones up to %d", uint64(p), last, e.N)
		}
		last = p
	}
	return ptr, nil
}

// oldRows reads CSR as DAPHNE 0.1 wrote it, all at once: files of a release before its first users.
func (w *walk) oldRows(e entry) ([]matrix.Block, error) {
	raw := make([]byte, e.Body)
	if err := wire.ReadAt(w.src, raw, e.off); err != nil {
		return nil, err
	}
	rows, size := e.At.Rows.Len(), e.Type.Size()
	c := wire.NewCursor(raw, e.off, wire.Little)
	counts := make([]byte, 0, 8*rows)
	idx, val := make([]byte, 0, 8*e.N), make([]byte, 0, e.N*int64(size))
	for r := range rows {
		n := c.U64("row count")
		if n > math.MaxInt64 || int64(n) > e.N-int64(len(idx)/8) {
			c.Fail("row %d has %d non-zeros, %d remain of the block", r, n, e.N-int64(len(idx)/8))
		}
		counts = binary.LittleEndian.AppendUint64(counts, n)
		for range n {
			idx = append(idx, c.Bytes(8, "column")...)
			val = append(val, c.Bytes(size, "value")...)
			if c.Err() != nil {
				return nil, c.Err()
			}
		}
	}
	c.End("the block")
	if c.Err() != nil {
		return nil, c.Err()
	}
	return w.wide(e, e.At.Rows, e.N, append(append(counts, idx...), val...), e.off)
}
