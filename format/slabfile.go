package format

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"thole.example/blob"
	"thole.example/matrix"
)

// SlabFile is a file of dense matrices whose every place is known before the first value: names, shapes and types
// decide it. NewSlabWriter writes such files.
type SlabFile struct {
	// Size is the length of the file in bytes. What neither Known nor a value covers is zero.
	Size  int64
	Known []Span
	Slabs []Target
	// Seal is called when all values are in place, to add what depends on them (checksums). nil: nothing.
	Seal func(ctx context.Context, f ReadWriterAt) error
}

// Span is bytes at their place in a file.
type Span struct {
	Off   int64
	Bytes []byte
}

// Target is a slab to be written.
type Target struct {
	Slab
	// From is the element type that blocks must have; Cast allows other types too. They become the slab's type.
	From matrix.DType
	Cast bool
	// Must are the rows that blocks have to cover, ascending. Cells of other rows that no block holds are zero.
	Must []matrix.Range
}

// ReadWriterAt reads and writes anywhere in a file.
type ReadWriterAt interface {
	io.ReaderAt
	io.WriterAt
}

// NewTarget describes the writing of the matrix as a dense slab: what its blocks must have follows from its Meta.
func NewTarget(m *matrix.Meta, s Slab) Target {
	t := Target{Slab: s, From: m.DType, Cast: m.ColTypes != nil || s.Record != nil}
	t.Name, t.At = m.Name, m.Rect()
	if m.Layout == matrix.RowDense {
		t.Must = m.SavedRows()
	}
	return t
}

// NewSlabWriter begins writing the file to the path. A Writer of its own save (no Options.Stage) puts values to their
// final places at once, but for blocks of a few columns; these, and all blocks of Writers that share a save, wait as
// objects of the stage, and Commit puts them together. The bytes are the same in all cases.
func NewSlabWriter(ctx context.Context, b blob.Bucket, path string, o Options, f SlabFile) (Writer, error) {
	w := &slabWriter{file: f, bucket: b, path: path, id: rand.Text(), of: map[string]int{}, stage: NewStage(b, path, o.Stage)}
	for i, s := range f.Slabs {
		if _, twice := w.of[s.Name]; twice {
			return nil, fmt.Errorf("matrix name %q twice, want each once", s.Name)
		}
		w.of[s.Name] = i
	}
	if o.Stage != "" {
		return w, nil
	}
	out, err := w.create(ctx, path)
	if err != nil {
		return nil, err
	}
	w.out = out
	return w, nil
}

// slabWriter has out, the final object, if it is the only writer of its save.
type slabWriter struct {
	file   SlabFile
	of     map[string]int // the slab of a name
	bucket blob.Bucket
	path   string
	id     string // of this writer among those of the stage
	out    blob.Writer
	stage  *Stage
	pieces atomic.Int64
	gather gather // of narrow blocks, if there is out
}

// create begins the object with everything that is known, in its full length.
func (w *slabWriter) create(ctx context.Context, name string) (blob.Writer, error) {
	out, err := w.bucket.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	if w.file.Size > 0 {
		_, err = out.WriteAt([]byte{0}, w.file.Size-1)
	}
	for _, k := range w.file.Known {
		if err == nil {
			_, err = out.WriteAt(k.Bytes, k.Off)
		}
	}
	if err != nil {
		out.Abort()
		return nil, err
	}
	return out, nil
}

// Put implements Writer.
func (w *slabWriter) Put(ctx context.Context, name string, b matrix.Block) (Part, error) {
	i, ok := w.of[name]
	if !ok {
		return nil, fmt.Errorf("matrix %q: %w", name, ErrMatrix)
	}
	t := &w.file.Slabs[i]
	if err := t.accept(b); err != nil {
		return nil, err
	}
	p := slabPart{slab: i, at: b.At}
	if _, empty := b.Data.(matrix.Empty); empty || b.At.Empty() {
		return p.part(), nil
	}
	if w.out != nil && !t.narrow(b.At) {
		p.piece = "=" + w.id
		return p.part(), t.write(ctx, w.out, b)
	}
	p.piece = fmt.Sprintf("%s.%d", w.id, w.pieces.Add(1))
	if w.out != nil {
		if done, err := w.hold(ctx, i, p.piece, b); done || err != nil {
			return p.part(), err
		}
	}
	s := t.piece(b.At)
	return p.part(), w.object(ctx, p.piece, func(out io.WriterAt) error { return s.write(ctx, out, b) })
}

// narrowBytes and narrowRows are up to which width and from which height on a block of some columns is not written row by
// row: so many small writes take longer than a second copy.
const (
	narrowBytes = 4 << 10
	narrowRows  = 64
)

func (t *Target) narrow(at matrix.Rect) bool {
	width := t.width(at.Cols)
	return at.Rows.Len() >= narrowRows && width < narrowBytes && width < t.pitch()
}

// accept checks a block before any of it is written.
func (t *Target) accept(b matrix.Block) error {
	if err := b.Check(); err != nil {
		return fmt.Errorf("matrix %q: %w", t.Name, err)
	}
	if !t.At.Contains(b.At) {
		return fmt.Errorf("matrix %q: block %v, want one within %v", t.Name, b.At, t.At)
	}
	if b.Data.DType() != t.From && !t.Cast {
		return fmt.Errorf("matrix %q: block %v of type %v, want %v", t.Name, b.At, b.Data.DType(), t.From)
	}
	return nil
}

// object keeps the bytes that a block will have in the file as an object of the stage.
func (w *slabWriter) object(ctx context.Context, piece string, write func(out io.WriterAt) error) error {
	out, err := w.bucket.Create(ctx, w.stage.Name(piece))
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := write(out); err != nil {
		return err
	}
	return out.Commit()
}

// Abort implements Writer.
func (w *slabWriter) Abort(ctx context.Context) {
	if w.out != nil {
		w.out.Abort()
	}
	w.stage.Abort(ctx)
}

// maxFile is the largest file that we plan, with room for what comes behind the last value.
const maxFile = math.MaxInt64 - 1<<20

// PlaceSlab is where the values of the matrix end that begin at off; it fails with ErrLimit where no file reaches.
func PlaceSlab(m *matrix.Meta, d matrix.DType, off int64) (end int64, err error) {
	cells, ok := matrix.Cells(m.Rows, m.Cols)
	size, fits := matrix.Cells(cells, int64(d.Size()))
	if !ok || !fits || off > maxFile || size > maxFile-off {
		return 0, fmt.Errorf("matrix %q: %d x %d %v, want a file below 2^63 bytes: %w", m.Name, m.Rows, m.Cols, d, ErrLimit)
	}
	return off + size, nil
}
