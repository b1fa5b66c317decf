package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
)

// look tells how large a stored matrix is, and counts its values.
func (s *Server) look(m *member, x *rpc.Exchange) {
	var a rpc.Look
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		m.refuse(x, fmt.Errorf("look: %w: %w", rpc.ErrMalformed, err))
		return
	}
	m.background(x, func(ctx context.Context) (*rpc.Response, error) {
		out, err := s.count(ctx, m.job.bucket(), &a)
		switch {
		case errors.Is(err, blob.ErrName):
			return nil, fmt.Errorf("look at %q: %w: %w", a.Path, rpc.ErrMalformed, err)
		case err != nil:
			return nil, err
		}
		text, err := json.Marshal(out)
		return &rpc.Response{Results: []rpc.Result{{Data: text}}}, err
	})
}

func (s *Server) count(ctx context.Context, b blob.Bucket, a *rpc.Look) (out rpc.Looked, err error) {
	if a.Matrix == "" {
		state, err := b.State(ctx, a.Path)
		return rpc.Looked{State: string(state)}, err
	}
	r, _, err := s.Codecs.Open(ctx, b, a.Path, a.Codec, format.Options{Set: a.Set})
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, format.ErrUnknown):
		return out, &kindError{err, rpc.ErrNotFound}
	case err != nil:
		return out, err
	}
	defer r.Close()
	m, err := format.Find(r, a.Matrix)
	if err != nil {
		return out, fmt.Errorf("look at %s: %w", a.Path, err)
	}
	out = rpc.Looked{Rows: m.Rows, Cols: m.Cols}
	for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
		if err != nil {
			return out, err
		}
		b, _ = b.Cast(matrix.F64)
		values, _ := b.Data.Values().([]float64)
		for _, v := range values {
			if v != 0 {
				out.Values++
			}
		}
	}
	return out, nil
}
