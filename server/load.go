package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/shard"
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
	while := charge{Memory: s.Memory} // old and new are there at once
	defer while.release()
	fresh, err := j.loaded(ctx, r, a, &while)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil, j.failed
	}
	for into, from := range fresh {
		old := *into
		*into = *from
		old.Close()
	}
	while.release()
	while.n = 0
	j.recount()
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, nil
}

// loaded is what each partition held here becomes: made beside them, so that a load that fails changes nothing.
func (j *job) loaded(ctx context.Context, r format.Reader, a rpc.Load, while *charge) (map[*shard.Shard]*shard.Shard, error) {
	fresh := map[*shard.Shard]*shard.Shard{}
	for _, name := range a.Matrices {
		j.mu.RLock()
		o, err := j.find(name)
		j.mu.RUnlock()
		if err != nil {
			return nil, err
		}
		n := &owned{meta: o.meta, parts: o.parts, rule: o.rule, index: o.index}
		size, err := n.need()
		if err == nil {
			err = while.take(size, fmt.Sprintf("loading matrix %q", name))
		}
		if err == nil {
			err = n.fresh()
		}
		if err != nil {
			return nil, err
		}
		if err := n.load(ctx, r, a.Round, while); err != nil {
			return nil, fmt.Errorf("load %s: %w", a.Path, err)
		}
		for i, h := range o.held {
			fresh[h.Shard] = n.held[i].Shard
		}
	}
	return fresh, nil
}

// load fills the partitions from the reader's matrix of the same name. Rows beyond those of the matrix are left out; with round,
// values are rounded to the type of the matrix.
func (o *owned) load(ctx context.Context, r format.Reader, round bool, while *charge) error {
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
			if !exact && !(round && finite(b)) {
				return fmt.Errorf("matrix %s holds %v that do not fit %v: %w", from.Name, from.DType, o.meta.DType, format.ErrLossy)
			}
			if err := o.fill(h, b, while); err != nil {
				return err
			}
		}
	}
	return nil
}

// finite reports whether no value went beyond what its type holds, or was no number before.
func finite(b matrix.Block) bool {
	switch val := b.Data.Values().(type) {
	case []float32:
		return !slices.ContainsFunc(val, func(v float32) bool { return v-v != 0 })
	case []float64:
		return !slices.ContainsFunc(val, func(v float64) bool { return v-v != 0 })
	}
	return false
}

// fill sets the cells of a partition. What a hash partition gets is of the whole place: it keeps its own keys.
func (o *owned) fill(h held, b matrix.Block, while *charge) error {
	if o.parts.Hash {
		b = b.Pick(func(col int64) bool { return part.Slot(col, len(o.parts.Parts)) == h.id })
	}
	if err := while.take(h.GrowthBlock(b, true), fmt.Sprintf("loading matrix %q", o.meta.Name)); err != nil {
		return err
	}
	return h.SetBlock(b)
}
