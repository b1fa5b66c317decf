package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"thole.example/access"
	"thole.example/blob"
	"thole.example/budget"
	"thole.example/format"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/state"
)

// CheckpointReplica makes a server one that serves the checkpoints of a training to readers (rpc.OpFollow), and changes nothing. It
// outlives the training, and needs none of its servers.
//
//   - The checkpoint is restored into a job without tasks by the code that restores a training. The clock of its matrices is the number of
//     steps that the training had made.
//   - A newer checkpoint is restored next to the one that is served, which takes memory for both, and replaces it in one step of the job's
//     mailbox: a request is answered from one of them alone. If the ledger has no room for both, the older one stays.
//   - A checkpoint that cannot be read is left out. Nothing is served that is older than what was served before, unless another training
//     has begun in the folder, or the matrices are others: then a new job begins, and readers have to follow that.
//   - Several servers share the matrices without knowing of each other. They may serve different checkpoints for some time, which
//     a reader sees in the clocks; ps.Client.Cut reads all of them at one clock.
//
// The exported fields are set before Server.ServeCheckpoints and not changed.
type CheckpointReplica struct {
	// Path is a folder of checkpoints within the server's Bucket, or one checkpoint.
	Path string
	// Job is what readers call the job. Without a Name it is called as the training was.
	Job access.JobName
	// Index is which one of Servers this server is, from 0 on, which share the matrices. Servers is at least 1.
	Index, Servers int
	// Refresh is how often the server looks for a newer checkpoint. 0: RefreshDefault.
	Refresh time.Duration

	// What follows is for the goroutine of ServeCheckpoints.
	job *job // that is served; nil: none yet
	bad map[checkpointIdentity]error

	mu     sync.Mutex
	status ReplicaStatus
	served checkpointIdentity // of status.Checkpoint
	run    string             // of the training that wrote it
}

// RefreshDefault is the default of CheckpointReplica.Refresh.
const RefreshDefault = 5 * time.Second

// ReplicaStatus is which checkpoint a server serves.
type ReplicaStatus struct {
	Path    string `json:"path"`
	Index   int    `json:"index"`
	Servers int    `json:"servers"`
	// Checkpoint is nil until one was loaded.
	Checkpoint *rpc.ServedCheckpoint `json:"checkpoint,omitempty"`
	Job        string                `json:"job,omitempty"` // what readers call it
	Loaded     time.Time             `json:"loaded,omitzero"`
	Seconds    float64               `json:"seconds,omitempty"` // that loading it took
	Loads      int64                 `json:"loads"`             // checkpoints that were loaded since the process began
	// Error is why a newer checkpoint is not served, or none; "": there is no newer one.
	Error string `json:"error,omitempty"`
}

// checkpointIdentity tells checkpoints apart, also at one path.
type checkpointIdentity struct {
	path, id string
	modified int64 // in nanoseconds, 0 if the bucket does not know it
}

func identityOf(e *state.Entry) checkpointIdentity {
	of := checkpointIdentity{path: e.Path}
	if !e.Modified.IsZero() {
		of.modified = e.Modified.UnixNano()
	}
	if e.Head != nil {
		of.id = e.Head.ID
	}
	return of
}

// ServeCheckpoints loads the newest checkpoint of Server.Replica and follows newer ones until ctx ends. It is called once, after the fields
// of the server are set; requests may come before.
func (s *Server) ServeCheckpoints(ctx context.Context) {
	r := s.Replica
	r.note(func(now *ReplicaStatus) { now.Error = "it is looking for the first one" })
	tick := time.NewTicker(cmp.Or(r.Refresh, RefreshDefault))
	defer tick.Stop()
	for said := ""; ; {
		text := ""
		if err := s.refreshReplica(ctx); err != nil {
			text = err.Error()
		}
		if ctx.Err() != nil {
			return
		}
		r.note(func(now *ReplicaStatus) { now.Error = text })
		if text != said && text != "" {
			s.logger().Warn("the newest checkpoint is not served", "path", r.Path, "err", text)
		}
		said = text
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ReplicaStatus is which checkpoint the server serves, nil if it serves none but has jobs of its own. Any goroutine may call it.
func (s *Server) ReplicaStatus() *ReplicaStatus {
	if s.Replica == nil {
		return nil
	}
	var out ReplicaStatus
	s.Replica.note(func(now *ReplicaStatus) { out = *now })
	return &out
}

// note changes the status, or reads it.
func (r *CheckpointReplica) note(what func(now *ReplicaStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Path, r.status.Index, r.status.Servers = r.Path, r.Index, r.Servers
	what(&r.status)
}

// missing is why the server has nothing to answer with, nil if it has a checkpoint, or needs none.
func (s *Server) missing() error {
	now := s.ReplicaStatus()
	if now == nil || now.Checkpoint != nil {
		return nil
	}
	return fmt.Errorf("this server serves checkpoints of %s, and has loaded none yet: %s", now.Path, now.Error)
}

// servesAnother is why a server of checkpoints does not have the job that a reader wants, nil if it serves none. Those with tokens do not
// hear of jobs that theirs may not be for.
func (s *Server) servesAnother(x *rpc.Exchange) error {
	err := s.missing()
	if now := s.ReplicaStatus(); err == nil && now != nil && x.From.Grant == nil {
		err = fmt.Errorf("this server serves checkpoints of job %q alone", now.Job)
	}
	return err
}

// ReplicaReady is why a server that serves checkpoints is not ready, nil if it is, or serves none. Any goroutine may call it.
func (s *Server) ReplicaReady() error { return s.missing() }

// servesOnly refuses what a server that serves checkpoints does not do.
func (s *Server) servesOnly(op *operation, x *rpc.Exchange) error {
	brings := func(p rpc.Part) bool { return p.Values != nil || p.Make }
	if s.Replica == nil || op.needs == access.Read && !slices.ContainsFunc(x.Parts, brings) {
		return nil
	}
	return fmt.Errorf("%v: this server serves checkpoints of %s to readers, and changes nothing: %w", x.Op, s.Replica.Path, rpc.ErrRefused)
}

// refreshReplica loads the newest checkpoint that can be read, if it is newer than the one that is served. The error is why one that is
// newer than what is served then is not.
func (s *Server) refreshReplica(ctx context.Context) (first error) {
	r := s.Replica
	all, err := r.list(ctx, s.Bucket)
	if err != nil {
		return err
	}
	known := r.bad
	r.bad = map[checkpointIdentity]error{}
	for i := range slices.Backward(all) {
		e := &all[i]
		of := identityOf(e)
		if e.Err == nil && !r.newer(e) {
			break
		}
		err := cmp.Or(e.Err, known[of])
		if err == nil {
			if err = s.serveCheckpoint(ctx, e); err == nil {
				break
			}
			err = fmt.Errorf("%s: %w", e.Path, err)
		}
		first = cmp.Or(first, err)
		switch {
		case ctx.Err() != nil:
			return first
		case damagedCheckpoint(err):
			r.bad[of] = err
		case !errors.Is(err, fs.ErrNotExist): // it may be read later: an older one is no use
			return first
		}
	}
	if len(all) == 0 && r.job == nil {
		return fmt.Errorf("no checkpoint in %s: %w", r.Path, rpc.ErrNotFound)
	}
	return first
}

// list is the checkpoints in the folder, by their steps, or the one at the path.
func (r *CheckpointReplica) list(ctx context.Context, b blob.Bucket) ([]state.Entry, error) {
	all, err := state.List(ctx, b, r.Path)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e state.Entry) bool { return !e.Stepped() })
	if len(all) > 0 {
		return all, nil
	}
	one, err := state.At(ctx, b, r.Path)
	if err != nil || errors.Is(one.Err, fs.ErrNotExist) {
		return nil, err
	}
	return []state.Entry{one}, nil
}

// newer reports whether a checkpoint is to be served in place of the one that is: of the same training one of no fewer steps, of another
// training one that was written no earlier.
func (r *CheckpointReplica) newer(e *state.Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.Checkpoint == nil {
		return true
	}
	now := r.status.Checkpoint
	if e.Head.Moment.Run != r.run {
		return !e.Modified.Before(now.Modified)
	}
	return identityOf(e) != r.served && stepOf(e) >= now.Step
}

// damagedCheckpoint reports whether reading it again is no use.
func damagedCheckpoint(err error) bool {
	return errors.Is(err, format.ErrCorrupt) || errors.Is(err, state.ErrBase)
}

// stepOf is the number of steps that a training had made, as the name of its checkpoint says, or the clock of one with another name.
func stepOf(e *state.Entry) int {
	if n, err := strconv.Atoi(e.Name); err == nil && e.Stepped() {
		return min(n, ssp.Finished-1)
	}
	return min(e.Head.Clock, ssp.Finished-1)
}

// serveCheckpoint loads a checkpoint and serves it from then on. After an error what was served before still is.
func (s *Server) serveCheckpoint(ctx context.Context, e *state.Entry) (err error) {
	defer s.recovered(&err)
	r, began := s.Replica, time.Now()
	j := r.job
	if j == nil || !s.continues(j, e) {
		if j, err = s.newReplicaJob(e); err != nil {
			return err
		}
	}
	now := &rpc.ServedCheckpoint{Path: e.Path, ID: e.Head.ID, Step: stepOf(e), Modified: e.Modified}
	jump := func() { j.served.Store(now); step{j: j, e: ssp.Jump{Clock: now.Step}}.do() }
	if _, err := s.restoreFrom(ctx, j, (*j.stores.Load())[1:], s.Bucket, e.Path, swapping{after: jump}); err != nil {
		if j != r.job {
			j.endServing(err)
		}
		return err
	}
	if before := r.job; j != before {
		s.mu.Lock()
		s.addJob(j)
		s.mu.Unlock()
		if r.job = j; before != nil {
			before.endServing(fmt.Errorf("%s has checkpoints of another training, or of other matrices: %w", r.Path, rpc.ErrAborted))
		}
	}
	r.note(func(status *ReplicaStatus) {
		status.Checkpoint, status.Job, status.Loaded = now, j.full.String(), time.Now()
		status.Seconds = time.Since(began).Seconds()
		status.Loads++
		r.served, r.run = identityOf(e), e.Head.Moment.Run
	})
	s.logger().Info("serves a checkpoint", "job", j.full.String(), "path", e.Path, "step", now.Step,
		"loaded in", time.Since(began).Round(time.Millisecond))
	return nil
}

// continues reports whether a checkpoint is of the training and the matrices of the job that is served, and no earlier.
func (s *Server) continues(j *job, e *state.Entry) bool {
	r := s.Replica
	if e.Head.Moment.Run != r.run || stepOf(e) < r.status.Checkpoint.Step || len(e.Head.Matrices) != len(*j.stores.Load())-1 {
		return false
	}
	for i := range e.Head.Matrices {
		st, err := s.newReplicaStore(j, e.Head, i)
		if err != nil || int(st.number) != i+1 {
			return false
		}
	}
	return true
}

// newReplicaStore is a matrix of a checkpoint, without values, or the one that is there already if it is the same.
func (s *Server) newReplicaStore(j *job, of *state.Checkpoint, i int) (*store, error) {
	m := &of.Matrices[i]
	a := rpc.Create{Servers: s.Replica.Servers, Index: s.Replica.Index}
	if err := checkCreate(&a); err != nil {
		return nil, err
	}
	return s.newStore(j, &a, &rpc.Spec{Meta: m.Meta, Partitioner: m.Partitioner, Bound: m.Bound, NonFinite: m.NonFinite})
}

// newReplicaJob is a job without tasks, with the matrices of a checkpoint and not its values. No reader finds it yet.
func (s *Server) newReplicaJob(e *state.Entry) (j *job, err error) {
	full := s.Replica.Job
	full.Name = cmp.Or(full.Name, e.Head.Job)
	s.mu.Lock()
	j = s.makeJob(full, nil)
	s.mu.Unlock()
	defer func() {
		if err != nil {
			j.cancel(err)
		}
	}()
	core := ssp.State[*delta]{Name: full.Name, Tasks: 1, Bound: e.Head.Bound, Members: []ssp.MemberState{{Status: ssp.Left}}}
	series := func(m ssp.Matrix) {
		core.Matrices = append(core.Matrices, ssp.MatrixState[*delta]{Matrix: m, Clocks: []int{stepOf(e)}})
	}
	series(ssp.Matrix{Bound: core.Bound})
	all := []*store{nil}
	for i := range e.Head.Matrices {
		st, err := s.newReplicaStore(j, e.Head, i)
		if err != nil {
			return nil, err
		}
		st.number, st.accounts = uint32(i+1), j.accounts
		m := ssp.Matrix{ID: i + 1, Name: st.meta.Name, Own: st.own, Bound: core.Bound, Rule: st.rule != nil}
		if st.own {
			m.Bound = st.bound
		}
		series(m)
		all = append(all, st)
	}
	made, err := ssp.FromState[*delta, *request](core, s.now())
	if err != nil {
		return nil, err
	}
	about, err := s.hold(budget.Metadata, sizeOfJob(&rpc.Join{Job: full.Name, Tasks: 1}), j.accounts)
	if err != nil {
		return nil, err
	}
	if err := s.takeTables(all[1:]); err != nil {
		about.release()
		return nil, err
	}
	j.about = about
	j.submit(deed(func() {
		j.core, j.bound = made, core.Bound
		j.slowest.Store(int32(stepOf(e)))
		j.install(all, all[1:])
	}))
	return j, nil
}

// endServing ends a job without tasks: readers hear why.
func (j *job) endServing(why error) {
	j.post(ssp.Abort{Err: fmt.Errorf("job %q: %w", j.name, why)}, nil)
	j.submit(deed(func() {
		if !j.ended {
			j.effect(ssp.End{})
		}
	}))
}
