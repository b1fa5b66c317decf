// Package blockio writes a matrix.Block as DAPHNE block bytes and reads it back: one representation for
// DAPHNE files, spilled memory and checkpoints.
//
// The bytes are the document's body element: position, block header, block type and what the type needs. All numbers
// are little-endian; r, c are the block's rows and columns, S the bytes of a value, n the stored cells.
//
//	offset size field
//	     0    8  rx   first row of the block in the matrix
//	     8    8  cx   first column
//	    16    4  #r   rows
//	    20    4  #c   columns
//	    24    1  bt   0 empty, 1 dense, 2 CSR, 3 COO; plus 128: the wide form
//	    25       empty: nothing more
//	    25    1  vt   value type
//	    26       dense: r*c values, row-major
//	    26    8  CSR: n, then for each row its count u32 and (column u32, value) pairs
//	    26    4  COO: n, then (row u32, column u32, value); without the column if c is 1
//
// Rows and columns in the bytes count from the block's own first; in a matrix.Block column ids are absolute.
//
// The wide form is an extension for spilled memory and checkpoints, never for DAPHNE files. It holds what the
// document's form cannot: the type of an empty block, selected columns, keys anywhere in int64, sides of 2^32 and more,
// half floats and booleans. #r and #c are 0, rx and cx are two's complement, and all arrays begin at a multiple of 8
// bytes from the block's first byte (the values of all types too, since the arrays before them are of 8-byte numbers).
//
//	offset size field
//	    24    1  bt   128 empty, 129 dense, 130 CSR, 131 COO, 132 selected columns
//	    25    1  vt   value type: the document's 1..10, 16 f16, 17 bf16, 18 bool
//	    26    6  zero
//	    32    8  row behind the last, i64
//	    40    8  column behind the last, i64
//	    48    8  n: stored cells of CSR and COO, number of selected columns, else 0
//	    56       dense: r*c values
//	             CSR: r row counts u64, n absolute columns i64, n values
//	             COO: n rows i64 counted from rx, n absolute columns i64, n values
//	             columns: n absolute columns i64, n*r values, column after column
//
// A reader checks every count against the bytes that remain before it allocates, every index against the block, and
// refuses cells that are stored twice. Columns of a CSR row may come in any order; they are sorted.
package blockio

import (
	"thole.example/matrix"
	"thole.example/wire"
)

// Encoder writes blocks. The zero value writes for spilled memory and checkpoints: the document's form where it holds the block with its
// type, else the wide form. It may be used by many goroutines.
type Encoder struct {
	// Codes are the value-type codes. Document and Daphne allow only the forms of the document.
	Codes Codes
}

// Decoder reads blocks. The zero value reads what the zero Encoder writes. It may be used by many goroutines.
type Decoder struct {
	// Codes are the value-type codes. Document and Daphne allow only the forms of the document.
	Codes Codes
	// Type is the element type that every block is converted to; a value that does not convert exactly is an error.
	// Invalid keeps the types of the blocks, and an empty block without one is an error then.
	Type matrix.DType
	// InPlace lets the values and keys of a block be the input's own bytes where they lie aligned in a machine of the
	// same byte order. The input then belongs to the block.
	InPlace bool
}

// Append appends the bytes of b, as the zero Encoder writes them.
func Append(dst []byte, b matrix.Block) ([]byte, error) { return Encoder{}.Append(dst, b) }

// Gather appends to dst slices that are, one after the other, the bytes of b, as the zero Encoder writes
// them. The large ones are views of
// the slices of b, so b must not change until they are written.
func Gather(dst [][]byte, b matrix.Block) ([][]byte, error) { return Encoder{}.Gather(dst, b) }

// Size is the number of bytes that Append adds.
func Size(b matrix.Block) (int, error) { return Encoder{}.Size(b) }

// Read reads one block that Append wrote. The block shares nothing with the input.
func Read(c *wire.Cursor) (matrix.Block, error) { return Decoder{}.Read(c) }
