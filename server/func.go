package server

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/ssp"
)

// beside is a function on its way through the partitions of matrices.
type beside struct {
	j       *job
	x       *rpc.Exchange
	results []rpc.Result
	left    atomic.Int32
	err     atomic.Pointer[error]
	done    func(results []rpc.Result, err error)
	atomic  bool         // it runs when all its partitions here stand still
	waiting atomic.Int32 // partitions that do not yet
	visits  []*visit
	size    atomic.Int64 // of the results so far
	// concurrent says that it runs on marks of the partitions; marked is closed when all have been taken.
	concurrent bool
	marked     chan struct{}
}

// resultsLimit is how many bytes the partitions of a server may answer a function with.
const resultsLimit = 256 << 20

// visit is one partition's turn.
type visit struct {
	b      *beside
	at     *partition
	call   *psf.Call
	result *rpc.Result
	shot   snapshot // of a concurrent function
}

// newBeside is the function for every partition here of the matrices that the request names, as far as it has to do with
// their rows.
func (j *job) newBeside(x *rpc.Exchange, update bool) (*beside, []*visit, error) {
	b := &beside{j: j, x: x}
	var visits []*visit
	for i, p := range x.Parts {
		s, err := j.store(p.Matrix)
		if again := func(q rpc.Part) bool { return q.Matrix == p.Matrix }; err == nil && slices.ContainsFunc(x.Parts[:i], again) {
			err = fmt.Errorf("matrix %q comes twice in a request for %s: %w", s.meta.Name, x.Func, rpc.ErrMalformed)
		}
		if err != nil {
			return nil, nil, err
		}
		call, err := s.bind(x.Func, x.Arg, update)
		if err == nil && update && !j.log.replaying() {
			err = s.roomFor(call)
		}
		if err != nil {
			return nil, nil, err
		}
		first := len(visits)
		for _, at := range s.partitions {
			if at != nil && call.Touches(s.parts.At(at.id).Rows) {
				visits = append(visits, &visit{b: b, at: at, call: call, shot: snapshot{of: at}})
			}
		}
		b.concurrent = b.concurrent || call.Concurrent && !update
		b.atomic = b.atomic || call.Atomic || call.Check != nil && ofBands(visits[first:])
	}
	b.results = make([]rpc.Result, len(visits))
	for i, v := range visits {
		v.result = &b.results[i]
		*v.result = rpc.Result{Matrix: v.at.of.number, Partition: uint32(v.at.id)}
	}
	b.left.Store(int32(len(visits)) + 1)
	return b, visits, nil
}

// ofBands reports whether some of the partitions of a matrix have other rows than the first.
func ofBands(visits []*visit) bool {
	return slices.ContainsFunc(visits, func(v *visit) bool { return v.rows() != visits[0].rows() })
}

func (v *visit) rows() matrix.Range { return v.at.of.parts.At(v.at.id).Rows }

// bind is a call of a function of the matrix.
func (s *store) bind(name string, arg []byte, update bool) (*psf.Call, error) {
	funcs := s.job.functions.table(s.job.server)
	if _, err := funcs.Func(name); err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrNotFound, err)
	}
	call, err := funcs.Bind(name, arg, &s.meta)
	switch {
	case err != nil:
	case update && call.Merge != nil:
		err = fmt.Errorf("%s changes nothing: it is a get function", name)
	case !update && call.Merge == nil:
		err = fmt.Errorf("%s has no answer: it is an update function", name)
	default:
		err = call.Fits(s.parts.AllBands())
	}
	if err != nil {
		return nil, fmt.Errorf("matrix %q: %w: %w", s.meta.Name, rpc.ErrMalformed, err)
	}
	return call, nil
}

// start posts the visits. Partitions that nobody works on get goroutines of their own, for a function may take long: one each, or as
// many as the job may have next to others.
func (b *beside) start(visits []*visit) {
	b.visits = visits
	b.waiting.Store(int32(len(visits)))
	if b.concurrent {
		over := b.j.leaves()
		go func() { defer over(); b.concurrently(visits) }()
		return
	}
	b.post(visits)
	b.finish(nil)
}

func (b *beside) post(visits []*visit) {
	still := b.j.still.of(b.x.From).RLocker()
	if b.atomic {
		still = &b.j.still
	}
	still.Lock()
	defer still.Unlock()
	r := &runner{}
	for _, v := range visits {
		if v.at.post(v) {
			r.idle = append(r.idle, v.at)
		}
	}
	for range b.j.most(len(r.idle)) {
		over := b.j.leaves()
		go func() { defer over(); r.run() }()
	}
}

// do implements work.
func (v *visit) do() {
	switch {
	case v.b.atomic:
		v.at.park = true
	case v.b.concurrent:
		if v.take(); v.b.waiting.Add(-1) == 0 {
			close(v.b.marked)
		}
	default:
		v.b.finish(v.run())
	}
}

// parked implements parking: whoever comes last runs the function everywhere. Nobody is told before the partitions go on.
func (v *visit) parked() {
	if v.b.waiting.Add(-1) > 0 {
		return
	}
	b := v.b
	errs := b.together()
	for _, each := range b.visits {
		each.at.resume()
	}
	for _, err := range errs {
		b.finish(err)
	}
}

// together runs the function in all partitions, which stand still, or in none of them if one would refuse. Of a concurrent one it
// takes the marks.
func (b *beside) together() []error {
	if b.concurrent {
		for _, each := range b.visits {
			each.take()
		}
		close(b.marked)
		return nil
	}
	errs := make([]error, len(b.visits))
	refused := false
	for i, each := range b.visits {
		errs[i] = each.wrong(each.check())
		refused = refused || errs[i] != nil
	}
	for i, each := range b.visits {
		if !refused {
			errs[i] = each.run()
		}
	}
	return errs
}

func (v *visit) run() error {
	if v.at.shard == nil {
		return v.wrong(v.at.gone())
	}
	err := v.at.makeRoom(0) // that there is enough for new columns was seen before it began anywhere
	if err == nil {
		err = v.wrong(v.try(v.at.shard.View(v.at.id)))
	}
	v.at.recount()
	return err
}

// wrong is the error of a function, with its name.
func (v *visit) wrong(err error) error {
	_, full := errors.AsType[*budget.TooLarge](err)
	switch {
	case full: // for a module's memory
		err = fmt.Errorf("%s on matrix %q: %w: %w", v.b.x.Func, v.at.of.meta.Name, rpc.ErrRefused, err)
	case errors.Is(err, rpc.ErrInternal) || errors.Is(err, rpc.ErrAborted) || errors.Is(err, rpc.ErrTooLarge):
		err = fmt.Errorf("%s on matrix %q: %w", v.b.x.Func, v.at.of.meta.Name, err)
	case err != nil:
		err = fmt.Errorf("%s on matrix %q: %w: %w", v.b.x.Func, v.at.of.meta.Name, rpc.ErrMalformed, err)
	}
	return err
}

// check asks the function what it would refuse.
func (v *visit) check() (err error) {
	defer v.at.of.job.server.recovered(&err)
	if v.call.Check == nil || v.at.shard == nil {
		return nil
	}
	return v.call.Check(v.at.shard.View(v.at.id))
}

// try runs the function. One that panics is wrong, and no more.
func (v *visit) try(on psf.View) (err error) {
	defer v.at.of.job.server.recovered(&err)
	if v.b.size.Load() > resultsLimit { // of other partitions
		return nil
	}
	v.result.Data, err = v.call.Part(on)
	if n := v.b.size.Add(int64(len(v.result.Data))); err == nil && n > resultsLimit {
		v.result.Data = nil
		err = fmt.Errorf("the partitions of this server answer with more than %s, want less: %w", format.Bytes(resultsLimit), rpc.ErrTooLarge)
	}
	return err
}

func (b *beside) finish(err error) {
	if err != nil {
		b.err.CompareAndSwap(nil, &err)
	}
	if b.left.Add(-1) > 0 {
		return
	}
	if first := b.err.Load(); first != nil {
		b.done(nil, *first)
	} else {
		b.done(b.results, nil)
	}
}

// get runs a get function beside each partition of this server that it has to do with. It waits for no clock, but comes after
// the task's changes.
func (s *Server) get(m *member, x *rpc.Exchange) {
	j := m.job
	b, visits, err := j.newBeside(x, false)
	if err != nil || !m.joined.Load() || j.failed.Load() != nil {
		m.refuse(x, err)
		return
	}
	b.done = func(results []rpc.Result, err error) {
		a := answer{x: x, err: err}
		if err == nil {
			a.r = &rpc.Response{Clock: j.slowest.Load(), Results: results}
		}
		if !j.log.hold(&a) {
			a.send()
		}
	}
	switch {
	case m.inOrder():
		j.submit(deed(func() { b.start(visits) }))
		return
	case m.changes.Load() == 0:
		b.start(visits)
		return
	}
	q := &request{x: x, ready: func(ssp.Answer[*request]) { b.start(visits) }}
	j.post(ssp.Pull[*request]{Req: q, Conn: m.conn}, q)
}

// update runs an update function beside each partition of this server that it has to do with, at once under every protocol.
func (s *Server) update(m *member, x *rpc.Exchange) {
	if m.reads {
		s.updateOnce(m, x)
		return
	}
	j, q := m.job, m.change(x)
	e := ssp.Update[*request]{Req: q, Conn: m.conn, Seq: x.Seq}
	b, visits, err := j.newBeside(x, true)
	if err != nil {
		e.Err = err
		j.post(e, q)
		return
	}
	q.toLog(j)
	q.run = func(r ssp.Run[*request]) {
		b.done = func(_ []rpc.Result, err error) {
			j.ranBeside(r.Task, r.Seq, err)
			j.post(ssp.Ran{Task: r.Task, Seq: r.Seq, Err: err}, nil)
		}
		b.start(visits)
	}
	j.post(e, q)
}
