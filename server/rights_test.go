package server

import (
	"testing"

	"thole.example/access"
	"thole.example/rpc"
)

// Every operation has a name, a right, a subject and something that serves it: one that is added to package rpc fails here until it has.
func TestEveryOperationIsInTheTable(t *testing.T) {
	for i := range rpc.Ops {
		op, row := rpc.Op(i), operationOf(rpc.Op(i))
		switch {
		case op.String() == "":
			t.Errorf("operation %d has no name", i)
		case row.needs == 0 || row.serve == nil:
			t.Errorf("%v is not in the table of operations", op)
		case (row.of == ofNothing) != (op == rpc.OpInvalid):
			t.Errorf("%v is about nothing", op)
		}
	}
	if operationOf(rpc.Op(rpc.Ops)) != operationOf(rpc.OpInvalid) || operationOf(rpc.OpInvalid).needs != everyRight {
		t.Error("an unknown operation does not need every right")
	}
}

// The requests of a token count together, whatever the connection, and so do those of a job, whatever the token.
func TestPace(t *testing.T) {
	s := &Server{}
	secret := access.NewSecret()
	table := access.NewTable([]access.Token{{Name: "a", Key: secret.Key(), Limits: access.Limits{Requests: 1}}})
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
