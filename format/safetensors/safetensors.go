// Package safetensors reads and writes files of tensors as the library safetensors defines them.
//
//	0      u64   length n of the header, at most 100,000,000; little-endian
//	8      n     header: JSON in UTF-8, "{" first, spaces behind it
//	8+n    …     values of all tensors, without gap or overlap, to the end of the file; little-endian, row-major
//
// The header is one object. Every key but "__metadata__" is the name of a tensor, with
//
//	"dtype"          one of F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL C64 F8_E4M3 F8_E5M2 F8_E4M3FNUZ F8_E5M2FNUZ
//	"shape"          the sizes of the dimensions; [] is a tensor of rank 0
//	"data_offsets"   where the values begin and end, counted from byte 8+n
//
// and "__metadata__" has texts as values. The source is the format's own description (README of the library); what it
// leaves to the reader we take strictly: no key twice, no other key, no number but a whole one, no lone half of a
// surrogate pair. Types of less than a byte and F8_E8M0 are refused by name. We take at most 2^20 tensors and 255
// dimensions. Complex numbers and floats of 8 bits are held as types that have all their values (Meta.Origin).
//
// We write what the library writes: tensors by type, the largest elements first, then by name, so that every tensor
// begins at a multiple of its element; the header padded with spaces to a multiple of 8.
//
// A tensor is seen as a matrix: rank 0 as 1 x 1, rank 1 as one row, higher ranks as the first dimension by the rest.
// "__metadata__" is the file metadata.json beside the matrices, except for entries "file/NAME", which are files of
// their own: a model and its graph fit into one file so.
package safetensors

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

const name = "safetensors"

// Codec reads and writes .safetensors files. Its readers are format.Viewers.
var Codec format.Codec = codec{}

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name:   name,
		Title:  "safetensors",
		Ext:    ".safetensors",
		Reads:  "all tensors of numbers of 1 to 8 bytes, bf16, f16, fp8, complex and truth values; in place where the file can be mapped",
		Writes: "the same, as the library orders and pads them",

		Origins: origins(),
	}
}

// Sniff implements format.Codec.
func (codec) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	o, err := b.Open(ctx, path)
	if format.Missing(err) { // a folder
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer o.Close()
	h, err := readHead(o)
	switch {
	case err == nil:
		return h.dialect(), nil
	case h.looks:
		return "not readable", nil // Open says why
	}
	return "", nil
}

// Open implements format.Codec.
func (c codec) Open(ctx context.Context, b blob.Bucket, path string, o format.Options) (format.Reader, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	obj, err := b.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	h, err := readHead(obj)
	if err != nil {
		obj.Close()
		return nil, format.Wrap(name, path, err)
	}
	return newReader(obj, path, h), nil
}

// Create implements format.Codec.
func (c codec) Create(ctx context.Context, b blob.Bucket, path string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	f, stored, err := plan(ms, &o)
	if err != nil {
		return nil, format.Wrap(name, path, err)
	}
	return format.NewElementWriter(ctx, b, path, o, f, stored)
}

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error {
	obj, err := b.Open(ctx, path)
	if err != nil {
		return err
	}
	defer obj.Close()
	return format.Wrap(name, path, explain(obj, p))
}

// dialect says what the file holds in a few words.
func (h *head) dialect() string {
	if len(h.metadata) == 0 {
		return fmt.Sprintf("%d tensors", len(h.tensors))
	}
	return fmt.Sprintf("%d tensors, metadata of %d entries", len(h.tensors), len(h.metadata))
}
