package server

import (
	"context"
	"encoding/json"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
)

// pendingSave is a save that this server has put something into and that is not committed yet.
type pendingSave struct {
	format.Writer
	codec string
	path  string
	stop  context.CancelFunc // makes what is being put end
	idle  chan struct{}      // closed when nothing is being put any more
}

// end forgets the save once nothing more is put into it: a piece that came after would stay for ever.
func (w *pendingSave) end(ctx context.Context) {
	w.stop()
	<-w.idle
	w.Abort(ctx)
}

// writer opens the codec's writer of the save; lost, if not nil, is told what the format loses. The caller holds a lock of
// the job.
func (s *Server) writer(ctx context.Context, j *job, a rpc.Save, lost func(string)) (*pendingSave, error) {
	c, err := s.Codecs.Lookup(a.Codec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrNotFound, err)
	}
	var ms []matrix.Meta
	for _, name := range a.Matrices {
		o, err := j.find(name)
		if err != nil {
			return nil, err
		}
		ms = append(ms, o.stored())
	}
	opts := format.Options{Stage: a.Stage, Lossy: a.Lossy, Lost: lost, Set: a.Set, Files: a.Files, Over: s.over(j, a)}
	w, err := format.Create(ctx, c, s.Bucket, a.Path, ms, opts)
	if err != nil {
		return nil, err
	}
	return &pendingSave{Writer: w, codec: a.Codec, path: a.Path, idle: make(chan struct{})}, nil
}

// stored describes the matrix as it is saved: without what only training needs, with the size of its partitions, which
// is the same whatever the number of servers.
func (o *owned) stored() matrix.Meta {
	m := o.meta.Clone()
	m.Rule, m.Hyper, m.Init = "", nil, matrix.Init{}
	if len(o.parts.Parts) > 0 && !o.parts.Hash {
		first := o.parts.Parts[0].At
		m.BlockRows, m.BlockCols = first.Rows.Len(), first.Cols.Len()
	}
	return m
}

// save puts this server's partitions into the save, as of the request's clock, and answers with the Parts.
func (s *Server) save(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	var a rpc.Save
	if err := json.Unmarshal(q.Arg, &a); err != nil {
		return nil, fmt.Errorf("save: %w: %w", rpc.ErrMalformed, err)
	}
	if a.Trial {
		return s.try(ctx, j, a)
	}
	if err := j.await(ctx, int(q.Clock)); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	w, err := s.writer(ctx, j, a, nil)
	if err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	w.stop = stop
	if !s.begin(j, a.Stage, w) {
		return nil, fmt.Errorf("save %q: %w", a.Stage, rpc.ErrExists)
	}
	r, err := j.put(work, w, a.Matrices)
	if err == nil {
		err = context.Cause(work) // nobody waits for the Parts any more, so nobody will commit or abort
	}
	if err != nil {
		if s.take(j, a.Stage) != nil { // else whoever took it ends it
			w.end(context.WithoutCancel(ctx))
		}
		return nil, format.Wrap(a.Codec, a.Path, err)
	}
	return r, nil
}

// put puts the saved rows of this server's partitions.
func (j *job) put(ctx context.Context, w *pendingSave, matrices []string) (*rpc.Response, error) {
	defer close(w.idle)
	r := &rpc.Response{}
	for _, name := range matrices {
		o := j.matrices[name]
		for _, h := range o.held {
			for b := range h.Blocks() {
				for _, rows := range o.meta.SavedRows() {
					piece := b
					if !rows.Contains(b.At.Rows) {
						piece = b.Cut(matrix.Rect{Rows: rows, Cols: b.At.Cols})
					}
					if piece.At.Empty() && len(o.parts.Parts) > 1 {
						continue
					}
					p, err := w.Put(ctx, name, piece)
					if err != nil {
						return nil, err
					}
					r.Results = append(r.Results, rpc.Result{Matrix: name, Part: int32(h.id), Data: p})
				}
			}
		}
	}
	return r, nil
}

// begin remembers the save; false if there is one of that name.
func (s *Server) begin(j *job, stage string, w *pendingSave) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.saves[stage] != nil {
		return false
	}
	j.saves[stage] = w
	return true
}

// commit makes the save visible, with the Parts of all servers.
func (s *Server) commit(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	var a rpc.Save
	if err := json.Unmarshal(q.Arg, &a); err != nil {
		return nil, fmt.Errorf("commit: %w: %w", rpc.ErrMalformed, err)
	}
	if a.Trial {
		return s.compare(ctx, a)
	}
	w := s.take(j, a.Stage)
	if w == nil {
		return nil, fmt.Errorf("commit: no save %q is under way here: %w", a.Stage, rpc.ErrNotFound)
	}
	defer w.end(context.WithoutCancel(ctx))
	<-w.idle
	parts := make([]format.Part, len(a.Parts))
	for i, p := range a.Parts {
		parts[i] = p
	}
	if err := w.Commit(ctx, parts); err != nil {
		return nil, err
	}
	over, err := s.Bucket.State(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	return &rpc.Response{}, s.claim(j, a.Path, over) // a later save of the job replaces this one
}

// abort forgets what this server has put into the save.
func (s *Server) abort(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	var a rpc.Save
	if err := json.Unmarshal(q.Arg, &a); err != nil {
		return nil, fmt.Errorf("abort: %w: %w", rpc.ErrMalformed, err)
	}
	if a.Trial {
		return s.erase(ctx, a)
	}
	if w := s.take(j, a.Stage); w != nil {
		w.end(context.WithoutCancel(ctx))
	}
	return &rpc.Response{}, nil
}

func (s *Server) take(j *job, stage string) *pendingSave {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := j.saves[stage]
	delete(j.saves, stage)
	return w
}

// abortSaves forgets every save that was begun and not committed, as when its client went away.
func (s *Server) abortSaves(j *job) {
	s.mu.Lock()
	saves := j.saves
	j.saves = map[string]*pendingSave{}
	s.mu.Unlock()
	for _, w := range saves {
		w.end(context.Background())
	}
}
