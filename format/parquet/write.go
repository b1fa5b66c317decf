package parquet

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/format/arrow"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	maxCols   = 16384
	maxGroups = 32767
	// groupBytes and groupRows bound a row group.
	groupBytes = 32 << 20
	groupRows  = 1 << 20
)

// plan decides how the matrix becomes a table, and asks for what is lost.
func plan(m *matrix.Meta, o *format.Options) (f format.RowFile, err error) {
	if _, err := newReading(o); err != nil {
		return f, err
	}
	t := &table{}
	if t.codec, err = compression(o); err != nil {
		return f, err
	}
	if err := m.Check(); err != nil {
		return f, err
	}
	if m.Cols > maxCols {
		return f, fmt.Errorf("matrix %q: %d columns, want at most %d: %w", m.Name, m.Cols, maxCols, format.ErrLimit)
	}
	if err := format.LoseTable(m, o); err != nil {
		return f, err
	}
	if t.times, err = format.ColTimes(m, o, says); err != nil {
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
		width += l.Cols.Len() * int64(storedAs(l.DType).raw.Size())
	}
	t.rows = min(groupRows, max(1, groupBytes/width))
	if m.Rows/t.rows >= maxGroups && m.Cols > 0 {
		return f, fmt.Errorf("matrix %q: %d rows, want at most %d of so many columns: %w", m.Name, m.Rows, t.rows*maxGroups, format.ErrLimit)
	}
	t.describe()
	f.Metas = []matrix.Meta{t.m}
	f.Begin = t.begin
	return f, nil
}

// table writes rows as row groups.
type table struct {
	m     matrix.Meta
	lanes []format.Lane
	times []format.TimeType // that the columns stand for; nil if all are plain numbers
	packer
	rows int64 // of a row group
	file pf.FileMetaData

	out  io.Writer
	end  int64 // bytes written
	open []matrix.Block
	next int64 // the first row that is not in open
}

// describe makes the schema and our own description.
func (t *table) describe() {
	own := ownMeta{Dims: t.m.Dims, DType: t.m.DType.String()}
	labels := t.m.Labels
	if seen := map[string]bool{}; labels != nil {
		for _, l := range labels {
			if l == "" || seen[l] {
				own.Labels, labels = t.m.Labels, nil
				break
			}
			seen[l] = true
		}
	} else {
		own.Made = true
	}
	t.file = pf.FileMetaData{Version: 1, NumRows: t.m.Rows, CreatedBy: "thole",
		Schema: []pf.SchemaElement{{Name: "schema", NumChildren: thrift.New(int32(t.m.Cols))}}, RowGroups: []pf.RowGroup{}}
	names, types := make([]string, t.m.Cols), make([]matrix.DType, t.m.Cols)
	for i := range t.m.Cols {
		d := t.m.ColType(t.m.ColLo + i)
		c := storedAs(d)
		if c.name = fmt.Sprintf("col_%d", i); labels != nil {
			c.name = labels[i]
		}
		if t.m.ColTypes != nil {
			own.Types = append(own.Types, d.String())
		}
		e := c.element()
		if t.times != nil && t.times[i].Kind != "" {
			asTime(&e, t.times[i])
		}
		names[i], types[i] = c.name, d
		t.file.Schema = append(t.file.Schema, e)
	}
	text, _ := json.Marshal(own) // of strings and numbers only
	t.file.KeyValueMetadata = []pf.KeyValue{{Key: ownKey, Value: string(text)}}
	if slices.ContainsFunc(t.times, beside) {
		raw := arrow.AppendSchema(nil, names, types, t.times)
		t.file.KeyValueMetadata = append(t.file.KeyValueMetadata, pf.KeyValue{Key: arrowKey, Value: base64.StdEncoding.EncodeToString(raw)})
	}
}

// beside reports whether only the schema of an Arrow table says what a column is.
func beside(when format.TimeType) bool {
	return when.Kind == "duration" || when.Zone != "" && when.Zone != utc
}

func (t *table) begin(out io.Writer) (format.RowSink, error) {
	t.out = out
	return t, t.write([]byte(magic))
}

func (t *table) write(b []byte) error {
	n, err := t.out.Write(b)
	t.end += int64(n)
	return err
}

// Rows implements format.RowSink. Row groups end at the same rows however the rows come.
func (t *table) Rows(ctx context.Context, lanes []matrix.Block) error {
	hi := lanes[0].At.Rows.Hi
	for t.next < hi {
		if t.open == nil {
			rows := matrix.Range{Lo: t.next, Hi: min(t.m.Rows, t.next+t.rows)}
			for _, l := range t.lanes {
				t.open = append(t.open, matrix.NewDense(l.DType, matrix.Rect{Rows: rows, Cols: l.Cols}))
			}
		}
		for i, b := range lanes {
			if err := matrix.Put(t.open[i], b); err != nil {
				return err
			}
		}
		end := t.open[0].At.Rows.Hi
		if t.next = min(hi, end); t.next == end {
			if err := t.group(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// group writes the open rows.
func (t *table) group(ctx context.Context) error {
	rows := t.open[0].At.Rows.Len()
	g := pf.RowGroup{NumRows: rows, FileOffset: t.end, Ordinal: int16(len(t.file.RowGroups))}
	for _, b := range t.open {
		c := storedAs(b.Data.DType())
		raw, _ := b.Cast(c.raw) // into a type that holds every value
		data, size := wire.ViewAny(raw.Data.Values())
		width := int(b.At.Cols.Len())
		for from := 0; from < width; from += format.Together {
			if err := ctx.Err(); err != nil {
				return err
			}
			columns := columnsOf(data, size, width, from, int(rows))
			for _, values := range columns {
				wire.Swap(values, size, wire.Little)
				if c.raw == matrix.Bool {
					values = packBits(values)
				}
				chunk, err := t.chunk(&c, values, int(rows), len(g.Columns))
				if err != nil {
					return err
				}
				g.Columns = append(g.Columns, chunk)
				g.TotalByteSize += chunk.MetaData.TotalUncompressedSize
				g.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
			}
		}
	}
	t.file.RowGroups = append(t.file.RowGroups, g)
	t.open = nil
	return nil
}

// columnsOf takes some columns from column from on out of rows of width values of size bytes.
func columnsOf(data []byte, size, width, from, rows int) [][]byte {
	columns := make([][]byte, min(format.Together, width-from))
	for k := range columns {
		columns[k] = grown(nil, rows*size)
	}
	for at := 0; at < rows; at += tileRows {
		format.ToColumns(columns, at, data[(at*width+from)*size:], width*size, size, min(tileRows, rows-at))
	}
	return columns
}

func packBits(values []byte) []byte {
	out := make([]byte, (len(values)+7)/8)
	for i, v := range values {
		out[i/8] |= v << (i % 8)
	}
	return out
}

// chunk writes a column as one page.
func (t *table) chunk(c *column, values []byte, rows, index int) (chunk pf.ColumnChunk, err error) {
	packed, err := t.pack(values)
	if err != nil {
		return chunk, err
	}
	h := pf.PageHeader{Type: pf.DataPage, UncompressedPageSize: int32(len(values)), CompressedPageSize: int32(len(packed)),
		CRC: int32(crc32.ChecksumIEEE(packed)),
		DataPageHeader: thrift.New(pf.DataPageHeader{NumValues: int32(rows), Encoding: pf.Plain,
			DefinitionLevelEncoding: pf.RLE, RepetitionLevelEncoding: pf.RLE})}
	head, err := thrift.Marshal(&thrift.CompactProtocol{}, &h)
	if err != nil {
		return chunk, err
	}
	start := t.end
	if err := t.write(head); err != nil {
		return chunk, err
	}
	if err := t.write(packed); err != nil {
		return chunk, err
	}
	name := t.file.Schema[index+1].Name
	chunk.FileOffset = start
	chunk.MetaData = pf.ColumnMetaData{Type: c.physical, Encoding: []pf.Encoding{pf.Plain, pf.RLE}, PathInSchema: []string{name},
		Codec: t.codec, NumValues: int64(rows), TotalUncompressedSize: int64(len(head) + len(values)), TotalCompressedSize: t.end - start,
		DataPageOffset: start}
	return chunk, nil
}

// End implements format.RowSink.
func (t *table) End() error {
	if t.m.Cols == 0 && t.m.Rows > 0 { // rows without columns are counted in a group of their own
		t.file.RowGroups = append(t.file.RowGroups, pf.RowGroup{NumRows: t.m.Rows, FileOffset: t.end, Columns: []pf.ColumnChunk{}})
	}
	foot, err := thrift.Marshal(&thrift.CompactProtocol{}, &t.file)
	if err != nil {
		return err
	}
	if len(foot) > maxFooter {
		return fmt.Errorf("matrix %q: footer of %d bytes, want at most %d: %w", t.m.Name, len(foot), maxFooter, format.ErrLimit)
	}
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	return t.write(append(foot, magic...))
}
