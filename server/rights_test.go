package server

import (
	"testing"

	"thole.example/access"
	"thole.example/rpc"
)

// Every operation that is served stands in the table of rights.
func TestEveryOperationNeedsARight(t *testing.T) {
	for op := range ops {
		if needs[op] == 0 {
			t.Errorf("%v needs no right", op)
		}
	}
	if len(needs) != len(ops)+4 { // join, follow, move and copy are served apart
		t.Errorf("%d operations in the table of rights, %d are served", len(needs), len(ops)+4)
	}
}

// The requests of a token count together, whatever the connection, and so do those of a job, whatever the token.
func TestPace(t *testing.T) {
	s := &Server{}
	secret := access.NewSecret()
	table := access.NewTable([]access.Token{{Name: "a", Hash: secret.Hash(), Limits: access.Limits{Requests: 1}}})
	slow := table.Holder(secret)
	one, two, other := &rpc.Peer{Grant: slow}, &rpc.Peer{Grant: slow}, &rpc.Peer{}
	if s.Pace(one) > 0 {
		s.Pace(one) // the first second of a server has no burst
	}
	if s.Pace(two) == 0 || s.Pace(one) == 0 {
		t.Error("more than the limit of the token are served at once")
	}
	if wait := s.Pace(other); wait != 0 {
		t.Errorf("without a token a request waits for %v", wait)
	}
	j := &job{account: access.NewAccount("job", access.Limits{Requests: 1})}
	for _, p := range []*rpc.Peer{one, other} {
		at := &seat{}
		at.member.Store(&member{job: j})
		p.State = at
	}
	s.Pace(other)
	if s.Pace(other) == 0 {
		t.Error("more than the limit of the job are served at once")
	}
}
