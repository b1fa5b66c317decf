package npy

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

const (
	zipName     = "npz"
	otherOption = "other"
)

// Zipped reads and writes .npz files: zip archives of .npy files, whose names without their ending are the names of the
// matrices. Members may be stored or deflated; we write them stored, each beginning at a multiple of 64 bytes. Members
// of other endings are the small files beside the matrices. A deflated member is inflated anew for each walk over its
// values; only one in Fortran order is held in memory, up to inflateLimit or 16 times its deflated size.
//
// An archive with the members format (csr, csc, coo, bsr or dia), shape and data is a sparse matrix of scipy.sparse.save_npz, which has
// the name of the file. Values of one cell are added. It is held in memory. Pickled objects are never executed: arrays of objects, of
// text and of times are refused, or left out by the option other.
var Zipped format.Codec = zipped{}

type zipped struct{}

// Info implements format.Codec.
func (zipped) Info() format.Info {
	return format.Info{
		Name:   zipName,
		Title:  "NumPy archives",
		Ext:    ".npz",
		Reads:  "zip archives of npy files, stored and deflated, zip64; sparse matrices by scipy.sparse.save_npz",
		Writes: "stored members, zip64 where it is needed",
		Options: []format.Option{structured,
			{Name: otherOption, Default: "error", Help: "arrays of text and other things that are not numbers when reading: error or skip"}},
		Origins: origins,
	}
}

// Sniff implements format.Codec.
func (zipped) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	o, err := b.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer o.Close()
	a, err := readArchive(ctx, o, true)
	switch {
	case err == nil:
		return a.dialect(), nil
	case looksZipped(o):
		return "not readable", nil // Open says why
	}
	return "", nil
}

// Open implements format.Codec.
func (c zipped) Open(ctx context.Context, b blob.Bucket, path string, o format.Options) (format.Reader, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	if v := o.Get(c.Info(), otherOption); v != "error" && v != "skip" {
		return nil, fmt.Errorf("option %s is %q, want error or skip: %w", otherOption, v, format.ErrOption)
	}
	obj, err := b.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	a, err := readArchive(ctx, obj, o.Get(c.Info(), otherOption) == "skip")
	if err == nil {
		err = a.name(blob.Stem(path))
	}
	if err != nil {
		obj.Close()
		return nil, format.Wrap(zipName, path, err)
	}
	return &zipReader{archive: a, obj: obj, path: path}, nil
}

// Create implements format.Codec.
func (c zipped) Create(ctx context.Context, b blob.Bucket, path string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	if len(ms) == 0 {
		return nil, fmt.Errorf("no matrix to write: %w", format.ErrMatrix)
	}
	f, err := planArchive(ms, &o)
	if err != nil {
		return nil, format.Wrap(zipName, path, err)
	}
	return format.NewSlabWriter(ctx, b, path, o, f)
}

// Explain implements format.Codec.
func (zipped) Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error {
	obj, err := b.Open(ctx, path)
	if err != nil {
		return err
	}
	defer obj.Close()
	return format.Wrap(zipName, path, explainArchive(ctx, obj, p))
}
