package paddle

import (
	"strconv"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// payload is a place in the file with the bytes of values. With latin each byte stands as the Unicode character of its
// number, in UTF-8.
type payload struct {
	off, n int64
	latin  bool
}

// numpyType is NumPy's description of an element type.
type numpyType struct {
	name string // as "f4"
	element
	size  int64 // in bytes, of one element
	order wire.Order
	built bool
}

// ndarray is a NumPy array whose values stay in the file.
type ndarray struct {
	dims    []int64
	kind    *numpyType
	fortran bool
	values  payload
	built   bool
}

// numpyTypes are the names of element types that a matrix can hold. NumPy has no bf16, and Paddle no 16-bit integers without
// a sign: it stores the one as the other, and takes every u2 for bf16 when it loads a file.
var numpyTypes = [...]struct {
	name string
	element
}{
	{"f4", element{DType: matrix.F32}}, {"f8", element{DType: matrix.F64}}, {"f2", element{DType: matrix.F16}},
	{"i8", element{DType: matrix.I64}}, {"i4", element{DType: matrix.I32}}, {"i2", element{DType: matrix.I16}},
	{"i1", element{DType: matrix.I8}}, {"u8", element{DType: matrix.U64}}, {"u4", element{DType: matrix.U32}},
	{"u2", element{DType: matrix.BF16}}, {"u1", element{DType: matrix.U8}}, {"b1", element{DType: matrix.Bool}},
	{"c8", element{DType: matrix.F32, Origin: format.Complex64}}, {"c16", element{DType: matrix.F64, Origin: format.Complex128}},
}

// callType is numpy.dtype(name, False, True).
func (m *pickle) callType(args []any) (any, bool) {
	if len(args) != 3 || !isFlag(args[1]) || !isFlag(args[2]) {
		return nil, false
	}
	name, ok := word(args[0])
	if !ok || len(name) < 2 {
		return nil, false
	}
	t := &numpyType{name: name, order: wire.Little}
	for _, known := range numpyTypes {
		if known.name == name {
			t.element, t.size = known.element, int64(known.DType.Size())
			if t.Pair() {
				t.size *= 2
			}
			return t, true
		}
	}
	m.fail("%w", &UnheldError{"NumPy " + strconv.Quote(name)})
	return t, true
}

// isFlag reports whether v is a truth value, which Python 2 writes as a number.
func isFlag(v any) bool {
	_, ok := v.(bool)
	n, number := v.(int64)
	return ok || number && (n == 0 || n == 1)
}

func isTrue(v any) bool { return v == true || v == int64(1) }

// buildType gives an element type its byte order: (3 or 4, order, None, None, None, -1, -1, 0, …).
func (m *pickle) buildType(t *numpyType, state []any) {
	if t.built || len(state) < 8 || len(state) > 9 {
		m.fail("state of %d values for an element type, want 8 or 9, once", len(state))
		return
	}
	for i, v := range state[2:5] {
		if v != nil {
			m.fail("state of an element type with %s in place %d, want None: %w", kindOf(v), i+2, format.ErrVersion)
			return
		}
	}
	switch order, _ := word(state[1]); {
	case order == "<" || order == "|" && t.size == 1:
	case order == ">":
		t.order = wire.Big
	default:
		m.fail("byte order %q of element type %s, want < or >", order, t.name)
	}
	t.built = true
}

// callReconstruct is _reconstruct(ndarray, (0,), b"b"): an array without a state.
func (m *pickle) callReconstruct(args []any) (any, bool) {
	if len(args) != 3 {
		return nil, false
	}
	class, isGlobal := args[0].(global)
	_, isTuple := args[1].(*tuple)
	return &ndarray{}, isGlobal && class.name == "ndarray" && isTuple
}

// buildArray gives an array its state: (1, shape, type, in Fortran order, bytes).
func (m *pickle) buildArray(a *ndarray, state []any) {
	if a.built || len(state) != 5 || state[0] != any(int64(1)) || !isFlag(state[3]) {
		m.fail("state of %d values for an array, want 5 of version 1, once", len(state))
		return
	}
	a.fortran = isTrue(state[3])
	m.complete(a, state[1], state[2], state[4])
}

// callScalar is scalar(type, bytes): a value, which becomes an array of rank 0.
func (m *pickle) callScalar(args []any) (any, bool) {
	if len(args) != 2 {
		return nil, false
	}
	a := &ndarray{}
	m.complete(a, &tuple{}, args[0], args[1])
	return a, true
}

// callFromBuffer is _frombuffer(bytes, type, shape, order), of protocol 5.
func (m *pickle) callFromBuffer(args []any) (any, bool) {
	if len(args) != 4 {
		return nil, false
	}
	order, ok := word(args[3])
	if !ok || order != "C" && order != "F" {
		return nil, false
	}
	a := &ndarray{fortran: order == "F"}
	m.complete(a, args[2], args[1], args[0])
	return a, true
}

// complete gives an array its shape, type and values, which must fit together.
func (m *pickle) complete(a *ndarray, shape, kind, values any) {
	dims, ok := itemsOf(shape)
	t, typed := kind.(*numpyType)
	if !ok || !typed || t.size == 0 || len(dims) > maxNumpyRank {
		m.fail("array of %s with shape %s, want an element type and a tuple of at most %d", kindOf(kind), kindOf(shape), maxNumpyRank)
		return
	}
	a.dims = make([]int64, len(dims))
	for i, v := range dims {
		if a.dims[i], ok = v.(int64); !ok {
			m.fail("%s in a shape, want a number", kindOf(v))
			return
		}
	}
	rows, cols, err := matrix.Shape(a.dims)
	if err != nil {
		m.fail("%w", err)
		return
	}
	switch v := values.(type) {
	case payload:
		a.values = v
	case *text:
		a.values = payload{off: v.off, n: v.n}
		if v.unicode {
			m.fail("a text as values, want bytes")
		}
	default:
		m.fail("%s as values, want bytes", kindOf(values))
	}
	size, fits := matrix.Cells(rows*cols, t.size)
	if n := a.values.n; !fits || size > n || n > size && !a.values.latin || n > 2*size {
		m.fail("%d bytes of values, want %d for shape %v of %s", n, size, a.dims, t.name)
	}
	a.kind, a.built = t, true
}

// maxNumpyRank is NumPy's own limit.
const maxNumpyRank = 64

// size is the number of bytes of the values; complete has checked the product.
func (a *ndarray) size() int64 {
	rows, cols, _ := matrix.Shape(a.dims)
	return rows * cols * a.kind.size
}
