package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/blob"
	"thole.example/journal"
	"thole.example/rpc"
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

// jobLog is the log of a job, and the answers that wait for it. A nil one keeps nothing back.
type jobLog struct {
	log    *journal.Log
	logs   Logs
	files  journal.Files
	name   string // of the folder
	synced bool   // what it says is durable is on disk
	limit  int64  // how long it may be since its base before it gets another; 0: [jobLog.most] says it
	fail   func(error)
	grown  func() // has it get one

	handOver func(error) bool // has a standby continue when nothing more will be durable, and reports whether one does

	standbys *copies  // that copy it
	replayed progress // position up to which it was replayed so far

	mu      sync.Mutex
	durable uint64
	copies  map[string]copied // what standbys have, by their claims
	err     error             // why nothing more will be durable
	full    fullDisk          // what its disk has no room for
	waiting []waiting
	since   uint64                  // where its base is, or the last one was begun
	based   BaseStatus              // its base
	replay  *ReplayStatus           // of the server's start; nil: the job began later
	basing  atomic.Bool             // it is getting one
	growth  growth                  // while that is written
	keep    atomic.Bool             // it stays when its job has ended: it could not be read
	replays atomic.Bool             // what happens is in the log already
	loads   map[change]loadingAgain // of the log that have begun, and have no place yet
}

// waiting is something that waits until everything before a position is durable, and with the standbys that count.
type waiting struct {
	position uint64
	answer   answer       // if it has an exchange
	memory   *rpc.Buffer  // of what the record brings
	done     chan<- error // has room for one; nil: nobody looks
}

// fullDisk is a disk without room for what a log has to write. The zero value is one with room.
type fullDisk struct {
	since time.Time
	wait  time.Duration // how long the log waits for room
	err   error
}

// logError is an error of the disk of a log. It counts as a store that is unavailable: another server may do better, or this one later.
type logError struct {
	log string // name of the folder, or whose log it would be
	err error
}

// Error implements error.
func (e *logError) Error() string { return fmt.Sprintf("log %s: %v", e.log, e.err) }

// Is implements errors.Is.
func (e *logError) Is(target error) bool { return target == blob.ErrUnavailable }

// Unwrap gives the error without the log.
func (e *logError) Unwrap() error { return e.err }

// lose has the answer say that what it tells will never be durable.
func (w *waiting) lose(err error) {
	err = fmt.Errorf("the log of the job takes no more records: %w: %w", rpc.ErrAborted, err)
	if w.done != nil {
		w.done <- err
		w.done = nil
	}
	if x := w.answer.x; x != nil {
		w.answer.r.Release()
		w.answer = answer{x: x, err: err}
	}
}

// openLog opens the log in a folder; one that is new begins at a position.
func (s *Server) openLog(name string, first uint64) (*jobLog, error) {
	l := &jobLog{logs: s.Logs, files: s.Logs.Folder(name), name: name, limit: s.LogBase, synced: !s.LogUnsynced, fail: func(error) {},
		handOver: s.handOver}
	o := journal.Options{ // the ledger bounds what waits
		First: first, Segment: s.segment(), NoSync: s.LogUnsynced, Notify: l.notify, Queue: 1 << 60, Spares: 2,
		Patience: s.patience(), Full: func(err error) { l.isFull(s, err) },
	}
	log, err := journal.Open(l.files, o)
	if errors.Is(err, journal.ErrDamaged) || errors.Is(err, journal.ErrForeign) {
		return nil, fmt.Errorf("log %s: %w", name, err)
	}
	if err != nil {
		return nil, &logError{name, err}
	}
	l.log, l.standbys = log, &s.copies
	l.mu.Lock()
	l.durable = max(l.durable, log.Durable())
	l.mu.Unlock()
	s.copies.add(l)
	return l, nil
}

// logPatience is how long a log waits for room on a full disk, unless Server.LogPatience says it: until then its tasks wait, and after that
// its job fails, which makes room.
const logPatience = 30 * time.Second

// patience is how long a log waits for room on a full disk.
func (s *Server) patience() time.Duration { return cmp.Or(s.LogPatience, logPatience) }

// isFull notes, and logs, that the disk of a log is full, or with nil that it is not any more.
func (l *jobLog) isFull(s *Server, err error) {
	l.mu.Lock()
	l.full = fullDisk{time.Now(), s.patience(), err}
	l.mu.Unlock()
	s.copies.changes.notify()
	if err == nil {
		s.logger().Info("the disk of a log has room again, and the job continues", "log", l.name)
		return
	}
	s.logger().Error("the disk of a log is full: the tasks of its job wait until there is room", "log", l.name, "err", err,
		"wait", s.patience(), "next", "remove files, or give the logs a larger disk")
}

// reopenLog opens a log that is there. If its disk has no room for that, it waits for room.
func (s *Server) reopenLog(ctx context.Context, name string, wait time.Duration) (*jobLog, error) {
	l, err := s.openLog(name, 0)
	if wait > 0 && errors.Is(err, journal.ErrFull) {
		s.logger().Error("the disk of a log is full: the server waits until there is room", "log", name, "err", err, "wait", wait,
			"next", "remove files, or give the logs a larger disk")
	}
	for pause := time.Duration(0); wait > 0 && errors.Is(err, journal.ErrFull); wait -= pause {
		pause = min(time.Second, wait)
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		case <-time.After(pause):
		}
		l, err = s.openLog(name, 0)
	}
	return l, err
}

// logSegment is how long the files of a log are at most, unless Server.LogSegment says it.
const logSegment = 64 << 20

// segment is how long they are: a quarter of what a log may have without a base, so that some are removed then.
func (s *Server) segment() int64 {
	switch {
	case s.LogSegment > 0:
		return s.LogSegment
	case s.LogBase <= 0:
		return logSegment
	}
	return min(logSegment, max(1, s.LogBase/4))
}

// notify answers those who waited for what is durable now.
func (l *jobLog) notify(durable uint64, err error) {
	defer l.standbys.changes.notify()
	handed := err != nil && !errors.Is(err, journal.ErrClosed) && l.handOver(&logError{l.name, err}) // before any answer says that it failed
	l.mu.Lock()
	l.durable, l.err = durable, err
	over, fail := l.over(), l.fail
	grown := err == nil && !l.replays.Load() && l.grown != nil && int64(durable-min(durable, l.since)) > l.most() &&
		l.basing.CompareAndSwap(false, true)
	if grown {
		l.since = durable
	}
	l.mu.Unlock()
	if grown {
		go l.grown()
	}
	if err != nil && !errors.Is(err, journal.ErrClosed) && !handed {
		fail(&logError{l.name, err})
	}
	answerAll(over)
}

// lacksRoom reports whether the disk of the log is full.
func (l *jobLog) lacksRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full.err != nil
}

// end is the position after what has been done: the log's own end, but for a copy, to which more may have come.
func (l *jobLog) end() uint64 {
	if l.replays.Load() {
		return l.replayed.load()
	}
	return l.log.End()
}

// ended is why nothing more will be durable, nil if it will, or if the log was closed.
func (l *jobLog) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil || errors.Is(l.err, journal.ErrClosed) {
		return nil
	}
	return &logError{l.name, l.err}
}

// due reports whether a copy of the log is to get a base at a position, which the caller begins then.
func (l *jobLog) due(position uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int64(position-min(position, l.since)) <= l.most() || !l.basing.CompareAndSwap(false, true) {
		return false
	}
	l.since = position
	return true
}

// reached is the position before which everything is where it has to be, and does not have to wait for a base. It is locked.
func (l *jobLog) reached() uint64 {
	at := min(l.durable, l.allowed())
	for _, c := range l.copies {
		switch {
		case c.counts:
			at = min(at, c.end)
		case c.room > 0:
			at = min(at, c.end+c.room)
		}
	}
	return at
}

// over takes out what need not wait any more, as it came or never will. It is locked.
func (l *jobLog) over() []waiting {
	n, reached := 0, l.reached()
	for n < len(l.waiting) && (l.err != nil || l.waiting[n].position <= reached) {
		n++
	}
	over := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	if errors.Is(l.err, journal.ErrClosed) { // the job has ended, and nobody goes on with what standbys have of it
		reached = l.durable
	}
	for i := range over {
		if over[i].position > reached {
			over[i].lose(&logError{l.name, l.err})
		}
	}
	return over
}

// answerAll answers who has waited.
func answerAll(over []waiting) {
	for i := range over {
		w := &over[i]
		w.answer.send()
		w.memory.Release()
		if w.done != nil {
			w.done <- nil
		}
	}
}

// copied is what a standby has of a log.
type copied struct {
	end    uint64 // everything before it
	counts bool   // answers wait for it
	room   uint64 // of one that does not count: answers wait while the log is further ahead; 0: they do not
}

// copy notes what a standby has; nil: it is none any more.
func (l *jobLog) copy(claim string, c *copied) {
	l.mu.Lock()
	if c == nil {
		delete(l.copies, claim)
	} else {
		if l.copies == nil {
			l.copies = map[string]copied{}
		}
		l.copies[claim] = *c
	}
	over := l.over()
	l.mu.Unlock()
	answerAll(over)
}

// setBase says that the log has a base of so many bytes at a position, made at a time, and removes what came before.
func (l *jobLog) setBase(position uint64, size int64, made time.Time) error {
	l.mu.Lock()
	l.since, l.based = position, BaseStatus{Position: position, Bytes: size, Made: made}
	l.mu.Unlock()
	if err := l.trim(); err != nil {
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

// trim removes what neither the base nor a standby needs.
func (l *jobLog) trim() error {
	l.mu.Lock()
	before := l.based.Position
	for _, c := range l.copies { // they have not read it yet
		before = min(before, c.end)
	}
	l.mu.Unlock()
	return l.log.Truncate(before)
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
	if l.silent() {
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
	case l.reached() >= w.position:
		return false
	case l.err != nil:
		w.lose(&logError{l.name, l.err})
		return false
	}
	i := len(l.waiting)
	for i > 0 && l.waiting[i-1].position > w.position {
		i--
	}
	l.waiting = slices.Insert(l.waiting, i, *w)
	return true
}

// remove closes the log and removes it, when the job has ended.
func (l *jobLog) remove(s *Server) {
	if l == nil || l.keep.Load() {
		return
	}
	s.copies.remove(l)
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
	s.copies.remove(l)
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

// replaying reports whether what happens is in the log already.
func (l *jobLog) replaying() bool { return l != nil && l.replays.Load() }

// sync waits until everything is durable, and with the standbys, that was appended so far.
func (l *jobLog) sync(ctx context.Context) error {
	if l.silent() {
		return nil
	}
	done := make(chan error, 1)
	w := waiting{position: l.log.End(), done: done}
	if !l.wait(&w) {
		if w.done != nil {
			return nil
		}
		return <-done
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// of says whose log it is: who hears that nothing more will be durable, and that it is to get a base.
func (l *jobLog) of(j *job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail, l.grown = j.abort, j.grown
}

// withLog brings a Join to a new job, whose log has to be made. It reports whether that is so late that somebody else does it.
func (s *Server) withLog(at *seat, x *rpc.Exchange, a *joinArgs) bool {
	if s.Logs == nil || a.Epoch > 0 && !a.First { // a client that was here before
		return false
	}
	s.mu.Lock()
	if s.jobs[a.full] != nil || s.leaving {
		s.mu.Unlock()
		return false
	}
	s.lastLog++
	name := fmt.Sprintf("%06d", s.lastLog)
	s.mu.Unlock()
	go x.Guard(s.logger(), func() {
		log, err := s.openLog(name, 0)
		if err != nil {
			var bad error
			if errors.Is(err, journal.ErrFull) { // else somebody may want to look at it
				bad = s.Logs.Remove(name)
			}
			if e, ok := errors.AsType[*logError](err); ok { // the number is another one each time
				err = &logError{fmt.Sprintf("of job %q", a.full.Name), e.err}
			}
			x.Fail(errors.Join(err, bad))
			return
		}
		log.json(recordBegin, beginning{a.full.Name, a.full.Owner})
		s.bring(at, x, a, log)
	})
	return true
}
