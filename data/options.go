package data

import (
	"context"
	"fmt"
	"math"

	"thole.example/blob"
)

// Base says what column indices count from.
type Base uint8

// The bases. Under BaseAuto it is what the format says: 1 in libsvm, 0 in dummy. Nothing is guessed: index 0 in a file
// that counts from 1 is an error.
const (
	BaseAuto Base = iota
	Base0
	Base1
)

// ParseBase finds the base of "auto", "0" or "1".
func ParseBase(text string) (Base, error) {
	switch text {
	case "", "auto":
		return BaseAuto, nil
	case "0":
		return Base0, nil
	case "1":
		return Base1, nil
	}
	return BaseAuto, fmt.Errorf("data: index base %q, want auto, 0 or 1: %w", text, ErrOption)
}

// DefaultBatchRows is the number of examples in a batch where Options does not say.
const DefaultBatchRows = 4096

// Options say how to read. The zero value reads libsvm with labels as they are.
type Options struct {
	// Store, if not nil, is where paths that are URLs lead (blob.Paths).
	Store     blob.Bucket
	Format    string  // name of a Source, in any case; empty: by the ending of the input's name, else libsvm
	Base      Base    // what indices count from; dense rows have none
	Dim       int64   // number of columns; ids at or above it are errors; 0: not known, the highest id plus one
	Hash      int64   // number of columns that features are hashed to (HashColumn); 0: indices are columns
	Labels    Labels  // what becomes of the labels
	Threshold float64 // for PosNegTrans and ZeroOneTrans
	// Takes, if not nil, reports a label that is of no use, after the mapping; it is called by several goroutines. AutoTrans and
	// ClassTrans know themselves which they take.
	Takes func(label float32) error
	// LabelWeight says that lines begin with label:weight where the weight is not 1, as XGBoost reads libsvm.
	LabelWeight bool
	NoLabel     bool // the lines have no label; Batch.Label is all zeros
	// Unlabelled, if not nil, is told of a table that has no column of labels, before its rows, and its labels are zeros; nil: that is
	// an error.
	Unlabelled func()
	// Classes are the labels under AutoTrans and ClassTrans; nil: Load finds them out, Read takes Standard for two classes.
	Classes Classes
	// Columns, if not nil, are those that a model has: features of others are left out and counted, or with Strict errors.
	Columns *Columns
	Fields  Fields // which field a value is of
	Strict  bool
	Scale   Scaling // how values of lines become those that are learned from; tables have a transformation of their own
	// Exact keeps values that are no float32 as they were read (Batch.Exact), as trees take them: also infinite ones of tables. Else they
	// are rounded, those of tables after they were scaled.
	Exact bool
	Table *Table // how the columns of tables become features; nil: it is found out, but for the label
	// OpenTable opens a table of a source that is no text; nil: such sources are refused.
	OpenTable func(ctx context.Context, path string) (CellTable, error)
	SkipBad   int // lines that may be of no use, and are left out; they are counted in Examples.Skipped
	// Weight is that of each example, over all inputs in order (LoadWeights); nil: those that the inputs have, if any.
	Weight []float32
	// Start, if not nil, has the start scores of each example, over all inputs in order.
	Start *Starts
	// Drop, if not nil, says which examples Load leaves out: of each, in order, by its number from 0 on over all inputs and its mapped
	// label, of two classes or a number. They take no memory, but those before the first example of the other class, and rows of tables
	// whose columns are being learned. Not with ClassTrans.
	Drop func(number int64, label float32) bool
	// Limit is how many bytes the values of the examples that Load reads take in memory: those of more are in files without a name of
	// the folder Scratch, "" for that of the system for such files. 0: there is no limit.
	Limit     int64
	Scratch   string
	BatchRows int    // examples in a batch of Read; 0 for DefaultBatchRows
	Separator string // one byte that may stand between tokens beside blanks; empty: "," in dense, none elsewhere

	// Progress, if not nil, is called after every chunk that was delivered with the bytes done so far, by the goroutine
	// that called Load or runs the loop over Read.
	Progress func(done, total int64)
	// Note, if not nil, is told once for each input of what was read but ignored, with the first line of it; by the same
	// goroutine.
	Note func(path string, line int64, text string)
	// Keep names columns of tables whose cells Read gives as they are (Batch.Kept). KeepGroup adds that of the groups, if there is one.
	Keep      []string
	KeepGroup bool
	// Ranked says that groups of examples are what the model is about: that they are there is not noted.
	Ranked bool
	// Left, if not nil, is told by Read after the last batch what Columns does not have, and LeftOut which lines were left out; by the
	// same goroutine.
	Left    func(Unseen)
	LeftOut func(Skipped)

	surveys bool // every chunk has codes of levels of its own, which Survey wants
}

// settings are Options made ready for parsing.
type settings struct {
	Options
	Source
	base       int64
	limit      int64 // column ids are below it
	fieldLimit int   // fields that libffm names are below it
	sep        byte
	class      [256]uint8
	sheet      *sheet   // of a table; nil: lines are read by the source
	kept       []string // columns whose cells are kept
	folders    []folderColumn
	samples    map[string][]string // values of columns of folders, of all inputs
	scaler     *scaler
}

// Classes of bytes that end a token.
const (
	classBlank = 1 + iota
	classSep
	classEnd // line feed, comment; carriage return if a line feed follows
)

// Check reports an option that Read and Load would refuse, before there is any input: ErrOption, or ErrUnknown for the
// format.
func (o Options) Check() error {
	_, err := o.settings("")
	return err
}

// settings are those for an input of the name.
func (o Options) settings(name string) (*settings, error) {
	src, err := FindSource(o.Format, name)
	if err != nil {
		return nil, err
	}
	s := &settings{Options: o, Source: src, base: src.base, limit: o.Dim, sep: src.sep}
	switch {
	case o.Dim < 0:
		return nil, fmt.Errorf("data: dimension %d, want 0 (not known) or more: %w", o.Dim, ErrOption)
	case o.BatchRows < 0:
		return nil, fmt.Errorf("data: batch of %d rows, want 0 (default) or more: %w", o.BatchRows, ErrOption)
	case o.Labels == AutoTrans && o.Classes != nil && len(o.Classes) != 2:
		return nil, fmt.Errorf("data: %d classes, want 2 with label mapping auto: %w", len(o.Classes), ErrOption)
	case o.Labels == ClassTrans && o.Classes != nil && o.Classes.Check() != nil:
		return nil, fmt.Errorf("data: %w", o.Classes.Check())
	case o.Drop != nil && o.Labels == ClassTrans:
		return nil, fmt.Errorf("data: examples to leave out by labels of many classes, want two: %w", ErrOption)
	case o.Base > Base1:
		return nil, fmt.Errorf("data: index base %d, want auto, 0 or 1: %w", o.Base, ErrOption)
	case int(o.Labels) >= len(labelNames):
		return nil, fmt.Errorf("data: label mapping %d, want one of %v: %w", o.Labels, labelNames, ErrOption)
	}
	if err := s.checkHash(); err != nil {
		return nil, err
	}
	if s.Hash > 0 { // indices may be anything, and fields begin at indices
		s.limit, o.Dim = 0, 0
		s.Dim = s.Hash
	}
	if err := o.Fields.Check(o.Dim); err != nil {
		return nil, fmt.Errorf("data: %w: %w", err, ErrOption)
	}
	if s.fieldLimit = o.Fields.Number; s.fieldLimit == 0 {
		s.fieldLimit = FieldLimit
	}
	if s.named && o.Fields.First != nil {
		return nil, fmt.Errorf("data: fields by columns for %s, whose lines name them, want one of the two: %w", s.Name, ErrOption)
	}
	switch o.Base {
	case Base0:
		s.base = 0
	case Base1:
		s.base = 1
	}
	if s.limit == 0 {
		s.limit = math.MaxInt64
	}
	if s.BatchRows == 0 {
		s.BatchRows = DefaultBatchRows
	}
	if err := o.Scale.Check(); err != nil {
		return nil, fmt.Errorf("data: %w: %w", err, ErrOption)
	}
	s.scaler = o.Scale.scaler()
	return s, s.separate()
}

// separate fills the table of bytes that end a token.
func (s *settings) separate() error {
	switch sep := s.Separator; {
	case sep == "" || sep == " " || sep == "\t" || sep == `\s+`: // the last is how Angel spells blanks
		if sep != "" {
			s.sep = 0
		}
	case len(sep) == 1 && (sep == "," || sep == ";" || sep == "|"):
		s.sep = sep[0]
	default:
		return fmt.Errorf("data: separator %q, want a blank, comma, semicolon or bar: %w", sep, ErrOption)
	}
	if s.sep != 0 {
		s.class[s.sep] = classSep
	}
	s.class[' '], s.class['\t'] = classBlank, classBlank
	s.class['\n'], s.class['\r'], s.class['#'] = classEnd, classEnd, classEnd
	return nil
}
