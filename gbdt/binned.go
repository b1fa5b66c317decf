package gbdt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"thole.example/kernel"
	"thole.example/tree"
)

// Rows are examples with the features that trees ask for. Any number of goroutines may read them.
type Rows interface {
	Len() int
	Features() tree.Features
	// Missing reports whether a row that does not mention the feature lacks it; else its value is 0.
	Missing(feature int) bool
	// Read appends rows lo to hi, the same ones every time. The block is the caller's.
	Read(lo, hi int, into *Block)
}

// Block is a run of rows: row i mentions Feature[Ptr[i]:Ptr[i+1]], ascending, with the values of the same places, NaN where they
// are missing. Of a categorical feature values are numbers of levels.
type Block struct {
	Ptr     []int
	Feature []int32
	Value   []float64
}

// Reset empties the block, and keeps its memory.
func (b *Block) Reset() { b.Ptr, b.Feature, b.Value = append(b.Ptr[:0], 0), b.Feature[:0], b.Value[:0] }

// blockRows is how many rows are read at a time.
const blockRows = 1 << 12

// RowLimit is how many rows a training can have: their numbers have 31 bits.
const RowLimit = math.MaxInt32

// histogramCells is about how many sums the histograms that leaves hold have in all: the rows of other leaves are summed up again for their
// children when they are split.
const histogramCells = 1 << 26

// Limits of codes. A group of features shares a code of one or two bytes in each row.
const (
	narrowCodes = 1 << 8
	wideCodes   = 1 << 16
)

// LevelLimit is how many levels of a categorical feature are told apart: the most frequent; others are as unseen ones.
const LevelLimit = wideCodes - 2

// Layout is how values become codes, and where those are in a row and in a histogram. All rows decide it (Survey). It is read-only.
type Layout struct {
	Features tree.Features
	rows     int      // that decided it: those to learn from
	total    int      // with those that are held out
	columns  []column // of the features that vary, ascending
	groups   []group
	cells    int          // in a histogram: the codes of all groups
	shape    kernel.Codes // of a row

	histogramLimit int             // how many the leaves of a tree hold at most
	index          *tree.Numbering // of columns by their features; nil of a layout that was sent, by which no rows are coded
}

// Binned are rows whose values are bins. It is read-only; any number of trainings may share it.
type Binned struct {
	*Layout
	first, learn int          // of the layout's rows it has so many from the first on, which are to be learned from
	held         int          // others, held out
	codes        kernel.Codes // of the rows, those held out last
}

// column is a feature in bins: numbers in the order of their bins, levels in that of their frequency, and then those that are missing.
type column struct {
	feature     int
	categorical bool
	uppers      []float64 // of numbers: the largest of each bin but the last; all float32 where all values are
	double      bool      // some values are no float32
	levels      []int32   // of a categorical feature: the level of each bin
	places      []int32   // by level: its bin + 1, 0 if it has none
	crowded     bool      // it has more levels than LevelLimit
	bins        int       // without the one of what is missing
	missing     bool      // there is one
	usual       int       // bin of the rows that do not mention the feature
	group       int
	first       int // code of the first bin in the group, but for the usual one, which is code 0 where alone is false
	alone       bool
}

// all is how many bins there are, with the one of what is missing.
func (c *column) all() int {
	if c.missing {
		return c.bins + 1
	}
	return c.bins
}

// group is columns of which a row mentions at most one.
type group struct {
	at    int // of the code in a row, in bytes; in the order of groups
	wide  bool
	cell  int // of code 0 in a histogram
	codes int
}

// code is the code of a bin in the column's group.
func (c *column) code(bin int) int {
	switch {
	case c.alone:
		return bin
	case bin == c.usual:
		return 0
	case bin > c.usual:
		bin--
	}
	return c.first + bin
}

// ErrRows is what rows that no training can take fail with.
var ErrRows = errors.New("not rows to train on")

// Bin sorts the values of the rows into at most so many bins of each feature (2 to 255), on so many goroutines (0: one for each
// processor). Bins are chosen by all rows; held, which may be nil, are others, that get codes too, after them.
func Bin(ctx context.Context, rows, held Rows, bins int, cores int) (*Binned, error) {
	l, err := Survey(ctx, rows, held, bins, cores)
	if err != nil {
		return nil, err
	}
	return l.Code(ctx, rows, held, 0, rows.Len(), cores)
}

// Survey chooses the bins of the features by all rows, and which of them share codes. held may be nil.
func Survey(ctx context.Context, rows, held Rows, bins int, cores int) (*Layout, error) {
	b := &Layout{Features: rows.Features(), rows: rows.Len()}
	if err := b.admit(held, bins); err != nil {
		return nil, err
	}
	if cores < 1 {
		cores = runtime.GOMAXPROCS(0)
	}
	s, err := survey(ctx, rows, cores)
	if err != nil {
		return nil, err
	}
	if held != nil { // whose missing values need a bin
		if err := s.missingIn(ctx, held, cores); err != nil {
			return nil, err
		}
	}
	if b.columns, err = s.columns(ctx, rows, bins, cores); err != nil {
		return nil, err
	}
	b.index = tree.NewNumbering(b.Features.Width)
	varying := map[int]tree.Feature{} // of others nothing is to be said
	for i := range b.columns {
		c := &b.columns[i]
		b.index.Add(c.feature)
		f := b.Features.At(c.feature)
		f.Least, f.Most = s.least[s.of(c)], s.most[s.of(c)]
		varying[c.feature] = f
	}
	b.index.Number()
	b.Features.Change(varying)
	err = b.bundle(ctx, rows, held, s)
	b.limitHistograms()
	return b, err
}

// limitHistograms finds how many histograms leaves may hold, by their cells.
func (b *Layout) limitHistograms() { b.histogramLimit = max(8, histogramCells/max(1, b.cells)) }

// Code makes codes of the rows lo to hi, which are to be learned from, and of all that are held out, which may be nil. The rows are those
// that the layout was chosen by.
func (l *Layout) Code(ctx context.Context, rows, held Rows, lo, hi int, cores int) (*Binned, error) {
	b := &Binned{Layout: l, first: lo, learn: hi - lo, codes: l.shape}
	if cores < 1 {
		cores = runtime.GOMAXPROCS(0)
	}
	if held != nil {
		b.held = held.Len()
	}
	b.codes.Bytes = make([]byte, (b.learn+b.held+1)*b.codes.Stride) // one row more: those of a part begin within a row
	err := b.fill(ctx, rows, lo, hi, 0, cores)
	if err == nil && held != nil {
		err = b.fill(ctx, held, 0, b.held, b.learn, cores)
	}
	return b, err
}

// Len is how many rows there are to learn from.
func (b *Binned) Len() int { return b.learn }

// Learned are the rows without those that are held out.
func (b *Binned) Learned() *Binned {
	some := *b
	some.held = 0
	return &some
}

// admit refuses what is too much, before anything is read.
func (b *Layout) admit(held Rows, bins int) error {
	features, others := b.Features.Width, 0
	if held != nil {
		features, others = held.Features().Width, max(0, held.Len())
	}
	switch b.total = b.rows + others; {
	case bins < 2 || bins > 255:
		return fmt.Errorf("%d bins, want 2 to 255", bins)
	case b.rows < 1:
		return fmt.Errorf("%w: there are none", ErrRows)
	case max(b.rows, others) > RowLimit || b.total > RowLimit:
		return fmt.Errorf("%w: %d of them, want at most %d", ErrRows, max(b.rows, others, b.total), RowLimit)
	case b.Features.Width > tree.FeatureLimit:
		return fmt.Errorf("%w: %d features, want at most %d", ErrRows, b.Features.Width, tree.FeatureLimit)
	case features != b.Features.Width:
		return fmt.Errorf("%w: %d features in held-out rows, want %d", ErrRows, features, b.Features.Width)
	}
	return nil
}

// Crowded are the features that have more than LevelLimit levels.
func (l *Layout) Crowded() (features []int) {
	for i := range l.columns {
		if l.columns[i].crowded {
			features = append(features, l.columns[i].feature)
		}
	}
	return features
}

// Rows is how many rows to learn from there are, of all workers.
func (l *Layout) Rows() int { return l.rows }

// Varying is how many features have more than one value.
func (l *Layout) Varying() int { return len(l.columns) }
