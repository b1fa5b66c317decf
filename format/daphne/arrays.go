package daphne

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"thole.example/blob"
	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// newSlab writes a dense matrix or a frame in DAPHNE's own layout: every value at a place known before.
func newSlab(ctx context.Context, b blob.Bucket, path string, p *plan, o format.Options) (format.Writer, error) {
	t := format.NewTarget(&p.from, format.Slab{Order: wire.Little})
	var head []byte
	var err error
	if p.data == frame {
		if head, err = p.append(nil, p.codes); err == nil {
			head = append(head, make([]byte, recordGap)...)
		}
		t.Record = format.NewRecord(p.types)
	} else {
		t.DType = p.types[0]
		head, err = p.mainHead(blockio.Head{At: p.rect(), Kind: blockio.Dense, Type: p.types[0]})
	}
	if err != nil {
		return nil, err
	}
	t.Off = int64(len(head))
	size, ok := t.Size()
	if !ok || size > math.MaxInt64-t.Off {
		return nil, fmt.Errorf("matrix %q: %d x %d, want a file below 2^63 bytes: %w", p.from.Name, p.rows, p.cols, format.ErrLimit)
	}
	w, err := format.NewSlabWriter(ctx, b, path, o, format.SlabFile{
		Size: t.Off + size, Known: []format.Span{{Off: 0, Bytes: head}}, Slabs: []format.Target{t},
	})
	if err != nil {
		return nil, err
	}
	return &slabWriter{Writer: w, plan: p, bucket: b, path: path}, nil
}

// slabWriter adds the sidecar to a dense file.
type slabWriter struct {
	format.Writer
	*plan
	bucket blob.Bucket
	path   string
}

func (w *slabWriter) Commit(ctx context.Context, parts []format.Part) error {
	if err := w.Writer.Commit(ctx, parts); err != nil {
		return err
	}
	return w.describe(ctx, w.bucket, w.path)
}

// mainHead is the header and the head of the only block.
func (p *plan) mainHead(h blockio.Head) ([]byte, error) {
	head, err := p.append(nil, p.codes)
	if err != nil {
		return nil, err
	}
	return blockio.Encoder{Codes: p.codes}.AppendHead(head, h)
}

// arraysWriter puts rows into the three arrays of DAPHNE's CSR.
type arraysWriter struct {
	out           blob.Writer
	ptr, idx, val int64 // where the next bytes of each go
	n, total      int64
}

// commitArrays writes the pieces as one CSR block in DAPHNE's own layout.
func (w *writer) commitArrays(ctx context.Context, pieces []piece) error {
	total := int64(0)
	for _, p := range pieces {
		if total += p.NNZ; total < 0 {
			return fmt.Errorf("more than 2^63-1 stored cells: %w", format.ErrLimit)
		}
	}
	h := blockio.Head{At: w.rect(), Kind: blockio.CSR, Type: w.types[0], N: total}
	if _, ok := arraysLen(w.rows, total, h.Type); !ok {
		return fmt.Errorf("%d stored cells: %w", total, format.ErrLimit)
	}
	head, err := w.mainHead(h)
	if err != nil {
		return err
	}
	out, err := w.bucket.Create(ctx, w.path)
	if err != nil {
		return err
	}
	defer out.Abort()
	a := &arraysWriter{out: out, ptr: int64(len(head)), total: total}
	a.idx = a.ptr + 8*(w.rows+1)
	a.val = a.idx + 8*total
	if _, err := out.Write(head); err != nil {
		return err
	}
	from := &spools{w: w}
	defer from.close()
	if err := a.strips(ctx, w, from, pieces); err != nil {
		return err
	}
	return out.Commit()
}

// stripRows is how many rows are brought together at most, so that offsets of rows without a cell take no memory.
const stripRows = 1 << 20

// strips goes down the rows from edge to edge of the pieces; within a strip the same pieces lie side by side.
func (a *arraysWriter) strips(ctx context.Context, w *writer, from *spools, pieces []piece) error {
	if w.rect().Empty() {
		pieces = nil
	}
	edges := []int64{0, w.rows}
	for _, p := range pieces {
		edges = append(edges, p.Rows[0], p.Rows[1])
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	loaded := map[int]matrix.Block{}
	var live []int
	next := 0
	for i := 1; i < len(edges); i++ {
		strip := matrix.Rect{Rows: matrix.Range{Lo: edges[i-1], Hi: edges[i]}, Cols: w.rect().Cols}
		if err := ctx.Err(); err != nil {
			return err
		}
		live = slices.DeleteFunc(live, func(k int) bool {
			if pieces[k].Rows[1] > strip.Rows.Lo {
				return false
			}
			delete(loaded, k)
			return true
		})
		for ; next < len(pieces) && pieces[next].Rows[0] == strip.Rows.Lo; next++ {
			b, err := w.load(ctx, from, pieces[next])
			if err != nil {
				return err
			}
			loaded[next] = b
			live = append(live, next)
		}
		slices.SortFunc(live, func(x, y int) int { return byPlace(pieces[x].colsOnly(), pieces[y].colsOnly()) })
		for rows := range cuts(strip.Rows, stripRows) {
			var row []matrix.Block
			for _, k := range live {
				if b := blockio.CutRows(loaded[k], rows); b.Data.NNZ() > 0 {
					row = append(row, b.ToCSR())
				}
			}
			if err := a.strip(matrix.Rect{Rows: rows, Cols: strip.Cols}, row); err != nil {
				return err
			}
		}
	}
	return a.end()
}

func (p piece) colsOnly() matrix.Rect { return matrix.At(0, 0, p.Cols[0], p.Cols[1]) }

// strip writes the rows of blocks that lie side by side.
func (a *arraysWriter) strip(at matrix.Rect, side []matrix.Block) error {
	rows := join(at, side)
	ptr := make([]byte, 0, min(8*at.Rows.Len(), copyBytes))
	for i := range at.Rows.Len() {
		ptr = binary.LittleEndian.AppendUint64(ptr, uint64(a.n))
		if rows.ptr != nil {
			a.n += int64(rows.ptr[i+1] - rows.ptr[i])
		}
		if len(ptr)+8 > copyBytes || i == at.Rows.Len()-1 {
			if err := a.put(&a.ptr, ptr); err != nil {
				return err
			}
			ptr = ptr[:0]
		}
	}
	wire.Swap(rows.idx, 8, wire.Little)
	wire.Swap(rows.val, rows.size, wire.Little)
	if err := a.put(&a.idx, rows.idx); err != nil {
		return err
	}
	return a.put(&a.val, rows.val)
}

// rowBytes is CSR with columns and values as memory. ptr is nil if there is no cell.
type rowBytes struct {
	ptr      []int
	idx, val []byte
	size     int
}

// join puts blocks that lie side by side into one.
func join(at matrix.Rect, side []matrix.Block) rowBytes {
	var parts []rowBytes
	for _, b := range side {
		if r := rowsOf(b.Data); r.ptr != nil {
			parts = append(parts, r)
		}
	}
	if len(parts) < 2 {
		return append(parts, rowBytes{})[0]
	}
	out := rowBytes{ptr: make([]int, 1, at.Rows.Len()+1), size: parts[0].size}
	for i := range int(at.Rows.Len()) {
		n := out.ptr[i]
		for _, r := range parts {
			lo, hi := r.ptr[i], r.ptr[i+1]
			out.idx = append(out.idx, r.idx[8*lo:8*hi]...)
			out.val = append(out.val, r.val[r.size*lo:r.size*hi]...)
			n += hi - lo
		}
		out.ptr = append(out.ptr, n)
	}
	return out
}

// rowsOf are the slices of CSR of the types that DAPHNE has.
func rowsOf(d matrix.Data) rowBytes {
	var ptr []int
	var idx []int64
	switch d := d.(type) {
	case *matrix.CSR[float64]:
		ptr, idx = d.Ptr, d.Idx
	case *matrix.CSR[float32]:
		ptr, idx = d.Ptr, d.Idx
	case *matrix.CSR[int64]:
		ptr, idx = d.Ptr, d.Idx
	case *matrix.CSR[int32]:
		ptr, idx = d.Ptr, d.Idx
	case *matrix.CSR[int8]:
		ptr, idx = d.Ptr, d.Idx
	case *matrix.CSR[uint64]:
		ptr, idx = d.Ptr, d.Idx
	case *matrix.CSR[uint32]:
		ptr, idx = d.Ptr, d.Idx
	case *matrix.CSR[uint8]:
		ptr, idx = d.Ptr, d.Idx
	}
	val, size := wire.ViewAny(d.Values())
	return rowBytes{ptr, wire.View(idx), val, size}
}

func (a *arraysWriter) put(off *int64, b []byte) error {
	_, err := a.out.WriteAt(b, *off)
	*off += int64(len(b))
	return err
}

// end writes the last offset.
func (a *arraysWriter) end() error {
	if a.n != a.total {
		return fmt.Errorf("the parts hold %d cells, want %d", a.n, a.total)
	}
	return a.put(&a.ptr, binary.LittleEndian.AppendUint64(nil, uint64(a.n)))
}
