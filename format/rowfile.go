package format

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"thole.example/blob"
	"thole.example/matrix"
)

// RowFile is a file in which one row stands behind the other, so that a place is known only when everything before it
// is: text, rows of changing length, compressed groups of rows. NewRowWriter writes such files.
type RowFile struct {
	// Metas are the matrices, all with the same number of rows: a row of the file has the row of each.
	Metas []matrix.Meta
	// Begin starts the file: it may write what stands before the rows.
	Begin func(out io.Writer) (RowSink, error)
	// Gaps says that the sink needs no rows without a stored cell, of which a sparse matrix can have any number.
	Gaps bool
	// Round says that blocks may have other element types than their matrix, and takes the nearest values of its type.
	Round bool
	// Before and After are called around the moment when the file becomes visible; nil: nothing.
	Before, After func(ctx context.Context) error
}

// RowSink writes the rows of a file. Its methods are called by one goroutine at a time.
type RowSink interface {
	// Rows takes the next rows: for each lane of each matrix, in their order, a block of all its columns and of the same
	// rows. Dense lanes are *matrix.Dense, sparse ones *matrix.CSR. The blocks are not used afterwards by the caller, but
	// must not be changed.
	Rows(ctx context.Context, lanes []matrix.Block) error
	// End writes what stands behind the rows.
	End() error
}

// NewRowWriter begins writing the file to the path. A Writer of its own save (no Options.Stage) writes rows at once as
// long as they come in order; everything else waits as objects of the stage, and Commit puts it together. The bytes are
// the same in all cases, if the sink makes the same of rows however they are cut.
func NewRowWriter(b blob.Bucket, path string, o Options, f RowFile) (Writer, error) {
	w := &rowWriter{file: f, bucket: b, path: path, id: rand.Text(), of: map[string]int{}, stage: NewStage(b, path, o.Stage)}
	w.direct = o.Stage == "" && len(f.Metas) == 1
	for i := range f.Metas {
		m := &f.Metas[i]
		if _, twice := w.of[m.Name]; twice {
			return nil, fmt.Errorf("matrix name %q twice, want each once", m.Name)
		}
		if m.Rows != f.Metas[0].Rows {
			return nil, fmt.Errorf("matrix %q: %d rows, want %d as in the others of the file", m.Name, m.Rows, f.Metas[0].Rows)
		}
		w.of[m.Name] = i
		w.lanes = append(w.lanes, Lanes(m)...)
	}
	for i := range w.lanes {
		w.lanes[i].round = f.Round
	}
	return w, nil
}

type rowWriter struct {
	file   RowFile
	lanes  []Lane
	of     map[string]int // the matrix of a name
	bucket blob.Bucket
	path   string
	id     string // of this writer among those of the stage
	stage  *Stage
	direct bool
	puts   atomic.Int64

	mu   sync.Mutex
	out  blob.Writer
	sink RowSink
	next int64 // the first row that is not in out
	err  error // of a write into out, which is of no use any more
}

// Put implements Writer.
func (w *rowWriter) Put(ctx context.Context, name string, b matrix.Block) (Part, error) {
	i, ok := w.of[name]
	if !ok {
		return nil, fmt.Errorf("matrix %q: %w", name, ErrMatrix)
	}
	m := &w.file.Metas[i]
	t := NewTarget(m, Slab{DType: m.DType})
	t.Cast = t.Cast || w.file.Round
	if err := t.accept(b); err != nil {
		return nil, err
	}
	p := rowPiece{Matrix: i, Rows: b.At.Rows, Cols: b.At.Cols, DType: b.Data.DType()}
	if b.At.Empty() {
		return p.part()
	}
	if done, err := w.append(ctx, b); done || err != nil {
		p.Spool = "=" + w.id
		if err != nil {
			return nil, err
		}
		return p.part()
	}
	if b.Data.NNZ() == 0 {
		return p.part()
	}
	p.Spool = fmt.Sprintf("%s.%d", w.id, w.puts.Add(1))
	if err := w.spool(ctx, &p, b); err != nil {
		return nil, err
	}
	return p.part()
}

// append writes a block of whole rows to the file if they are the next ones.
func (w *rowWriter) append(ctx context.Context, b matrix.Block) (done bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return false, w.err
	}
	if !w.direct || b.At.Rows.Lo != w.next || b.At.Cols != w.file.Metas[0].Rect().Cols {
		return false, nil
	}
	if err := w.begin(ctx); err != nil {
		return false, err
	}
	if err := w.rows(ctx, b); err != nil {
		w.err = err
		return false, err
	}
	w.next = b.At.Rows.Hi
	return true, nil
}

// rows writes a block of whole rows.
func (w *rowWriter) rows(ctx context.Context, b matrix.Block) error {
	sparse := w.wide() == 0
	_, keyed := b.Data.(matrix.Keyed)
	if step := max(1, bandCells/b.At.Cols.Len()); sparse && !keyed && b.Data.NNZ() > 0 && b.At.Rows.Len() > step {
		for at := range steps(b.At.Rows, step) { // not the columns of all its cells at once
			if err := w.rows(ctx, b.Cut(matrix.Rect{Rows: at, Cols: b.At.Cols})); err != nil {
				return err
			}
		}
		return nil
	}
	part := b.Cut
	if keyed || sparse {
		rows, cells := b.Compact()
		if sparse {
			lanes, err := w.split(cells)
			if err != nil {
				return err
			}
			return w.stretch(ctx, b.At.Rows, rows, lanes)
		}
		part = func(at matrix.Rect) matrix.Block {
			lo, _ := slices.BinarySearch(rows, at.Rows.Lo)
			hi, _ := slices.BinarySearch(rows, at.Rows.Hi)
			some := cells.Cut(matrix.Rect{Rows: matrix.Range{Lo: int64(lo), Hi: int64(hi)}, Cols: at.Cols})
			return some.Spread(rows[lo:hi], at.Rows)
		}
	}
	for at := range steps(b.At.Rows, max(1, bandCells/w.wide())) {
		one := b
		if at != b.At.Rows {
			one = part(matrix.Rect{Rows: at, Cols: b.At.Cols})
		}
		lanes, err := w.split(one)
		if err == nil {
			err = w.sink.Rows(ctx, lanes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// split cuts whole rows into the lanes.
func (w *rowWriter) split(b matrix.Block) (lanes []matrix.Block, err error) {
	lanes = make([]matrix.Block, len(w.lanes))
	for i := range w.lanes {
		if lanes[i], err = w.lanes[i].as(cutCols(b, w.lanes[i].Cols)); err != nil {
			return nil, err
		}
	}
	return lanes, nil
}

// begin creates the file if it is not there yet.
func (w *rowWriter) begin(ctx context.Context) (err error) {
	if w.sink != nil {
		return nil
	}
	if w.out, err = w.bucket.Create(ctx, w.path); err != nil {
		return err
	}
	if w.sink, err = w.file.Begin(w.out); err != nil {
		w.out.Abort()
	}
	return err
}

// Commit implements Writer.
func (w *rowWriter) Commit(ctx context.Context, parts []Part) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	pieces, err := w.pieces(parts)
	if err != nil {
		return err
	}
	for i := range w.file.Metas {
		if err := w.cover(i, pieces); err != nil {
			return err
		}
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer w.out.Abort()
	if err := w.merge(ctx, pieces); err != nil {
		return err
	}
	if err := w.sink.End(); err != nil {
		return err
	}
	if err := call(ctx, w.file.Before); err != nil {
		return err
	}
	if err := w.out.Commit(); err != nil {
		return err
	}
	w.stage.Abort(ctx) // the pieces are in the file now
	return call(ctx, w.file.After)
}

func call(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// cover checks that the pieces tile the matrix i.
func (w *rowWriter) cover(i int, pieces []rowPiece) error {
	t := NewTarget(&w.file.Metas[i], Slab{})
	var at []matrix.Rect
	for _, p := range pieces {
		if p.Matrix == i {
			at = append(at, p.at())
		}
	}
	if err := CheckTiles(t.At.Cols, t.Must, at); err != nil {
		return fmt.Errorf("matrix %q: %w", t.Name, err)
	}
	return nil
}

// Abort implements Writer.
func (w *rowWriter) Abort(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out != nil {
		w.out.Abort()
	}
	w.stage.Abort(ctx)
}
