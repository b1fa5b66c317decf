package daphne

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"thole.example/blob"
	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
)

// writer writes the blocks of the document's layout. A writer of its own save puts them one behind the other into the
// final object, and if they came in row-major order that is the file. Writers that share a save keep each Put as an
// object of the stage. Commit puts together what is not together yet, so the bytes are always the same.
type writer struct {
	*plan
	bucket blob.Bucket
	path   string
	id     string        // of this writer among those of the stage
	stage  *format.Stage // nil: a save of its own

	head []byte
	mu   sync.Mutex
	out  blob.Writer
	end  int64 // of what was put into out
	puts atomic.Int64
}

func newWriter(ctx context.Context, b blob.Bucket, path string, p *plan, o format.Options) (format.Writer, error) {
	head, err := p.append(nil, p.codes)
	if err != nil {
		return nil, err
	}
	w := &writer{plan: p, bucket: b, path: path, id: rand.Text(), head: head, end: int64(len(head))}
	if o.Stage != "" {
		w.stage = format.NewStage(b, path, o.Stage)
		return w, nil
	}
	if w.out, err = w.create(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// create begins the file with its header.
func (w *writer) create(ctx context.Context) (blob.Writer, error) {
	out, err := w.bucket.Create(ctx, w.path)
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(w.head); err != nil {
		out.Abort()
		return nil, err
	}
	return out, nil
}

// Put implements format.Writer.
func (w *writer) Put(ctx context.Context, name string, b matrix.Block) (format.Part, error) {
	if name != w.from.Name {
		return nil, fmt.Errorf("matrix %q: %w", name, format.ErrMatrix)
	}
	blocks, err := w.prepare(b)
	if err != nil {
		return nil, fmt.Errorf("matrix %q: %w", name, err)
	}
	if len(blocks) == 0 {
		return format.Part("[]"), nil
	}
	e := blockio.Encoder{Codes: w.codes}
	pieces := make([]piece, len(blocks))
	total := int64(0)
	for i, one := range blocks {
		size, err := e.Size(one)
		if err != nil {
			return nil, err
		}
		pieces[i] = newPiece("", total, int64(size), one)
		total += int64(size)
	}
	spool, off, err := w.store(ctx, e, blocks, total)
	if err != nil {
		return nil, err
	}
	for i := range pieces {
		pieces[i].Spool = spool
		pieces[i].Off += off
	}
	return newPart(pieces)
}

// store keeps blocks, of total bytes, and tells where they begin.
func (w *writer) store(ctx context.Context, e blockio.Encoder, blocks []matrix.Block, total int64) (spool string, off int64, err error) {
	if w.stage == nil {
		w.mu.Lock()
		off = w.end
		w.end += total
		w.mu.Unlock()
		return "=" + w.id, off, writeAll(w.out, e, blocks, off)
	}
	spool = fmt.Sprintf("%s.%d", w.id, w.puts.Add(1))
	out, err := w.bucket.Create(ctx, w.stage.Name(spool))
	if err != nil {
		return "", 0, err
	}
	defer out.Abort()
	if err := writeAll(out, e, blocks, 0); err != nil {
		return "", 0, err
	}
	return spool, 0, out.Commit()
}

func writeAll(out blob.Writer, e blockio.Encoder, blocks []matrix.Block, off int64) error {
	for _, b := range blocks {
		err := e.Stream(b, func(piece []byte) error {
			_, err := out.WriteAt(piece, off)
			off += int64(len(piece))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Commit implements format.Writer.
func (w *writer) Commit(ctx context.Context, parts []format.Part) error {
	pieces, err := w.pieces(parts)
	if err != nil {
		return err
	}
	if pieces, err = w.complete(pieces); err != nil {
		return fmt.Errorf("matrix %q: %w", w.from.Name, err)
	}
	if w.dialect == mainName {
		err = w.commitArrays(ctx, pieces)
	} else if w.stage == nil && w.inOrder(pieces) {
		err = w.out.Commit()
	} else {
		err = w.assemble(ctx, pieces)
	}
	if err != nil {
		return err
	}
	w.Abort(ctx)
	return w.describe(ctx, w.bucket, w.path)
}

// Abort implements format.Writer.
func (w *writer) Abort(ctx context.Context) {
	if w.out != nil {
		w.out.Abort()
	}
	if w.stage != nil {
		w.stage.Abort(ctx)
	}
}

// inOrder reports whether the pieces are the file already.
func (w *writer) inOrder(pieces []piece) bool {
	off := int64(len(w.head))
	for i, p := range pieces {
		if p.Spool == "" || p.Off != off || w.together(pieces[i:]) > 1 {
			return false
		}
		off += p.Len
	}
	return off == w.end
}

// complete adds empty blocks for the places that no piece holds, where the matrix may have such, and refuses pieces
// that overlap.
func (w *writer) complete(pieces []piece) ([]piece, error) {
	if w.rect().Empty() {
		return []piece{{Rows: [2]int64{0, w.rows}, Cols: [2]int64{0, w.cols}}}, nil
	}
	slices.SortFunc(pieces, func(a, b piece) int { return byPlace(a.at(), b.at()) })
	places := make([]matrix.Rect, len(pieces))
	for i, p := range pieces {
		places[i] = p.at()
	}
	var missing matrix.Rect
	bad, complete := tile(w.rect(), places, func(at matrix.Rect) bool {
		missing = at
		for _, one := range w.plan.pieces(at) {
			pieces = append(pieces, newPiece("", 0, 0, matrix.Block{At: one, Data: matrix.Empty{}}))
		}
		return w.fill
	})
	switch {
	case bad >= 0:
		return nil, fmt.Errorf("block %v lies on another", places[bad])
	case !complete:
		return nil, fmt.Errorf("no block holds %v", missing)
	}
	w.sort(pieces)
	return pieces, nil
}
