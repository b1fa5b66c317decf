package angel

import (
	"context"
	"fmt"
	"io"
)

// bundle puts several partitions into each data file, as Angel does: the list of ids is halved until a piece is small
// enough; a file is named by the first id in it.
func (w *writer) bundle(ctx context.Context, p *plan, parts []partMeta) error {
	if len(parts) > p.perFile {
		half := len(parts) / 2
		if err := w.bundle(ctx, p, parts[:half]); err != nil {
			return err
		}
		return w.bundle(ctx, p, parts[half:])
	}
	if len(parts) < 2 {
		return nil
	}
	const joined = "b"
	out, err := w.bucket.Create(ctx, w.name(p, joined))
	if err != nil {
		return err
	}
	defer out.Abort()
	first, end := parts[0].file, int64(0)
	for i := range parts {
		part := &parts[i]
		if err := w.copy(ctx, p, part.file, out); err != nil {
			return err
		}
		for k := range part.rowMetas {
			if part.rowMetas[k].off >= 0 {
				part.rowMetas[k].off += end - part.off
			}
		}
		part.off, end = end, end+part.size
	}
	if err := out.Commit(); err != nil {
		return err
	}
	for i := range parts {
		if err := w.bucket.Remove(ctx, w.name(p, parts[i].file)); err != nil {
			return err
		}
		parts[i].file = first
	}
	return w.bucket.Publish(ctx, w.name(p, joined), w.name(p, first))
}

// copy appends a file of the stage to out.
func (w *writer) copy(ctx context.Context, p *plan, file string, out io.Writer) error {
	o, err := w.bucket.Open(ctx, w.name(p, file))
	if err != nil {
		return err
	}
	defer o.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{out}, io.NewSectionReader(o, 0, o.Size()), make([]byte, window))
	if err == nil && n != o.Size() {
		err = fmt.Errorf("%s: copied %d of %d bytes: %w", file, n, o.Size(), io.ErrShortWrite)
	}
	return err
}
