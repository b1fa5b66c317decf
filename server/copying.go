package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"thole.example/journal"
	"thole.example/rpc"
)

// Copying is a standby's side of what copies.go says: the logs of another server are written to logs of this one, with the same names and
// positions, and their changes are made as soon as they are there, by what makes them after a restart (replay.go). Such a job has
// the connections of its tasks as if they were there; before the server has its role, only readers that accept a copy reach it
// (replica.go). Logs of a copy get bases of their own.
//
// What was acknowledged is in the memory of the standby, and on its way to its disk. So a standby that is started again begins anew.
type Copying struct {
	// Empties, if there is one, is called before what is in the folder from before goes: when a server that has the role has answered, and by
	// Drop. After an error it stays.
	Empties func() error
	// Reads is where readers reach this server, which answers them from the copy until it has the role (replica.go); "": they do not.
	Reads string

	s     *Server
	claim string
	run   string // of the server that is copied
	logs  map[string]*copyIn
	ends  context.CancelFunc
	ctx   context.Context

	asking atomic.Pointer[context.CancelCauseFunc] // ends From

	seen copySeen
}

// copyIn is a log on its way in.
type copyIn struct {
	name  string
	files journal.Files
	base  journal.File // nil: there is none, or it is here
	at    uint64       // its position
	size  int64
	off   int64
	log   *jobLog // nil: the base is not here
	end   uint64  // position up to which records have come
	again *replay
	read  atomic.Int64  // bytes of the base that the replay has read
	ended bool          // the job has, where it was
	over  watched[bool] // nothing comes any more
	done  chan struct{} // closed when all was replayed, or nothing can be
	live  bool          // then: the job goes on
	err   error

	readable atomic.Bool // the base, if there is one, was read
	fresh    copyFreshness
}

// copyBaseLimit is the most bytes that the base of a log may have.
const copyBaseLimit = 1 << 44

// logName is a name of a log that [Server] gives.
var logName = regexp.MustCompile(`^[0-9]{6,18}$`)

// NewCopying is a copy of nothing so far, of a standby that has made a claim. The server has Logs, and their folder is this copy's: what
// is in it from before goes when there is something to copy. It ends with [Copying.Take] or [Copying.Drop].
func (s *Server) NewCopying(claim string) *Copying {
	c := &Copying{s: s, claim: claim, logs: map[string]*copyIn{}}
	c.ctx, c.ends = context.WithCancel(context.Background())
	s.copying.Store(c)
	return c
}

// From copies the logs of the server at the other end of a connection, until ctx or the connection ends, or something is wrong with what
// comes. It may be called again, with a connection to the same server or another. All methods are for one goroutine.
func (c *Copying) From(ctx context.Context, conn rpc.Conn) error {
	ctx, end := context.WithCancelCause(ctx) // when a log cannot be replayed: who acknowledged it is to be known to lack it
	defer end(nil)
	c.asking.Store(&end)
	for _, in := range slices.Collect(maps.Values(c.logs)) {
		if in.log == nil { // another connection begins at its begin
			if err := c.forget(ctx, in); err != nil {
				return err
			}
		}
	}
	defer c.seen.over()
	paused, full, tried := false, false, time.Time{}
	for {
		text, err := json.Marshal(c.question(paused, full))
		if err != nil {
			return err
		}
		asked := time.Now()
		r, err := conn.Start(ctx, &rpc.Request{Op: rpc.OpCopy, Arg: text}).Wait(ctx)
		if errors.Is(err, rpc.ErrStale) {
			err = errors.Join(err, c.anew(ctx, ""))
		}
		if err != nil {
			return err
		}
		var head rpc.Copied
		if err = c.forgetFailed(ctx); err == nil {
			head, err = c.take(ctx, r)
		}
		r.Release()
		if err == nil {
			c.heard(asked, &head)
			switch {
			case head.Paused: // which says nothing of disks
			case !head.Full:
				full = false
			case time.Since(tried) >= copyBeat:
				full, tried = !c.hasRoom(), time.Now()
			}
			paused, err = c.keepUp(ctx)
			c.seen.answer(c, &head)
		}
		if err != nil {
			return err
		}
	}
}

// question says what is here, and asks for more unless there is no room for it.
func (c *Copying) question(paused, full bool) *rpc.Copy {
	q := &rpc.Copy{Claim: c.claim, Run: c.run, Paused: paused, Full: full, Reads: c.Reads}
	for _, name := range slices.Sorted(maps.Keys(c.logs)) {
		if in := c.logs[name]; in.log != nil && !in.failed() {
			q.Full = q.Full || in.log.lacksRoom()
			q.Logs = append(q.Logs, rpc.CopyLog{Name: name, End: in.end, Replayed: min(in.end, in.log.replayed.load()),
				Loaded: min(in.size, in.read.Load())})
		}
	}
	return q
}

// take takes what has come, and gives what it begins with.
func (c *Copying) take(ctx context.Context, r *rpc.Response) (head rpc.Copied, err error) {
	if len(r.Results) == 0 {
		return head, fmt.Errorf("an answer without a result: %w", rpc.ErrMalformed)
	}
	if err := json.Unmarshal(r.Results[0].Data, &head); err != nil || head.Run == "" {
		return head, fmt.Errorf("an answer that begins with %.40q, want what it has: %w", r.Results[0].Data, rpc.ErrMalformed)
	}
	if head.Paused {
		return head, nil
	}
	return head, c.takeLogs(ctx, &head, r)
}

// takeLogs takes what has come of the logs.
func (c *Copying) takeLogs(ctx context.Context, head *rpc.Copied, r *rpc.Response) error {
	if head.Run != c.run {
		if err := c.anew(ctx, head.Run); err != nil {
			return err
		}
	}
	ins := make([]*copyIn, len(head.Logs))
	here := map[string]bool{}
	for i := range head.Logs {
		in, err := c.log(ctx, &head.Logs[i])
		if err != nil {
			return err
		}
		ins[i], here[in.name] = in, true
	}
	for _, one := range r.Results[1:] {
		if int64(one.Partition) >= int64(len(ins)) {
			return fmt.Errorf("a record of log %d of %d: %w", one.Partition, len(ins), rpc.ErrMalformed)
		}
		if err := ins[one.Partition].put(c, one.Matrix, one.Data, r.Memory); err != nil {
			return err
		}
	}
	for i, in := range ins {
		if err := in.reach(ctx, head.Logs[i].To); err != nil {
			return err
		}
	}
	for name, in := range c.logs {
		if !here[name] {
			in.ended = true
			err := in.finish(ctx, c)
			if err == nil {
				err = c.forget(ctx, in)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// log is one of the logs of an answer, a new one if there is none.
func (c *Copying) log(ctx context.Context, head *rpc.CopiedLog) (*copyIn, error) {
	in := c.logs[head.Name]
	if in != nil && in.log == nil && head.At == 0 && in.off > 0 { // this standby was given up, and the server begins anew
		if err := c.forget(ctx, in); err != nil {
			return nil, err
		}
		in = nil
	}
	switch {
	case in == nil && (!logName.MatchString(head.Name) || head.Size < 0 || head.Size > copyBaseLimit || head.At != 0 ||
		(head.Base == 0) != (head.Size == 0) || head.From != head.Base):
		return nil, fmt.Errorf("a new log %.40q with a base of %d bytes at position %d, of which those from %d on come, and records from "+
			"position %d on: %w", head.Name, head.Size, head.Base, head.At, head.From, rpc.ErrMalformed)
	case in == nil:
		in = &copyIn{name: head.Name, files: c.s.Logs.Folder(head.Name), at: head.Base, size: head.Size, done: make(chan struct{})}
		in.over.on = &c.s.copies.changes
		c.logs[in.name] = in
		if head.Base == 0 {
			return in, in.begin(c)
		}
		unlock, err := in.files.Lock() // makes the folder
		if err == nil {
			err = unlock()
		}
		if err == nil {
			in.base, err = in.files.Create(freshBase)
		}
		if err == nil {
			err = in.base.Truncate(0)
		}
		return in, err
	case in.log == nil && (head.Base != in.at || head.Size != in.size || head.At != in.off):
		return nil, fmt.Errorf("log %s: bytes from %d on of the base at position %d, want those from %d on of that at %d: %w",
			in.name, head.At, head.Base, in.off, in.at, rpc.ErrMalformed)
	case in.log != nil && head.From != in.end:
		return nil, fmt.Errorf("log %s: records from position %d on, want those from %d on: %w",
			in.name, head.From, in.end, rpc.ErrMalformed)
	}
	return in, nil
}

// put puts a record, or bytes of the base, to what there is.
func (in *copyIn) put(c *Copying, kind uint32, data []byte, memory *rpc.Buffer) error {
	switch {
	case in.log != nil && kind != 0 && in.isDone(): // nothing comes of it
		return nil
	case in.log != nil && kind != 0:
		in.log.append(kind, [][]byte{data}, memory.Retain())
		return nil
	case in.base == nil || kind != 0 || int64(len(data)) > in.size-in.off || len(data) == 0:
		return fmt.Errorf("log %s: a record of kind %d with %d bytes, with %d of %d bytes of the base here: %w",
			in.name, kind, len(data), in.off, in.size, rpc.ErrMalformed)
	}
	n, err := in.base.WriteVec([][]byte{data}, in.off)
	if in.off += n; err != nil || in.off < in.size {
		return err
	}
	err = in.base.Sync()
	if err = errors.Join(err, in.base.Close()); err != nil {
		return err
	}
	in.base = nil
	if err := in.files.Rename(freshBase, baseName(in.at)); err != nil {
		return err
	}
	return in.begin(c)
}

// begin begins the log, and to replay it.
func (in *copyIn) begin(c *Copying) (err error) {
	if in.log, err = c.s.openLog(in.name, in.at); err != nil {
		return err
	}
	in.end = in.at
	in.log.replayed.advance(in.at)
	in.log.files = countingFiles{in.log.files, &in.read}
	in.again = c.s.newReplay(in.log)
	in.again.copy = in
	ctx := c.ctx
	go func() {
		if panicked := c.s.try(func() { in.live, in.err = in.again.run(ctx) }); panicked != nil {
			in.err = panicked
			in.again.abandon(panicked)
		}
		err := errors.Join(in.again.why, in.err)
		in.err = err
		close(in.done) // from now on both are those of who copies
		if err != nil && ctx.Err() == nil {
			(*c.asking.Load())(fmt.Errorf("log %s: %w", in.name, err))
		}
	}()
	return nil
}

// isDone reports whether nothing is replayed any more.
func (in *copyIn) isDone() bool {
	select {
	case <-in.done:
		return true
	default:
		return false
	}
}

// failed reports whether the log could not be replayed.
func (in *copyIn) failed() bool { return in.isDone() && in.err != nil }

// forgetFailed has logs that could not be replayed begin anew. The other side, which was not told of them, knows that they are not here.
func (c *Copying) forgetFailed(ctx context.Context) error {
	for _, in := range slices.Collect(maps.Values(c.logs)) {
		if in.failed() {
			if err := c.forget(ctx, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach wants the records that have come to end at a position. If the log takes no more records, as its disk is full, that is the error.
func (in *copyIn) reach(ctx context.Context, to uint64) error {
	if in.log == nil || in.log.log.End() == to {
		in.end = to
		return nil
	}
	select { // its job may have ended, and taken nothing any more
	case <-in.done:
		in.end = to
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(copyTell):
		if err := in.log.ended(); err != nil {
			return err
		}
		return fmt.Errorf("log %s ends at position %d, want %d: %w", in.name, in.log.log.End(), to, rpc.ErrMalformed)
	}
}

// copyReport is how often a standby without room says how far it is.
const copyReport = 500 * time.Millisecond

// keepUp waits until there is room for more, or for a moment: paused says that there is none yet. The error is of what cannot be replayed.
func (c *Copying) keepUp(ctx context.Context) (paused bool, err error) {
	var patience <-chan time.Time
	for _, in := range c.logs {
		if in.log == nil {
			continue
		}
		if in.failed() {
			return false, fmt.Errorf("log %s: %w", in.name, in.err)
		}
		end := in.log.log.End()
		room, leave := in.log.replayed.reached(end - min(end, c.s.Copies.ahead()))
		defer leave()
		select {
		case <-room:
			continue
		default:
		}
		if patience == nil {
			patience = time.After(copyReport)
		}
		select {
		case <-room:
		case <-in.done:
			if in.failed() {
				return false, fmt.Errorf("log %s: %w", in.name, in.err)
			}
		case <-patience:
			return true, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return false, nil
}

// finish waits until all that has come is replayed.
func (in *copyIn) finish(ctx context.Context, c *Copying) error {
	if in.log == nil {
		return nil
	}
	in.over.set(true)
	return until(ctx, in.done)
}

// until waits until something is closed.
func until(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forget removes a log of which nothing is replayed any more, and ends its job if that goes on. If ctx ends before the job has, it
// may be called again.
func (c *Copying) forget(ctx context.Context, in *copyIn) (bad error) {
	switch {
	case in.base != nil:
		bad = in.base.Close()
	case in.log != nil:
		if in.live {
			in.live, in.err = false, fmt.Errorf("the job has ended on the server that was copied: %w", rpc.ErrAborted)
			in.again.giveUp(in.err)
		}
		if in.again.j != nil {
			if err := until(ctx, in.again.j.gone); err != nil {
				return err
			}
		}
		c.s.copies.remove(in.log)
		bad = in.log.log.Close()
	}
	delete(c.logs, in.name)
	names, err := c.s.Logs.List()
	if err == nil && slices.Contains(names, in.name) {
		err = c.s.Logs.Remove(in.name)
	}
	return errors.Join(bad, err)
}

// anew begins a copy of another server: all that is here goes.
func (c *Copying) anew(ctx context.Context, run string) error {
	if c.Empties != nil {
		if err := c.Empties(); err != nil {
			return err
		}
	}
	c.ends()
	c.ctx, c.ends = context.WithCancel(context.Background())
	var bad error
	for _, in := range slices.Collect(maps.Values(c.logs)) {
		if in.log != nil {
			if err := until(ctx, in.done); err != nil {
				return err
			}
		}
		bad = errors.Join(bad, c.forget(ctx, in))
	}
	names, err := c.s.Logs.List()
	for _, name := range names {
		if err == nil && logName.MatchString(name) {
			err = c.s.Logs.Remove(name)
		}
	}
	c.run = run
	return errors.Join(bad, err)
}

// Take makes the server the one that was copied, as it is here: when all is replayed, and on the disk, its jobs go on, and their tasks have
// their grace to come back. The server answers nothing meanwhile, nor after an error. If ctx ends before, so does what is replayed.
func (c *Copying) Take(ctx context.Context) error {
	defer context.AfterFunc(ctx, c.ends)()
	var bad error
	for _, name := range slices.Sorted(maps.Keys(c.logs)) {
		in := c.logs[name]
		if err := in.finish(ctx, c); err != nil {
			return errors.Join(bad, err)
		}
		if in.log == nil || in.ended { // what it would be was not acknowledged, or it was being forgotten
			bad = errors.Join(bad, c.forget(ctx, in))
			continue
		}
		number, err := strconv.Atoi(name)
		if err == nil && in.live {
			err = in.log.log.Wait(ctx, in.log.log.End())
			if err != nil && ctx.Err() == nil {
				err = &logError{name, err}
			}
		}
		c.s.mu.Lock()
		c.s.lastLog = max(c.s.lastLog, number)
		c.s.mu.Unlock()
		bad = errors.Join(bad, in.err, err)
	}
	for _, in := range c.logs {
		if in.live {
			in.again.disconnect()
		}
	}
	c.s.copying.Store(nil)
	return bad
}

// Drop ends the copy, and removes what there is of it.
func (c *Copying) Drop() error {
	c.s.copying.CompareAndSwap(c, nil)
	return c.anew(context.Background(), "")
}
