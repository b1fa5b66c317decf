package server

import (
	"context"
	"fmt"
	"sort"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
)

// within is the part of the ascending ids that lies in the range.
func within(ids []int64, r matrix.Range) []int64 {
	lo := sort.Search(len(ids), func(i int) bool { return ids[i] >= r.Lo })
	n := sort.Search(len(ids)-lo, func(i int) bool { return ids[lo+i] >= r.Hi })
	return ids[lo : lo+n : lo+n]
}

// pull answers with the wanted pieces, one block for each partition of this server that holds some of one.
func (s *Server) pull(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	if err := j.await(ctx, j.bound.Need(int(q.Clock))); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	if err := j.checkPull(q); err != nil {
		return nil, err
	}
	r := &rpc.Response{Clock: int32(j.clocks.Slowest()), Pieces: make([]rpc.Piece, len(q.Pieces))}
	for i, want := range q.Pieces {
		r.Pieces[i] = rpc.Piece{Matrix: want.Matrix, At: want.At}
		err := j.matrices[want.Matrix].pieces(want.At, want.Cols, func(h held, at matrix.Rect, cols []int64) error {
			b, err := h.ReadBlock(at, cols)
			r.Pieces[i].Blocks = append(r.Pieces[i].Blocks, b)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// pullLimit is how many bytes of columns one pull may ask for.
const pullLimit = 1 << 32

// checkPull tells why the pieces cannot be pulled. The caller holds a lock.
func (j *job) checkPull(q *rpc.Request) error {
	var total int64
	for _, want := range q.Pieces {
		o, err := j.find(want.Matrix)
		if err != nil {
			return err
		}
		if err := o.checkPull(q, want); err != nil {
			return err
		}
		n, ok := matrix.Cells(want.At.Rows.Len(), int64(len(want.Cols)))
		if total += n * int64(o.meta.DType.Size()); !ok || n > pullLimit || total > pullLimit {
			return fmt.Errorf("matrix %q: pull of %d columns of %d rows, want less than 4 GiB in all: %w",
				want.Matrix, len(want.Cols), want.At.Rows.Len(), rpc.ErrTooLarge)
		}
	}
	return nil
}

func (o *owned) checkPull(q *rpc.Request, want rpc.Piece) error {
	if q.Version != o.parts.Version {
		return fmt.Errorf("matrix %q: routing map %d, here it is %d: %w", want.Matrix, q.Version, o.parts.Version, rpc.ErrStale)
	}
	whole := o.meta.Rect()
	if !whole.Contains(want.At) {
		return fmt.Errorf("matrix %q: pull of %v, want a place in %v: %w", want.Matrix, want.At, whole, rpc.ErrMalformed)
	}
	for i, c := range want.Cols {
		if !want.At.Cols.Has(c) || i > 0 && c <= want.Cols[i-1] {
			return fmt.Errorf("matrix %q: pull of column %d, want ascending ones in %v: %w",
				want.Matrix, c, want.At.Cols, rpc.ErrMalformed)
		}
	}
	return nil
}

// get runs a get function beside each partition of this server.
func (s *Server) get(_ context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	fn, err := s.Funcs.Get(q.Func)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrNotFound, err)
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.beside(q, func(v psf.View) ([]byte, error) { return fn.Part(v, q.Arg) })
}

// update runs an update function beside each partition of this server, at once under every protocol.
func (s *Server) update(_ context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	fn, err := s.Funcs.Update(q.Func)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrNotFound, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.made(q) {
		return &rpc.Response{Clock: int32(j.clocks.Slowest())}, j.failed
	}
	r, err := j.beside(q, func(v psf.View) ([]byte, error) { return nil, fn.Part(v, q.Arg) })
	if err == nil {
		j.note(q)
	}
	return r, err
}

func (j *job) beside(q *rpc.Request, run func(v psf.View) ([]byte, error)) (*rpc.Response, error) {
	if j.failed != nil {
		return nil, j.failed
	}
	r := &rpc.Response{Clock: int32(j.clocks.Slowest())}
	for _, p := range q.Pieces {
		o, err := j.find(p.Matrix)
		if err != nil {
			return nil, err
		}
		for _, h := range o.held {
			answer, err := run(h.Shard)
			if err != nil {
				return nil, fmt.Errorf("%s on matrix %q: %w: %w", q.Func, p.Matrix, rpc.ErrMalformed, err)
			}
			r.Results = append(r.Results, rpc.Result{Matrix: p.Matrix, Part: int32(h.id), Data: answer})
		}
	}
	return r, nil
}
