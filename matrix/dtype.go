package matrix

import (
	"fmt"
	"strings"
)

// DType names the type of a matrix element. The numbers are private to the process: codecs map them to the codes of
// their formats.
type DType uint8

// The element types. F16, BF16 and Bool are storage only: they can be held, moved, converted and saved, but not added.
const (
	Invalid DType = iota
	F64
	F32
	I64
	I32
	I16
	I8
	U64
	U32
	U16
	U8
	F16
	BF16
	Bool
)

type dtypeFacts struct {
	name        string
	size        int
	float       bool
	signed      bool
	storageOnly bool
}

var dtypes = [...]dtypeFacts{
	Invalid: {"invalid", 0, false, false, true},
	F64:     {"f64", 8, true, true, false},
	F32:     {"f32", 4, true, true, false},
	I64:     {"i64", 8, false, true, false},
	I32:     {"i32", 4, false, true, false},
	I16:     {"i16", 2, false, true, false},
	I8:      {"i8", 1, false, true, false},
	U64:     {"u64", 8, false, false, false},
	U32:     {"u32", 4, false, false, false},
	U16:     {"u16", 2, false, false, false},
	U8:      {"u8", 1, false, false, false},
	F16:     {"f16", 2, true, true, true},
	BF16:    {"bf16", 2, true, true, true},
	Bool:    {"bool", 1, false, false, true},
}

// DTypes lists every valid element type, in the order of the constants.
func DTypes() []DType {
	all := make([]DType, 0, len(dtypes)-1)
	for d := F64; int(d) < len(dtypes); d++ {
		all = append(all, d)
	}
	return all
}

func (d DType) facts() dtypeFacts {
	if int(d) >= len(dtypes) {
		return dtypes[Invalid]
	}
	return dtypes[d]
}

// String gives the short name, such as "f32".
func (d DType) String() string { return d.facts().name }

// Size is the number of bytes of one element; 0 for Invalid.
func (d DType) Size() int { return d.facts().size }

// Float reports whether the type is a floating-point type.
func (d DType) Float() bool { return d.facts().float }

// Signed reports whether the type holds negative values.
func (d DType) Signed() bool { return d.facts().signed }

// StorageOnly reports whether elements of the type can only be held and converted, not added or scaled.
func (d DType) StorageOnly() bool { return d.facts().storageOnly }

// ParseNarrow finds the type in which values of wider floats may lie or travel by the name that users give: "f16", "bf16" or "int8";
// Invalid for "", which is as they are.
func ParseNarrow(name string) (DType, error) {
	switch name {
	case "":
		return Invalid, nil
	case "f16":
		return F16, nil
	case "bf16":
		return BF16, nil
	case "int8":
		return I8, nil
	}
	return Invalid, fmt.Errorf("%q, want f16, bf16, int8, or nothing for as they are", name)
}

// ParseDType finds the element type of a short name such as "f32".
func ParseDType(name string) (DType, error) {
	for d := F64; int(d) < len(dtypes); d++ {
		if dtypes[d].name == strings.ToLower(name) {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("matrix: element type %q, want one of f64 f32 i64 i32 i16 i8 u64 u32 u16 u8 f16 bf16 bool", name)
}
