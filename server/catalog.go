package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"thole.example/format"
	"thole.example/rpc"
	"thole.example/state"
)

// catalogOp is an operation on the checkpoints of a folder.
func (m *member) catalogOp(x *rpc.Exchange, run func(ctx context.Context, a *rpc.Catalog, all []state.Entry) (*rpc.Response, error)) {
	var a rpc.Catalog
	if err := json.Unmarshal(x.Arg, &a); err != nil || a.Path == "" {
		m.refuse(x, fmt.Errorf("%v: want the folder of checkpoints: %w", x.Op, rpc.ErrMalformed))
		return
	}
	m.background(x, func(ctx context.Context) (*rpc.Response, error) {
		if a.Claim {
			if err := m.job.server.claimFolder(ctx, m.job, a.Path); err != nil {
				return nil, err
			}
		}
		all, err := state.List(ctx, m.job.bucket(), a.Path)
		if err != nil {
			return nil, err
		}
		return run(ctx, &a, all)
	})
}

// catalog lists the checkpoints of a folder, also for somebody who has joined no job yet or follows one: these see what their token is for.
func (s *Server) catalog(m *member, x *rpc.Exchange) {
	if m != nil && !m.reads {
		m.catalogOp(x, func(_ context.Context, a *rpc.Catalog, all []state.Entry) (*rpc.Response, error) {
			return catalogue(a, all)
		})
		return
	}
	var a rpc.Catalog
	if err := json.Unmarshal(x.Arg, &a); err != nil || a.Path == "" {
		x.Fail(fmt.Errorf("%v: want the folder of checkpoints: %w", x.Op, rpc.ErrMalformed))
		return
	}
	go x.Guard(s.logger(), func() {
		all, err := state.List(x.Context(), s.bucketOf(x.From.Grant.Terms), a.Path)
		var r *rpc.Response
		if err == nil {
			r, err = catalogue(&a, all)
		}
		if err != nil {
			x.Fail(err)
			return
		}
		x.Answer(r)
	})
}

// catalogue is the answer that lists checkpoints.
func catalogue(a *rpc.Catalog, all []state.Entry) (*rpc.Response, error) {
	out := make([]rpc.Kept, len(all))
	for i := range all {
		var err error
		if out[i], err = kept(&all[i]); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(out)
	if err == nil && len(text) > rpc.CatalogLimit {
		err = fmt.Errorf("folder %q has %d checkpoints, the list of which takes %s, want at most %s: %w (remove some)",
			a.Path, len(all), format.Bytes(int64(len(text))), format.Bytes(rpc.CatalogLimit), rpc.ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	return &rpc.Response{Results: []rpc.Result{{Data: text}}}, nil
}

// kept is what is told of a checkpoint.
func kept(e *state.Entry) (out rpc.Kept, err error) {
	out = rpc.Kept{Name: e.Name, Path: e.Path, Bytes: e.Bytes}
	if e.Err != nil {
		out.Err = e.Err.Error()
		return out, nil
	}
	out.ID, out.Base, out.Clock, out.Bound = e.Head.ID, basePath(e), e.Head.Clock, e.Head.Bound
	out.Plan = e.Head.Plan
	if !e.Head.Moment.IsZero() {
		out.Moment, err = json.Marshal(e.Head.Moment)
	}
	return out, err
}

// basePath is the path of the checkpoint that an increment is based on.
func basePath(e *state.Entry) string {
	if e.Head == nil {
		return ""
	}
	return e.Head.Base.Path
}

// prune removes checkpoints of a folder, all that are named or none. What others are based on goes after them: wherever that ends,
// what is left is whole.
func (s *Server) prune(m *member, x *rpc.Exchange) {
	m.catalogOp(x, func(ctx context.Context, a *rpc.Catalog, all []state.Entry) (*rpc.Response, error) {
		order, err := removable(a, all)
		for i := 0; i < len(order) && err == nil; i++ {
			err = m.job.bucket().Remove(ctx, order[i])
		}
		return nil, err
	})
}

// removable is the paths of the checkpoints to be removed, in the order in which they go, or why one of them has to stay.
func removable(a *rpc.Catalog, all []state.Entry) (order []string, err error) {
	left := map[string]*state.Entry{} // to be removed, by path
	for _, name := range a.Names {
		i := slices.IndexFunc(all, func(e state.Entry) bool { return e.Name == name })
		switch {
		case strings.Contains(name, "/") || i < 0:
			return nil, fmt.Errorf("folder %q has no checkpoint %.80q: %w", a.Path, name, rpc.ErrNotFound)
		case all[i].Err != nil:
			return nil, fmt.Errorf("checkpoint %q cannot be read, and is left: %w: %w", all[i].Path, all[i].Err, rpc.ErrRefused)
		}
		left[all[i].Path] = &all[i]
	}
	children := map[string]int{}
	for i := range all {
		base := basePath(&all[i])
		if children[base]++; left[base] != nil && left[all[i].Path] == nil {
			return nil, fmt.Errorf("checkpoint %q is what %q is based on: %w (remove both, or neither)", base, all[i].Path, rpc.ErrRefused)
		}
	}
	for len(left) > 0 {
		before := len(order)
		for i := range all {
			path := all[i].Path
			if left[path] != nil && children[path] == 0 {
				delete(left, path)
				children[basePath(&all[i])]--
				order = append(order, path)
			}
		}
		if len(order) == before {
			return nil, fmt.Errorf("folder %q: %d checkpoints are based on each other in a circle: %w", a.Path, len(left), rpc.ErrRefused)
		}
	}
	return order, nil
}
