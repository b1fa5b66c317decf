package server

import (
	"fmt"
	"math"
	"time"

	"thole.example/access"
	"thole.example/rpc"
)

// needs is the table of what each operation needs, beside that of who serves it.
var needs = map[rpc.Op]access.Right{
	rpc.OpJoin:    access.Write, // a task takes part in the clocks of all
	rpc.OpLeave:   access.Write,
	rpc.OpQuit:    access.Write,
	rpc.OpMembers: access.Read,
	rpc.OpCreate:  access.Write,
	rpc.OpPull:    access.Read,
	rpc.OpPush:    access.Write,
	rpc.OpBarrier: access.Read,
	rpc.OpGet:     access.Read,
	rpc.OpUpdate:  access.Write,
	rpc.OpSave:    access.Write,
	rpc.OpCommit:  access.Write,
	rpc.OpAbort:   access.Write,
	rpc.OpLoad:    access.Write,
	rpc.OpFollow:  access.Read,
	rpc.OpLook:    access.Write, // of a stored model, for loading it
	rpc.OpDefine:  access.Write, // it runs here
	rpc.OpDirect:  access.Write,
	rpc.OpCatalog: access.Read,
	rpc.OpPrune:   access.Write,
	rpc.OpMove:    access.Write,
	rpc.OpAwait:   access.Write,
	rpc.OpMoving:  access.Write,
	rpc.OpCopy:    access.Read | access.Write | access.Administer, // all jobs, with all that they have
}

// allowed refuses what the connection's token has no right to, before anything is looked at: what is refused so tells nothing of
// what there is. What stands in no table needs every right.
func allowed(x *rpc.Exchange) error {
	if x.From.Grant == nil {
		return nil
	}
	need, ok := needs[x.Op]
	if !ok {
		need = access.Read | access.Write | access.Administer
	}
	for i := range x.Parts {
		if p := &x.Parts[i]; p.Values != nil || p.Make { // whatever the operation, it brings something
			need |= access.Write
		}
	}
	if err := x.From.Grant.Check(need); err != nil {
		return fmt.Errorf("%w: %w", rpc.ErrRefused, err)
	}
	return nil
}

// Pace implements rpc.Pacer: no more requests are served than the limits of the token and of the job allow.
func (s *Server) Pace(from *rpc.Peer) time.Duration {
	token, job := from.Grant.Account(), (*access.Account)(nil)
	if m := memberOf(from); m != nil {
		job = m.job.account
	}
	if token.Limits().Requests == 0 && job.Limits().Requests == 0 {
		return 0
	}
	now := s.now()
	return max(token.Pace(now), job.Pace(now))
}

var _ rpc.Pacer = (*Server)(nil)

// accounts are whom a matrix is counted for: its job, and the token that had it made.
type accounts []*access.Account

func accountsOf(j *job, x *rpc.Exchange) (all accounts) {
	for _, a := range []*access.Account{j.account, x.From.Grant.Account()} {
		if a != nil {
			all = append(all, a)
		}
	}
	return all
}

// take counts what a new matrix takes in all accounts, or in none if one has no room.
func (all accounts) take(bytes, partitions int64) error {
	for i, a := range all {
		if err := a.Take(bytes, partitions); err != nil {
			all[:i].add(-bytes, -partitions)
			return fmt.Errorf("%w: %w", rpc.ErrRefused, err)
		}
	}
	return nil
}

// add counts what is there, or is no more.
func (all accounts) add(bytes, partitions int64) {
	for _, a := range all {
		a.Add(bytes, partitions)
	}
}

// left is how many bytes all accounts have room for.
func (all accounts) left() int64 {
	left := int64(math.MaxInt64)
	for _, a := range all {
		left = min(left, a.Left())
	}
	return left
}

// full is the error of whoever wants more than is left.
func (all accounts) full() error {
	least := all[0]
	for _, a := range all {
		if a.Left() < least.Left() {
			least = a
		}
	}
	return fmt.Errorf("%w: %w", rpc.ErrRefused, least.Full())
}

// here is how many partitions of the matrix this server has.
func (s *store) here() int64 { return int64(len(s.owned)) }

// bounded reports whether anything bounds what the matrix takes.
func (s *store) bounded() bool { return s.job.server.Ledger != nil || len(s.accounts) > 0 }

// left is how many bytes more the matrix may take.
func (s *store) left() int64 { return min(s.job.server.tablesLeft(), s.accounts.left()) }
