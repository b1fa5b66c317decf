// Package parquet reads and writes flat tables of numbers in Apache Parquet files, and reads tables of cells of other kinds from them.
//
// Source: the format document of the Apache Parquet project, and its Thrift definitions.
//
//	file     = "PAR1" { row group } footer u32 "PAR1"      the u32 is the length of the footer, little-endian
//	group    = { chunk }                                   one for each column
//	chunk    = [ dictionary page ] { data page }
//	page     = PageHeader values                           the values compressed, in version 2 without the levels
//	footer   = FileMetaData                                schema, places of the chunks, key-value pairs
//
// PageHeader and FileMetaData are Thrift structs in the compact protocol.
//
//	physical type           logical type              element type
//	BOOLEAN                                           bool
//	INT32                   none, INT(8|16|32, …)     i32, i8 i16 i32, u8 u16 u32
//	INT64                   none, INT(64, …)          i64, u64
//	FLOAT, DOUBLE                                     f32, f64
//	FIXED_LEN_BYTE_ARRAY(2) FLOAT16                   f16
//	INT32, INT64            DATE, TIME, TIMESTAMP     i32, i64, whose columns are known as times
//	INT96                   none                      i64, microseconds since 1970
//	any but FLOAT, DOUBLE   DECIMAL                   f64, or whole numbers if no digit is behind the point
//	INT32, INT64            NULL                      f64, of which each is a null
//
// What an Arrow table was that a file was made of, stands under the key "ARROW:schema", a message of Arrow IPC in base64: of it
// we take durations, which are plain INT64, and time zones other than UTC.
//
// We read columns right below the root, required or optional (nulls by the option nulls); data pages of versions 1 and 2;
// the encodings PLAIN, RLE (of truth values and levels), dictionaries, differences, BYTE_STREAM_SPLIT; no compression, snappy,
// gzip, zstd, LZ4_RAW, brotli; page checksums. Text, nested and repeated columns are refused as not supported, or
// left out by the option other; other encodings and compressions, and encrypted files are refused.
//
// A table of cells (OpenTable) has text and lists of two or three levels too; texts also in the encodings
// DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY. Structs, maps and lists of lists are not read.
//
// Limits: footers of 256 MiB, 65535 columns read and 16384 written, pages of 2^24 values and 256 MiB.
//
// We write required columns, row groups of about 32 MiB, one PLAIN page of version 1 with a checksum for each chunk, no
// statistics, and under the key "thole" a JSON object with what the schema cannot say; the schema of Arrow where there are
// durations and time zones.
//
// The library github.com/parquet-go/parquet-go decodes the Thrift structs and snappy and zstd; pages are ours.
package parquet

import (
	"context"
	"fmt"
	"slices"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// Codec reads and writes Parquet files, one matrix in each, and folders of them.
var Codec = format.Folder(codec{})

const (
	name  = "parquet"
	magic = "PAR1"
)

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name: name, Title: "Apache Parquet tables", Ext: ".parquet", Single: true,
		Endings: []format.Ending{{Ext: ".parq"}, {Ext: ".pq"}},
		Reads:   "numeric columns, nulls by option; plain, dictionary, differences, byte stream split; snappy, gzip, zstd, lz4, brotli",
		Writes:  "flat required columns, row groups as bands, plain; uncompressed, snappy, zstd, lz4 or brotli",
		Origins: slices.DeleteFunc(format.TimeKinds(), func(kind string) bool { return kind == "date64" }),
		Options: []format.Option{
			{Name: "nulls", Default: "error", Help: "what a null is when reading: error, nan (of whole numbers as f64) or 0"},
			{Name: "other", Default: "error", Help: "columns of text and other things that are not numbers when reading: error or skip"},
			{Writing: true, Name: "compression", Default: "none", Help: "of the pages when writing: none, snappy, zstd, lz4 or brotli"},
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
	start := make([]byte, len(magic))
	if o.Size() < int64(len(start)) {
		return "", nil
	}
	if err := wire.ReadAt(o, start, 0); err != nil || string(start) != magic {
		return "", err
	}
	f, err := readFooter(o, true)
	if err != nil {
		return "not readable", nil // Open says why
	}
	return f.String(), nil
}

// Open implements format.Codec.
func (c codec) Open(ctx context.Context, b blob.Bucket, file string, o format.Options) (format.Reader, error) {
	opts, err := newReading(&o)
	if err != nil {
		return nil, err
	}
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	f, err := readFooter(obj, opts.skip)
	r := &reader{obj: obj, path: file, footer: f, nulls: opts.nulls}
	if err == nil {
		if opts.nulls == nullNaN {
			f.widen()
		}
		r.m, err = f.meta(blob.Stem(file))
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
