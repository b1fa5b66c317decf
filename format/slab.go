package format

import (
	"context"
	"fmt"
	"io"
	"iter"

	"thole.example/matrix"
	"thole.example/wire"
)

// bandBytes is how many bytes of values are held at a time when dense values are read, cut or put together.
const bandBytes = 16 << 20

// nearBytes is the length of a row up to which a piece of it is read together with the rest of the row: fewer, larger
// reads are faster then.
const nearBytes = 16 << 10

// Slab is a dense matrix within a file, or a piece of one: the values of the place At, row-major from byte Off on,
// without gaps. With a Record, which has a field for every column of At, the rows are records, and neither DType nor
// Order counts.
type Slab struct {
	Name   string
	At     matrix.Rect
	DType  matrix.DType
	Order  wire.Order
	Off    int64
	Record *Record
}

// Size is the number of bytes of the values; ok is false if it does not fit an int64.
func (s *Slab) Size() (n int64, ok bool) {
	if s.Record != nil {
		return matrix.Cells(s.At.Rows.Len(), s.Record.Size)
	}
	cells, ok := s.At.Cells()
	if !ok {
		return 0, false
	}
	return matrix.Cells(cells, int64(s.DType.Size()))
}

// place is the byte of a cell.
func (s *Slab) place(row, col int64) int64 {
	return s.Off + (row-s.At.Rows.Lo)*s.pitch() + s.skip(col)
}

// pitch is the length of a row.
func (s *Slab) pitch() int64 {
	if s.Record != nil {
		return s.Record.Size
	}
	return s.At.Cols.Len() * int64(s.DType.Size())
}

// skip is where a column begins within a row.
func (s *Slab) skip(col int64) int64 {
	if i := col - s.At.Cols.Lo; s.Record == nil {
		return i * int64(s.DType.Size())
	} else if i < int64(len(s.Record.Fields)) {
		return s.Record.Fields[i].Off
	}
	return 0 // no columns
}

// width is how many bytes of a row the columns take, of which there is at least one.
func (s *Slab) width(cols matrix.Range) int64 {
	if s.Record != nil {
		return s.Record.end(cols.Hi-1-s.At.Cols.Lo) - s.skip(cols.Lo)
	}
	return cols.Len() * int64(s.DType.Size())
}

// piece is a slab of the place alone.
func (s *Slab) piece(at matrix.Rect) Slab {
	p := Slab{Name: s.Name, At: at, DType: s.DType, Order: s.Order}
	if s.Record != nil {
		p.Record = s.Record.cut(at.Cols.Lo-s.At.Cols.Lo, at.Cols.Hi-s.At.Cols.Lo)
	}
	return p
}

// bandCells is how many values of these columns are held at a time: those of whole rows, if the slab has a Record.
func (s *Slab) bandCells(cols matrix.Range) int64 {
	if s.Record == nil {
		return bandBytes / int64(s.DType.Size())
	}
	if cols.Len() == 0 {
		return 1
	}
	return max(1, bandBytes/s.width(cols)) * cols.Len()
}

// Blocks reads the values within want, in dense blocks of at most 16 MiB that belong to the caller. Only the rows that
// want asks for are read. Errors are *wire.At with the byte of r.
func (s *Slab) Blocks(ctx context.Context, r io.ReaderAt, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	if s.Record != nil {
		return s.records(ctx, r, s.At.Intersect(want))
	}
	return func(yield func(matrix.Block, error) bool) {
		for at := range Bands(s.At.Intersect(want), s.bandCells(want.Cols)) {
			err := ctx.Err()
			b := matrix.Block{}
			if err == nil {
				b, err = s.block(r, at)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func (s *Slab) block(r io.ReaderAt, at matrix.Rect) (matrix.Block, error) {
	b := matrix.NewDense(s.DType, at)
	raw, size := wire.ViewAny(b.Data.Values())
	if err := s.read(r, at, raw, at.Cols.Len()*int64(size)); err != nil {
		return matrix.Block{}, err
	}
	wire.Swap(raw, size, s.Order)
	return b, CheckBools(b, s.Off)
}

// CheckBools reports a Boolean of the block that is neither 0 nor 1, as damage of the bytes from off on.
func CheckBools(b matrix.Block, off int64) error {
	d, ok := b.Data.(*matrix.Dense[matrix.Boolean])
	if !ok {
		return nil
	}
	for i, v := range d.Val {
		if v > 1 {
			row, col := int64(i)/b.At.Cols.Len(), int64(i)%b.At.Cols.Len()
			return &wire.At{Off: off, Err: fmt.Errorf("truth value %d in cell (%d,%d), want 0 or 1: %w",
				v, b.At.Rows.Lo+row, b.At.Cols.Lo+col, ErrCorrupt)}
		}
	}
	return nil
}

// read copies the bytes of the cells of at to dst, whose rows are pitch bytes apart.
func (s *Slab) read(r io.ReaderAt, at matrix.Rect, dst []byte, pitch int64) error {
	if at.Empty() {
		return nil
	}
	row, width := s.pitch(), s.width(at.Cols)
	if width == row && pitch == row {
		return wire.ReadAt(r, dst[:at.Rows.Len()*row], s.place(at.Rows.Lo, at.Cols.Lo))
	}
	if row > nearBytes {
		for i := range at.Rows.Len() {
			if err := wire.ReadAt(r, dst[i*pitch:i*pitch+width], s.place(at.Rows.Lo+i, at.Cols.Lo)); err != nil {
				return err
			}
		}
		return nil
	}
	return s.readNear(r, at, dst, pitch)
}

// readNear is read for short rows: whole rows are read, several at a time, and cut in memory.
func (s *Slab) readNear(r io.ReaderAt, at matrix.Rect, dst []byte, pitch int64) error {
	row, width, skip := s.pitch(), s.width(at.Cols), s.skip(at.Cols.Lo)
	n := at.Rows.Len()
	step := min(n, max(1, 1<<20/row))
	buf := make([]byte, step*row)
	for i := int64(0); i < n; i += step {
		some := min(step, n-i)
		if err := wire.ReadAt(r, buf[:some*row], s.Off+(at.Rows.Lo+i-s.At.Rows.Lo)*row); err != nil {
			return err
		}
		for k := range some {
			copy(dst[(i+k)*pitch:], buf[k*row+skip:][:width])
		}
	}
	return nil
}

// write puts the values of the block, absent cells as zero, to their places. Values of another type are cast.
func (s *Slab) write(ctx context.Context, w io.WriterAt, b matrix.Block) error {
	if _, empty := b.Data.(matrix.Empty); empty || b.At.Empty() {
		return nil
	}
	if s.Record != nil {
		return s.writeRecords(ctx, w, b)
	}
	if b.Data.NNZ() != denseLen(b.At) {
		b = b.ToCSR() // which is quick to cut
	} else if b = b.ToDense(); b.Data.DType() == s.DType && s.native() {
		raw, _ := wire.ViewAny(b.Data.Values())
		return s.put(w, b.At, raw)
	}
	for at := range Bands(b.At, s.bandCells(b.At.Cols)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece, _ := b.Cut(at).ToDense().Cast(s.DType)
		raw, size := wire.ViewAny(piece.Data.Values())
		wire.Swap(raw, size, s.Order)
		if err := s.put(w, at, raw); err != nil {
			return err
		}
	}
	return nil
}

func (s *Slab) native() bool {
	return s.Record == nil && (s.DType.Size() == 1 || s.Order == wire.NativeOrder)
}

// put writes the bytes of the cells of at, row-major.
func (s *Slab) put(w io.WriterAt, at matrix.Rect, raw []byte) error {
	width := s.width(at.Cols)
	if width == s.pitch() {
		_, err := w.WriteAt(raw, s.place(at.Rows.Lo, at.Cols.Lo))
		return err
	}
	for i := range at.Rows.Len() {
		if _, err := w.WriteAt(raw[i*width:(i+1)*width], s.place(at.Rows.Lo+i, at.Cols.Lo)); err != nil {
			return err
		}
	}
	return nil
}
