package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/rpc"
)

// try does of a save what can go wrong before there are values worth saving, and leaves this server's mark in the stage.
// It answers with what the format loses.
func (s *Server) try(ctx context.Context, j *job, a rpc.Save) (*rpc.Response, error) {
	switch err := s.Codecs.Replaceable(ctx, s.Bucket, a.Path, a.Replace); {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s: %w (--force replaces it)", a.Path, rpc.ErrExists)
	case err != nil:
		return nil, err
	}
	if err := s.claim(j, a.Path); err != nil {
		return nil, err
	}
	r := &rpc.Response{}
	mark := format.NewStage(s.Bucket, a.Path, a.Stage).Name(fmt.Sprintf("mark.%d", a.Index))
	a.Stage += fmt.Sprintf(".%d", a.Index) // what one server tries and removes is not what another does
	j.mu.RLock()
	w, err := s.writer(ctx, j, a, func(lost string) { r.Results = append(r.Results, rpc.Result{Data: []byte(lost)}) })
	j.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	w.Abort(ctx)
	return r, format.Wrap(a.Codec, a.Path, blob.WriteAll(ctx, s.Bucket, mark, []byte("here")))
}

// claim reserves the path for the job as long as it lasts.
func (s *Server) claim(j *job, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.targets[path]; other != nil && other != j {
		return fmt.Errorf("%s: job %q will save there: %w", path, other.name, rpc.ErrExists)
	}
	if s.targets == nil {
		s.targets = map[string]*job{}
	}
	s.targets[path] = j
	return nil
}

// compare wants the marks of all servers in this one's bucket.
func (s *Server) compare(ctx context.Context, a rpc.Save) (*rpc.Response, error) {
	marks, err := s.Bucket.List(ctx, format.NewStage(s.Bucket, a.Path, a.Stage).Tree)
	if err != nil {
		return nil, err
	}
	if len(marks) != a.Servers {
		return nil, fmt.Errorf("%s: %d of %d servers keep models here, want all: %w (give all servers the same --store)",
			a.Path, len(marks), a.Servers, rpc.ErrRefused)
	}
	return &rpc.Response{}, nil
}

// erase removes the marks of a trial.
func (s *Server) erase(ctx context.Context, a rpc.Save) (*rpc.Response, error) {
	tree := format.NewStage(s.Bucket, a.Path, a.Stage).Tree
	return &rpc.Response{}, s.Bucket.Remove(context.WithoutCancel(ctx), tree)
}
