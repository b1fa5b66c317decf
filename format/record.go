package format

import (
	"context"
	"encoding/binary"
	"io"
	"iter"

	"thole.example/matrix"
	"thole.example/wire"
)

// Record is how the rows of a frame lie in a file: each as one piece of Size bytes, in which every column has its own
// type and place.
type Record struct {
	Fields []Field // one for each column, by place, without overlap
	Size   int64
}

// Field is a column within a Record: Off counts from the first byte of the record.
type Field struct {
	DType matrix.DType
	Order wire.Order
	Off   int64
}

// NewRecord is the record of columns of these types, one behind the other without gaps, little-endian.
func NewRecord(types []matrix.DType) *Record {
	r := &Record{}
	for _, d := range types {
		r.Fields = append(r.Fields, Field{d, wire.Little, r.Size})
		r.Size += int64(d.Size())
	}
	return r
}

// end is the byte behind the column i.
func (r *Record) end(i int64) int64 { return r.Fields[i].Off + int64(r.Fields[i].DType.Size()) }

// cut is the record of some columns alone.
func (r *Record) cut(from, to int64) *Record {
	part := &Record{Fields: make([]Field, to-from), Size: r.end(to-1) - r.Fields[from].Off}
	for i := range part.Fields {
		part.Fields[i] = r.Fields[from+int64(i)]
		part.Fields[i].Off -= r.Fields[from].Off
	}
	return part
}

// alike is the end of the run of columns from i on that have one type; together reports whether they also lie behind each
// other in one byte order.
func (r *Record) alike(i int) (end int, together bool) {
	together = true
	for end = i + 1; end < len(r.Fields); end++ {
		before, f := &r.Fields[end-1], &r.Fields[end]
		if f.DType != before.DType {
			break
		}
		together = together && f.Off == before.Off+int64(f.DType.Size()) && f.Order == before.Order
	}
	return end, together
}

// same reports whether the records are rows of the type as memory holds them.
func (r *Record) same(d matrix.DType) bool {
	end, together := r.alike(0)
	return end == len(r.Fields) && together && r.Fields[0].DType == d && (d.Size() == 1 || r.Fields[0].Order == wire.NativeOrder)
}

// records reads the frame within want: some rows at a time, and of these a block for every run of columns of one type.
func (s *Slab) records(ctx context.Context, r io.ReaderAt, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		var buf []byte
		for at := range Bands(want, s.bandCells(want.Cols)) {
			if err := ctx.Err(); err != nil {
				yield(matrix.Block{}, err)
				return
			}
			part := s.Record.cut(at.Cols.Lo-s.At.Cols.Lo, at.Cols.Hi-s.At.Cols.Lo)
			if buf == nil {
				buf = make([]byte, at.Rows.Len()*part.Size) // the first band is the largest
			}
			raw := buf[:at.Rows.Len()*part.Size]
			if err := s.read(r, at, raw, part.Size); err != nil {
				yield(matrix.Block{}, err)
				return
			}
			for b := range part.blocks(raw, at) {
				err := CheckBools(b, s.Off)
				if !yield(b, err) || err != nil {
					return
				}
			}
		}
	}
}

// blocks takes the columns out of the records of a place.
func (r *Record) blocks(raw []byte, at matrix.Rect) iter.Seq[matrix.Block] {
	return func(yield func(matrix.Block) bool) {
		for i := 0; i < len(r.Fields); {
			end, together := r.alike(i)
			lo := at.Cols.Lo + int64(i)
			b := matrix.NewDense(r.Fields[i].DType, matrix.Rect{Rows: at.Rows, Cols: matrix.Range{Lo: lo, Hi: lo + int64(end-i)}})
			r.each(raw, b, i, end, together, func(record, cell []byte, f *Field, recordPitch, cellPitch, width int) {
				stride(cell, record, cellPitch, recordPitch, width)
			})
			if together {
				mem, size := wire.ViewAny(b.Data.Values())
				wire.Swap(mem, size, r.Fields[i].Order)
			} else {
				r.swapColumns(b, i)
			}
			if !yield(b) {
				return
			}
			i = end
		}
	}
}

// swapColumns turns columns that are not in the machine's byte order.
func (r *Record) swapColumns(b matrix.Block, first int) {
	mem, size := wire.ViewAny(b.Data.Values())
	width := int(b.At.Cols.Len())
	for k := range width {
		if order := r.Fields[first+k].Order; order != wire.NativeOrder {
			for at := k * size; at < len(mem); at += width * size {
				wire.Swap(mem[at:at+size], size, order)
			}
		}
	}
}

// each calls move for every piece of the columns [i,end) that is moved at once: all of them if they lie together, else
// one. The places given are those of the first row.
func (r *Record) each(raw []byte, b matrix.Block, i, end int, together bool,
	move func(record, cell []byte, f *Field, recordPitch, cellPitch, width int)) {
	mem, size := wire.ViewAny(b.Data.Values())
	if len(mem) == 0 {
		return
	}
	pitch := (end - i) * size
	if together {
		f := &r.Fields[i]
		move(raw[f.Off:], mem, f, int(r.Size), pitch, pitch)
		return
	}
	for k := i; k < end; k++ {
		f := &r.Fields[k]
		move(raw[f.Off:], mem[(k-i)*size:], f, int(r.Size), pitch, size)
	}
}

// stride copies pieces of width bytes that lie pitch bytes apart, to the end of either side.
func stride(dst, src []byte, dstPitch, srcPitch, width int) {
	switch {
	case dstPitch == width && srcPitch == width:
		copy(dst, src)
	case width == 8:
		for len(dst) >= 8 && len(src) >= 8 {
			binary.NativeEndian.PutUint64(dst, binary.NativeEndian.Uint64(src))
			dst, src = dst[min(dstPitch, len(dst)):], src[min(srcPitch, len(src)):]
		}
	case width == 4:
		for len(dst) >= 4 && len(src) >= 4 {
			binary.NativeEndian.PutUint32(dst, binary.NativeEndian.Uint32(src))
			dst, src = dst[min(dstPitch, len(dst)):], src[min(srcPitch, len(src)):]
		}
	default:
		for len(dst) >= width && len(src) >= width {
			copy(dst[:width], src)
			dst, src = dst[min(dstPitch, len(dst)):], src[min(srcPitch, len(src)):]
		}
	}
}

// writeRecords puts the values of the block, absent cells as zero, to their places. Values of another type are cast, if
// that changes none.
func (s *Slab) writeRecords(ctx context.Context, w io.WriterAt, b matrix.Block) error {
	if b.Data.NNZ() != denseLen(b.At) {
		b = b.ToCSR() // which is quick to cut
	} else if b = b.ToDense(); s.Record.cut(b.At.Cols.Lo-s.At.Cols.Lo, b.At.Cols.Hi-s.At.Cols.Lo).same(b.Data.DType()) {
		raw, _ := wire.ViewAny(b.Data.Values())
		return s.put(w, b.At, raw)
	}
	for at := range Bands(b.At, s.bandCells(b.At.Cols)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := s.Record.cut(at.Cols.Lo-s.At.Cols.Lo, at.Cols.Hi-s.At.Cols.Lo)
		raw := make([]byte, at.Rows.Len()*part.Size)
		if err := part.fill(raw, s.Name, b, at); err != nil {
			return err
		}
		if err := s.put(w, at, raw); err != nil {
			return err
		}
	}
	return nil
}

// fill puts the cells of a place into its records.
func (r *Record) fill(raw []byte, name string, b matrix.Block, at matrix.Rect) error {
	for i := 0; i < len(r.Fields); {
		end, together := r.alike(i)
		lo := at.Cols.Lo + int64(i)
		place := matrix.Rect{Rows: at.Rows, Cols: matrix.Range{Lo: lo, Hi: lo + int64(end-i)}}
		lane := Lane{Name: name, Cols: place.Cols, DType: r.Fields[i].DType}
		one := b
		if place != b.At {
			one = b.Cut(place)
		}
		one, err := lane.as(one)
		if err != nil {
			return err
		}
		if r.Fields[i].Order != wire.NativeOrder {
			one = one.Clone()
			mem, size := wire.ViewAny(one.Data.Values())
			wire.Swap(mem, size, r.Fields[i].Order)
		}
		r.each(raw, one, i, end, together, func(record, cell []byte, _ *Field, recordPitch, cellPitch, width int) {
			stride(record, cell, recordPitch, cellPitch, width)
		})
		i = end
	}
	return nil
}
