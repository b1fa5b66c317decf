package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/rpc"
)

// rehearse does of a save what can go wrong before there are values worth saving, and leaves this server's mark in the
// stage. It answers with what the format loses.
func (s *Server) rehearse(ctx context.Context, j *job, a *rpc.Save) (*rpc.Response, error) {
	bucket := j.bucket()
	same, err := same(ctx, bucket, a)
	if err != nil {
		return nil, err
	}
	switch err := s.Codecs.Replaceable(ctx, bucket, a.Path, a.Replace || same); {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s: %w (--force replaces it)", a.Path, rpc.ErrExists)
	case err != nil:
		return nil, err
	}
	over, err := bucket.State(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	if err := s.setTarget(j, a.Path, over); err != nil {
		return nil, err
	}
	r := &rpc.Response{}
	stage := format.NewStage(bucket, a.Path, a.Stage)
	name := stage.Name(fmt.Sprintf("mark.%d", a.Index))
	if err := s.keep(ctx, j, stage.Tree); err != nil {
		return nil, err
	}
	stores, err := j.named(a.Matrices)
	if err != nil {
		return nil, err
	}
	own := *a
	own.Stage += fmt.Sprintf(".%d", a.Index) // what one server tries and removes is not what another does
	w, err := s.writer(ctx, j, &own, stores, func(lost string) { r.Results = append(r.Results, rpc.Result{Data: []byte(lost)}) })
	if err != nil {
		return nil, err
	}
	w.Abort(ctx)
	if err := blob.WriteAll(ctx, bucket, name, []byte("here")); err != nil {
		return nil, format.Wrap(a.Codec, a.Path, err)
	}
	if err := context.Cause(j.ctx); err != nil { // the marks of the job may have been erased before this one was there
		return nil, errors.Join(err, s.erase(ctx, bucket, stage.Tree))
	}
	return r, nil
}

// same reports whether what lies at the path was saved by the same job.
func same(ctx context.Context, b blob.Bucket, a *rpc.Save) (bool, error) {
	want, given := a.Files[a.Same]
	if a.Same == "" || !given {
		return false, nil
	}
	found, err := blob.ReadAll(ctx, b, a.Path+"/"+a.Same, int64(len(want)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, err
	}
	return err == nil && bytes.Equal(found, want), nil // a larger one is another
}

// compare wants the marks of all servers in this one's bucket.
func compare(ctx context.Context, b blob.Bucket, a *rpc.Save) (*rpc.Response, error) {
	marks, err := b.List(ctx, format.NewStage(b, a.Path, a.Stage).Tree)
	if err != nil {
		return nil, err
	}
	if len(marks) != a.Servers {
		return nil, fmt.Errorf("%s: %d of %d servers keep models here, want all: %w (give all servers the same --store)",
			a.Path, len(marks), a.Servers, rpc.ErrRefused)
	}
	return &rpc.Response{}, nil
}

// mark is a tree that is kept until the job ends or erases it: the stage of a rehearsal, or an interim checkpoint.
type mark struct {
	of      *job
	release func() // nil: nobody sweeps the bucket
}

// erase removes the marks of a rehearsal.
func (s *Server) erase(ctx context.Context, b blob.Bucket, tree string) error {
	s.mu.Lock()
	release := s.marks[tree].release
	delete(s.marks, tree)
	s.mu.Unlock()
	if release != nil {
		defer release()
	}
	return b.Remove(context.WithoutCancel(ctx), tree)
}

// marksOf are the trees of a job that were not erased: interim checkpoints, and the stages of rehearsals whose client went away.
func (s *Server) marksOf(j *job) (trees []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for tree, m := range s.marks {
		if m.of == j {
			trees = append(trees, tree)
		}
	}
	return trees
}

// keep keeps the marks of a rehearsal until they are erased: nobody takes them for what a killed process left.
func (s *Server) keep(ctx context.Context, j *job, tree string) error {
	m := mark{of: j}
	if b, can := j.bucket().(blob.Sweeper); can {
		var err error
		if m.release, err = b.Hold(ctx, tree); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(j.ctx); err != nil { // nobody would give it back
		if m.release != nil {
			m.release()
		}
		return err
	}
	s.mark(tree, m)
	return nil
}

// mark notes a tree; s.mu is held.
func (s *Server) mark(tree string, m mark) {
	if s.marks == nil {
		s.marks = map[string]mark{}
	}
	s.marks[tree] = m
}

// interim has what the job wrote at the path removed when the job ends, or at once if it has ended.
func (s *Server) interim(ctx context.Context, j *job, path string) error {
	s.mu.Lock()
	ended := context.Cause(j.ctx)
	if ended == nil {
		s.mark(path, mark{of: j})
	}
	s.mu.Unlock()
	if ended != nil {
		return errors.Join(ended, j.bucket().Remove(context.WithoutCancel(ctx), path))
	}
	return nil
}
