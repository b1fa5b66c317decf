package arrow

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	writeLimit = 16384
	alignment  = 64
	// batchBytes and batchRows bound a record batch, batchLimit the number of them, rowLimit a single row.
	batchBytes = 16 << 20
	batchRows  = 1 << 20
	batchLimit = 1 << 23
	rowLimit   = 1 << 30
)

// plan decides how the matrix becomes a table, and asks for what is lost.
func plan(m *matrix.Meta, o *format.Options) (f format.RowFile, err error) {
	t := &table{}
	if err := t.choose(o); err != nil {
		return f, err
	}
	if err := m.Check(); err != nil {
		return f, err
	}
	if err := t.limits(m); err != nil {
		return f, err
	}
	if err := format.LoseTable(m, o); err != nil {
		return f, err
	}
	if t.times, err = format.ColTimes(m, o, t.says(m.ColOrigins)); err != nil {
		return f, err
	}
	t.m = matrix.Meta{Name: m.Name, Rows: m.Rows, Cols: m.Cols, ColLo: m.ColLo, DType: m.DType, ColTypes: m.ColTypes,
		Labels: m.Labels, Dims: m.Dims, Saved: m.Saved}
	if m.Layout == matrix.RowSparse {
		t.m.Saved = []matrix.Range{} // absent cells become zeros: no row has to be put
	}
	t.lanes = format.Lanes(&t.m)
	width := int64(1)
	for _, l := range t.lanes {
		width += l.Cols.Len() * int64(storedAs(l.DType).Size())
	}
	if t.rows = min(batchRows, max(1, batchBytes/width)); m.Rows/t.rows >= batchLimit && m.Cols > 0 {
		return f, fmt.Errorf("matrix %q: %d rows, want at most %d of so many columns: %w", m.Name, m.Rows, t.rows*batchLimit, format.ErrLimit)
	}
	f.Metas = []matrix.Meta{t.m}
	f.Begin = t.begin
	return f, nil
}

// choose reads the options for writing.
func (t *table) choose(o *format.Options) error {
	if _, err := newSettings(o); err != nil {
		return err
	}
	layout, err := choice(o, "layout", "file", "stream")
	if err != nil {
		return err
	}
	rows, err := choice(o, "rows", "columns", "list")
	if err != nil {
		return err
	}
	packing, err := choice(o, "compression", "none", "lz4", "zstd")
	if err != nil {
		return err
	}
	t.stream, t.list = layout == 1, rows == 1
	t.packer, err = newPacker(int8(packing) + plain)
	return err
}

// says tells which times columns can be of: in a row that is one list all are the same.
func (t *table) says(origins []string) func(format.TimeType) bool {
	one := !t.list || !slices.ContainsFunc(origins, func(o string) bool { return o != origins[0] })
	return func(format.TimeType) bool { return one }
}

func (t *table) limits(m *matrix.Meta) error {
	switch {
	case t.list && len(m.ColTypes) > 0:
		return fmt.Errorf("option rows is list, and the columns have several types: %w", format.ErrOption)
	case t.list && (m.Cols > math.MaxInt32 || m.Cols*int64(storedAs(m.DType).Size()) > rowLimit):
		return fmt.Errorf("matrix %q: %d columns, want at most %d bytes in a row: %w", m.Name, m.Cols, rowLimit, format.ErrLimit)
	case !t.list && m.Cols > writeLimit:
		return fmt.Errorf("matrix %q: %d columns, want at most %d (option rows=list takes more): %w", m.Name, m.Cols, writeLimit, format.ErrLimit)
	}
	return nil
}

// table writes rows as record batches.
type table struct {
	m      matrix.Meta
	lanes  []format.Lane
	stream bool
	list   bool              // a row is one list
	times  []format.TimeType // that the columns stand for; nil if all are plain numbers
	packer *packer
	rows   int64 // of a record batch

	out    io.Writer
	end    int64   // bytes written
	blocks []int64 // places of the record batches

	body    []byte   // of the open batch, not compressed
	columns [][]byte // the values in it
	open    matrix.Range
	next    int64 // the first row that is not in the body
}

// begin writes what stands before the rows.
func (t *table) begin(out io.Writer) (format.RowSink, error) {
	t.out = out
	if !t.stream {
		if err := t.write([]byte(magic + "\x00\x00")); err != nil {
			return nil, err
		}
	}
	_, err := t.message(kindSchema, t.schema(), 0)
	return t, err
}

func (t *table) write(b []byte) error {
	n, err := t.out.Write(b)
	t.end += int64(n)
	return err
}

// message writes a message, whose body is aligned; it gives the bytes before the body.
func (t *table) message(kind uint8, head []val, body int64) (int64, error) {
	meta := buildFlat([]val{{slot: 0, v: int16(4)}, {slot: 1, v: kind}, {slot: 2, v: head}, {slot: 3, v: body}})
	for (t.end+8+int64(len(meta)))%alignment != 0 {
		meta = append(meta, 0)
	}
	if len(meta) > metaLimit {
		return 0, fmt.Errorf("matrix %q: %s of %d bytes, want at most %d: %w", t.m.Name, kindName(kind), len(meta), metaLimit, format.ErrLimit)
	}
	raw := binary.LittleEndian.AppendUint32(nil, goesOn)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(len(meta)))
	raw = append(raw, meta...)
	return int64(len(raw)), t.write(raw)
}

// Rows implements format.RowSink. Record batches end at the same rows however the rows come.
func (t *table) Rows(ctx context.Context, lanes []matrix.Block) error {
	hi := lanes[0].At.Rows.Hi
	for t.next < hi {
		if t.columns == nil {
			t.begins(matrix.Range{Lo: t.next, Hi: min(t.m.Rows, t.next+t.rows)})
		}
		rows := matrix.Range{Lo: t.next, Hi: min(hi, t.open.Hi)}
		columns := t.columns
		for _, b := range lanes {
			if err := ctx.Err(); err != nil {
				return err
			}
			columns = columns[t.put(columns, b, rows):]
		}
		if t.next = rows.Hi; t.next == t.open.Hi {
			if err := t.batch(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begins makes the body of a batch: for each column the place of its values.
func (t *table) begins(rows matrix.Range) {
	t.open = rows
	var places [][2]int64
	end := int64(0)
	for _, l := range t.lanes {
		columns, each := l.Cols.Len(), rows.Len()
		if t.list {
			columns, each = 1, rows.Len()*l.Cols.Len()
		}
		n := each * int64(storedAs(l.DType).Size())
		if l.DType == matrix.Bool {
			n = bitBytes(each)
		}
		for range columns {
			places = append(places, [2]int64{end, end + n})
			end = aligned(end + n)
		}
	}
	if int64(cap(t.body)) < end {
		t.body = make([]byte, end)
	}
	t.body = t.body[:end]
	clear(t.body)
	t.columns = make([][]byte, len(places))
	for i, p := range places {
		t.columns[i] = t.body[p[0]:p[1]:p[1]]
	}
}

func aligned(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

// put puts the rows of a lane into its columns; it gives how many these are.
func (t *table) put(columns [][]byte, b matrix.Block, rows matrix.Range) int {
	b, _ = b.Cast(storedAs(b.Data.DType())) // into a type that holds every value
	raw, size := wire.ViewAny(b.Data.Values())
	width := int(b.At.Cols.Len())
	pitch := width * size
	raw = raw[int(rows.Lo-b.At.Rows.Lo)*pitch : int(rows.Hi-b.At.Rows.Lo)*pitch]
	first, n := int(rows.Lo-t.open.Lo), int(rows.Len())
	boolean := b.Data.DType() == matrix.Bool
	switch {
	case t.list && boolean:
		putBits(columns[0], first*width, raw, 1, n*width)
		return 1
	case t.list:
		wire.Swap(columns[0][first*pitch:][:copy(columns[0][first*pitch:], raw)], size, wire.Little)
		return 1
	case boolean:
		for c := range width {
			putBits(columns[c], first, raw[c:], pitch, n)
		}
		return width
	}
	for from := 0; from < width; from += format.Together {
		some := columns[from:min(from+format.Together, width)]
		format.ToColumns(some, first, raw[from*size:], pitch, size, n)
		for _, c := range some {
			wire.Swap(c[first*size:][:n*size], size, wire.Little)
		}
	}
	return width
}

// putBits sets n bits from the first on to the bytes of src, which are step apart.
func putBits(dst []byte, first int, src []byte, step, n int) {
	for i := range n {
		dst[(first+i)/8] |= src[i*step] << ((first + i) % 8)
	}
}

// batch writes the open rows.
func (t *table) batch() error {
	body, buffers := t.body, []int64(nil)
	if t.packer.packing != plain {
		body = nil
	}
	end := int64(0)
	for _, c := range t.columns {
		buffers = append(buffers, make([]int64, 2*t.bitmaps())...)
		for i := len(buffers) - 2*t.bitmaps(); i < len(buffers); i += 2 {
			buffers[i] = end
		}
		n := int64(len(c))
		if t.packer.packing != plain && n > 0 {
			var err error
			if body, err = t.packer.pack(body, c); err != nil {
				return err
			}
			n = int64(len(body)) - end
			body = append(body, make([]byte, aligned(int64(len(body)))-int64(len(body)))...)
		}
		buffers = append(buffers, end, n)
		end = aligned(end + n)
	}
	place := t.end
	n, err := t.message(kindBatch, t.batchHead(t.open.Len(), buffers), int64(len(body)))
	if err != nil {
		return err
	}
	t.blocks = append(t.blocks, place, n, int64(len(body)))
	t.columns = nil
	return t.write(body)
}

// bitmaps is how many bitmaps, none of which we need, stand before the values of a column.
func (t *table) bitmaps() int {
	if t.list {
		return 2
	}
	return 1
}

// End implements format.RowSink.
func (t *table) End() error {
	if t.m.Cols == 0 && t.m.Rows > 0 { // rows without values make one batch
		t.begins(matrix.Range{Hi: t.m.Rows})
		if err := t.batch(); err != nil {
			return err
		}
	}
	if err := t.write([]byte(endMark)); err != nil || t.stream {
		return err
	}
	foot := buildFlat([]val{{slot: 0, v: int16(4)}, {slot: 1, v: t.schema()}, {slot: 2, each: 3, v: []int64{}},
		{slot: 3, each: 3, v: t.blocks}})
	if len(foot) > metaLimit {
		return fmt.Errorf("matrix %q: footer of %d bytes, want at most %d: %w", t.m.Name, len(foot), metaLimit, format.ErrLimit)
	}
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	return t.write(append(foot, magic...))
}
