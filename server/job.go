package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/access"
	"thole.example/rpc"
	"thole.example/ssp"
)

// job is the shell around an ssp.Job: it turns requests into events, and effects into work for partitions and answers. Its
// mailbox steps the core; nothing that takes long is done there.
type job struct {
	name      string // within its owner's
	full      access.JobName
	owner     *access.Owner // nil: it has none
	server    *Server
	account   *access.Account // nil: it has no limits
	about     held            // of the job itself
	accounts  accounts        // what it holds counts in
	box       mailbox
	gate      gate                     // of its requests
	ownerGate *gate                    // of those of all jobs of its owner
	stores    atomic.Pointer[[]*store] // by number; 0 is none. Replaced, never changed
	slowest   atomic.Int32             // of the tasks' own clocks
	failed    atomic.Pointer[error]
	saves     saves
	tracked   tracked
	tidying   atomic.Bool // old checkpoints are being removed
	restores  restores
	functions functions
	stage     stage
	// still orders what goes to several partitions: held alone while an atomic function is posted, and shared while anything
	// else is, all partitions have what comes before it, and what comes after it, in the same order. Nothing waits meanwhile.
	still  stillness
	ctx    context.Context // ends with the job, or when it fails
	cancel context.CancelCauseFunc
	loads  sync.WaitGroup                       // that run
	gone   chan struct{}                        // closed when the job has ended and given everything back
	done   atomic.Bool                          // it has ended, and come to its end
	log    *jobLog                              // nil: what it does is not logged
	copy   atomic.Pointer[copyIn]               // it is a copy of another server's; nil: it is not, or not any more
	served atomic.Pointer[rpc.ServedCheckpoint] // whose values it has; nil: it has those of tasks

	// What follows is the mailbox's.
	core    *ssp.Job[*delta, *request]
	members map[int64]*member // by connection
	bound   ssp.Bound
	placement
	launch  int // of its tasks (rpc.Join)
	later   later
	timer   *time.Timer
	ended   bool
	updates int      // that run
	movedTo string   // path of the checkpoint from which the job goes on, on other servers or after somebody has ended
	moments []func() // to be done when the core's state is what the partitions were told, and no update runs
}

// later is what the steps of a job leave to be done outside of its mailbox.
type later struct {
	few     []*fold      // whose partitions are owned
	idle    []*partition // that must be run
	bytes   int64        // about how much there is to do in them
	answers []answer
	then    []func()
}

type answer struct {
	x   *rpc.Exchange
	r   *rpc.Response
	err error
}

// member is what a connection is for: a task of a job.
type member struct {
	job   *job
	task  int
	conn  int64                        // number of the connection
	terms atomic.Pointer[access.Terms] // of the connection's token, with which the job was found to be its own
	bound ssp.Bound                    // of the job
	reads bool                         // it is no task, and only reads
	// accepts is that it reads from the copy of a job, too; nil: it does not.
	accepts *replicaReader
	joined  atomic.Bool
	over    atomic.Bool // it was refused, or has left
	// dropped is that the others go on without it; it may come back.
	dropped atomic.Bool
	left    chan struct{} // closed then
	clock   atomic.Int32  // its own
	// changes is how many changes the core has not seen yet. While there are some, pulls go the same way, so that a task
	// sees what it pushed.
	changes atomic.Int32
}

// request is an exchange that the core of a job decides about.
type request struct {
	x      *rpc.Exchange
	deltas []ssp.Delta[*delta] // that it brings, until the core has taken them
	gather *gather             // what it reads, if anything
	// ready is called in the job's mailbox when the core answers, and run when the core says to make an update; they must not
	// wait. Without ready the answer is what gather reads, or the clock.
	ready  func(a ssp.Answer[*request])
	run    func(r ssp.Run[*request])
	anew   func()  // of a Join: brings it to its job once more, as this one has ended
	change *member // whose change it is
	done   bool
	// durable says that the answer waits for the log; record and memory are what that has of a change when it has its turn.
	durable bool
	record  *rpc.Request
	memory  *rpc.Buffer
	makes   bool        // what it reads makes columns
	stop    func() bool // no more watching whether the caller gives up
}

// step is an event that waits in the mailbox, and the request that it came with.
type step struct {
	j *job
	e ssp.Event
	q *request
}

// do implements work. A job whose core panics is wrong from then on, and fails.
func (s step) do() {
	j := s.j
	if err := j.server.try(s.step); err != nil {
		j.broken(s, err)
	}
	if _, ran := s.e.(ssp.Ran); ran {
		j.updates--
	}
	if s.q != nil && s.q.change != nil {
		s.q.change.changes.Add(-1)
		s.q.change.clock.Store(int32(j.core.ClockOf(s.q.change.task, 0)))
		s.q.change = nil
	}
	if s.q != nil && !s.q.done {
		s.q.stop = context.AfterFunc(s.q.x.Context(), func() { j.post(ssp.Cancel[*request]{Req: s.q}, nil) })
	}
	j.atMoment()
	j.alarm()
}

// atMoment does what waits for a moment at which no update runs.
func (j *job) atMoment() {
	if j.updates == 0 {
		for _, f := range j.moments {
			f()
		}
		j.moments = nil
	}
}

// updateOver says that an update has run.
func (j *job) updateOver() {
	j.updates--
	j.atMoment()
}

// step gives the core the event, and does what it says.
func (s step) step() {
	for _, e := range s.j.core.Step(s.j.server.now(), s.e) {
		s.j.effect(e)
	}
}

// do does work of the mailbox, which a panic must not leave without an owner.
func (j *job) do(w work) {
	if err := j.server.try(w.do); err != nil {
		j.broken(w, err)
	}
}

// broken answers whoever brought the work that panicked, if nobody has yet, and fails the job.
func (j *job) broken(w work, err error) {
	var q *request
	aborted := false
	switch w := w.(type) {
	case step:
		q = w.q
		_, aborted = w.e.(ssp.Abort)
	case *creation:
		q = w.q
	case arrival:
		q = w.q
	}
	if q != nil {
		q.end(false)
		j.answer(q, nil, err)
	}
	err = fmt.Errorf("job %q: %w", j.name, err)
	if !aborted {
		j.box.post(step{j: j, e: ssp.Abort{Err: err}})
		return
	}
	j.failed.Store(&err) // the core cannot even fail
	j.cancel(err)
}

// post gives the core an event, and does what follows from it unless somebody else is at it.
func (j *job) post(e ssp.Event, q *request) { j.submit(step{j, e, q}) }

// submit puts work into the mailbox.
func (j *job) submit(w work) {
	if j.box.post(w) {
		j.run()
	}
}

// run does what is in the mailbox, of which the caller is the owner, and what follows from it. What others post keeps the
// caller busy only so long.
func (j *job) run() {
	after := laters.Get().(*later)
	steps := 0
	for batch := j.box.next(nil); batch != nil; batch = j.box.next(batch) {
		for _, w := range batch {
			j.do(w)
		}
		after.add(&j.later)
		if steps += len(batch); steps >= capture {
			done := j.leaves()
			go func() { defer done(); j.run() }()
			break
		}
	}
	handed := int64(handedBytes)
	if j.log.replaying() {
		handed = replayedBytes
	}
	after.do(handed)
	after.reset()
	laters.Put(after)
}

// laters are those of run, whose memory is used again.
var laters = sync.Pool{New: func() any { return new(later) }}

// add takes over what is in l.
func (t *later) add(l *later) {
	t.few, t.idle = append(t.few, l.few...), append(t.idle, l.idle...)
	t.answers, t.then = append(t.answers, l.answers...), append(t.then, l.then...)
	t.bytes += l.bytes
	l.reset()
}

// reset empties t and keeps its memory.
func (t *later) reset() {
	clear(t.few)
	clear(t.idle)
	clear(t.answers)
	clear(t.then)
	*t = later{few: t.few[:0], idle: t.idle[:0], answers: t.answers[:0], then: t.then[:0]}
}

func (t *later) do(handed int64) {
	for i := range t.answers {
		t.answers[i].send()
	}
	for _, f := range t.few {
		f.doFew()
	}
	runAll(t.idle, t.bytes, handed)
	for _, f := range t.then {
		f()
	}
}

// effect does what the core says, or leaves it for later.
func (j *job) effect(e ssp.Effect) {
	switch e := e.(type) {
	case ssp.Made[*request]:
		j.made(e)
	case ssp.GivenUp:
		j.log.json(recordGivenUp, outcome{Task: e.Task, Error: e.Why})
	case ssp.Apply[*delta]:
		j.apply(e)
	case ssp.Discard[*delta]:
		for _, d := range e.Deltas {
			d.drop()
		}
	case ssp.Published:
		if e.Matrix == 0 {
			j.slowest.Store(int32(e.Slowest))
			j.server.Ledger.Wake() // others are urgent now
		} else {
			(*j.stores.Load())[e.Matrix].slowest.Store(int32(e.Slowest))
		}
	case ssp.Own[*delta, *request]:
		for _, d := range e.Deltas {
			d.use()
		}
		e.Req.gather.own = e.Deltas
	case ssp.Answer[*request]:
		e.Req.end(e.Again)
		switch q := e.Req; {
		case q.ready != nil:
			q.ready(e)
		case q.gather != nil:
			j.logMakes(q)
			j.read(q.gather)
		default:
			j.answer(q, &rpc.Response{Clock: int32(e.Clock)}, nil)
		}
	case ssp.Refuse[*request]:
		countRefused(e.Err)
		e.Req.end(!e.Done)
		if e.Req.gather != nil {
			e.Req.gather.free()
		}
		j.answer(e.Req, nil, refusal(e.Err))
	case ssp.Roster[*request]:
		e.Req.end(false)
		j.answerJSON(e.Req, j.membership(e))
	case ssp.Ordered[*request]:
		e.Req.end(false)
		j.answerJSON(e.Req, rpc.Order{Servers: e.To, Checkpoint: e.To == nil})
	case ssp.Later[*request]:
		j.comeLater(e)
	case ssp.Ended[*request]:
		j.overAlready(e)
	case ssp.Anew[*request]:
		e.Req.end(false)
		j.later.then = append(j.later.then, e.Req.anew)
	case ssp.Run[*request]:
		j.updates++
		e.Req.run(e)
	case ssp.Fail:
		err := refusal(e.Err)
		j.log.json(recordFailed, newOutcome(-1, 0, err))
		j.failed.Store(&err)
		j.cancel(err)
		j.server.logger().Warn("job failed", "job", j.full.String(), "err", err)
	case ssp.DropConn:
		if m := j.members[e.Conn]; m != nil {
			m.dropped.Store(!e.Back)
			m.end()
		}
	case ssp.End:
		j.ended = true
		j.server.ended(j)
		j.cancel(fmt.Errorf("job %q has ended: %w", j.name, rpc.ErrAborted))
		j.later.then = append(j.later.then, func() { j.server.drop(j) })
	case ssp.Say:
		j.server.logger().Warn(e.Text, "job", j.full.String())
	}
}

// end says that the core has decided about the request; if it did not take the deltas they are dropped.
func (q *request) end(drop bool) {
	q.done = true
	if q.stop != nil {
		q.stop()
	}
	if drop {
		for _, d := range q.deltas {
			d.Data.drop()
		}
	}
	q.deltas = nil
	q.memory.Release()
	q.memory = nil
}

// answer sends the answer of a request once the mailbox is left.
func (j *job) answer(q *request, r *rpc.Response, err error) {
	a := answer{q.x, r, err}
	if !q.durable || !j.log.hold(&a) {
		j.later.answers = append(j.later.answers, a)
	}
}

// kinds are what the core's errors are on the wire.
var kinds = map[ssp.Kind]error{
	ssp.Refused: rpc.ErrRefused, ssp.NotFound: rpc.ErrNotFound, ssp.Malformed: rpc.ErrMalformed, ssp.Aborted: rpc.ErrAborted,
	ssp.Passed: rpc.ErrPassed, ssp.Over: rpc.ErrOver, ssp.Taken: rpc.ErrExists,
}

// kindError is an error of the core that is of a kind of rpc's too.
type kindError struct{ err, kind error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.err, e.kind} }

func refusal(err error) error {
	if kind, ok := errors.AsType[ssp.Kind](err); ok && !errors.Is(err, kinds[kind]) {
		return &kindError{err, kinds[kind]}
	}
	return err
}

// apply gives the deltas of a clock to the partitions.
func (j *job) apply(e ssp.Apply[*delta]) {
	s := (*j.stores.Load())[e.Matrix]
	f := newFold(s, e.Clock)
	f.deltas, f.weight, f.rate = append(f.deltas, s.screen(e.Deltas)...), e.Weight, e.Rate
	f.prepare(e.Step)
	bytes := int64(0)
	for _, d := range f.deltas {
		bytes += d.bytes()
	}
	if e.Step {
		bytes += s.denseBytes()
	}
	few := false
	if few, j.later.idle = f.post(j.later.idle); few {
		j.later.few = append(j.later.few, f)
	} else {
		j.later.bytes += bytes
	}
}

// alarm sets the timer for the core's next deadline.
func (j *job) alarm() {
	next, ok := j.core.Next()
	switch {
	case !ok || j.ended:
		if j.timer != nil {
			j.timer.Stop()
		}
	case j.timer == nil:
		j.timer = time.AfterFunc(next-j.server.now(), func() { j.post(ssp.Deadline{}, nil) })
	default:
		j.timer.Reset(next - j.server.now())
	}
}

// abort fails the job.
func (j *job) abort(err error) {
	go j.post(ssp.Abort{Err: fmt.Errorf("job %q: %w", j.name, err)}, nil)
}

// names lists the matrices, for errors.
func (j *job) names() []string {
	var names []string
	for _, s := range (*j.stores.Load())[1:] {
		names = append(names, s.meta.Name)
	}
	slices.Sort(names)
	return names
}
