package angel

import (
	"fmt"

	"thole.example/blob"
	"thole.example/wire"
)

// binaryCSR is the format of Angel's graph partitions, which hold int values, big-endian:
//
//	int32 n | n x int32 row offsets | int32 m | m x int32 columns | int32 k | k x int32 values
var binaryCSR = layout{name: "BinaryCSRFormat", colID: true, framed: true, csr: true,
	i32: valueBinary.i32}

// csrPlaces is where the columns and values of a partition lie.
type csrPlaces struct{ cols, vals int64 }

// frameCSR reads the lengths of the three arrays and the offsets of rows, of which there are as many as rows, or one more.
func (p *partMeta) frameCSR(o blob.Object) error {
	at, end := p.off, p.off+p.size
	length := func(what string) (int64, error) {
		var b [4]byte
		if end-at < 4 {
			return 0, &wire.At{Off: at, Err: fmt.Errorf("number of %s: %w", what, wire.ErrTruncated)}
		}
		if err := wire.ReadAt(o, b[:], at); err != nil {
			return 0, err
		}
		n := int64(int32(wire.Big.Uint32(b[:])))
		at += 4
		if n < 0 || n > (end-at)/4 {
			return 0, &wire.At{Off: at - 4, Err: fmt.Errorf("%d %s, %d bytes remain: %w", n, what, end-at, wire.ErrTruncated)}
		}
		at += 4 * n
		return n, nil
	}
	n, err := length("row offsets")
	if err != nil {
		return err
	}
	raw := make([]byte, 4*n)
	if err := wire.ReadAt(o, raw, p.off+4); err != nil {
		return err
	}
	p.csr.cols = at + 4
	m, err := length("columns")
	if err != nil {
		return err
	}
	p.csr.vals = at + 4
	k, err := length("values")
	switch {
	case err != nil:
		return err
	case k != m:
		return &wire.At{Off: p.csr.vals - 4, Err: fmt.Errorf("%d values of %d columns", k, m)}
	case at != end:
		return &wire.At{Off: at, Err: fmt.Errorf("%d bytes behind the values", end-at)}
	case n != p.rows.Len() && n != p.rows.Len()+1:
		return &wire.At{Off: p.off, Err: fmt.Errorf("%d row offsets of %d rows", n, p.rows.Len())}
	}
	offs := make([]int32, n, n+1)
	wire.Get(offs, raw, wire.Big)
	if n == p.rows.Len() {
		offs = append(offs, int32(m))
	}
	return p.rowsOfCSR(offs, m)
}

func (p *partMeta) rowsOfCSR(offs []int32, m int64) error {
	p.rowMetas = rowList{}
	p.saved = counts{-1, -1, -1}
	last := int32(0)
	for i, off := range offs {
		if off < last || int64(off) > m || i == 0 && off != 0 || i == len(offs)-1 && int64(off) != m {
			return &wire.At{Off: p.off + 4 + 4*int64(i), Err: fmt.Errorf("row offset %d behind %d, of %d columns", off, last, m)}
		}
		if i > 0 {
			p.rowMetas.add(rowMeta{id: int32(p.rows.Lo) + int32(i) - 1, n: off - last, kind: 1})
		}
		last = off
	}
	return nil
}

// csr yields the rows of such a partition.
func (w *walk[T]) csr(p *piece) error {
	each := int64(4)
	cols := newFeed(w.o, p.csr.cols, p.records*each, 0)
	vals := newFeed(w.o, p.csr.vals, p.records*each, 0)
	ids := taker[int32]{ctx: w.ctx, f: cols, pair: pairOf[int32](&valueBinary), each: each}
	nums := taker[T]{ctx: w.ctx, f: vals, pair: pairOf[T](&valueBinary), each: each}
	most := max(1, w.s.limit/12)
	for left := p.rowMetas.span(); left.len() > 0; {
		k, n := left.fill(most)
		k = max(k, 1)
		n = left.cut(0, k).values()
		raw := &records[int32]{val: make([]int32, 0, n), width: 1}
		r := &records[T]{val: make([]T, 0, n), col: make([]int64, n), width: 1}
		if err := errorsFirst(ids.take(raw, n, nil), func() error { return nums.take(r, n, nil) }); err != nil {
			return err
		}
		for i, id := range raw.val {
			r.col[i] = int64(id)
		}
		w.f = vals
		w.u = &run{layout: &colIDValueBinary, rows: left.cut(0, k), cols: w.cols, records: n}
		if err := w.emitRows(left.rows(0, k), w.cols, r); err != nil {
			return err
		}
		left = left.cut(k, left.len())
	}
	return nil
}
