// Package angel reads and writes the model folders of Tencent's Angel: matrices as partitions in data files beside a
// metadata file, in eight formats.
//
// Source: the project's seed document angel-model-format ("Storage Format") and files that Angel 2.0 to master wrote.
//
//	<path>/
//	  graph.json              and other small files: Reader.Files, Options.Files
//	  <matrix>/
//	    _meta (3.2.0 on) or meta (2.0.0 to 3.1.0)
//	    0, 3, …               data files, each one or more partitions without gaps
//
//	metadata file
//	  bytes 0..3     length of the JSON, big-endian
//	  bytes 4..      one JSON object: MatrixFilesMeta of MatrixPartitionMeta of RowPartitionMeta
//
//	records of a partition: big-endian binary, or lines of text with a separator, "," unless configured
//	  ValueBinaryRowFormat            value
//	  ColIdValueBinaryRowFormat       column id, value
//	  RowIdColIdValueBinaryRowFormat  row id, column id, value
//	  ValueTextRowFormat              value
//	  ColIdValueTextRowFormat         column id, value
//	  RowIdColIdValueTextRowFormat    row id, column id, value
//	  BinaryColumnFormat              column id, value of each saved row
//	  TextColumnFormat                column id, value of each saved row
//	  row id 4 bytes; column id 4, or 8 with LONGKEY row types; double and long 8, float and int 4
//
//	snapshots: rows as servers hold them; dense rows are values, sparse ones column id, value, …, in any order
//	  SnapshotFormat                  beside metadata as above, or beside psmeta, the binary metadata of a server
//	BinaryCSRFormat                 int32 n, n row offsets, int32 m, m columns, int32 k, k values, all int32
//	Angel 1.x: binary meta; a partition is int32 rows, and of each int32 row id, then values, or int32 n and n times
//	  column id, value
//
//	vectors of nodes (LINE, Word2Vec, EGES), mostly without metadata: lines "id:value value …", two separators
//
// Read: all of the above with double, float, long and int elements, dense and sparse, int and long keys, range and hash
// partitions, LF, CRLF and CR line ends, the column offsets that 3.2.0 loses, data without metadata as far as they tell
// what they are, and formats of users that New is given. Metadata of at most 2^31-1 bytes (binary ones 512 MiB). Named but not
// read: matrices of Java objects (T_ANY row types), row type T_INT_ARBITRARY of 1.x.
//
// Written: the eight formats and SnapshotFormat as Angel from 3.2.0 on reads them (option compat: older ones), with rows
// listed in the order of the file, true row offsets, doubles in full precision in every format, the union of columns in
// column formats. One unknown key "thole" in each partition and behind all has what Angel passes over: the version of our
// additions, checksums, which cells of sparse rows in column formats are there, and the shape, labels and origins of the matrix.
package angel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
)

// Codec is the format of Angel's model folders.
var Codec = New()

// New is the codec of Angel's model folders that also knows formats of users: values of RowFormat and ColumnFormat.
func New(formats ...Format) format.Codec {
	c := codec{slices.Clone(builtIn)}
	for _, f := range formats {
		c.layouts = append(c.layouts, f.layout())
	}
	return c
}

type codec struct{ layouts []*layout }

const name = "angel"

// Own keys of matrix.Meta.Attrs; all others are the options of the metadata.
const (
	attrRowType  = "angel.rowType"
	attrFormat   = "angel.format"
	attrMatrixID = "angel.matrixId"
	attrLayer    = "angel.layer" // simpleinput, embedding or fc: the kind of layer that the matrix belongs to
)

// Options that choose the format of the matrices of a kind of layer, as Angel names them.
const (
	optSimpleInput = "ml.simpleinputlayer.matrix.output.format"
	optEmbedding   = "ml.embedding.matrix.output.format"
	optFC          = "ml.fclayer.matrix.output.format"
)

// The other options, for reading, for models without metadata, and for writing.
const (
	optFormat    = "format"
	optSeparator = "separator"
	optPacked    = "packed"
	optChecksum  = "checksum"
	optRepair    = "repair"
	optDecimal   = "decimal"

	optRowType  = "rowtype"
	optKeyWidth = "keywidth"
	optRows     = "rows"
	optCols     = "cols"

	optPartition  = "partition"
	optBlockRows  = "block-rows"
	optBlockCols  = "block-cols"
	optPartitions = "partitions"
	optPerFile    = "partitions-per-file"
	optSlots      = "slots"
	optCompat     = "compat"
)

// Releases are the values of the option compat.
func Releases() []string { return []string{"angel-3.1", "angel-3.2", "angel-master"} }

func (codec) Info() format.Info {
	return format.Info{
		Name:   name,
		Title:  "Angel model folders",
		Reads:  "1.x to master: all 8 formats, snapshots, CSR, node vectors, all numeric row types, any partitions, with or without metadata",
		Writes: "all 8 formats and snapshots, as Angel 3.2.0 and later loads them",
		// Rows of complex numbers are rows of their parts.
		Overlaps: map[string]string{optFormat: rowIDColIDValueBinary.className()},
		Origins:  append(format.TimeKinds(), format.Complex64, format.Complex128),
		Options: []format.Option{
			{Name: optFormat, Help: "format of every matrix, by short or full class name (default: by kind of layer)"},
			{Name: optSeparator, Help: "field separator of text: the bytes themselves or comma, tab, space, bar, dot, colon, semicolon " +
				"(default: found when reading, comma when writing)"},
			{Writing: true, Name: optSimpleInput, Default: colIDValueText.className(), Help: "format of weights and bias of input layers"},
			{Writing: true, Name: optEmbedding, Default: textColumn.className(), Help: "format of embeddings"},
			{Writing: true, Name: optFC, Default: rowIDColIDValueText.className(), Help: "format of weights and bias of fully connected layers"},
			{Name: optPacked, Default: "refuse", Help: "accept: read sparse rows of Value formats, whose columns are lost, as Angel does"},
			{Name: optChecksum, Default: "on", Help: "off: write none, compare none"},
			{Name: optRepair, Default: "on", Help: "off: column ids of models saved by 3.2.0 as they are stored"},
			{Name: optDecimal, Default: "point", Help: "comma: text was written where fractions begin with a comma"},
			{Name: optRowType, Help: "row type of a model without metadata, such as T_FLOAT_DENSE (default: guessed)"},
			{Name: optKeyWidth, Help: "4 or 8: bytes of a column id in binary data without metadata (default: guessed)"},
			{Name: optRows, Help: "rows of a model without metadata (default: those that there are)"},
			{Name: optCols, Help: "columns of a model without metadata (default: the largest id and one)"},
			{Writing: true, Name: optPartition, Help: "how to cut matrices: range, column or hash (default: range)"},
			{Writing: true, Name: optBlockRows, Help: "rows of a range partition (default: those of the matrix, or all)"},
			{Writing: true, Name: optBlockCols,
				Help: "columns of a range or column partition (default: those of the matrix, or as many as fit 32 MiB)"},
			{Writing: true, Name: optPartitions, Default: "5", Help: "number of hash partitions"},
			{Writing: true, Name: optPerFile, Default: "1", Help: "partitions in a data file"},
			{Writing: true, Name: optSlots, Default: "0",
				Help: "groups of rows for optimizer state to declare behind the saved rows, as Angel's jobs keep them: " +
					"1 sgd, 2 momentum and adagrad, 3 adam, ftrl and adadelta"},
			{Writing: true, Name: optCompat,
				Help: strings.Join(Releases(), " or ") + ": byte for byte what that version expects, without checksums"},
		},
	}
}

func (c codec) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	t, err := list(ctx, b, path)
	if err != nil {
		return "", err
	}
	return c.sniff(ctx, b, t)
}

func (c codec) Open(ctx context.Context, b blob.Bucket, path string, o format.Options) (format.Reader, error) {
	r, err := c.open(ctx, b, path, &o)
	if err != nil {
		return nil, format.Wrap(name, path, err)
	}
	return r, nil
}

var errNoMatrix = errors.New("no folder with a file _meta or meta")
