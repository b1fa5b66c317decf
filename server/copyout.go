package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

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
	has       uint64          // and acknowledged
}

// whole reports whether the standby has the base.
func (at *sending) whole() bool { return at.base == nil && at.has >= at.at }

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
func (l *jobLog) begin(claim string, counts bool) (*sending, error) {
	for {
		l.copy(claim, &copied{0, counts}) // nothing goes any more
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
		l.copy(claim, &copied{at.at, counts})
		return at, nil
	}
}

// goOn begins to send a log to a standby that has it up to a position.
func (l *jobLog) goOn(to *standby, end uint64) (at *sending, err error) {
	l.copy(to.claim, &copied{end, to.counts}) // nothing after it goes any more
	at = &sending{end: end, has: end}
	at.from, err = l.log.Read(end)
	return at, err
}

// answer is what a standby lacks, when there is something. It may ask again then.
func (c *copies) answer(ctx context.Context, o *outgoing) (*rpc.Response, error) {
	defer c.answered(o.to)
	for {
		changed := c.wait()
		r, err := c.gather(ctx, o)
		if r != nil || err != nil {
			return r, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// gather is what a standby lacks now, nil if that is nothing.
func (c *copies) gather(ctx context.Context, o *outgoing) (*rpc.Response, error) {
	c.mu.Lock()
	logs, run, claim, counts := append([]*jobLog(nil), c.logs...), c.run, o.to.claim, o.to.counts
	c.mu.Unlock()
	b := &batch{head: rpc.Copied{Run: run, Logs: make([]rpc.CopiedLog, len(logs))}}
	news := len(logs) != o.told
	there := map[*jobLog]bool{}
	for i, l := range logs {
		there[l] = true
		at := o.logs[l]
		if at == nil {
			var err error
			if at, err = l.begin(claim, counts); err != nil {
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
		head.To = at.end
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
	if !news {
		return nil, nil
	}
	o.told = len(logs)
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
}

// room is n bytes, nil if the batch has no room for them. The first always have some.
func (b *batch) room(n int) []byte {
	if b.memory == nil {
		b.memory = rpc.NewBuffer(max(n, rpc.CopyBytes), budget.Charge{})
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
		return rpc.CopyBytes
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
