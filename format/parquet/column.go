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
	repeated bool            // rows are lists
	when     format.TimeType // what the numbers stand for; the zero one if they are plain
	wide     bool            // whole numbers with nulls, which are read as f64 with NaN
	fixed    int             // bytes of a value of fixed length
	decimal  int             // digits behind the point of whole numbers
	said     string          // what is to be said of how it is read
	leaf     int             // its chunk in a row group
	index    int             // among the columns below the root, with those that are left out
	// number gives the bits of the number that the bytes of a value stand for; nil: they stand for themselves.
	number func(b []byte) (uint64, error)
}

func newColumn(e *pf.SchemaElement) (c column, err error) {
	c = column{name: e.Name, physical: e.Type.V}
	switch {
	case e.NumChildren.V > 0 || !e.Type.Valid:
		return c, fmt.Errorf("nested, want flat columns (%s): %w", skipHint, format.ErrVersion)
	case e.RepetitionType.V == pf.Repeated:
		return c, fmt.Errorf("repeated, want flat columns (%s): %w", skipHint, format.ErrVersion)
	case e.RepetitionType.V == pf.Optional:
		c.optional = true
	}
	if is, err := c.special(e); is {
		return c, err
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
		return c, fmt.Errorf("values of %v (%s), want numbers: text and other bytes are not supported (%s): %w",
			c.physical, logical(e), skipHint, format.ErrVersion)
	}
	c.dtype = c.raw
	return c, c.meaning(e)
}

// meaning narrows the type by what the schema says of it.
func (c *column) meaning(e *pf.SchemaElement) error {
	width, signed := int8(0), true
	switch t := e.LogicalType.Value.(type) {
	case nil:
		k := e.ConvertedType.V
		if !e.ConvertedType.Valid {
			break
		}
		if k >= deprecated.Uint8 && k <= deprecated.Int64 {
			i := int8(k - deprecated.Uint8)
			width, signed = 8<<(i%4), i >= 4
			break
		}
		c.when = converted[k]
	case *pf.IntType:
		width, signed = t.BitWidth, t.IsSigned
	case *pf.DateType:
		c.when = format.TimeType{Kind: "date32", Unit: "day"}
	case *pf.TimeType:
		c.when = format.TimeType{Kind: "time64", Unit: unitOf(&t.Unit)}
		if c.when.Unit == "ms" {
			c.when.Kind = "time32"
		}
	case *pf.TimestampType:
		c.when = format.TimeType{Kind: "timestamp", Unit: unitOf(&t.Unit)}
		if t.IsAdjustedToUTC {
			c.when.Zone = utc
		}
	}
	plain := e.LogicalType.Value == nil && !e.ConvertedType.Valid
	switch {
	case c.when.Kind != "" && c.when.DType() != c.raw:
		return fmt.Errorf("%v that are %s", c.physical, logical(e))
	case width == 0 && c.when.Kind == "" && !plain:
		return fmt.Errorf("values that are %s, want plain numbers (%s): %w", logical(e), skipHint, format.ErrVersion)
	case width == 0:
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

const (
	utc      = "UTC"
	skipHint = "option other=skip leaves it out"
)

// converted are the times of files whose schema has none of the newer logical types. These timestamps are moments.
var converted = map[deprecated.ConvertedType]format.TimeType{
	deprecated.Date:            {Kind: "date32", Unit: "day"},
	deprecated.TimeMillis:      {Kind: "time32", Unit: "ms"},
	deprecated.TimeMicros:      {Kind: "time64", Unit: "us"},
	deprecated.TimestampMillis: {Kind: "timestamp", Unit: "ms", Zone: utc},
	deprecated.TimestampMicros: {Kind: "timestamp", Unit: "us", Zone: utc},
}

func unitOf(u *pf.TimeUnit) string {
	switch u.Value.(type) {
	case *pf.MilliSeconds:
		return "ms"
	case *pf.MicroSeconds:
		return "us"
	case *pf.NanoSeconds:
		return "ns"
	}
	return ""
}

// says reports whether a schema can have the type of time: the units of seconds and the dates of milliseconds it has not.
// Durations, and zones other than UTC, stand in the schema of Arrow beside it.
func says(when format.TimeType) bool {
	return when.Unit != "s" && when.Kind != "date64" || when.Kind == "duration"
}

// asTime gives the element of a schema the type of time.
func asTime(e *pf.SchemaElement, when format.TimeType) {
	unit := pf.TimeUnit{}
	switch when.Unit {
	case "ms":
		unit.Value = &pf.MilliSeconds{}
	case "us":
		unit.Value = &pf.MicroSeconds{}
	case "ns":
		unit.Value = &pf.NanoSeconds{}
	}
	e.ConvertedType = thrift.Null[deprecated.ConvertedType]{}
	switch when.Kind {
	case "date32":
		e.LogicalType.Value = &pf.DateType{}
	case "time32", "time64":
		e.LogicalType.Value = &pf.TimeType{Unit: unit}
	case "timestamp":
		e.LogicalType.Value = &pf.TimestampType{Unit: unit, IsAdjustedToUTC: when.Zone != ""}
	case "duration":
		e.LogicalType.Value = nil // a plain number
	}
	if when.Zone != "" {
		when.Zone = utc
	}
	for old, same := range converted {
		if same == when && (when.Kind == "date32" || when.Zone != "") { // the older types of a clock's times are of UTC
			e.ConvertedType = thrift.New(old)
		}
	}
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
