package server

import (
	"context"
	"encoding/json"
	"fmt"

	"thole/format"
	"thole/matrix"
	"thole/part"
	"thole/rpc"
)

func (s *Server) load(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	var a rpc.Load
	if err := json.Unmarshal(q.Arg, &a); err != nil {
		return nil, fmt.Errorf("load: %w: %w", rpc.ErrMalformed, err)
	}
	r, _, err := s.Codecs.Open(ctx, s.Bucket, a.Path, a.Codec, format.Options{Set: a.Set})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil, j.failed
	}
	for _, name := range a.Matrices {
		o, err := j.find(name)
		if err != nil {
			return nil, err
		}
		if err := o.load(ctx, r); err != nil {
			return nil, fmt.Errorf("load %s: %w", a.Path, err)
		}
	}
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, nil
}

// load fills the partitions held here from the reader's matrix of the same name.
func (o *owned) load(ctx context.Context, r format.Reader) error {
	from, err := format.Find(r, o.meta.Name)
	if err != nil {
		return err
	}
	if have, want := from.Rect(), o.meta.Rect(); !want.Cols.Contains(have.Cols) || have.Rows.Hi < want.Rows.Hi {
		return fmt.Errorf("matrix %s is %v, and cannot fill one at %v: %w", from.Name, have, want, rpc.ErrRefused)
	}
	for _, h := range o.held {
		for b, err := range r.Blocks(ctx, from.Name, h.At()) {
			if err != nil {
				return err
			}
			b, exact := b.Cast(o.meta.DType)
			if !exact {
				return fmt.Errorf("matrix %s holds %v that do not fit %v: %w", from.Name, from.DType, o.meta.DType, format.ErrLossy)
			}
			if err := o.fill(h, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill sets the cells of a partition. What a hash partition gets is of the whole place: it keeps its own keys.
func (o *owned) fill(h held, b matrix.Block) error {
	if o.parts.Hash {
		b = b.Pick(func(col int64) bool { return part.Slot(col, len(o.parts.Parts)) == h.id })
	}
	return h.Set(b)
}
