package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/rpc"
)

// target is a path that a job has tried to save to, and will.
type target struct {
	of   *job
	over blob.State // what was there when it was tried, or was saved there since: it may be replaced
	// committing says that a save is being made visible there: if the server ends meanwhile, whatever is there then is taken for the job's.
	committing bool
}

// loggedTarget is one in a log.
type loggedTarget struct {
	Path string     `json:"path"`
	Over blob.State `json:"over"`
}

// setTarget makes the path the job's to save to, as long as it lasts. It is refused if another job saves there.
func (s *Server) setTarget(j *job, path string, over blob.State) error {
	err := s.takeTarget(j, path, over)
	if err == nil {
		j.log.json(recordTarget, loggedTarget{path, over})
	}
	return err
}

// committing says, in the job's log too, that a save is being made visible at a path; ended says that this is over, and what came of it is
// not known, or has been set.
func (s *Server) committing(ctx context.Context, j *job, path string) (ended func(), err error) {
	if j.log == nil {
		return func() {}, nil
	}
	before := s.mayReplace(j, path, true)
	j.log.json(recordTarget, loggedTarget{path, blob.Anything})
	return func() {
		if s.mayReplace(j, path, false) == before {
			j.log.json(recordTarget, loggedTarget{path, before})
		}
	}, j.log.sync(ctx)
}

// mayReplace is what the job may replace at a path, and notes whether it is being replaced.
func (s *Server) mayReplace(j *job, path string, committing bool) blob.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.targets[path]
	if !ok || t.of != j {
		return blob.Nothing
	}
	t.committing = committing
	s.targets[path] = t
	return t.over
}

// targetsOf are the job's, as its log has them.
func (s *Server) targetsOf(j *job) (all []loggedTarget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, t := range s.targets {
		if t.of == j && t.committing {
			all = append(all, loggedTarget{path, blob.Anything})
		} else if t.of == j {
			all = append(all, loggedTarget{path, t.over})
		}
	}
	slices.SortFunc(all, func(a, b loggedTarget) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// takeTarget is setTarget without the log.
func (s *Server) takeTarget(j *job, path string, over blob.State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.targets[path]; ok && t.of != j {
		return fmt.Errorf("%s: %s will save there: %w", path, j.called(t.of), rpc.ErrExists)
	}
	if j.ctx.Err() != nil {
		return nil // nobody would give it back
	}
	if s.targets == nil {
		s.targets = map[string]target{}
	}
	s.targets[path] = target{of: j, over: over}
	return nil
}

// over is what a save of the job may replace at the path: what was there when it was tried; without a rehearsal nothing, or
// whatever is there if the save says so.
func (s *Server) over(j *job, a *rpc.Save) blob.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.targets[a.Path]; ok && t.of == j {
		return t.over
	}
	if a.Replace {
		return blob.Anything
	}
	return blob.Nothing
}
