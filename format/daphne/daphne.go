// Package daphne reads and writes the DAPHNE binary format, usually in files that end in .dbdf.
//
// Source: the format document of the DAPHNE project (Binary Data Format, version 1). All numbers are little-endian.
//
//	offset  size  field
//	     0     1  version, 1
//	     1     1  data type: 1 DenseMatrix, 2 CSRMatrix, 3 Frame
//	     2     8  rows
//	    10     8  columns
//	    18     1  value type (a frame: one for each column, then for each column a u16 length and the label)
//	    19        blocks, until they cover the matrix and the file ends; see package blockio for their bytes
//
// Value types are 1..10: u8 u16 u32 u64 i8 i16 i32 i64 f32 f64. Blocks may be empty, dense, CSR or COO whatever the data
// type is, each with a value type of its own.
//
// Four layouts carry the version 1, and structure and length tell them apart:
//
//	document    as above
//	daphne      what DAPHNE 0.2, 0.3 and later write: one block, other value-type codes (i8 i32 i64 u8 u32 u64 f32 f64
//	            are 0..7), CSR as three arrays: u64 row offsets, u64 columns, values; frames without block headers
//	daphne-0.1  what DAPHNE 0.1 wrote: padded structs, CSR by rows with u64 counts and columns
//	hybrid      the layout of the document with the codes of DAPHNE
//
// Read: all four. Written: all but daphne-0.1; daphne is what DAPHNE itself reads, frames too. FILE.meta beside the file
// holds what DAPHNE wants to know, and of us names, shapes and checksums. Limits: 2^63-1 rows and columns, of one block
// 2^32-1 of each; a larger block is cut when it is written.
//
// What the document leaves open is settled thus: row and column index of a block count cells, and are read as numbers of
// blocks on a regular grid if only so the blocks cover the matrix; blocks stand in any order when read, row-major when
// written; each cell is in one block exactly; the value type of an empty block is the header's; a block of another
// value type is converted, and must do so exactly; a column that comes twice in a row is damage, one that comes out of
// order is not. DenseMatrix and Frame become dense matrices, CSRMatrix a sparse one with the stored cells.
package daphne

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// Codec is the DAPHNE binary format: one matrix in a file, several in a folder of files.
var Codec = format.Folder(codec{})

const name = "daphne"

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name: name, Title: "DAPHNE binary format", Ext: ".dbdf", Single: true,
		Reads:   "the document's layout, DAPHNE's own (0.1, 0.2 and later), matrices and frames",
		Writes:  "the document's layout, its blocks as small as they can be; DAPHNE's own with dialect=daphne",
		Options: options,
	}
}

// Sniff implements format.Codec. It reads block headers only.
func (codec) Sniff(ctx context.Context, b blob.Bucket, p string) (string, error) {
	o, err := b.Open(ctx, p)
	if err != nil {
		return "", err
	}
	defer o.Close()
	f, _, err := load(ctx, b, p, o, format.Options{})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err == nil:
		return f.dialect, nil
	case strings.EqualFold(blob.Ext(p), ".dbdf") && f != nil:
		return "damaged", nil // Open will say how
	}
	return "", nil
}

// Open implements format.Codec. The option dialect, if set, says which layout to expect.
func (codec) Open(ctx context.Context, b blob.Bucket, p string, o format.Options) (format.Reader, error) {
	obj, err := b.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	f, side, err := load(ctx, b, p, obj, o)
	if err != nil {
		obj.Close()
		return nil, format.Wrap(name, p, err)
	}
	r := &reader{file: f, src: obj, path: p}
	r.meta = f.meta(blob.Stem(p))
	if r.meta.Layout == matrix.RowSparse {
		r.meta.Stored = f.cells()
	}
	err = r.apply(side)
	if err == nil {
		err = r.meta.Check()
	}
	if err != nil {
		obj.Close()
		return nil, format.Corrupt(name, p, -1, "%w", err)
	}
	return r, nil
}

// load finds the layout of a file, with the help of its sidecar where the file itself leaves it open.
func load(ctx context.Context, b blob.Bucket, p string, obj blob.Object, o format.Options) (*file, *format.Sidecar, error) {
	var side *format.Sidecar
	var sideErr error
	beside := blob.Base(p) + format.SidecarExt
	if o.Get(codec{}.Info(), "meta") != "false" {
		side, sideErr = format.ReadSidecar(ctx, b, p)
	}
	only := o.Set["dialect"]
	if only == "" && ours(side) {
		if only = side.Thole.Dialect; side.Thole.Length != obj.Size() || !slices.Contains(layoutNames, only) {
			f := &file{beside: beside}
			return f, side, f.otherFile(side)
		}
	}
	f, err := parse(ctx, obj, obj.Size(), only)
	if err != nil {
		return f, side, err
	}
	f.beside = beside
	if only == "" {
		f, err = f.settleLayout(ctx, obj, side)
	}
	if sideErr != nil {
		f.notes = append(f.notes, format.Warning(fmt.Sprintf("%s is of no use: %v", beside, sideErr)))
	}
	return f, side, err
}

// Create implements format.Codec.
func (codec) Create(ctx context.Context, b blob.Bucket, p string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if len(ms) != 1 {
		return nil, fmt.Errorf("%d matrices in one file, want 1", len(ms))
	}
	pl, err := newPlan(ms[0], o)
	if err != nil {
		return nil, err
	}
	if pl.dialect == mainName && pl.data != csrMatrix {
		return newSlab(ctx, b, p, pl, o)
	}
	return newWriter(ctx, b, p, pl, o)
}

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, p string, d *dump.Printer) error {
	o, err := b.Open(ctx, p)
	if err != nil {
		return err
	}
	defer o.Close()
	format.ExplainSidecar(ctx, b, p, d)
	return format.Wrap(name, p, explain(ctx, o, o.Size(), d))
}
