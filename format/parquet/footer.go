package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/arrow"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	tailLen   = 8         // length of the footer, magic
	maxFooter = 256 << 20 // bytes
	maxRead   = 65535     // columns that we read
)

// footer is the description of a file, checked.
type footer struct {
	pf.FileMetaData
	schemaTable
	start  int64 // the byte at which it begins
	groups []group
	own    ownMeta
	times  []format.TimeType // of the columns below the root, as a schema of Arrow beside has them; nil: there is none
	doubt  string            // what was found in the keys and is of no use
}

// group is a row group.
type group struct {
	rows   matrix.Range
	chunks []pf.ColumnMetaData
}

// ownMeta is what we keep under ownKey: what the schema cannot say of a matrix.
type ownMeta struct {
	Dims   []int64  `json:"dims,omitzero"`
	DType  string   `json:"dtype,omitempty"`
	Labels []string `json:"labels,omitempty"` // where they cannot be names of columns
	Made   bool     `json:"made,omitempty"`   // the names of the columns stand for none
	Types  []string `json:"types,omitempty"`  // of the columns
}

const (
	ownKey   = "thole"
	arrowKey = "ARROW:schema"
)

// String says in a few words what the file is.
func (f *footer) String() string {
	return fmt.Sprintf("version %d, %d columns, %d row groups", f.Version, len(f.names), len(f.groups))
}

func corrupt(off int64, text string, args ...any) error {
	return &wire.At{Off: off, Err: fmt.Errorf(text, args...)}
}

// readFooter reads and checks the description. skip leaves out what is not of numbers.
func readFooter(o blob.Object, skip bool) (*footer, error) {
	f := &footer{}
	size := o.Size()
	if size < int64(len(magic))+tailLen {
		return f, corrupt(size, "%d bytes, want %d at least", size, len(magic)+tailLen)
	}
	var start [len(magic)]byte
	if err := wire.ReadAt(o, start[:], 0); err != nil {
		return f, err
	}
	if string(start[:]) != magic {
		if string(start[:]) == "PARE" {
			return f, &wire.At{Err: fmt.Errorf("an encrypted file: %w", format.ErrVersion)}
		}
		return f, corrupt(0, "%q at the begin, want %q", start[:], magic)
	}
	var tail [tailLen]byte
	if err := wire.ReadAt(o, tail[:], size-tailLen); err != nil {
		return f, err
	}
	if end := string(tail[4:]); end != magic {
		return f, corrupt(size-4, "%q at the end, want %q", end, magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-tailLen-int64(len(magic)) {
		return f, corrupt(size-tailLen, "footer of %d bytes in a file of %d", n, size)
	}
	if n > maxFooter {
		return f, &wire.At{Off: size - tailLen, Err: fmt.Errorf("footer of %d bytes, want at most %d: %w", n, maxFooter, format.ErrLimit)}
	}
	f.start = size - tailLen - n
	text := make([]byte, n)
	if err := wire.ReadAt(o, text, f.start); err != nil {
		return f, err
	}
	used, err := decode(text, &f.FileMetaData)
	if err != nil {
		return f, &wire.At{Off: f.start, Err: fmt.Errorf("footer: %w", err)}
	}
	if f.EncryptionAlgorithm.Value != nil { // a signature is behind the footer
		return f, &wire.At{Off: f.start, Err: fmt.Errorf("footer: columns are encrypted: %w", format.ErrVersion)}
	}
	if used < len(text) {
		return f, corrupt(f.start+int64(used), "%d bytes behind the footer", len(text)-used)
	}
	if err := f.check(skip); err != nil {
		return f, &wire.At{Off: f.start, Err: fmt.Errorf("footer: %w", err)}
	}
	return f, nil
}

// check makes columns and groups of what was decoded.
func (f *footer) check(skip bool) (err error) {
	if f.schemaTable, err = newSchema(f.Schema, skip); err != nil {
		return err
	}
	at := int64(0)
	for i, g := range f.RowGroups {
		if g.NumRows < 0 || g.NumRows > f.NumRows-at || len(g.Columns) != f.leaves {
			return fmt.Errorf("row group %d of %d rows and %d columns, want %d columns and %d rows in all", i, g.NumRows,
				len(g.Columns), f.leaves, f.NumRows)
		}
		next := group{rows: matrix.Range{Lo: at, Hi: at + g.NumRows}, chunks: make([]pf.ColumnMetaData, len(f.columns))}
		for k := range f.columns {
			c := &g.Columns[f.columns[k].leaf]
			if err := f.checkChunk(c, &f.columns[k], g.NumRows); err != nil {
				return fmt.Errorf("row group %d, column %d (%q): %w", i, f.columns[k].index, f.columns[k].name, err)
			}
			next.chunks[k] = c.MetaData
		}
		f.groups = append(f.groups, next)
		at += g.NumRows
	}
	if f.NumRows < 0 || at != f.NumRows {
		return fmt.Errorf("%d rows in the row groups, want %d", at, f.NumRows)
	}
	for _, kv := range f.KeyValueMetadata {
		switch kv.Key {
		case ownKey:
			if err := json.Unmarshal([]byte(kv.Value), &f.own); err != nil {
				return fmt.Errorf("value of the key %q: %w", ownKey, err)
			}
		case arrowKey:
			if err := f.arrow(kv.Value); err != nil {
				f.doubt = fmt.Sprintf("the value of the key %q is of no use: %v", arrowKey, err)
			}
		}
	}
	return nil
}

// arrow takes from the schema of an Arrow table that the file was made of what a schema of Parquet cannot say: durations, and
// time zones other than UTC.
func (f *footer) arrow(text string) error {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	names, times, err := arrow.SchemaTimes(raw)
	if err != nil {
		return err
	}
	if !slices.Equal(names, f.names) {
		return fmt.Errorf("columns %.100q, want %.100q", names, f.names)
	}
	f.times = times
	for i := range f.columns {
		c := &f.columns[i]
		switch when := times[c.index]; {
		case when.Kind == "duration" && c.when.Kind == "" && c.dtype == matrix.I64:
			c.when = when
		case when.Zone != "" && c.when.Zone != "":
			c.when.Zone = when.Zone
		}
	}
	return nil
}

// widen makes f64 of the columns of whole numbers and truth values that have nulls, or may have as nothing says how many.
// Times stay what they are.
func (f *footer) widen() {
	for i := range f.columns {
		c := &f.columns[i]
		if !c.optional || c.dtype.Float() || c.when.Kind != "" {
			continue
		}
		for _, g := range f.groups {
			s := &g.chunks[i].Statistics
			c.wide = c.wide || s.NullCount > 0 || s.NullCount == 0 && s.Min == nil && s.MinValue == nil && g.rows.Len() > 0
		}
	}
}

func (f *footer) checkChunk(c *pf.ColumnChunk, col *column, rows int64) error {
	m := &c.MetaData
	start, size := extent(m)
	switch {
	case c.FilePath != "":
		return fmt.Errorf("a chunk in the file %q: %w", c.FilePath, format.ErrVersion)
	case m.Type != col.physical || m.NumValues < rows || m.NumValues > rows && !col.repeated:
		return fmt.Errorf("%d values of %v, want %d of %v", m.NumValues, m.Type, rows, col.physical)
	case rows == 0 && size == 0: // without a page, it has no place
	case start < int64(len(magic)) || size < 0 || size > f.start-start:
		return fmt.Errorf("a chunk of %d bytes at byte %d, want it before byte %d", size, start, f.start)
	}
	if slices.Contains(readable, m.Codec) {
		return nil
	}
	return fmt.Errorf("compression %v, want one of %v: %w", m.Codec, readable, format.ErrVersion)
}

// extent is where the pages of a chunk are.
func extent(m *pf.ColumnMetaData) (start, size int64) {
	start = m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && (d < start || start == 0) { // 0: a chunk without a value
		start = d
	}
	return start, m.TotalCompressedSize
}

// meta describes the matrix.
func (f *footer) meta(matrixName string) (m matrix.Meta, err error) {
	m = matrix.Meta{Name: matrixName, Unnamed: true, Rows: f.NumRows, Cols: int64(len(f.columns)), DType: matrix.F64, Dims: f.own.Dims}
	types, labels := make([]matrix.DType, len(f.columns)), make([]string, len(f.columns))
	mixed := false
	for i := range f.columns {
		c := &f.columns[i]
		types[i], labels[i] = c.dtype, c.name
		if t := f.own.typeOf(c.index); t != "" {
			d, err := matrix.ParseDType(t)
			if err != nil || storedAs(d).raw != c.raw {
				return m, corrupt(f.start, "column %d (%q): element type %q of a column of %v", i, c.name, t, c.raw)
			}
			types[i] = d
		}
		if c.wide {
			types[i] = matrix.F64
		}
		if c.when.Kind != "" {
			if types[i] != c.dtype {
				return m, corrupt(f.start, "column %d (%q): element type %v of %v", i, c.name, types[i], c.when)
			}
			if m.ColOrigins == nil {
				m.ColOrigins = make([]string, m.Cols)
			}
			m.ColOrigins[i] = c.when.String()
		}
		mixed = mixed || types[i] != types[0]
	}
	switch {
	case mixed:
		m.ColTypes = types
	case len(types) > 0:
		m.DType = types[0]
	case f.own.DType != "":
		if m.DType, err = matrix.ParseDType(f.own.DType); err != nil {
			return m, corrupt(f.start, "element type %q", f.own.DType)
		}
	}
	if f.others != nil { // of which the table of ours had none
		f.own.Labels, m.Dims = nil, nil
	}
	if f.own.Labels != nil {
		labels = f.own.Labels
	}
	if !f.own.Made && len(labels) > 0 {
		m.Labels = labels
	}
	if err := m.Check(); err != nil {
		return m, corrupt(f.start, "%v", err)
	}
	return m, nil
}

func (o *ownMeta) typeOf(i int) string {
	if i < len(o.Types) {
		return o.Types[i]
	}
	return o.DType
}

// readHeader reads the header of the page at off, which ends before end. It gives its length.
func readHeader(r io.ReaderAt, off, end int64) (h pf.PageHeader, n int64, err error) {
	for step := int64(256); ; step *= 8 {
		some := min(step, end-off)
		text := make([]byte, some)
		if err := wire.ReadAt(r, text, off); err != nil {
			return h, 0, err
		}
		used, err := decode(text, &h)
		switch {
		case err == nil:
			return h, int64(used), nil
		case !errors.Is(err, errMore) || some == end-off || step > 16<<20:
			return h, 0, &wire.At{Off: off, Err: fmt.Errorf("header of a page: %w", err)}
		}
		h = pf.PageHeader{}
	}
}
