package format

import (
	"context"
	"fmt"
	"iter"
	"time"

	"thole.example/blob"
	"thole.example/internal/spell"
	"thole.example/matrix"
)

// Table is rows of cells of several kinds, as examples are learned from: numbers, text, truth values, times and lists, of which any
// may be missing. A [Reader] reads the same files as matrices of numbers. Batches may be called by many goroutines.
type Table interface {
	// Columns describes the columns in the order of storage, with those that cannot be read. The result must not be changed.
	Columns() []TableColumn
	// Rows is how many rows there are; -1: not known before they are read.
	Rows() int64
	// Batches gives the cells of some columns, by their place among Columns and in the order that is asked for, of the rows
	// that are asked for, some rows at a time and in their order. A batch and all that it refers to is good until the next one.
	// The walk ends with the first error; a column that cannot be read is one. Without columns there are no batches.
	Batches(ctx context.Context, columns []int, rows matrix.Range) iter.Seq2[*TableBatch, error]
	Close() error
}

// CellKind is what the cells of a column are.
type CellKind uint8

// The kinds of cells.
const (
	Unreadable CellKind = iota
	Number              // f64, in Cells.Number
	Whole               // whole numbers of 64 bits, in Cells.Int
	Truth               // 0 or 1, in Cells.Int
	Time                // moments, in Cells.Int
	Text                // in Cells.Text, or as codes of a dictionary
)

var cellKinds = [...]string{"unreadable", "number", "whole number", "truth value", "time", "text"}

// String is the kind in a word or two.
func (k CellKind) String() string {
	if int(k) < len(cellKinds) {
		return cellKinds[k]
	}
	return fmt.Sprintf("kind %d of cells", k)
}

// TableColumn describes a column of a table.
type TableColumn struct {
	Name string
	Kind CellKind // of the cells, or of those in the lists
	List bool     // each row has any number of cells
	// Unsigned says of whole numbers that Cells.Int has the bits of numbers from 0 to 2^64-1.
	Unsigned bool
	// Stored is the type in which the file has numbers, if it holds fewer digits than Cells.Number: F32 or F16; Invalid: it does not.
	Stored matrix.DType
	// Unit is what Cells.Int counts in a column of times, since the beginning of 1970. The clock is that of UTC if there is a Zone,
	// else one on some wall: the file does not say which.
	Unit time.Duration
	// Index says that the column holds the index of a DataFrame of pandas, and not what was observed.
	Index bool
	Days  bool   // times are whole days, whatever their unit
	Zone  string // of times that are instants: the zone in which people read them; "": times have none
	// Span says of whole numbers that they are durations, and OfDay that they are times of day; both count Units.
	Span, OfDay bool
	Type        string // as the format says it
	Why         string // a column cannot be read
}

// Time is the moment that a cell of a column of times holds, in UTC.
func (c *TableColumn) Time(v int64) time.Time {
	unit := max(1, c.Unit)
	if unit >= time.Second {
		return time.Unix(v*int64(unit/time.Second), 0).UTC()
	}
	per := int64(time.Second / unit)
	return time.Unix(v/per, v%per*int64(unit)).UTC()
}

// TableBatch is some rows of a table.
type TableBatch struct {
	First int64 // the place of the first row in the table
	Rows  int
	Cells []Cells // of each column that was asked for
}

// Cells are the cells of one column in a batch: one for each row, or those of all lists one behind the other. Of Number, Int,
// Text and Code that one is set which has them. What stands in the place of a missing cell means nothing.
type Cells struct {
	Number []float64
	Int    []int64
	Text   Texts
	// Code has places in Dict, of a column of text with few different ones. The Dict of a column is the same pointer from batch to
	// batch as long as it has the same texts, so that what is made of each needs to be made only once. The codes of missing cells
	// are 0, also if Dict is empty.
	Code []int32
	Dict *Texts
	// Null says which cells are missing, of lists the cells in them; nil: none is.
	Null []bool
	// End has for each row where its list ends: that of row i are the cells End[i-1] to End[i], that of the first row begins at 0.
	// NoList says which rows have no list, not even an empty one; nil: all have.
	End    []int64
	NoList []bool
}

// Texts are texts one behind the other: text i is Bytes[End[i-1]:End[i]], the first begins at 0. Texts are UTF-8 if who wrote
// the file took care.
type Texts struct {
	Bytes []byte
	End   []int64
}

// Len is the number of texts.
func (t *Texts) Len() int { return len(t.End) }

// At is text i.
func (t *Texts) At(i int) []byte {
	if i == 0 {
		return t.Bytes[:t.End[0]]
	}
	return t.Bytes[t.End[i-1]:t.End[i]]
}

// TextAt is the text of cell i of a column of text, however it is held; "" of a missing one.
func (c *Cells) TextAt(i int) []byte {
	switch {
	case c.Null != nil && c.Null[i]:
		return nil
	case c.Dict != nil:
		return c.Dict.At(int(c.Code[i]))
	}
	return c.Text.At(i)
}

// TableOpener is a Codec that reads tables.
type TableOpener interface {
	Codec
	// OpenTable reads what is known of the table at the path, a single file, without its cells. Columns that cannot be read are
	// no error. Users call the function OpenTable.
	OpenTable(ctx context.Context, b blob.Bucket, path string, o Options) (Table, error)
}

// OpenTable opens the path as a table of the codec's. Errors wrap ErrVersion if the codec has no tables.
func OpenTable(ctx context.Context, c Codec, b blob.Bucket, path string, o Options) (Table, error) {
	t, ok := c.(TableOpener)
	if !ok {
		return nil, fmt.Errorf("format %s holds matrices only, want tables with columns of text: %w", c.Info().Name, ErrVersion)
	}
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	table, err := t.OpenTable(ctx, b, path, o)
	return table, Wrap(c.Info().Name, path, err)
}

// OpenTable detects the format of a path, or takes the named one, and opens it as a table.
func (s Set) OpenTable(ctx context.Context, b blob.Bucket, path, codec string, o Options) (Table, Codec, error) {
	c, err := s.pick(ctx, b, path, codec)
	if err != nil {
		return nil, nil, err
	}
	t, err := OpenTable(ctx, c, b, path, o)
	return t, c, err
}

// Pick finds the places of columns by their names, in the order of the names. A name that no column or more than one has, and a
// column that cannot be read, are errors.
func Pick(t Table, names []string) ([]int, error) {
	columns := t.Columns()
	known, place := make([]string, len(columns)), make(map[string]int, len(columns))
	for i := range columns {
		known[i] = columns[i].Name
		if _, twice := place[known[i]]; twice {
			place[known[i]] = -1
			continue
		}
		place[known[i]] = i
	}
	picked := make([]int, len(names))
	for k, name := range names {
		i, ok := place[name]
		switch {
		case !ok:
			return nil, spell.Unknown("column", name, known)
		case i < 0:
			return nil, fmt.Errorf("two columns with the name %q, want one", name)
		}
		if err := columns[i].Check(); err != nil {
			return nil, err
		}
		picked[k] = i
	}
	return picked, nil
}

// Check reports that the column cannot be read; the error wraps ErrVersion.
func (c *TableColumn) Check() error {
	if c.Kind != Unreadable {
		return nil
	}
	return fmt.Errorf("column %q of %s cannot be read: %s: %w", c.Name, c.Type, c.Why, ErrVersion)
}
