package format

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/wire"
)

// slabPart is what a slabWriter remembers of a block: its slab and place, and where its bytes wait: in an object of the
// stage, "=" and the writer if they are in the file already, nowhere ("") if the block is empty.
type slabPart struct {
	slab  int
	at    matrix.Rect
	piece string
}

func (p slabPart) part() Part {
	b := wire.AppendU32(nil, wire.Little, uint32(p.slab))
	for _, v := range []int64{p.at.Rows.Lo, p.at.Rows.Hi, p.at.Cols.Lo, p.at.Cols.Hi} {
		b = wire.AppendU64(b, wire.Little, uint64(v))
	}
	return Part(wire.AppendString(b, wire.Little, p.piece))
}

func (w *slabWriter) parse(part Part) (slabPart, error) {
	c := wire.NewCursor(part, 0, wire.Little)
	p := slabPart{slab: c.Count(int64(c.U32("slab")), 0, int64(len(w.file.Slabs)-1), "slab")}
	p.at = matrix.At(c.I64("first row"), c.I64("last row"), c.I64("first column"), c.I64("last column"))
	p.piece = c.String(1<<10, "piece")
	c.End("part")
	if c.Err() == nil && p.piece != "" {
		id, direct := strings.CutPrefix(p.piece, "=")
		if id, _, _ = strings.Cut(id, "."); w.out != nil && id != w.id || direct && w.out == nil {
			c.Fail("a part of another save")
		}
		if strings.Contains(p.piece, "/") {
			c.Fail("piece %q, want a plain name", p.piece)
		}
	}
	if c.Err() != nil {
		return p, fmt.Errorf("part of %s: %w", w.path, c.Err())
	}
	if !w.file.Slabs[p.slab].At.Contains(p.at) {
		return p, fmt.Errorf("part of %s: place %v outside the matrix", w.path, p.at)
	}
	return p, nil
}

// Commit implements Writer.
func (w *slabWriter) Commit(ctx context.Context, parts []Part) error {
	of := make([][]slabPart, len(w.file.Slabs))
	for _, part := range parts {
		p, err := w.parse(part)
		if err != nil {
			return err
		}
		of[p.slab] = append(of[p.slab], p)
	}
	for i := range w.file.Slabs {
		if err := w.file.Slabs[i].cover(of[i]); err != nil {
			return err
		}
	}
	if err := w.spill(ctx); err != nil {
		return err
	}
	out := w.out
	if out == nil {
		var err error
		if out, err = w.create(ctx, w.path); err != nil {
			return err
		}
		defer out.Abort()
	}
	for i := range w.file.Slabs {
		if err := w.assemble(ctx, out, &w.file.Slabs[i], of[i]); err != nil {
			return err
		}
	}
	if err := w.finish(ctx, out); err != nil {
		return err
	}
	w.stage.Abort(ctx) // the pieces are in the file now
	return nil
}

func (w *slabWriter) finish(ctx context.Context, out blob.Writer) error {
	if w.file.Seal != nil {
		if err := w.file.Seal(ctx, out); err != nil {
			return err
		}
	}
	return out.Commit()
}

// cover checks that the parts tile the matrix as its target says.
func (t *Target) cover(parts []slabPart) error {
	at := make([]matrix.Rect, len(parts))
	for i, p := range parts {
		at[i] = p.at
	}
	if err := CheckTiles(t.At.Cols, t.Must, at); err != nil {
		return fmt.Errorf("matrix %q: %w", t.Name, err)
	}
	return nil
}

// assemble puts the pieces of one slab together, some rows at a time, between what is in the file already.
func (w *slabWriter) assemble(ctx context.Context, out ReadWriterAt, t *Target, parts []slabPart) error {
	parts = w.waiting(parts)
	slices.SortFunc(parts, func(a, b slabPart) int { return cmp.Compare(a.at.Rows.Lo, b.at.Rows.Lo) })
	if len(parts) == 0 {
		return nil
	}
	var buf []byte
	for band := range Bands(t.At, t.bandCells(t.At.Cols)) {
		pitch := t.width(band.Cols)
		if buf == nil {
			buf = make([]byte, band.Rows.Len()*pitch) // the first band is the largest
		}
		if !slices.ContainsFunc(parts, func(p slabPart) bool { return !p.at.Intersect(band).Empty() }) {
			continue
		}
		raw := buf[:band.Rows.Len()*pitch]
		if w.out == nil {
			clear(raw)
		} else if err := t.read(out, band, raw, pitch); err != nil {
			return err
		}
		for _, p := range parts {
			if p.at.Rows.Lo >= band.Rows.Hi {
				break
			}
			at := p.at.Intersect(band)
			if at.Empty() {
				continue
			}
			into := raw[(at.Rows.Lo-band.Rows.Lo)*pitch+t.skip(at.Cols.Lo)-t.skip(band.Cols.Lo):]
			if err := w.fetch(ctx, t, p, at, into, pitch); err != nil {
				return err
			}
		}
		if err := t.put(out, band, raw); err != nil {
			return err
		}
	}
	return nil
}

// fetch reads the cells of at from the piece.
func (w *slabWriter) fetch(ctx context.Context, t *Target, p slabPart, at matrix.Rect, dst []byte, pitch int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := w.stage.Name(p.piece)
	obj, err := w.bucket.Open(ctx, name)
	if err != nil {
		return err
	}
	defer obj.Close()
	s := t.piece(p.at)
	if want, ok := s.Size(); !ok || obj.Size() != want {
		return fmt.Errorf("piece %s: %d bytes, want %d: %w", name, obj.Size(), want, ErrCorrupt)
	}
	return s.read(obj, at, dst, pitch)
}
