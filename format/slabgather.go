package format

import (
	"context"
	"io"
	"slices"
	"sync"

	"thole.example/matrix"
)

const (
	// gatherBytes is how much a slabWriter holds of blocks that are too narrow to be written to their places one by one.
	gatherBytes = 64 << 20
	// gatherTile is how many bytes of whole rows are put together at a time: as much as a processor keeps near.
	gatherTile = 256 << 10
)

// gather holds narrow blocks of the same rows, which many readers of columns give one after the other, until they are whole
// rows together. These go into the file at once; what does not become whole rows waits as objects of the stage.
type gather struct {
	mu     sync.Mutex
	slab   int
	rows   matrix.Range
	held   []heldBlock
	cols   int64 // of them
	size   int64 // and bytes
	placed map[string]bool
	free   [][]byte
	tile   []byte
}

// heldBlock is a block as it would be in its object.
type heldBlock struct {
	piece string
	at    matrix.Rect
	raw   []byte
}

// hold keeps a block of the slab i instead of the object of the name; done is false if it is too large for that.
func (w *slabWriter) hold(ctx context.Context, i int, piece string, b matrix.Block) (done bool, err error) {
	g, t := &w.gather, &w.file.Slabs[i]
	s := t.piece(b.At)
	n, ok := s.Size()
	if !ok || n > gatherBytes {
		return false, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.held) > 0 && (g.slab != i || g.rows != b.At.Rows || g.size+n > gatherBytes) {
		if err := w.spill(ctx); err != nil {
			return false, err
		}
	}
	raw := g.memory(n)
	if err := s.write(ctx, bytesAt(raw), b); err != nil {
		return false, err
	}
	g.slab, g.rows = i, b.At.Rows
	g.held = append(g.held, heldBlock{piece, b.At, raw})
	g.cols, g.size = g.cols+b.At.Cols.Len(), g.size+n
	if g.cols < t.At.Cols.Len() {
		return true, nil
	}
	return true, w.place(t)
}

// memory is n bytes, of which none is known.
func (g *gather) memory(n int64) []byte {
	last := len(g.free) - 1
	if last < 0 || int64(cap(g.free[last])) < n {
		return make([]byte, n)
	}
	raw := g.free[last][:n]
	g.free = g.free[:last]
	return raw
}

// place puts the held blocks, which are whole rows together, into the file.
func (w *slabWriter) place(t *Target) error {
	g := &w.gather
	pitch := t.pitch()
	step := max(1, gatherTile/pitch)
	if n := min(step, g.rows.Len()) * pitch; int64(len(g.tile)) < n {
		g.tile = make([]byte, n)
	}
	for rows := range steps(g.rows, step) {
		tile := g.tile[:rows.Len()*pitch]
		for _, h := range g.held {
			width := t.width(h.at.Cols)
			from := h.raw[(rows.Lo-g.rows.Lo)*width:][:rows.Len()*width]
			stride(tile[t.skip(h.at.Cols.Lo):], from, int(pitch), int(width), int(width))
		}
		if _, err := w.out.WriteAt(tile, t.place(rows.Lo, t.At.Cols.Lo)); err != nil {
			return err
		}
	}
	if g.placed == nil {
		g.placed = map[string]bool{}
	}
	for _, h := range g.held {
		g.placed[h.piece] = true
		g.free = append(g.free, h.raw)
	}
	g.held, g.cols, g.size = g.held[:0], 0, 0
	return nil
}

// spill makes objects of the held blocks.
func (w *slabWriter) spill(ctx context.Context) error {
	g := &w.gather
	for _, h := range g.held {
		if err := w.object(ctx, h.piece, func(out io.WriterAt) error {
			_, err := out.WriteAt(h.raw, 0)
			return err
		}); err != nil {
			return err
		}
	}
	g.held, g.cols, g.size, g.free = nil, 0, 0, nil
	return nil
}

// waiting are the parts whose blocks are not in the file.
func (w *slabWriter) waiting(parts []slabPart) []slabPart {
	return slices.DeleteFunc(parts, func(p slabPart) bool { return p.piece == "" || p.piece[0] == '=' || w.gather.placed[p.piece] })
}

// bytesAt is memory that is written like a file.
type bytesAt []byte

// WriteAt implements io.WriterAt.
func (m bytesAt) WriteAt(b []byte, off int64) (int, error) { return copy(m[off:], b), nil }
