package parquet

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
)

// cellColumn is a column of a table of cells.
type cellColumn struct {
	format.TableColumn
	column // its chunk, and how values lie in it

	// spell appends the text of a value that no number of Cells holds, from its bytes, whole numbers with the highest byte first; nil:
	// values are as they are.
	spell func(dst, b []byte) ([]byte, error)

	// Levels of definition: a slot below empty has no list, at empty an empty one, at full a value; between, a null.
	empty, full uint32
}

// bytes reports whether values are bytes in the pages.
func (c *cellColumn) bytes() bool { return c.raw == matrix.Invalid || c.number != nil }

// levelBits is how many bits a level of definition has.
func (c *cellColumn) levelBits() int { return bits.Len32(c.full) }

// newCells reads the columns below the root of a schema that newSchema accepts.
func newCells(schema []pf.SchemaElement) (columns []cellColumn, err error) {
	leaf := 0
	for at := 1; at < len(schema); {
		elements, leaves, err := subtree(schema, at)
		if err != nil {
			return nil, err
		}
		c := cellsOf(schema[at : at+elements])
		c.name, c.Name = schema[at].Name, schema[at].Name
		c.leaf, c.index = leaf, len(columns)
		columns = append(columns, c)
		at, leaf = at+elements, leaf+leaves
	}
	return columns, nil
}

// cellsOf is the column of an element below the root, and those within it: of values, or of lists of values, which are groups of
// two or three levels.
func cellsOf(e []pf.SchemaElement) (c cellColumn) {
	top := &e[0]
	values := &e[len(e)-1]
	switch {
	case len(e) == 1 && top.Type.Valid:
	case isList(top) && len(e) <= 3 && len(e) > 1 && e[1].RepetitionType.V == pf.Repeated && values.Type.Valid &&
		(len(e) == 2 || values.RepetitionType.V != pf.Repeated):
	default:
		return unreadable("nested", "want values or lists of values")
	}
	c = valuesOf(values)
	if top.RepetitionType.V == pf.Optional {
		c.full++
	}
	if len(e) > 1 || top.RepetitionType.V == pf.Repeated {
		c.List, c.repeated = true, true
		c.Type = "list of " + c.Type
		c.empty = c.full
		c.full++
	}
	if len(e) == 3 && values.RepetitionType.V == pf.Optional {
		c.full++
	}
	c.optional = c.full > 0
	return c
}

func isList(e *pf.SchemaElement) bool {
	_, list := e.LogicalType.Value.(*pf.ListType)
	return list || e.LogicalType.Value == nil && e.ConvertedType.Valid && e.ConvertedType.V == deprecated.List
}

func unreadable(what, why string) (c cellColumn) {
	c.Type, c.Why = what, why
	return c
}

// valuesOf is the column of an element that has values.
func valuesOf(e *pf.SchemaElement) (c cellColumn) {
	if d, ok := decimalOf(e); ok {
		if c = decimals(e, d); c.Kind == format.Number && (d.Precision <= 0 || d.Precision > format.ExactDigits) {
			c.spelled(func(dst, b []byte) ([]byte, error) { return format.AppendDecimal(dst, b, int(d.Scale)) })
		}
	} else if isNull(e) {
		c = numbersOf(&pf.SchemaElement{Name: e.Name, Type: e.Type}) // of which there are none
		c.Type = "null"
	} else {
		switch e.Type.V {
		case pf.ByteArray, pf.FixedLenByteArray:
			c = textOf(e)
		case pf.Int96:
			c.Kind, c.Unit, c.Type = format.Time, time.Microsecond, "INT96"
			c.fixed, c.number, c.raw = momentLen, moment, matrix.I64
		default:
			c = numbersOf(e)
		}
	}
	c.physical = e.Type.V
	if c.raw == matrix.Invalid || c.number != nil { // values are bytes
		if c.physical == pf.FixedLenByteArray {
			c.fixed = int(e.TypeLength.V)
		}
		if c.physical != pf.ByteArray && c.fixed <= 0 {
			return unreadable(c.Type, fmt.Sprintf("values of %d bytes", c.fixed))
		}
	}
	return c
}

// spelled makes the cells of a column texts, as no number has all of their digits.
func (c *cellColumn) spelled(spell func(dst, b []byte) ([]byte, error)) {
	c.Kind, c.spell, c.decimal = format.Text, spell, 0
	if c.number != nil {
		c.raw, c.number = matrix.Invalid, nil
	}
}

// isNull reports whether an element has nothing but nulls, whose physical type means nothing.
func isNull(e *pf.SchemaElement) bool {
	_, null := e.LogicalType.Value.(*pf.NullType)
	return null && e.RepetitionType.V == pf.Optional && (e.Type.V == pf.Int32 || e.Type.V == pf.Int64)
}

// textOf is a column of text, or of bytes of which nothing is said, as older programs write text.
func textOf(e *pf.SchemaElement) (c cellColumn) {
	c.Type = fmt.Sprintf("%v, %s", e.Type.V, logical(e))
	switch e.LogicalType.Value.(type) {
	case *pf.StringType, *pf.EnumType, *pf.JsonType:
		c.Kind = format.Text
	case nil:
		k := e.ConvertedType.V
		if !e.ConvertedType.Valid || k == deprecated.UTF8 || k == deprecated.Enum || k == deprecated.Json {
			c.Kind = format.Text
		}
	case *pf.Float16Type:
		return numbersOf(e)
	case *pf.UUIDType:
		if e.TypeLength.V == format.UUIDSize {
			c.spelled(format.AppendUUID)
		}
	}
	if c.Kind == format.Unreadable {
		c.Why = "want text or numbers"
	}
	return c
}

// numbersOf is a column of numbers, as those of matrices are.
func numbersOf(e *pf.SchemaElement) (c cellColumn) {
	single := *e
	single.RepetitionType = thrift.New(pf.Required)
	col, err := newColumn(&single)
	if err != nil {
		return unreadable(fmt.Sprintf("%v, %s", e.Type.V, logical(e)), "want text or numbers")
	}
	c.column = col
	switch c.Type = col.dtype.String(); {
	case col.dtype.Float():
		c.Kind = format.Number
		if col.dtype != matrix.F64 {
			c.Stored = col.dtype
		}
	case col.dtype == matrix.Bool:
		c.Kind = format.Truth
	default:
		c.Kind, c.Unsigned = format.Whole, !col.dtype.Signed()
	}
	if col.when.Kind != "" {
		c.Type = col.when.String()
	}
	when := col.when
	if e.LogicalType.Value == nil { // whose timestamps are read as times without a zone, as by Arrow's readers
		when.Zone = ""
	}
	c.Tells(when)
	return c
}

// decimalOf is the type of decimal numbers, as it was said before there were logical types too.
func decimalOf(e *pf.SchemaElement) (d pf.DecimalType, ok bool) {
	if t, ok := e.LogicalType.Value.(*pf.DecimalType); ok {
		return *t, true
	}
	old := e.LogicalType.Value == nil && e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Decimal
	return pf.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}, old
}

// maxScale is the most digits behind the point that we read: more than any double has.
const maxScale = 400

// decimals is a column of decimal numbers, which become doubles; those of at most 64 bits without a point stay what they are.
func decimals(e *pf.SchemaElement, d pf.DecimalType) (c cellColumn) {
	text := fmt.Sprintf("decimal(%d, %d)", d.Precision, d.Scale)
	if d.Scale < 0 || d.Scale > maxScale {
		return unreadable(text, fmt.Sprintf("want 0 to %d digits behind the point", maxScale))
	}
	c.Kind, c.Type, c.decimal = format.Number, text, int(d.Scale)
	switch e.Type.V {
	case pf.Int32:
		c.raw = matrix.I32
	case pf.Int64:
		c.raw = matrix.I64
	case pf.ByteArray, pf.FixedLenByteArray:
		c.raw, c.number = matrix.F64, decimalBytes(c.decimal)
		if d.Scale == 0 && d.Precision > 0 && d.Precision <= format.WholeDigits {
			c.Kind, c.raw, c.number = format.Whole, matrix.I64, wholeBytes
		}
		return c
	default:
		return unreadable(text, fmt.Sprintf("decimals as %v", e.Type.V))
	}
	if d.Scale == 0 {
		c.Kind = format.Whole
	}
	return c
}
