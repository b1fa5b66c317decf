package server

import (
	"fmt"
	"math"
	"time"

	"thole.example/access"
	"thole.example/blob"
	"thole.example/rpc"
	"thole.example/ssp"
)

// subject is what an operation is about, and so where the server checks whether the connection's token is for it.
type subject uint8

const (
	ofNothing subject = iota
	ofTask            // the job that the connection has joined or follows
	ofNamed           // the job that its argument names: Server.jobNamed checks it
	ofStore           // paths of the store, of the connection's job or, without one, of its token
	ofServer          // all jobs, with all that they have
)

// operation is a row of the table of operations.
type operation struct {
	needs  access.Right
	of     subject
	reader bool // also over a connection that follows its job
	works  bool // it takes time of a processor, and waits for its job's turn
	serve  func(s *Server, m *member, x *rpc.Exchange)
}

// operations is the table of all operations: what each needs, what it is about, and what serves it. serve gets the member of the
// connection, which is nil unless the operation is of a task.
func operations() [rpc.Ops]operation {
	return [rpc.Ops]operation{
		rpc.OpInvalid: {needs: everyRight, serve: (*Server).unknown},
		rpc.OpJoin:    {access.Write, ofNamed, false, false, (*Server).join}, // a task takes part in the clocks of all
		rpc.OpFollow:  {access.Read, ofNamed, true, false, (*Server).follow},
		rpc.OpMove:    {access.Write, ofNamed, true, false, (*Server).order},
		rpc.OpCopy:    {everyRight, ofServer, false, false, (*Server).copyLogs},
		rpc.OpLeave:   {access.Write, ofTask, false, false, (*Server).leave},
		rpc.OpQuit:    {access.Write, ofTask, false, false, (*Server).quit},
		rpc.OpMembers: {access.Read, ofTask, false, false, (*Server).members},
		rpc.OpCreate:  {access.Write, ofTask, false, false, (*Server).create},
		rpc.OpPull:    {access.Read, ofTask, true, true, (*Server).pull},
		rpc.OpPush:    {access.Write, ofTask, false, true, (*Server).push},
		rpc.OpBarrier: {access.Read, ofTask, false, false, (*Server).barrier},
		rpc.OpGet:     {access.Read, ofTask, true, true, (*Server).get},
		rpc.OpUpdate:  {access.Write, ofTask, true, true, (*Server).update},
		rpc.OpSave:    {access.Write, ofTask, false, false, (*Server).save},
		rpc.OpCommit:  {access.Write, ofTask, false, false, (*Server).commit},
		rpc.OpAbort:   {access.Write, ofTask, false, false, (*Server).abort},
		rpc.OpLoad:    {access.Write, ofTask, false, false, (*Server).load},
		rpc.OpLook:    {access.Write, ofTask, false, false, (*Server).look},  // of a stored model, for loading it
		rpc.OpDefine:  {access.Write, ofTask, true, false, (*Server).define}, // it runs here
		rpc.OpDirect:  {access.Write, ofTask, false, true, (*Server).direct},
		rpc.OpCatalog: {access.Read, ofStore, true, false, (*Server).catalog},
		rpc.OpPrune:   {access.Write, ofTask, false, false, (*Server).prune},
		rpc.OpAwait:   {access.Write, ofTask, false, false, (*Server).await},
		rpc.OpMoving:  {access.Write, ofTask, false, false, (*Server).moving},
	}
}

const everyRight = access.Read | access.Write | access.Administer

// ops is that table.
var ops = operations()

// operationOf is the row of an operation; one that is not known is served as OpInvalid.
func operationOf(op rpc.Op) *operation {
	if op >= rpc.Op(rpc.Ops) {
		op = rpc.OpInvalid
	}
	return &ops[op]
}

// unknown answers an operation that there is not.
func (s *Server) unknown(_ *member, x *rpc.Exchange) {
	x.Fail(fmt.Errorf("operation %d: %w", x.Op, rpc.ErrMalformed))
}

// allowed refuses what the connection's token has no right to, before anything is looked at: the refusal says nothing about what is
// there.
func (o *operation) allowed(m *member, x *rpc.Exchange) error {
	grant := x.From.Grant
	if grant == nil {
		return nil
	}
	need := o.needs
	for i := range x.Parts {
		if p := &x.Parts[i]; p.Values != nil || p.Make { // whatever the operation, it brings something
			need |= access.Write
		}
	}
	err := grant.Check(need)
	if err == nil && m != nil {
		err = m.inScope(grant)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", rpc.ErrRefused, err)
	}
	return nil
}

// inScope returns a *access.ScopeError if the list of tokens has changed and the member's job is not the token's any more.
func (m *member) inScope(grant *access.Grant) error {
	terms := grant.Terms()
	if terms == m.terms.Load() {
		return nil
	}
	if err := terms.CheckJob(m.job.full); err != nil {
		return err
	}
	m.terms.Store(terms)
	return nil
}

// jobNamed is the job that the other side of a connection means by a name, which need not exist. The error says nothing about whether it
// does.
func (s *Server) jobNamed(x *rpc.Exchange, name string) (access.JobName, error) {
	if x.From.Grant != nil && s.Tokens == nil { // jobs would have no owners whose stores and limits count
		return access.JobName{}, fmt.Errorf("the server does not have the tokens of its network: %w", rpc.ErrInternal)
	}
	terms := x.From.Grant.Terms()
	full := terms.Job(name)
	if err := terms.CheckJob(full); err != nil {
		return full, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
	}
	return full, nil
}

// find is the job that the other side of a connection means by a name. To a token that is not for it it does not exist.
func (s *Server) find(x *rpc.Exchange, name string) (*job, bool) {
	full, err := s.jobNamed(x, name)
	if err != nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[full]
	return j, j != nil
}

// called is what a job is called in an error of this one: jobs of another owner are not named.
func (j *job) called(other *job) string {
	if other.owner != j.owner {
		return "another job"
	}
	return fmt.Sprintf("job %q", other.name)
}

// bucketOf is the store as the terms of a token allow it.
func (s *Server) bucketOf(terms func() *access.Terms) blob.Bucket {
	if terms() == nil {
		return s.Bucket
	}
	return blob.Guard(s.Bucket, func(name string, write bool) error {
		if err := terms().CheckPath(name, write); err != nil {
			return fmt.Errorf("%w: %w", rpc.ErrRefused, err)
		}
		return nil
	})
}

// bucket is the store as the job may use it. What a log says was allowed when it was done.
func (j *job) bucket() blob.Bucket {
	if j.log.replaying() {
		return j.server.Bucket
	}
	return j.server.bucketOf(j.owner.Terms)
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

// Accounts implements rpc.Accountant: requests and answers count for the token, and for the job that the connection has joined or follows.
func (s *Server) Accounts(from *rpc.Peer) [2]*access.Account {
	all := [2]*access.Account{nil, from.Grant.Account()}
	if m := memberOf(from); m != nil {
		all[0] = m.job.account
	}
	return all
}

var _ rpc.Accountant = (*Server)(nil)

// accounts are whom memory is counted for: a job, and its owner.
type accounts []*access.Account

func accountsOf(j *job) (all accounts) {
	for _, a := range []*access.Account{j.account, j.owner.Account()} {
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

// count counts updates until they are applied, if the accounts have room for them.
func (j *job) count(deltas []ssp.Delta[*delta]) error {
	if len(j.accounts) == 0 {
		return nil
	}
	n := int64(0)
	for _, d := range deltas {
		n += d.Data.bytes()
	}
	if n > j.accounts.left() && !j.log.replaying() { // what was accepted is
		return j.accounts.full()
	}
	for _, d := range deltas {
		d.Data.counted = d.Data.bytes()
	}
	j.accounts.add(n, 0)
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

// full is the error of a request for more than is left.
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
func (s *store) left() int64 { return min(s.tablesLeft(), s.accounts.left()) }
