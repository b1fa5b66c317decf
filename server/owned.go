package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/shard"
)

// owned is a matrix of a job, with the partitions that are this server's, in the order of their ids.
type owned struct {
	spec  []byte // as it was created, to compare
	meta  matrix.Meta
	parts *part.Map
	rule  *psf.Rule
	index int
	held  []held
}

type held struct {
	id int
	*shard.Shard
}

func (s *Server) create(_ context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	var c rpc.Create
	if err := json.Unmarshal(q.Arg, &c); err != nil {
		return nil, fmt.Errorf("create: %w: %w", rpc.ErrMalformed, err)
	}
	if c.Servers < 1 || c.Index < 0 || c.Index >= c.Servers {
		return nil, fmt.Errorf("create: server %d of %d: %w", c.Index, c.Servers, rpc.ErrMalformed)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil, j.failed
	}
	defer j.recount() // of what was made, also if not all was
	made := map[string]*owned{}
	for _, spec := range c.Matrices {
		o, err := s.own(j, spec, c)
		if err != nil {
			return nil, err
		}
		if twice := made[spec.Meta.Name]; twice != nil && !bytes.Equal(twice.spec, o.spec) {
			return nil, fmt.Errorf("matrix %q comes twice, and is not the same: %w", spec.Meta.Name, rpc.ErrMalformed)
		}
		made[spec.Meta.Name] = o
	}
	maps.Copy(j.matrices, made)
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, nil
}

// own is one matrix with the partitions of it that are this server's: the one that is there already, or a new one.
func (s *Server) own(j *job, spec rpc.Spec, c rpc.Create) (*owned, error) {
	text, err := json.Marshal(struct {
		rpc.Spec
		Servers, Index int
	}{spec, c.Servers, c.Index})
	if err != nil {
		return nil, err
	}
	m := spec.Meta
	if o := j.matrices[m.Name]; o != nil {
		if !bytes.Equal(o.spec, text) {
			return nil, fmt.Errorf("matrix %q of job %q is there, and is not the same: %w", m.Name, j.name, rpc.ErrExists)
		}
		return o, nil
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
	}
	cut, err := part.Lookup(spec.Partitioner)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
	}
	if cut.Hash && m.Layout != matrix.RowSparse {
		return nil, fmt.Errorf("matrix %q: a dense matrix cannot be spread by hash: %w", m.Name, rpc.ErrRefused)
	}
	o := &owned{spec: text, meta: m, index: c.Index}
	if m.Rule != "" {
		if o.rule, err = s.Funcs.Rule(m.Rule); err != nil {
			return nil, fmt.Errorf("matrix %q: %w: %w", m.Name, rpc.ErrNotFound, err)
		}
	}
	if o.parts, err = part.NewMap(&m, cut, c.Servers, c.Version); err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
	}
	n, err := o.need()
	if err == nil {
		err = j.memory.take(n, fmt.Sprintf("matrix %q", m.Name))
	}
	if err != nil {
		return nil, err
	}
	j.bytes += n
	return o, o.fresh()
}

// fresh makes the partitions held here, with their initial values.
func (o *owned) fresh() error {
	for _, p := range o.parts.Parts {
		if p.Server != o.index {
			continue
		}
		sh, err := shard.New(&o.meta, p.At, 0, o.rule)
		if err != nil {
			return fmt.Errorf("%w: %w", rpc.ErrRefused, err)
		}
		o.held = append(o.held, held{p.ID, sh})
	}
	return nil
}

// close frees the memory of all matrices; requests that still come for them find none. The caller holds the lock.
func (j *job) close() {
	for _, o := range j.matrices {
		for _, h := range o.held {
			h.Close()
		}
	}
	clear(j.matrices)
	if j.failed == nil {
		j.failed = fmt.Errorf("job %q: %w: it ended", j.name, rpc.ErrNotFound)
	}
}

// pieces calls f for every partition of this server that holds some of the place, with the columns of it.
func (o *owned) pieces(at matrix.Rect, cols []int64, f func(h held, at matrix.Rect, cols []int64) error) error {
	if o.parts.Hash {
		return o.hashPieces(at, cols, f)
	}
	for _, h := range o.held {
		piece := h.At().Intersect(at)
		if piece.Empty() {
			continue
		}
		mine := cols
		if cols != nil {
			if mine = within(cols, piece.Cols); len(mine) == 0 {
				continue
			}
		}
		if err := f(h, piece, mine); err != nil {
			return err
		}
	}
	return nil
}

// hashPieces is pieces for partitions that share their place: each key goes to the partition of its slot.
func (o *owned) hashPieces(at matrix.Rect, cols []int64, f func(h held, at matrix.Rect, cols []int64) error) error {
	bySlot := make([][]int64, len(o.parts.Parts))
	for _, c := range cols {
		slot := part.Slot(c, len(o.parts.Parts))
		bySlot[slot] = append(bySlot[slot], c)
	}
	for _, h := range o.held {
		mine := bySlot[h.id]
		if cols != nil && mine == nil {
			continue
		}
		if err := f(h, h.At().Intersect(at), mine); err != nil {
			return err
		}
	}
	return nil
}
