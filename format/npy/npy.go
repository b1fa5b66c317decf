// Package npy reads and writes arrays of NumPy, one array in one file.
//
//	0   6     93 4e 55 4d 50 59, "\x93NUMPY"
//	6   u8    major version, 1, 2 or 3
//	7   u8    minor version, 0
//	8   u16   length n of the header (version 1), u32 in versions 2 and 3; little-endian
//	    n     header: a Python dictionary literal, spaces, a line feed; Latin-1, in version 3 UTF-8
//	    …     values, to the end of the file
//
// The dictionary has exactly the keys 'descr', a type such as '<f4'; 'fortran_order', True or False; and 'shape', a tuple
// of sizes. We read the types f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 c8 c16 in both byte orders, up to 64 dimensions, headers up to
// 16 MiB, values in C and in Fortran order. Complex numbers are pairs, real and imaginary part, in
// a last dimension of 2. Text and object arrays are refused. We write version 1 (version 2 if
// the header is longer than 65535 bytes), little-endian, C order, with the header padded as NumPy does it so that values
// begin at a multiple of 64 bytes.
//
// The 'descr' of a structured array is a list of pairs, ('name', '<f4'), of the fields of a record; (”, '|V4') is a gap of
// 4 bytes. It is a frame: one row for each record, one column for each field. Records within records, subarrays and fields
// of other types are refused by name. Frames (matrices with names or types of columns) are written so, without gaps, in
// version 3 if a name is not Latin-1.
//
// An array is seen as a matrix: rank 0 as 1 x 1, rank 1 as one row, higher ranks as the first dimension by the rest. The
// matrix has the name of the file without its ending. NumPy has no bf16: it is stored as f4.
package npy

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

const name = "npy"

// Codec reads and writes .npy files and folders of them.
var Codec = format.Folder(codec{})

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name:    name,
		Title:   "NumPy arrays",
		Ext:     ".npy",
		Single:  true,
		Reads:   "versions 1 to 3, numbers, complex too, and truth values, both byte orders, C and Fortran order; structured arrays as frames",
		Writes:  "version 1, little-endian, C order; frames as structured arrays",
		Options: []format.Option{structured},
		Origins: origins,
	}
}

// Sniff implements format.Codec.
func (codec) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	o, err := b.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer o.Close()
	h, err := readHead(o)
	switch {
	case err == nil:
		return h.dialect(), nil
	case h.magic:
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
	h, err := readHead(obj)
	if err != nil {
		obj.Close()
		return nil, format.Wrap(name, file, err)
	}
	m := h.meta(blob.Stem(file))
	m.Unnamed = true
	return &reader{obj: obj, path: file, head: h, m: m}, nil
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
	f, err := plan(&ms[0], &o)
	if err != nil {
		return nil, format.Wrap(name, file, err)
	}
	return format.NewSlabWriter(ctx, b, file, o, f)
}

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer obj.Close()
	return format.Wrap(name, file, explain(obj, p))
}
