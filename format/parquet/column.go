package parquet

import (
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
)

// column is a column of the schema.
type column struct {
	name     string
	physical pf.Type
	raw      matrix.DType // of the values as they lie in a page
	dtype    matrix.DType // of the values
	optional bool
	time     bool // numbers that mean a date or a time
}

// newColumns reads the schema: a root and leaves.
func newColumns(schema []pf.SchemaElement) ([]column, error) {
	if len(schema) == 0 {
		return nil, fmt.Errorf("no schema")
	}
	if n := schema[0].NumChildren.V; int(n) != len(schema)-1 || len(schema)-1 > maxRead {
		for _, e := range schema[1:] {
			if e.NumChildren.V > 0 {
				return nil, fmt.Errorf("column %q is nested, want flat columns: %w", e.Name, format.ErrVersion)
			}
		}
		if len(schema)-1 > maxRead {
			return nil, fmt.Errorf("%d columns, want at most %d: %w", len(schema)-1, maxRead, format.ErrLimit)
		}
		return nil, fmt.Errorf("schema of %d columns, want %d", len(schema)-1, n)
	}
	columns := make([]column, len(schema)-1)
	for i := range columns {
		var err error
		if columns[i], err = newColumn(&schema[i+1]); err != nil {
			return nil, fmt.Errorf("column %d (%q): %w", i, schema[i+1].Name, err)
		}
	}
	return columns, nil
}

func newColumn(e *pf.SchemaElement) (c column, err error) {
	c = column{name: e.Name, physical: e.Type.V}
	switch {
	case e.NumChildren.V > 0 || !e.Type.Valid:
		return c, fmt.Errorf("nested, want flat columns: %w", format.ErrVersion)
	case e.RepetitionType.V == pf.Repeated:
		return c, fmt.Errorf("repeated, want flat columns: %w", format.ErrVersion)
	case e.RepetitionType.V == pf.Optional:
		c.optional = true
	}
	switch c.physical {
	case pf.Boolean:
		c.raw = matrix.Bool
	case pf.Int32:
		c.raw = matrix.I32
	case pf.Int64:
		c.raw = matrix.I64
	case pf.Float:
		c.raw = matrix.F32
	case pf.Double:
		c.raw = matrix.F64
	case pf.FixedLenByteArray:
		if _, half := e.LogicalType.Value.(*pf.Float16Type); half && e.TypeLength.V == 2 {
			c.raw, c.dtype = matrix.F16, matrix.F16
			return c, nil
		}
		fallthrough
	default:
		return c, fmt.Errorf("values of %v (%s), want numbers: text and other bytes are not supported: %w",
			c.physical, logical(e), format.ErrVersion)
	}
	c.dtype = c.raw
	return c, c.meaning(e)
}

// meaning narrows the type by what the schema says of it.
func (c *column) meaning(e *pf.SchemaElement) error {
	width, signed := int8(0), true
	switch t := e.LogicalType.Value.(type) {
	case nil:
		if k := e.ConvertedType.V; e.ConvertedType.Valid && k >= deprecated.Uint8 && k <= deprecated.Int64 {
			i := int8(k - deprecated.Uint8)
			width, signed = 8<<(i%4), i >= 4
		} else if e.ConvertedType.Valid && k == deprecated.Decimal {
			return fmt.Errorf("decimals, want plain numbers: %w", format.ErrVersion)
		} else if e.ConvertedType.Valid {
			c.time = true
		}
	case *pf.IntType:
		width, signed = t.BitWidth, t.IsSigned
	case *pf.DateType, *pf.TimeType, *pf.TimestampType:
		c.time = true
	default:
		return fmt.Errorf("values that are %s, want plain numbers: %w", logical(e), format.ErrVersion)
	}
	if width == 0 {
		return nil
	}
	for d, s := range integers {
		if s.width == width && s.signed == signed && s.physical == c.physical {
			c.dtype, c.raw = d, storedAs(d).raw
			return nil
		}
	}
	return fmt.Errorf("%v that are integers of %d bits", c.physical, width)
}

func logical(e *pf.SchemaElement) string {
	if e.LogicalType.Value != nil {
		return e.LogicalType.String()
	}
	if e.ConvertedType.Valid {
		return fmt.Sprintf("converted type %d", e.ConvertedType.V)
	}
	return "no logical type"
}

// integers are the integer types as the schema says them.
var integers = map[matrix.DType]struct {
	width    int8
	signed   bool
	physical pf.Type
}{
	matrix.I8: {8, true, pf.Int32}, matrix.I16: {16, true, pf.Int32}, matrix.I32: {32, true, pf.Int32}, matrix.I64: {64, true, pf.Int64},
	matrix.U8: {8, false, pf.Int32}, matrix.U16: {16, false, pf.Int32}, matrix.U32: {32, false, pf.Int32}, matrix.U64: {64, false, pf.Int64},
}

// storedAs is the column that holds an element type, without a name.
func storedAs(d matrix.DType) column {
	c := column{dtype: d, raw: d}
	switch d {
	case matrix.F64:
		c.physical = pf.Double
	case matrix.F32, matrix.BF16:
		c.physical, c.raw = pf.Float, matrix.F32
	case matrix.F16:
		c.physical = pf.FixedLenByteArray
	case matrix.Bool:
		c.physical = pf.Boolean
	case matrix.I8, matrix.I16:
		c.physical, c.raw = pf.Int32, matrix.I32
	case matrix.U8, matrix.U16:
		c.physical, c.raw = pf.Int32, matrix.U32
	default:
		c.physical = integers[d].physical
	}
	return c
}

// element is the column in the schema.
func (c *column) element() pf.SchemaElement {
	e := pf.SchemaElement{Type: thrift.New(c.physical), RepetitionType: thrift.New(pf.Required), Name: c.name}
	if i, ok := integers[c.dtype]; ok {
		e.LogicalType.Value = &pf.IntType{BitWidth: i.width, IsSigned: i.signed}
		kind := deprecated.Uint8
		if i.signed {
			kind = deprecated.Int8
		}
		for w := i.width; w > 8; w /= 2 {
			kind++
		}
		e.ConvertedType = thrift.New(kind)
	}
	if c.dtype == matrix.F16 {
		e.TypeLength = thrift.New[int32](2)
		e.LogicalType.Value = &pf.Float16Type{}
	}
	return e
}
