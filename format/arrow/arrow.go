// Package arrow reads and writes flat tables of numbers in Arrow IPC files and streams, and reads tables of cells of other kinds from
// them.
//
// Source: the columnar format document of the Apache Arrow project, version 1.5, and its flatbuffers definitions.
//
//	file      = "ARROW1" 0 0 stream footer i32 "ARROW1"    the i32 is the length of the footer
//	stream    = { message } end                             a schema, then dictionary and record batches
//	message   = ffffffff i32 flatbuffer body                the i32 is the length of the flatbuffer with its padding
//	end       = ffffffff 00000000
//	body      = { buffer padding }                          the flatbuffer says where the buffers are
//	footer    = flatbuffer                                  schema, places of the batches
//
// Before version 0.15 messages had no ffffffff. Flatbuffers are little-endian; the values in the order that the schema
// says. A column of a record batch is two buffers: a bitmap of the values that are there, empty if all are, and the
// values; a column of lists of fixed size has its own bitmap before those two.
//
//	type                                    element type
//	Int (8, 16, 32, 64 bits, signed or not) i8 i16 i32 i64 u8 u16 u32 u64
//	FloatingPoint (half, single, double)    f16 f32 f64
//	Bool                                    bool, eight in a byte
//	FixedSizeList of these                  as many columns
//	Date, Time, Timestamp, Duration         i32, i64, whose columns are known as times
//
// We read files and streams of metadata V4 and V5, both byte orders, any number of record batches, nulls by the option
// nulls, buffers compressed by LZ4 (frames) or ZSTD. Columns of text and all else are refused as not supported, or left
// out by the option other. Every byte between the begin and the end has to belong to a message.
//
// A table of cells (OpenTable) has text in offsets of 32 and 64 bits and in views, dictionaries with their additions, decimals, and
// lists of any size too. Structs, maps, unions, lists of lists and run ends are not read.
//
// Limits: flatbuffers of 256 MiB, 65535 columns of numbers read (lists that are the only column may be of any length) and
// 16384 written, 1 GiB in one compressed buffer, types of 64 levels. Larger buffers
// than 16 MiB are unpacked while they are read.
//
// We write metadata V5, little-endian, columns without nulls, record batches of about 16 MiB with buffers at multiples of
// 64 bytes of the file, and under the key "thole" of the schema a JSON object with what the types cannot say.
package arrow

import (
	"context"
	"fmt"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// Codec reads and writes Arrow IPC files and streams, one matrix in each, and folders of them.
var Codec = format.Folder(codec{})

const name = "arrow"

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name: name, Title: "Apache Arrow IPC tables (Feather)", Ext: ".arrow", Single: true,
		Endings: []format.Ending{{Ext: ".arrows", Set: map[string]string{"layout": "stream"}}, {Ext: ".feather"}, {Ext: ".ipc"}},
		Reads:   "files and streams, V4 and V5, both byte orders; numeric columns and lists of fixed size, nulls by option; lz4, zstd",
		Writes:  "files and streams, V5, record batches as bands; columns or lists of fixed size; uncompressed, lz4 or zstd",
		Origins: format.TimeKinds(),
		Options: []format.Option{
			{Name: "nulls", Default: "error", Help: "what a null is when reading: error, nan (of whole numbers as f64) or 0"},
			{Name: "other", Default: "error", Help: "columns of text and other things that are not numbers when reading: error or skip"},
			{Name: "open", Default: "false", Help: "read a stream without the mark at its end, which may have lost rows: true or false"},
			{Writing: true, Name: "layout", Default: "file", Help: "what to write: file or stream"},
			{Writing: true, Name: "rows", Default: "columns", Help: "what a row is when writing: columns, or one list of fixed size"},
			{Writing: true, Name: "compression", Default: "none", Help: "of the buffers when writing: none, lz4 or zstd"},
		},
	}
}

// choice is which of the values an option has.
func choice(o *format.Options, option string, values ...string) (int, error) {
	v := o.Get(codec{}.Info(), option)
	for i, known := range values {
		if v == known {
			return i, nil
		}
	}
	last := len(values) - 1
	return 0, fmt.Errorf("option %s is %q, want %s or %s: %w", option, v, strings.Join(values[:last], ", "), values[last], format.ErrOption)
}

func newSettings(o *format.Options) (w settings, err error) {
	if err := o.CheckSet(codec{}.Info()); err != nil {
		return w, err
	}
	n, err := choice(o, "nulls", "error", "nan", "0")
	if err != nil {
		return w, err
	}
	other, err := choice(o, "other", "error", "skip")
	if err != nil {
		return w, err
	}
	open, err := choice(o, "open", "false", "true")
	return settings{nulls: nulls(n), skip: other == 1, open: open == 1}, err
}

// Sniff implements format.Codec.
func (codec) Sniff(ctx context.Context, b blob.Bucket, file string) (string, error) {
	o, err := b.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer o.Close()
	start := make([]byte, min(o.Size(), startLen))
	if n, err := o.ReadAt(start, 0); n < len(start) {
		return "", err
	}
	switch {
	case strings.HasPrefix(string(start), magic), strings.HasPrefix(string(start), "FEA1"):
	case len(start) < startLen:
		return "", nil
	default:
		m, err := readMessage(o, 0, o.Size())
		if err != nil || m.end || m.kind != kindSchema || checkVersion(m.version) != nil || m.head.f == nil {
			return "", nil
		}
	}
	s, err := readSource(o, settings{skip: true, open: true})
	if err != nil {
		return "not readable", nil // Open says why
	}
	return s.String(), nil
}

// Open implements format.Codec.
func (c codec) Open(ctx context.Context, b blob.Bucket, file string, o format.Options) (format.Reader, error) {
	w, err := newSettings(&o)
	if err != nil {
		return nil, err
	}
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	s, err := readSource(obj, w)
	r := &reader{obj: obj, path: file, src: s, nulls: w.nulls}
	if err == nil {
		if w.nulls == nullNaN {
			s.widen()
		}
		r.some = s.numbers()
		r.m, r.fits, err = s.meta(blob.Stem(file))
	}
	if err != nil {
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
	f, err := plan(&ms[0], &o)
	if err != nil {
		return nil, format.Wrap(name, file, err)
	}
	return format.NewRowWriter(b, file, o, f)
}

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	o, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer o.Close()
	return format.Wrap(name, file, explain(o, p))
}
