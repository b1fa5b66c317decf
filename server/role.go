package server

import (
	"context"
	"fmt"

	"thole.example/rpc"
)

// Role is what a server is in its cluster, such as the second of three, until another takes its place: package coord has who it is. Its
// methods are called by many goroutines; Check, Epoch and Resign must not block.
type Role interface {
	// Check is why the server may not answer now, nil if it may. It is asked before each request is served and before each answer is sent.
	Check() error
	// Epoch is how often the role has changed hands, 0 while the server does not have it.
	Epoch() uint64
	// Copied says where the role is kept that this server's log has everything that was acknowledged, and so have the standbys of these
	// claims, and no others. It waits until that is written. An error says nothing of it, unless it is rpc.ErrAborted: the role is lost.
	Copied(ctx context.Context, claims []string) error
	// Resign gives the role up for a reason: Check fails from its return on, and a standby that Copied has named may take the role over. It
	// may be called more than once.
	Resign(why error)
}

// inRole says why a request may not be served, and has its answer checked, if the server has a role. A Follow says itself what it accepts.
func (s *Server) inRole(m *member, op *operation, x *rpc.Exchange) error {
	if s.Role == nil || x.Op == rpc.OpFollow {
		return nil
	}
	if is, err := s.fromCopy(m, op, x); is {
		return err
	}
	x.Checked(s.Role)
	return s.fenced()
}

// fenced says why nothing may be done now.
func (s *Server) fenced() error {
	if s.Role == nil {
		return nil
	}
	return s.Role.Check()
}

// otherRole says why the server is not the one that a task looks for: it has found the role of another at this address. Who looks again
// finds whoever is there now.
func (s *Server) otherRole(a *rpc.Join) error {
	var have uint64
	if s.Role != nil {
		have = s.Role.Epoch()
	}
	if a.Role == 0 || a.Role == have {
		return nil
	}
	text := "has no role"
	if have > 0 {
		text = fmt.Sprintf("has its role under epoch %d", have)
	}
	return fmt.Errorf("task %d of job %q looks for a server under epoch %d, and this one %s: %w", a.Task, a.Job, a.Role, text, rpc.ErrAborted)
}
