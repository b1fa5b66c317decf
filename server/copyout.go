package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"thole.example/budget"
	"thole.example/journal"
	"thole.example/rpc"
	"thole.example/wire"
)

// outgoing is what goes to a standby over its connection. Its fields belong to whoever answers, and between two answers to whoever has
// [copies] locked.
type outgoing struct {
	to   *standby
	logs map[*jobLog]*sending
	told int // how many logs it knows of; -1: it does not know what server this is
	// beats is that it hears when nothing has come, too.
	beats bool
	// full is that a disk was full when it was last answered: it is asked again and again whether its own disk has room.
	full bool
}

// close closes all that is read.
func (o *outgoing) close() {
	for _, at := range o.logs {
		at.close()
	}
	clear(o.logs)
}

// sending is how far one log has been sent.
type sending struct {
	base      journal.File // nil: there is none, or it was sent
	at        uint64       // its position
	size, off int64        // its bytes, and those sent
	from      *journal.Reader
	next      *journal.Record // that was read, and had no room
	end       uint64          // position up to which records were sent

	// What the standby has said, and what follows from it; it changes while copies are locked.
	has      uint64 // position before which it has the records
	hasBase  int64  // bytes of the base that it has
	replayed uint64 // position up to which it has replayed them
	loaded   int64  // bytes of the base that it has read
	room     uint64 // by how many bytes the log may be ahead of it, before it counts
}

// whole reports whether the standby has the base.
func (at *sending) whole() bool { return at.hasBase == at.size && at.has >= at.at }

// acknowledge notes what a standby has of a log of which it has the base. What it reads makes the log's room smaller by half of that, down
// to least: so it catches up with a log that grows as fast as it reads.
func (at *sending) acknowledge(has rpc.CopyLog, least uint64) {
	read := has.End - max(at.has, at.at)
	at.has, at.replayed, at.loaded = has.End, max(at.replayed, has.Replayed), max(at.loaded, min(at.size, has.Loaded))
	if at.room > least {
		at.room = max(least, at.room-min(at.room, read/2))
	}
}

// gate is [copied.room].
func (at *sending) gate(s *Server) uint64 {
	if s.SlowStandby == DropStandby {
		return 0
	}
	return at.room
}

// lacks is how many bytes of a log, and of its base, a standby has not acknowledged.
func (at *sending) lacks(durable uint64) (records uint64, base int64) {
	return durable - min(durable, max(at.has, at.at)), at.size - at.hasBase
}

// close closes what is read.
func (at *sending) close() {
	if at.base != nil {
		_ = at.base.Close() // it was only read
	}
	if at.from != nil {
		_ = at.from.Close()
	}
}

// begin begins to send a log from its last base on, and has it kept from there on. One that began when the standby counted is all there:
// whatever waits for it waits for the standby.
func (l *jobLog) begin(s *Server, claim string, counts bool) (*sending, error) {
	for {
		l.copy(claim, &copied{counts: counts}) // nothing goes any more
		names, err := l.files.List()
		if err != nil {
			return nil, err
		}
		at := &sending{}
		if bases := basesOf(names); len(bases) > 0 && !counts {
			at.at = bases[0]
			at.base, err = l.files.Open(baseName(at.at))
			if errors.Is(err, fs.ErrNotExist) { // there is a later one
				continue
			}
			if err == nil {
				at.size, err = at.base.Size()
			}
		}
		at.end = at.at
		if err == nil {
			at.from, err = l.log.Read(at.at)
		}
		if errors.Is(err, journal.ErrGone) {
			at.close()
			continue
		}
		if err != nil {
			at.close()
			return nil, err
		}
		at.room = l.log.Durable() - at.at + s.Copies.keep(at.size)
		l.copy(claim, &copied{at.at, counts, at.gate(s)})
		return at, nil
	}
}

// goOn begins to send a log to a standby that has it up to a position.
func (l *jobLog) goOn(s *Server, to *standby, end uint64) (at *sending, err error) {
	l.copy(to.claim, &copied{end: end, counts: to.counts}) // nothing after it goes any more
	at = &sending{end: end, has: end}
	durable := l.log.Durable()
	at.room = durable - min(durable, end) + s.Copies.keep(0)
	at.from, err = l.log.Read(end)
	return at, err
}

// copyBeat is after how long a standby hears that nothing has come, if it answers readers, who want to know how old its copy is, or if the
// disk of a log is full and the standby may have to take the role over (handover.go).
const copyBeat = 500 * time.Millisecond

// errBeat is why a wait for something new ends.
var errBeat = errors.New("nothing has come")

// answer is what a standby lacks, when there is something, or for readers after a while that nothing has come. It may ask again then.
func (c *copies) answer(ctx context.Context, s *Server, o *outgoing) (r *rpc.Response, err error) {
	defer c.answered(o.to)
	within, cancel := ctx, func() {}
	if o.beats || o.full {
		within, cancel = context.WithTimeoutCause(ctx, copyBeat, errBeat)
	}
	defer cancel()
	err = c.changes.await(within, func() (bool, error) {
		r, err = c.gather(ctx, s, o, false)
		return r != nil, err
	})
	if errors.Is(err, errBeat) {
		r, err = c.gather(ctx, s, o, true)
	}
	return r, err
}

// pause is the answer to a standby that has no room.
func (c *copies) pause() *rpc.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := json.Marshal(&rpc.Copied{Run: c.run, Paused: true}) // texts and truths have a form as JSON
	return &rpc.Response{Results: []rpc.Result{{Data: text}}}
}

// gather is what a standby lacks now, nil if that is nothing, unless that is to be said, too, or a disk has just become full.
func (c *copies) gather(ctx context.Context, s *Server, o *outgoing, always bool) (*rpc.Response, error) {
	c.mu.Lock()
	logs, run, claim, counts := append([]*jobLog(nil), c.logs...), c.run, o.to.claim, o.to.counts
	c.mu.Unlock()
	b := &batch{most: s.Copies.batch(), head: rpc.Copied{Run: run, Logs: make([]rpc.CopiedLog, len(logs))}}
	news, full := len(logs) != o.told, false
	there := map[*jobLog]bool{}
	for i, l := range logs {
		there[l], full = true, full || l.lacksRoom()
		at := o.logs[l]
		if at == nil {
			var err error
			if at, err = l.begin(s, claim, counts); err != nil {
				return nil, err
			}
			c.mu.Lock()
			o.logs[l], news = at, true
			c.mu.Unlock()
		}
		head := &b.head.Logs[i]
		head.Name, head.Base, head.Size, head.At, head.From, head.To = l.name, at.at, at.size, at.off, at.end, at.end
		before := len(b.results)
		if err := b.log(ctx, i, l, at); err != nil {
			b.memory.Release()
			return nil, err
		}
		head.To, head.Durable = at.end, l.log.Durable()
		news = news || len(b.results) > before
	}
	c.mu.Lock()
	for l, at := range o.logs {
		if !there[l] {
			at.close()
			delete(o.logs, l)
			news = true
		}
	}
	c.mu.Unlock()
	if !news && !always && (o.full || !full) {
		return nil, nil
	}
	o.told, o.full, b.head.Full = len(logs), full, full
	text, err := json.Marshal(&b.head)
	if err != nil {
		b.memory.Release()
		return nil, err
	}
	return &rpc.Response{Results: append([]rpc.Result{{Data: text}}, b.results...), Memory: b.memory}, nil
}

// batch is an answer as it is gathered.
type batch struct {
	head    rpc.Copied
	results []rpc.Result
	memory  *rpc.Buffer
	used    int
	most    int // bytes, unless one record has more
}

// room is n bytes, nil if the batch has no room for them. The first always have some.
func (b *batch) room(n int) []byte {
	if b.memory == nil {
		b.memory = rpc.NewBuffer(max(n, b.most), budget.Charge{})
	}
	if n > len(b.memory.Bytes())-b.used {
		return nil
	}
	out := b.memory.Bytes()[b.used:][:n]
	b.used += n
	return out
}

// left is how many bytes of a base have room.
func (b *batch) left() int {
	if b.memory == nil {
		return b.most
	}
	return len(b.memory.Bytes()) - b.used
}

// log gathers what there is of a log.
func (b *batch) log(ctx context.Context, i int, l *jobLog, at *sending) error {
	if at.base != nil {
		n := int(min(at.size-at.off, int64(b.left())))
		if n == 0 {
			return nil // the next time
		}
		data := b.room(n)
		if err := wire.ReadAt(at.base, data, at.off); err != nil {
			return err
		}
		b.results = append(b.results, rpc.Result{Partition: uint32(i), Data: data})
		if at.off += int64(n); at.off == at.size {
			_ = at.base.Close() // it was only read
			at.base = nil
		}
		return nil
	}
	for durable := l.log.Durable(); at.end < durable; {
		if at.next == nil {
			rec, err := at.from.Next(ctx)
			if err != nil {
				return err
			}
			at.next = &rec
		}
		data := b.room(len(at.next.Body))
		if data == nil {
			return nil
		}
		copy(data, at.next.Body)
		b.results = append(b.results, rpc.Result{Matrix: at.next.Kind, Partition: uint32(i), Data: data})
		at.end, at.next = at.next.End, nil
	}
	return nil
}
