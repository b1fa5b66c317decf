package format

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/wire"
)

// rowPiece is what a rowWriter remembers of a block: its place, and the object of the stage that holds it. "=" and the
// writer stand for the file itself, "" for a block without values.
//
// A dense block waits as its values, row-major. Any other waits as the Filled rows that have cells: i64 their numbers,
// i64 their first cells and the end, i64 columns, values. Everything is little-endian.
type rowPiece struct {
	Matrix     int
	Spool      string `json:",omitempty"`
	Rows, Cols matrix.Range
	DType      matrix.DType
	Dense      bool  `json:",omitempty"`
	Filled     int64 `json:",omitempty"`
	NNZ        int64 `json:",omitempty"`

	next int64 // of the filled rows: the first that was not fetched
}

func (p *rowPiece) at() matrix.Rect       { return matrix.Rect{Rows: p.Rows, Cols: p.Cols} }
func (p *rowPiece) part() (Part, error)   { return json.Marshal(p) }
func (p *rowPiece) cellsAt(k int64) int64 { return (2*p.Filled + 1 + k) * 8 }
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
		case p.Matrix < 0 || p.Matrix >= len(w.file.Metas) || p.DType.Size() == 0 || p.NNZ < 0 || p.Filled < 0:
			return nil, fmt.Errorf("part of %s: matrix %d of type %v, %d values: %w", w.path, p.Matrix, p.DType, p.NNZ, ErrMatrix)
		case direct && (id != w.id || p.Rows.Hi > w.next) || strings.Contains(p.Spool, "/"):
			return nil, fmt.Errorf("part of %s: a part of another save", w.path)
		case !w.file.Metas[p.Matrix].Rect().Contains(p.at()):
			return nil, fmt.Errorf("part of %s: place %v outside the matrix", w.path, p.at())
		}
	}
	return all, nil
}

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
	rows, c := b.Compact()
	d := c.Data.(matrix.Rowed)
	p.Filled, p.NNZ = int64(len(rows)), int64(d.NNZ())
	ends := make([]int64, len(d.Ends()))
	for i, v := range d.Ends() {
		ends[i] = int64(v)
	}
	for _, numbers := range [][]int64{rows, ends, d.Keys()} {
		raw := make([]byte, 8*len(numbers))
		wire.Put(raw, numbers, wire.Little)
		if _, err := out.Write(raw); err != nil {
			return err
		}
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

// fetchDense calls use with the cells of the piece in at, in its own type. at follows what was fetched before.
func (p *rowPiece) fetchDense(ctx context.Context, o blob.Object, at matrix.Rect, use func(matrix.Block) error) error {
	if !p.Dense {
		rows, b, err := p.fetchSparse(o, at.Rows)
		if err != nil {
			return err
		}
		return use(b.Spread(rows, at.Rows))
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

// fetchSparse reads the cells of the piece up to the end of the rows, which follow those that were fetched before, as
// Block.Compact gives them.
func (p *rowPiece) fetchSparse(o blob.Object, until matrix.Range) (rows []int64, b matrix.Block, err error) {
	if p.Dense {
		s := Slab{At: p.at(), DType: p.DType, Order: wire.Little}
		if b, err = s.block(o, matrix.Rect{Rows: until.Intersect(p.Rows), Cols: p.Cols}); err != nil {
			return nil, b, err
		}
		rows, b = b.Compact()
		return rows, b, nil
	}
	if p.valuesAt(p.NNZ) != o.Size() {
		return nil, b, fmt.Errorf("piece %s: %d bytes, want %d: %w", p.Spool, o.Size(), p.valuesAt(p.NNZ), ErrCorrupt)
	}
	if rows, err = p.filled(o, until.Hi); err != nil {
		return nil, b, err
	}
	ends := make([]int64, len(rows)+1)
	if err := p.numbers(o, ends, (p.Filled+p.next)*8); err != nil {
		return nil, b, err
	}
	p.next += int64(len(rows))
	from, n := ends[0], ends[len(rows)]-ends[0]
	if from < 0 || n < 0 || from+n > p.NNZ {
		return nil, b, fmt.Errorf("piece %s: cells %d to %d of %d: %w", p.Spool, from, from+n, p.NNZ, ErrCorrupt)
	}
	ptr, idx := make([]int, len(ends)), make([]int64, n)
	for i, v := range ends {
		ptr[i] = int(v - from)
	}
	if err := p.numbers(o, idx, p.cellsAt(from)); err != nil {
		return nil, b, err
	}
	b = matrix.Block{At: matrix.At(0, int64(len(rows)), p.Cols.Lo, p.Cols.Hi), Data: matrix.KindOf(p.DType).CSR(ptr, idx)}
	raw, size := wire.ViewAny(b.Data.Values())
	if err := wire.ReadAt(o, raw, p.valuesAt(from)); err != nil {
		return nil, b, err
	}
	wire.Swap(raw, size, wire.Little)
	return rows, b, b.Check()
}

// filledStep is how many numbers of rows are read at a time.
const filledStep = 1 << 13

// filled reads the numbers of the filled rows that follow, below hi.
func (p *rowPiece) filled(o blob.Object, hi int64) (rows []int64, err error) {
	for next := p.next; next < p.Filled; {
		from, n := len(rows), min(p.Filled-next, filledStep)
		rows = append(rows, make([]int64, n)...)
		if err := p.numbers(o, rows[from:], next*8); err != nil {
			return nil, err
		}
		if end, _ := slices.BinarySearch(rows, hi); end < len(rows) {
			return rows[:end], nil
		}
		next += n
	}
	return rows, nil
}

func (p *rowPiece) numbers(o blob.Object, v []int64, off int64) error {
	raw := wire.View(v)
	err := wire.ReadAt(o, raw, off)
	wire.Swap(raw, 8, wire.Little)
	return err
}
