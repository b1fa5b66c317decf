package angel

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// Verify implements format.Verifier: every partition is read to its end, with its checksum; columns must ascend, places of
// rows be true, ids of partitions be those that Angel counts.
func (r *reader) Verify(ctx context.Context) (problems []string, err error) {
	for _, s := range r.stored {
		found, err := s.verify(ctx, r.bucket)
		for _, f := range found {
			problems = append(problems, s.meta.Name+": "+f)
		}
		if err != nil {
			return problems, err
		}
	}
	for _, o := range r.orphan {
		problems = append(problems, o+": data files without metadata")
	}
	return problems, nil
}

func (s *stored) verify(ctx context.Context, b blob.Bucket) (problems []string, err error) {
	if s.layout == nil {
		return []string{"its values cannot be read: " + s.fault.Error()}, nil
	}
	if s.unordered {
		problems = append(problems, "rows are not listed in the order of the data; Angel's loader takes them in the order of the list")
	}
	for i := range s.pieces {
		p := &s.pieces[i]
		if int(p.id) != i {
			problems = append(problems, fmt.Sprintf("partition %d where %d is wanted: Angel counts them from 0 on", p.id, i))
			break
		}
	}
	for i := range s.pieces {
		if p := &s.pieces[i]; s.layout.column && p.rowMetas.n == 0 && p.rows.Len() > 0 {
			problems = append(problems, fmt.Sprintf("partition %d, rows %v: no saved rows; Angel does not load such partitions of column formats",
				p.id, p.rows))
			break
		}
	}
	for i := range s.pieces {
		found, err := s.verifyPiece(ctx, b, &s.pieces[i])
		problems = append(problems, found...)
		if err != nil {
			return problems, err
		}
	}
	if !s.ranged && !s.raw && len(problems) == 0 { // cells that two partitions have
		err := s.blocks(ctx, b, s.meta.Rect(), func(matrix.Block) bool { return true })
		return damage(ctx, problems, err)
	}
	return problems, nil
}

// damage adds an error to the problems if it is one of the data.
func damage(ctx context.Context, problems []string, err error) ([]string, error) {
	var where *format.Error
	switch {
	case err == nil:
		return problems, nil
	case ctx.Err() != nil || !errors.As(err, &where):
		return problems, err
	}
	return append(problems, err.Error()), nil
}

func (s *stored) verifyPiece(ctx context.Context, b blob.Bucket, p *piece) (problems []string, err error) {
	strict := true
	switch s.meta.DType {
	case matrix.F64:
		strict, err = strictly[float64](ctx, b, s, p)
	case matrix.F32:
		strict, err = strictly[float32](ctx, b, s, p)
	case matrix.I64:
		strict, err = strictly[int64](ctx, b, s, p)
	default:
		strict, err = strictly[int32](ctx, b, s, p)
	}
	if err == nil && !strict && !s.layout.framed {
		problems = append(problems, fmt.Sprintf("partition %d: columns or rows are not in ascending order", p.id))
	}
	if err == nil {
		file := blob.Join(s.dir.path, p.file)
		err = format.Wrap(name, file, s.verifyOffsets(ctx, b, file, p))
	}
	return damage(ctx, problems, err)
}

// strictly reads a partition and reports whether it is in order.
func strictly[T Number](ctx context.Context, b blob.Bucket, s *stored, p *piece) (bool, error) {
	w := newWalk[T](ctx, b, s, s.meta.Rect())
	w.yield = func(matrix.Block) bool { return true }
	err := w.piece(p)
	return !w.stray, err
}

// verifyOffsets compares where rows begin, in partitions that say it.
func (s *stored) verifyOffsets(ctx context.Context, b blob.Bucket, file string, p *piece) error {
	if p.version == 0 || s.layout.column || s.layout.loose && !s.layout.text {
		return nil
	}
	if !s.layout.text {
		at := p.off
		for _, u := range p.whole(p.cols, s.layout) {
			each := u.layout.each(style{long: s.kind.LongKeys()}, s.meta.DType.Size())
			for _, r := range u.rows.all() {
				if r.off != at {
					return wrongOffset(p, r, at)
				}
				at += int64(r.n) * each
			}
		}
		return nil
	}
	o, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer o.Close()
	lines, want, at, last := int64(0), int64(0), p.off, byte('\n')
	buf := make([]byte, min(window, p.size))
	for _, r := range p.rowMetas.all() {
		for at < r.off {
			part := buf[:min(int64(len(buf)), r.off-at)]
			if err := errorsFirst(ctx.Err(), func() error { return wire.ReadAt(o, part, at) }); err != nil {
				return err
			}
			lines += int64(bytes.Count(part, lf))
			at += int64(len(part))
			last = part[len(part)-1]
		}
		if lines != want || last != '\n' {
			return wrongOffset(p, r, at)
		}
		want += int64(r.n)
	}
	return nil
}

func wrongOffset(p *piece, r rowMeta, at int64) error {
	return &wire.At{Off: at, Err: fmt.Errorf("partition %d: row %d is said to begin at byte %d, which it does not", p.id, r.id, r.off)}
}
