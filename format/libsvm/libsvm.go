// Package libsvm reads and writes examples as lines of a label and of index:value pairs: labels and a sparse matrix in one
// file.
//
// Source: the README of libsvm, and svmlight for comments and qid.
//
//	file    = { line }
//	line    = [ label ] { blanks index ":" value } [ blanks ] [ "#" comment ] end | blanks [ "#" comment ] end
//	label   = number                 in every line or in none
//	index   = digits                 of a column, from 1 (option base), each once in a line
//	value   = number
//	number  = [sign] digits [. digits] [e [sign] digits] | [sign] inf | [sign] nan    in any case
//	end     = LF | CR LF | the end of the file
//
// Limits: lines of 64 MiB; ids below 2^63-1; 2^40 rows when written.
//
// A file with labels holds two matrices of as many rows as there are lines: labels, of one column, and features, sparse.
// A file without holds one, with the name of the file. "qid:" of ranking sets is read over, with a note. Indices that do
// not ascend are sorted; one that comes twice is damage. Lines without an example (blank, only a comment) are no rows.
//
// A sidecar FILE.meta (see package csv) keeps what lines cannot say: element types, the number of columns, names, and
// whether the labels are anybody's. Without one, values are f64, and the columns reach to the highest index.
//
// We write a line for each row, the label first (0 where there is none, because other readers want one), columns
// ascending, stored zeros too, one blank between two, the fewest digits that read back to the same value, LF.
package libsvm

import (
	"context"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// Codec reads and writes labels and features in one file.
var Codec format.Codec = codec{}

const name = "libsvm"

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name: name, Title: "labels and sparse features as text", Ext: ".libsvm", Loose: true,
		Endings: []format.Ending{{Ext: ".svm"}, {Ext: ".svmlight"}},
		Reads:   "libsvm and svmlight, with or without labels and .meta",
		Writes:  "exact numbers and a .meta; features alone, or labels and features",
		Options: []format.Option{
			{Name: "base", Default: "auto", Help: "0 or 1: what indices count from; auto: what the .meta says, else 1"},
			{Name: "type", Default: "auto", Help: "element type of values and labels when reading; auto: what the .meta says, else f64"},
			{Name: "meta", Default: "true", Help: "false: write no .meta, and read none"},
		},
	}
}

// Sniff implements format.Codec.
func (codec) Sniff(ctx context.Context, b blob.Bucket, file string) (string, error) {
	o, err := b.Open(ctx, file)
	if format.Missing(err) {
		return "", nil // a folder
	}
	if err != nil {
		return "", err
	}
	defer o.Close()
	return sniff(o, file)
}

// Open implements format.Codec. Without a sidecar it reads the whole file once.
func (c codec) Open(ctx context.Context, b blob.Bucket, file string, o format.Options) (format.Reader, error) {
	w, err := newSettings(&o)
	if err != nil {
		return nil, err
	}
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	r := &reader{obj: obj, path: file, set: w}
	r.features.Name, r.features.Unnamed = blob.Stem(file), true
	if err := r.open(ctx, b); err != nil {
		obj.Close()
		return nil, format.Wrap(name, file, err)
	}
	return r, nil
}

// Create implements format.Codec.
func (c codec) Create(_ context.Context, b blob.Bucket, file string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	f, err := plan(b, file, ms, &o)
	if err != nil {
		return nil, format.Wrap(name, file, err)
	}
	return format.NewRowWriter(b, file, o, f)
}
