package angel

import (
	"context"
	"fmt"
	"io"
	"iter"

	"thole.example/blob"
)

// groups are the partitions [lo, hi) that lie in one file each: the list of ids is halved until a piece is small enough, as
// Angel does.
func groups(lo, hi, most int) iter.Seq[[2]int] {
	return func(yield func([2]int) bool) { halve(lo, hi, most, yield) }
}

func halve(lo, hi, most int, yield func([2]int) bool) bool {
	if hi-lo <= most {
		return lo == hi || yield([2]int{lo, hi})
	}
	middle := (lo + hi) / 2
	return halve(lo, middle, most, yield) && halve(middle, hi, most, yield)
}

// bundle puts partitions that lie in a file each together, into files named by their first id.
func (w *writer) bundle(ctx context.Context, p *plan, parts []partMeta) error {
	for g := range groups(0, len(parts), p.perFile) {
		if err := w.join(ctx, p, parts[g[0]:g[1]]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) join(ctx context.Context, p *plan, parts []partMeta) error {
	if len(parts) < 2 || parts[0].file == parts[1].file {
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
		part.rowMetas.shift(end - part.off)
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
	return w.bucket.Publish(ctx, w.name(p, joined), w.name(p, first), blob.Anything)
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
