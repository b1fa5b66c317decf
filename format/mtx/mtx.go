// Package mtx reads and writes Matrix Market files, one matrix in one file.
//
//	line 1     %%MatrixMarket matrix KIND FIELD SYMMETRY, words in any case
//	           KIND      coordinate: some cells; array: every cell
//	           FIELD     real, double, complex, integer, unsigned-integer, pattern (coordinate only)
//	           SYMMETRY  general, symmetric, skew-symmetric, hermitian
//	then       comments, lines that begin with %
//	then       size: rows and columns; for coordinate also the number of entries that follow
//	then       coordinate: row, column (both counted from 1) and value of one cell a line; no value in patterns
//	           array: one value a line, column by column
//	           a complex value is two numbers, real and imaginary part; exponents may be Fortran's, 1.0D0
//
// Words and numbers are separated by spaces or tabs; empty lines may stand anywhere behind line 1. The source is the
// report of the format (Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NIST) except for unsigned-integer,
// which newer libraries added.
//
// We read real and double as f64, integer as i64, unsigned-integer as u64, and a pattern as i8 with the value 1 in every
// entry, and complex as pairs of f64 in a last dimension of 2. Symmetric matrices hold the cells on one side of the diagonal
// and are filled up. Entries of one cell are added up, but not in a symmetric file with entries on both sides of the
// diagonal, of which nobody knows whether it means to give its cells twice. A coordinate matrix is sparse, and an array
// dense.
//
// We write general matrices: sparse ones as coordinate, row by row, dense ones as array, with the fewest digits that
// read back to the same number. Line 2 is a comment of ours, "%thole dtype=f32 shape=2,3,4", which keeps the element
// type and a tensor's shape; read back it is honoured if it fits.
//
// A small coordinate file is held from the first walk on. A large one is looked through once and then read in bands of
// rows, each sorted in memory. An array is read in pieces, but for symmetric ones.
package mtx

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

const name = "mtx"

// Codec reads and writes .mtx files and folders of them.
var Codec = format.Folder(codec{})

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name:    name,
		Title:   "Matrix Market",
		Ext:     ".mtx",
		Endings: []format.Ending{{Ext: ".mm"}},
		Single:  true,
		Origins: origins,
		Reads:   "coordinate and array; real, complex, integer, pattern; general, symmetric, skew-symmetric, hermitian",
		Writes:  "general: coordinate for sparse, array for dense matrices, exact numbers",
	}
}

// Sniff implements format.Codec.
func (codec) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	o, err := b.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer o.Close()
	h, err := readHead(ctx, o)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return h.dialect(), nil
	case h.looks:
		return "not readable", nil // Open says why
	}
	return "", nil
}

// Open implements format.Codec.
func (c codec) Open(ctx context.Context, b blob.Bucket, file string, o format.Options) (format.Reader, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	h, err := readHead(ctx, obj)
	if err != nil {
		obj.Close()
		return nil, format.Wrap(name, file, err)
	}
	m := matrix.Meta{Name: blob.Stem(file), Unnamed: true,
		Rows: h.rows, Cols: h.width(), DType: h.dtype, Dims: h.dims, Origin: h.element().Origin}
	r := &reader{obj: obj, path: file, head: h, m: m, from: newSource(&h)}
	if !h.array {
		r.m.Layout = matrix.RowSparse
		r.m.Stored = r.count(ctx)
	}
	return r, nil
}

// Create implements format.Codec.
func (c codec) Create(ctx context.Context, b blob.Bucket, file string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	if len(ms) != 1 {
		return nil, fmt.Errorf("%d matrices, want 1 in a file: %w", len(ms), format.ErrLimit)
	}
	if err := format.LoseFiles(&o); err != nil {
		return nil, err
	}
	m := ms[0]
	if err := check(&m, &o); err != nil {
		return nil, format.Wrap(name, file, err)
	}
	if m.Layout == matrix.RowSparse {
		return newCoordinateWriter(b, file, m, o)
	}
	return newArrayWriter(ctx, b, file, m, o)
}

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer obj.Close()
	return format.Wrap(name, file, explain(ctx, obj, p))
}
