// Package trees makes codecs of file formats that hold one ensemble of boosted trees and nothing else. Such a format says how an
// ensemble is read and printed ([Layout]); everything else, from the matrices that its readers show to the stage in which any
// number of writers put them together, is here.
//
// The matrices and the text trees.json are those of package tree. What is read from any format becomes an ensemble again by [Read].
package trees

import (
	"context"
	"errors"
	"fmt"
	"io"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/tree"
	"thole.example/wire"
)

// Layout is a format of ensembles. Its functions may be called by many goroutines.
type Layout struct {
	Info format.Info
	// Sniff says in a few words which dialect a file is that begins with these bytes, of which there are up to SniffLen; "" if it is
	// of another format.
	Sniff func(begin []byte) string
	// Parse reads a file. Notes say what a user should know of it.
	Parse func(file []byte) (e *tree.Ensemble, notes []string, err error)
	// Fit gives the ensemble that a file can hold, e itself if it can as it is. What differs goes through o.Lose or o.Drop; e is not
	// changed.
	Fit func(e *tree.Ensemble, o *format.Options) (*tree.Ensemble, error)
	// Print writes a file of what Fit gave.
	Print func(w io.Writer, e *tree.Ensemble, o *format.Options) error
	// Explain prints a file with its meaning as far as it makes sense.
	Explain func(file []byte, p *dump.Printer) error
}

// SniffLen is how many bytes of a file decide what it is.
const SniffLen = 4096

// fileLimit is the longest file that is read, in bytes.
const fileLimit = 1<<31 - 1

// Codec is the format as a codec.
func (l Layout) Codec() format.Codec {
	l.Info.Needs = tree.FileName
	return &codec{l}
}

type codec struct{ Layout }

// Info implements format.Codec.
func (c *codec) Info() format.Info { return c.Layout.Info }

// Sniff implements format.Codec.
func (c *codec) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	o, err := b.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer o.Close()
	begin := make([]byte, min(SniffLen, o.Size()))
	if err := wire.ReadAt(o, begin, 0); err != nil {
		return "", err
	}
	return c.Layout.Sniff(begin), nil
}

// Open implements format.Codec: it reads and checks the whole file.
func (c *codec) Open(ctx context.Context, b blob.Bucket, path string, o format.Options) (format.Reader, error) {
	if err := o.CheckSet(c.Layout.Info); err != nil {
		return nil, err
	}
	file, err := c.file(ctx, b, path)
	if err != nil {
		return nil, err
	}
	e, notes, err := c.Parse(file)
	if err != nil {
		return nil, c.damage(path, err)
	}
	r, err := newReader(e, nil, notes)
	if err != nil {
		return nil, c.damage(path, err)
	}
	return r, nil
}

// Explain implements format.Codec.
func (c *codec) Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error {
	file, err := c.file(ctx, b, path)
	if err != nil {
		return err
	}
	if err := c.Layout.Explain(file, p); err != nil {
		return c.damage(path, err)
	}
	return p.Err()
}

func (c *codec) file(ctx context.Context, b blob.Bucket, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := b.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if o.Size() > fileLimit {
		return nil, format.Wrap(c.Layout.Info.Name, path, fmt.Errorf("%d bytes, want at most %d: %w", o.Size(), fileLimit, format.ErrLimit))
	}
	file := make([]byte, o.Size())
	return file, format.Wrap(c.Layout.Info.Name, path, wire.ReadAt(o, file, 0))
}

// damage is an error of parsing as one of the format, at the byte where it is known.
func (c *codec) damage(path string, err error) error {
	if at := new(wire.At); errors.As(err, &at) {
		return format.Wrap(c.Layout.Info.Name, path, err)
	}
	return format.Corrupt(c.Layout.Info.Name, path, -1, "%w", err)
}
