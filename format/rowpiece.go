package format

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/wire"
)

// rowPiece is what a rowWriter remembers of a block: its place, and the object of the stage that holds it. "=" and the
// writer stand for the file itself, "" for a block without values.
//
// A dense block waits as its values, row-major. Any other waits as CSR: i64 first cells of the rows and their end, i64
// columns, values. Everything is little-endian.
type rowPiece struct {
	Matrix     int
	Spool      string `json:",omitempty"`
	Rows, Cols matrix.Range
	DType      matrix.DType
	Dense      bool  `json:",omitempty"`
	NNZ        int64 `json:",omitempty"`
}

func (p *rowPiece) at() matrix.Rect       { return matrix.Rect{Rows: p.Rows, Cols: p.Cols} }
func (p *rowPiece) part() (Part, error)   { return json.Marshal(p) }
func (p *rowPiece) cellsAt(k int64) int64 { return (p.Rows.Len() + 1 + k) * 8 }
func (p *rowPiece) valuesAt(k int64) int64 {
	return p.cellsAt(p.NNZ) + k*int64(p.DType.Size())
}

// pieces reads the parts of a save.
func (w *rowWriter) pieces(parts []Part) ([]rowPiece, error) {
	all := make([]rowPiece, len(parts))
	for i, part := range parts {
		p := &all[i]
		if err := json.Unmarshal(part, p); err != nil {
			return nil, fmt.Errorf("part of %s: %w", w.path, err)
		}
		id, direct := strings.CutPrefix(p.Spool, "=")
		switch {
		case p.Matrix < 0 || p.Matrix >= len(w.file.Metas) || p.DType.Size() == 0 || p.NNZ < 0:
			return nil, fmt.Errorf("part of %s: matrix %d of type %v, %d values: %w", w.path, p.Matrix, p.DType, p.NNZ, ErrMatrix)
		case direct && (id != w.id || p.Rows.Hi > w.next) || strings.Contains(p.Spool, "/"):
			return nil, fmt.Errorf("part of %s: a part of another save", w.path)
		case !w.file.Metas[p.Matrix].Rect().Contains(p.at()):
			return nil, fmt.Errorf("part of %s: place %v outside the matrix", w.path, p.at())
		}
	}
	return all, nil
}

// maxSpoolRows bounds the row pointers of a block that waits as CSR.
const maxSpoolRows = 1 << 28

// spool keeps the block as an object of the stage.
func (w *rowWriter) spool(ctx context.Context, p *rowPiece, b matrix.Block) error {
	out, err := w.bucket.Create(ctx, w.stage.Name(p.Spool))
	if err != nil {
		return err
	}
	defer out.Abort()
	if p.Dense = b.Data.NNZ() == denseLen(b.At); p.Dense {
		s := Slab{At: b.At, DType: p.DType, Order: wire.Little}
		if err := s.write(ctx, out, b); err != nil {
			return err
		}
		return out.Commit()
	}
	if b.At.Rows.Len() > maxSpoolRows {
		return fmt.Errorf("block of %d rows, want at most %d: %w", b.At.Rows.Len(), maxSpoolRows, ErrLimit)
	}
	d := b.ToCSR().Data.(matrix.Rowed)
	p.NNZ = int64(d.NNZ())
	ptr, idx := d.Ends(), d.Keys()
	ends := make([]int64, len(ptr))
	for i, v := range ptr {
		ends[i] = int64(v - ptr[0])
	}
	cells := make([]byte, 8*len(ends))
	wire.Put(cells, ends, wire.Little)
	if _, err := out.Write(cells); err != nil {
		return err
	}
	cells = make([]byte, 8*len(idx))
	wire.Put(cells, idx, wire.Little)
	if _, err := out.Write(cells); err != nil {
		return err
	}
	raw, size := wire.ViewAny(d.Values())
	if wire.NativeOrder != wire.Little {
		raw = append([]byte(nil), raw...)
		wire.Swap(raw, size, wire.Little)
	}
	if _, err := out.Write(raw); err != nil {
		return err
	}
	return out.Commit()
}

// fetchDense calls use with the cells of the piece in at, in its own type.
func (p *rowPiece) fetchDense(ctx context.Context, o blob.Object, at matrix.Rect, use func(matrix.Block) error) error {
	if !p.Dense {
		b, err := p.fetchSparse(o, at.Rows)
		if err != nil {
			return err
		}
		return use(b)
	}
	s := Slab{At: p.at(), DType: p.DType, Order: wire.Little}
	for b, err := range s.Blocks(ctx, o, at) {
		if err != nil {
			return err
		}
		if err := use(b); err != nil {
			return err
		}
	}
	return nil
}

// fetchSparse reads rows of the piece as CSR.
func (p *rowPiece) fetchSparse(o blob.Object, rows matrix.Range) (matrix.Block, error) {
	at := matrix.Rect{Rows: rows, Cols: p.Cols}
	if p.Dense {
		s := Slab{At: p.at(), DType: p.DType, Order: wire.Little}
		b, err := s.block(o, at)
		return b.ToCSR(), err
	}
	ends := make([]int64, rows.Len()+1)
	if err := p.numbers(o, ends, (rows.Lo-p.Rows.Lo)*8); err != nil {
		return matrix.Block{}, err
	}
	from, n := ends[0], ends[len(ends)-1]-ends[0]
	if from < 0 || n < 0 || from+n > p.NNZ || p.valuesAt(p.NNZ) != o.Size() {
		return matrix.Block{}, fmt.Errorf("piece %s: cells %d to %d in %d bytes: %w", p.Spool, from, from+n, o.Size(), ErrCorrupt)
	}
	ptr, idx := make([]int, len(ends)), make([]int64, n)
	for i, v := range ends {
		ptr[i] = int(v - from)
	}
	if err := p.numbers(o, idx, p.cellsAt(from)); err != nil {
		return matrix.Block{}, err
	}
	b := matrix.Block{At: at, Data: matrix.KindOf(p.DType).CSR(ptr, idx)}
	raw, size := wire.ViewAny(b.Data.Values())
	if err := wire.ReadAt(o, raw, p.valuesAt(from)); err != nil {
		return b, err
	}
	wire.Swap(raw, size, wire.Little)
	return b, b.Check()
}

func (p *rowPiece) numbers(o blob.Object, v []int64, off int64) error {
	raw := wire.View(v)
	err := wire.ReadAt(o, raw, off)
	wire.Swap(raw, 8, wire.Little)
	return err
}
