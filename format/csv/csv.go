// Package csv reads and writes tables of numbers as text, usually in files that end in .csv or .tsv, with the JSON
// sidecar FILE.meta that DAPHNE asks for beside them.
//
// Source: the behaviour of DAPHNE (its page on file metadata), and RFC 4180 for quotes and line ends.
//
//	file    = [ BOM ] [ header ] { line }              UTF-8, or UTF-16 with its BOM
//	header  = label { sep label } end                  names of columns
//	line    = cell { sep cell } end | blanks [ # any text ] end    the same number of cells in every line; others count nothing
//	cell    = blanks ( number | quoted number | truth | missing ) blanks
//	label   = any text without sep and line ends | quoted text, in which "" stands for "
//	number  = [sign] digits [. digits] [e [sign] digits] | [sign] inf | [sign] infinity | [sign] nan    in any case; also , for .
//	truth   = true | false
//	missing = nothing | na | n/a | <na> | null | none             nan, or what the option empty says
//	end     = LF | CR LF | the end of the file
//	sep     = comma, tab, semicolon, bar, or blanks
//
// Limits: lines of 64 MiB, 2^21 columns when written, sidecars of 64 MiB.
//
// We read any of this. A sidecar says the number of rows and columns, the element types and the labels, and the file must
// agree with it; without one the file is looked through: columns are i64 (or u64) if all their cells are whole numbers, bool if
// all are truth values, else f64; one type for all columns unless the first line has labels, or no type holds all cells.
// Whole numbers that f64 does not hold, in a column with fractions, are refused unless the option inexact says otherwise.
// The separator is the one that the first two lines agree on. The first line is a header if its cells are text; numbers
// beside text are refused.
//
// We write commas (tabs if the path ends in .tsv), LF, the fewest digits that read back to the same value, nan, inf and
// -inf, and truth values as 0 and 1; no header, because DAPHNE wants none: labels and types go to the sidecar.
//
// Text columns are refused: no matrix holds text.
package csv

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// Codec reads and writes tables of numbers as text, and folders of them.
var Codec = format.Folder(codec{})

const name = "csv"

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name: name, Title: "tables as text (CSV, TSV), with DAPHNE's .meta", Ext: ".csv", Single: true, Loose: true,
		Endings: []format.Ending{
			{Ext: ".tsv", Set: map[string]string{"separator": "tab"}}, {Ext: ".tab", Set: map[string]string{"separator": "tab"}},
		},
		Reads:  "comma, tab, semicolon, bar or blanks; decimal point or comma; with or without header and .meta",
		Writes: "exact numbers and a .meta; a header if asked for",
		Options: []format.Option{
			{Name: "separator", Default: "auto", Help: "auto, comma, tab, semicolon, bar or space"},
			{Name: "decimal", Default: "auto", Help: "what stands before the fraction when reading: point or comma; auto: found out"},
			{Name: "header", Default: "auto", Help: "true or false: the first line is labels; auto: found out, and written only without .meta"},
			{Name: "type", Default: "auto", Help: "element type of all cells when reading, instead of what the .meta or the cells say"},
			{Name: "empty", Default: "auto", Help: "what an empty cell, NA or null is when reading: nan, error or 0; auto: nan without .meta"},
			{Name: "inexact", Default: "error", Help: "whole numbers that f64 does not hold, among fractions, when reading: error or round"},
			{Name: "meta", Default: "true", Help: "false: write no .meta, and read none"},
		},
	}
}

// Sniff implements format.Codec.
func (codec) Sniff(ctx context.Context, b blob.Bucket, file string) (string, error) {
	o, err := b.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer o.Close()
	return sniff(ctx, b, o, file)
}

// Open implements format.Codec. Without a sidecar it reads the whole file once, to count rows and find types.
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
	r.m.Name, r.m.Unnamed = blob.Stem(file), true
	if err := r.open(ctx, b); err != nil {
		obj.Close()
		return nil, format.Wrap(name, file, err)
	}
	return r, nil
}

// Create implements format.Codec.
func (c codec) Create(_ context.Context, b blob.Bucket, file string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if len(ms) != 1 {
		return nil, fmt.Errorf("%d matrices, want 1 in a file: %w", len(ms), format.ErrLimit)
	}
	f, err := plan(b, file, &ms[0], &o)
	if err != nil {
		return nil, format.Wrap(name, file, err)
	}
	return format.NewRowWriter(b, file, o, f)
}
