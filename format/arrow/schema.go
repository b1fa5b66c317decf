package arrow

import (
	"encoding/json"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	readLimit  = 65535 // columns that we read
	depthLimit = 64    // of types within each other
)

// field is a column of a table, which is one column of the matrix or, as a list of fixed size, several.
type field struct {
	name    string
	text    string       // its type
	raw     matrix.DType // of the numbers as they are stored; Invalid: there are none
	ext     string       // an extension type, of which we read what it is stored as
	extMeta string       // its parameters

	origin string // what the numbers stand for, as Meta.ColOrigins say it
	wide   bool   // whole numbers with nulls, which are read as f64 with NaN

	list bool
	cols matrix.Range // in the matrix

	// what a record batch has of it
	node, nodes     int
	buffer, buffers int
	views           int // columns that have any number of buffers more

	cells cellField // of a table of cells
}

// width is how many numbers a row has.
func (f *field) width() int64 { return f.cols.Len() }

// held is the element type of the columns of the matrix, but for what we know of matrices of ours.
func (f *field) held() matrix.DType {
	if f.wide {
		return matrix.F64
	}
	return f.raw
}

// schema is the description of a table.
type schema struct {
	order      wire.Order
	fields     []field
	pandas     string   // what pandas says of the table
	keys       []string // of the metadata that is not ours
	own        ownMeta
	dictionary bool            // some column has a dictionary
	entries    map[int64]field // of a dictionary, by its id: one column

	nodes, buffers, views int
}

// ownMeta is what we keep under ownKey: what the schema cannot say of a matrix.
type ownMeta struct {
	Dims   []int64  `json:"dims,omitzero"`
	DType  string   `json:"dtype,omitempty"`
	Labels []string `json:"labels,omitempty"` // of a matrix in one column of lists
	Made   bool     `json:"made,omitempty"`   // the names of the columns stand for none
	Types  []string `json:"types,omitempty"`  // of the columns
}

const ownKey = "thole"

// schemaReader reads a schema.
type schemaReader struct {
	schema
	version int16
	skip    bool // columns without numbers are no error
}

// readSchema reads the schema of a message or footer, which has the version.
func readSchema(t tab, version int16, skip bool) (*schema, error) {
	if t.f == nil {
		return nil, fmt.Errorf("no schema: %w", format.ErrCorrupt)
	}
	r := schemaReader{version: version, skip: skip}
	r.order = wire.Little
	if e := t.i16(0, 0); e == 1 {
		r.order = wire.Big
	} else if e != 0 {
		return nil, fmt.Errorf("byte order %d, want 0 or 1: %w", e, format.ErrCorrupt)
	}
	fields := t.tabs(1)
	if len(fields) > readLimit {
		return nil, fmt.Errorf("%d columns, want at most %d: %w", len(fields), readLimit, format.ErrLimit)
	}
	for i, ft := range fields {
		f, err := r.field(ft)
		if t.f.err != nil {
			return nil, t.f.err
		}
		if err != nil {
			return nil, fmt.Errorf("column %d (%q): %w", i, f.name, err)
		}
		r.fields = append(r.fields, f)
	}
	for _, kv := range t.tabs(2) {
		if err := r.key(kv.str(0), kv.str(1)); err != nil {
			return nil, err
		}
	}
	if t.f.err != nil {
		return nil, t.f.err
	}
	return &r.schema, r.number()
}

func (r *schemaReader) key(key, value string) error {
	if key == format.PandasKey {
		r.pandas = value
	}
	if key != ownKey {
		r.keys = append(r.keys, key)
		return nil
	}
	if err := json.Unmarshal([]byte(value), &r.own); err != nil {
		return fmt.Errorf("value of the key %q: %v: %w", ownKey, err, format.ErrCorrupt)
	}
	return nil
}

// number gives the columns of the matrix to the fields.
func (r *schemaReader) number() error {
	next, several := int64(0), len(r.numbers()) > 1
	for i := range r.fields {
		f := &r.fields[i]
		n := f.cols.Hi
		if f.raw == matrix.Invalid {
			n = 0
		}
		if next+n > readLimit && several {
			return fmt.Errorf("column %d (%q): %d columns of numbers, want at most %d: %w", i, f.name, next+n, readLimit, format.ErrLimit)
		}
		f.cols = matrix.Range{Lo: next, Hi: next + n}
		next += n
	}
	return nil
}

// numbers are the fields that the matrix is made of.
func (s *schema) numbers() []*field {
	var some []*field
	for i := range s.fields {
		if s.fields[i].raw != matrix.Invalid {
			some = append(some, &s.fields[i])
		}
	}
	return some
}

// field reads a column of the table. Until the columns are numbered cols begins at 0.
func (r *schemaReader) field(t tab) (f field, err error) {
	f = field{name: t.str(0), node: r.nodes, buffer: r.buffers, cols: matrix.Range{Hi: 1}}
	before := r.views
	kind, typ, children := t.u8(2), t.tab(3), t.tabs(5)
	f.ext, f.extMeta = extension(t)
	f.cells = r.cellsOf(t, kind, typ, children)
	f.raw, f.origin, f.text = number(kind, typ)
	if kind == typeFixedList && len(children) == 1 {
		c := children[0]
		f.raw, f.origin, f.text = number(c.u8(2), c.tab(3))
		f.text = "lists of " + f.text
		if f.list, f.cols.Hi = true, int64(typ.i32(0, 0)); f.cols.Hi < 0 {
			return f, fmt.Errorf("lists of %d numbers: %w", f.cols.Hi, format.ErrCorrupt)
		}
		if len(c.tabs(5)) > 0 || c.tab(4).f != nil {
			f.raw = matrix.Invalid
		}
	}
	if r.indexed(t) {
		f.raw, f.text = matrix.Invalid, "dictionary"
	} else {
		if f.raw != matrix.Invalid && !f.list && len(children) > 0 {
			return f, fmt.Errorf("%s with %d children, want none: %w", f.text, len(children), format.ErrCorrupt)
		}
		if err := r.layout(kind, typ, children, 0); err != nil {
			return f, err
		}
	}
	f.nodes, f.buffers, f.views = r.nodes-f.node, r.buffers-f.buffer, r.views-before
	if f.raw == matrix.Invalid && !r.skip {
		if text, ok := encodedText(kind, f.text); ok {
			return f, fmt.Errorf("values in %s, want them one by one: write the column without that encoding (option other=skip leaves it out): %w",
				text, format.ErrVersion)
		}
		return f, fmt.Errorf("values of %s, want numbers: text and other bytes are not supported (option other=skip leaves them out): %w",
			f.text, format.ErrVersion)
	}
	return f, nil
}

// encodedText names an encoding that columns of numbers may have, too.
func encodedText(kind uint8, text string) (string, bool) {
	if text == "dictionary" {
		return "a dictionary", true
	}
	return "runs (run end encoded)", kind == typeRunEnd
}

// layout counts what a record batch has of a type and of the types within it.
func (r *schemaReader) layout(kind uint8, typ tab, children []tab, depth int) error {
	if int(kind) >= len(shapes) || kind == 0 {
		return fmt.Errorf("type %d, want 1 to %d: %w", kind, len(shapes)-1, format.ErrVersion)
	}
	if depth > depthLimit {
		return fmt.Errorf("types of more than %d levels: %w", depthLimit, format.ErrLimit)
	}
	s := &shapes[kind]
	r.nodes++
	r.buffers += s.buffers
	if kind == typeUnion && r.version < 4 {
		r.buffers++ // a bitmap of validity
	}
	if kind == typeUnion && typ.i16(0, 0) == 1 {
		r.buffers++ // of a dense union
	}
	if kind == typeBinaryView || kind == typeUTF8View {
		r.views++
	}
	for _, c := range children {
		if r.indexed(c) {
			continue
		}
		if err := r.layout(c.u8(2), c.tab(3), c.tabs(5), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// indexed reports whether the field has a dictionary, and counts what a record batch has of it then: numbers of its entries.
func (r *schemaReader) indexed(t tab) bool {
	if t.tab(4).f == nil {
		return false
	}
	r.dictionary = true
	r.nodes, r.buffers = r.nodes+1, r.buffers+2
	return true
}

// extension is the name of the extension type of a field, and its parameters.
func extension(t tab) (name, parameters string) {
	for _, kv := range t.tabs(6) {
		switch kv.str(0) {
		case "ARROW:extension:name":
			name = kv.str(1)
		case "ARROW:extension:metadata":
			parameters = kv.str(1)
		}
	}
	return name, parameters
}
