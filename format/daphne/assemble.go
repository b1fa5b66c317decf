package daphne

import (
	"context"
	"fmt"
	"io"

	"thole.example/blob"
	"thole.example/wire"
)

// copyBytes is how much is copied at a time.
const copyBytes = 4 << 20

// spools opens the spools of pieces, one after the other.
type spools struct {
	w    *writer
	name string
	obj  blob.Object
}

// open gives the spool of a piece, valid until the next call, after a look whether it is long enough.
func (s *spools) open(ctx context.Context, p piece) (io.ReaderAt, error) {
	if s.w.stage == nil {
		if p.Off+p.Len > s.w.end {
			return nil, fmt.Errorf("part at byte %d, %d bytes, want at most %d in all", p.Off, p.Len, s.w.end)
		}
		return s.w.out, nil
	}
	if s.name != p.Spool {
		s.close()
		obj, err := s.w.bucket.Open(ctx, s.w.stage.Name(p.Spool))
		if err != nil {
			return nil, err
		}
		s.name, s.obj = p.Spool, obj
	}
	if p.Off+p.Len > s.obj.Size() {
		return nil, fmt.Errorf("part at byte %d of %s, %d bytes, want at most %d in all", p.Off, p.Spool, p.Len, s.obj.Size())
	}
	return s.obj, nil
}

func (s *spools) close() {
	if s.obj != nil {
		s.obj.Close()
	}
	s.obj, s.name = nil, ""
}

// assemble puts the blocks of the file, in order, behind the header of a new object.
func (w *writer) assemble(ctx context.Context, pieces []piece) error {
	out, err := w.create(ctx)
	if err != nil {
		return err
	}
	defer out.Abort()
	from := &spools{w: w}
	defer from.close()
	buf := make([]byte, copyBytes)
	for len(pieces) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := w.together(pieces)
		if n > 1 {
			err = w.merge(ctx, out, from, pieces[:n])
		} else {
			err = w.move(ctx, out, from, pieces[0], buf)
		}
		if err != nil {
			return err
		}
		pieces = pieces[n:]
	}
	return out.Commit()
}

// move copies one piece.
func (w *writer) move(ctx context.Context, out io.Writer, from *spools, p piece, buf []byte) error {
	if p.Spool == "" {
		empty, err := w.emptyBlock(p.at())
		if err == nil {
			_, err = out.Write(empty)
		}
		return err
	}
	src, err := from.open(ctx, p)
	if err != nil {
		return err
	}
	return copyRange(out, src, p.Off, p.Len, buf)
}

func copyRange(out io.Writer, src io.ReaderAt, off, n int64, buf []byte) error {
	for n > 0 {
		part := buf[:min(n, int64(len(buf)))]
		if err := wire.ReadAt(src, part, off); err != nil {
			return err
		}
		if _, err := out.Write(part); err != nil {
			return err
		}
		off, n = off+int64(len(part)), n-int64(len(part))
	}
	return nil
}
