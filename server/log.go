package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"thole.example/journal"
	"thole.example/rpc"
	"thole.example/ssp"
)

// With Server.Logs each job has a log of what changed it, in the order in which its mailbox executed it: a server that is started again
// makes the same changes by the same code (replay.go), and is where it died.
//
//   - A record is appended where the change gets its place among all others: in the job's mailbox, right before what follows from it is
//     posted to partitions. Duplicates, and what came before its turn, are not in the log.
//   - Whatever says that a change was made, or refused, waits until everything is durable that was appended before: the answer to the
//     change, that to its duplicate, that to a Join, which tells the last change that was made, and that to a barrier, which tells that
//     others have made theirs. So does what is read at once, under ASP, by functions and by those who are no tasks: it was seen, and must
//     not be gone. What is read as of a clock under BSP and SSP does not wait: the clock is reached again, after a crash, by the same
//     changes, which come again as they were not answered.
//   - A change that takes long (a load) gets its place when what it read takes the place of what was there; a record of its own says so.
//   - What a record brings stays in the memory in which it came, counted there, until it is durable: when a disk is slow, the ledger is
//     full, and senders wait.

// Logs is where a server keeps the logs of its jobs, each in a folder of its own.
type Logs interface {
	// List gives the names of the folders.
	List() ([]string, error)
	// Folder is one of them, which is made when a log is opened in it.
	Folder(name string) journal.Files
	// Remove removes one with all that is in it.
	Remove(name string) error
	// Keep puts one aside, that people may look at it, and tells where.
	Keep(name string) (where string, err error)
}

// The kinds of records. Numbers are part of the format (docs/format/journal.md).
const (
	recordBegin   = 1 + iota // the job: its name, as JSON
	recordJoin               // a task has joined or come back: [rpc.Join] as JSON
	recordCreate             // matrices were made
	recordDefine             // a function was defined
	recordChange             // a change was executed, or one that takes long begun
	recordRefused            // a change was refused when it had its turn: [outcome] as JSON
	recordRan                // what came of a change that takes long, or of an update if that is an error: [outcome]
	recordUpdate             // an update of somebody who is no task
	recordMake               // columns were made for whoever asked for them
	recordLeave              // a task has left
	recordGivenUp            // an optional task was given up: [outcome]
	recordFailed             // the job has failed: [outcome]
	recordClaim              // a path is the job's to save to: [claimed]
)

// outcome is what a record as JSON says of a task or its change.
type outcome struct {
	Task  int    `json:"task"`
	Seq   uint64 `json:"seq,omitempty"`
	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`  // of the error, in package rpc
	Found string `json:"found,omitempty"` // what a load has read: the state of its path
	// NonFinite is the number of the matrix for which a push with values that are not finite was refused.
	NonFinite uint32 `json:"nonfinite,omitempty"`
}

// jobLog is the log of a job, and the answers that wait for it. A nil one keeps nothing back.
type jobLog struct {
	log   *journal.Log
	logs  Logs
	files journal.Files
	name  string // of the folder
	limit int64  // how long it may be since its base before it gets another; 0: [jobLog.most] says it
	fail  func(error)
	grown func() // has it get one

	mu      sync.Mutex
	durable uint64
	err     error // why nothing more will be durable
	waiting []waiting
	since   uint64                  // where its base is, or was begun
	base    int64                   // bytes of that
	basing  atomic.Bool             // it is getting one
	keep    atomic.Bool             // it stays when its job has ended: it could not be read
	replays atomic.Bool             // what happens is in the log already
	loads   map[change]loadingAgain // of the log that have begun, and have no place yet
}

// waiting is something that waits until everything before a position is durable.
type waiting struct {
	position uint64
	answer   answer      // if it has an exchange
	memory   *rpc.Buffer // of what the record brings
}

// lose has the answer say that what it tells will never be durable.
func (w *waiting) lose(err error) {
	if x := w.answer.x; x != nil {
		w.answer.r.Release()
		w.answer = answer{x: x, err: fmt.Errorf("the server's log has ended: %w: %w", rpc.ErrAborted, err)}
	}
}

// openLog opens the log in a folder.
func (s *Server) openLog(name string) (*jobLog, error) {
	l := &jobLog{logs: s.Logs, files: s.Logs.Folder(name), name: name, limit: s.LogBase, fail: func(error) {}}
	o := journal.Options{ // the ledger bounds what waits
		Segment: segmentOf(s.LogBase), NoSync: s.LogUnsynced, Notify: l.notify, Queue: 1 << 60, Spares: 2,
	}
	log, err := journal.Open(l.files, o)
	if err != nil {
		return nil, fmt.Errorf("log %s: %w", name, err)
	}
	l.log = log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = max(l.durable, log.Durable())
	return l, nil
}

// logSegment is how long the files of a log are at most.
const logSegment = 64 << 20

// segmentOf is how long they are if the log gets a base each so many bytes: some are removed then.
func segmentOf(base int64) int64 {
	if base <= 0 {
		return logSegment
	}
	return min(logSegment, max(1, base/4))
}

// notify answers those who waited for what is durable now.
func (l *jobLog) notify(durable uint64, err error) {
	l.mu.Lock()
	l.durable, l.err = durable, err
	n := 0
	for n < len(l.waiting) && (err != nil || l.waiting[n].position <= durable) {
		n++
	}
	over := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	fail := l.fail
	grown := err == nil && !l.replays.Load() && l.grown != nil && int64(durable-min(durable, l.since)) > l.most() &&
		l.basing.CompareAndSwap(false, true)
	if grown {
		l.since = durable
	}
	l.mu.Unlock()
	if grown {
		go l.grown()
	}
	if err != nil && !errors.Is(err, journal.ErrClosed) {
		fail(err)
	}
	for i := range over {
		w := &over[i]
		if w.position > durable {
			w.lose(err)
		}
		w.answer.send()
		w.memory.Release()
	}
}

// most is how long the log may be since its base. It is locked.
func (l *jobLog) most() int64 {
	if l.limit > 0 {
		return l.limit
	}
	return max(baseLimit, 2*l.base)
}

// based says that the log has a base of so many bytes at a position, and removes what came before.
func (l *jobLog) based(position uint64, size int64) error {
	l.mu.Lock()
	l.since, l.base = position, size
	l.mu.Unlock()
	if err := l.log.Truncate(position); err != nil {
		return err
	}
	names, err := l.files.List()
	for _, other := range basesOf(names) {
		if other != position && err == nil {
			err = l.files.Remove(baseName(other))
		}
	}
	return err
}

// send answers the exchange, if there is one.
func (a *answer) send() {
	switch {
	case a.x == nil:
	case a.err != nil:
		a.x.Fail(a.err)
	default:
		a.x.Answer(a.r)
	}
}

// hold has the answer sent when everything is durable that was appended so far. It reports false if that is so, or will never be, which
// the answer says then: the caller sends it.
func (l *jobLog) hold(a *answer) bool {
	if l == nil {
		return false
	}
	w := waiting{position: l.log.End(), answer: *a}
	if l.wait(&w) {
		return true
	}
	*a = w.answer
	return false
}

// wait reports whether there is something to wait for. Positions mostly ascend.
func (l *jobLog) wait(w *waiting) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.replays.Load() || l.durable >= w.position:
		return false
	case l.err != nil:
		w.lose(l.err)
		return false
	}
	i := len(l.waiting)
	for i > 0 && l.waiting[i-1].position > w.position {
		i--
	}
	l.waiting = slices.Insert(l.waiting, i, *w)
	return true
}

// append appends a record; memory, which is the log's from now on, is what the slices lie in.
func (l *jobLog) append(kind uint32, body [][]byte, memory *rpc.Buffer) {
	end, err := l.log.Append(context.Background(), body, kind)
	if err != nil {
		l.fail(err)
	}
	if err != nil || memory == nil || !l.wait(&waiting{position: end, memory: memory}) {
		memory.Release()
	}
}

// silent reports whether nothing is to be appended.
func (l *jobLog) silent() bool { return l == nil || l.replays.Load() }

// json appends a record that is a value as JSON.
func (l *jobLog) json(kind uint32, v any) {
	if l.silent() {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		l.fail(err)
		return
	}
	l.append(kind, [][]byte{text}, nil)
}

// requestHead is how many bytes are before the request in a record of one: the number of the task, and zeros.
const requestHead = 8

// request appends a record of a request of a task, -1 for nobody's, with those of its parts that keep picks.
func (l *jobLog) request(kind uint32, task int, q *rpc.Request, memory *rpc.Buffer, keep func(p *rpc.Part) bool) {
	if l.silent() {
		memory.Release()
		return
	}
	some := *q
	if slices.ContainsFunc(q.Parts, func(p rpc.Part) bool { return !keep(&p) }) {
		some.Parts = nil
		for i := range q.Parts {
			if keep(&q.Parts[i]) {
				some.Parts = append(some.Parts, q.Parts[i])
			}
		}
	}
	var g rpc.Gather
	g.U32(uint32(int32(task)))
	g.U32(0)
	if err := some.Append(&g); err != nil {
		l.fail(err)
		memory.Release()
		return
	}
	l.append(kind, g.Buffers(nil), memory)
}

// changes picks the parts of a change that change something.
func changes(q *rpc.Request) func(*rpc.Part) bool {
	if q.Op == rpc.OpUpdate {
		return func(*rpc.Part) bool { return true } // they name its matrices
	}
	return func(p *rpc.Part) bool { return p.Values != nil }
}

// made says in the log that a change has its turn.
func (j *job) made(e ssp.Made[*request]) {
	q := e.Req
	switch {
	case j.log == nil:
	case e.Err != nil:
		j.log.json(recordRefused, newOutcome(e.Task, e.Seq, e.Err))
	case q.record != nil:
		memory := q.memory
		q.memory = nil
		j.log.request(recordChange, e.Task, q.record, memory, changes(q.record))
	}
}

// toLog has the request, as it is now, be what the log says of a change when it has its turn.
func (q *request) toLog(j *job) {
	if j.log != nil {
		q.record, q.memory = q.x.Request, q.x.Memory.Retain()
	}
}

// ranBeside appends what came of a change that runs beside the mailbox, if it is an error: otherwise it is what it was when it began.
func (j *job) ranBeside(task int, seq uint64, err error) {
	if err != nil {
		j.log.json(recordRan, newOutcome(task, seq, err))
	}
}

// end closes the log and removes it, when the job has ended.
func (l *jobLog) end(s *Server) {
	if l == nil || l.keep.Load() {
		return
	}
	if err := l.log.Close(); err != nil {
		s.logger().Warn("the log of a job that has ended could not be closed", "log", l.name, "err", err)
	}
	if err := l.logs.Remove(l.name); err != nil {
		s.logger().Warn("the log of a job that has ended could not be removed", "log", l.name, "err", err)
	}
}

// aside puts a log aside that cannot be replayed.
func (l *jobLog) aside(s *Server) error {
	l.keep.Store(true)
	err := l.log.Close()
	return errors.Join(err, s.keepLog(l.name))
}

// keepLog puts a folder aside, and says so.
func (s *Server) keepLog(name string) error {
	where, err := s.Logs.Keep(name)
	if err == nil {
		s.logger().Error("the log of a job that cannot be made again is kept", "log", name, "now", where, "next",
			"remove it, or bring back what is missing, give it its name again while no server runs, and start the server")
	}
	return err
}

// newOutcome is an error of a task's change, as a record has it.
func newOutcome(task int, seq uint64, err error) outcome {
	o := outcome{Task: task, Seq: seq, Error: err.Error()}
	if kind := rpc.NewFault("", refusal(err)).Kind; kind != nil {
		o.Kind = kind.Error()
	}
	if n, ok := errors.AsType[*nonFinite](err); ok {
		o.NonFinite = n.of.number
	}
	return o
}

// asksMade reports whether columns of the part that are not there are to be made.
func asksMade(p rpc.Part) bool { return p.Values == nil && p.Make }

// logMakes says in the log that columns are made for what the request reads, which is to be posted now.
func (j *job) logMakes(q *request) {
	if q.makes {
		q.gather.log = j.log // whoever knows of them finds them
		j.log.request(recordMake, -1, q.x.Request, q.x.Memory.Retain(), func(p *rpc.Part) bool { return asksMade(*p) })
	}
}

// replaying reports whether what happens is in the log already.
func (l *jobLog) replaying() bool { return l != nil && l.replays.Load() }

// sync waits until everything is durable that was appended so far.
func (l *jobLog) sync(ctx context.Context) error {
	if l.silent() {
		return nil
	}
	return l.log.Wait(ctx, l.log.End())
}

// of says whose log it is: who hears that nothing more will be durable, and that it is to get a base.
func (l *jobLog) of(j *job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail, l.grown = j.abort, j.grown
}

// loadingAgain is a load of the log that has no place yet.
type loadingAgain struct {
	path string
	do   func(place func()) error
}

// load does what takes long of a change in the background. Its place among other changes is not where it began: place says it.
func (j *job) load(c change, path string, do func(place func()) error) {
	if j.log.replaying() {
		j.log.loads[c] = loadingAgain{path, do}
		return
	}
	j.loads.Add(1)
	go func() {
		defer j.loads.Done()
		found := j.found(path)
		err := do(func() { j.log.json(recordRan, outcome{Task: c.task, Seq: c.seq, Found: found}) })
		j.ranBeside(c.task, c.seq, err)
		j.post(ssp.Ran{Task: c.task, Seq: c.seq, Err: err}, nil)
	}()
}

// loadAgain does what a load of the log did, of the same path if that has what was found then.
func (j *job) loadAgain(c change, load loadingAgain, found string) error {
	if now := j.found(load.path); now != found {
		return fmt.Errorf("%s is not there any more as it was loaded: go back to the last checkpoint: %w", load.path, rpc.ErrNotFound)
	}
	err := load.do(func() {})
	if err == nil {
		j.post(ssp.Ran{Task: c.task, Seq: c.seq}, nil)
	}
	return err
}

// found is what lies at the path of a load, for the log.
func (j *job) found(path string) string {
	if j.log == nil {
		return ""
	}
	state, err := j.server.Bucket.State(j.ctx, path)
	if err != nil { // the load will say it
		return ""
	}
	return string(state)
}

// withLog brings a Join to a new job, whose log has to be made. It reports whether that is so late that somebody else does it.
func (s *Server) withLog(at *seat, x *rpc.Exchange, a *rpc.Join) bool {
	if s.Logs == nil || a.Epoch > 0 && !a.First { // a client that was here before
		return false
	}
	s.mu.Lock()
	there := s.jobs[a.Job] != nil
	s.lastLog++
	name := fmt.Sprintf("%06d", s.lastLog)
	s.mu.Unlock()
	if there {
		return false
	}
	go x.Guard(s.logger(), func() {
		log, err := s.openLog(name)
		if err != nil {
			x.Fail(err)
			return
		}
		log.json(recordBegin, beginning{a.Job})
		s.bring(at, x, a, log)
	})
	return true
}
