package ps

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"

	"thole.example/blob"
	"thole.example/rpc"
)

// Checkpointing is a checkpoint that is under way while the task goes on. It belongs to its client's goroutine. It has to be polled or
// waited for until it is done, before the task leaves.
type Checkpointing struct {
	c     *Client
	save  rpc.Save
	step  checkpointStep
	clock int
	xs    []*exchange // that the step waits for
	err   error       // why nothing comes of it
}

// checkpointStep is how far a checkpoint is.
type checkpointStep uint8

// The steps. After an error the first server, which commits, is asked first to give up, as it may be at it.
const (
	checkpointWriting    checkpointStep = iota // servers wait for their moment, and write
	checkpointCommitting                       // the first makes it visible
	checkpointStopping                         // the first gives up
	checkpointEnding                           // servers forget what is left of it
	checkpointDone
)

// BeginCheckpoint begins a checkpoint ([Client.Checkpoint]) of this moment, that is of the task's clocks: of all that the tasks pushed
// before them, and nothing that this one or others push later. It waits for nothing, unless a connection has to be made again.
// Calls may follow that push, end clocks and pull. Under ASP it is of the moment in which each server hears of it.
//
// If a moment cannot be had any more, as where an update ran on a server until the clocks had moved on, the checkpoint fails with
// rpc.ErrPassed: it is to be begun again at a later clock. It fails, too, if a connection is lost meanwhile. Either disturbs
// nothing else.
func (c *Client) BeginCheckpoint(ctx context.Context, o CheckpointOptions) (*Checkpointing, error) {
	if err := c.begin(ctx, "checkpoint", nil); err != nil {
		return nil, err
	}
	defer c.end()
	return c.beginCheckpoint(ctx, o)
}

func (c *Client) beginCheckpoint(ctx context.Context, o CheckpointOptions) (*Checkpointing, error) {
	k := &Checkpointing{c: c, clock: c.clock, save: rpc.Save{
		Path: o.Path, Stage: rand.Text(), Checkpoint: true, Track: o.Track || o.Base != "", Base: o.Base, Interim: o.Interim, Keep: o.Keep,
		Moment: o.Moment, Files: o.Files, Servers: len(c.links),
	}}
	for _, m := range c.order {
		k.save.Matrices = append(k.save.Matrices, m.meta.Name)
	}
	if err := k.send(ctx, rpc.OpSave, 0, len(c.links)); err != nil {
		k.fail(ctx, err)
		return nil, k.wait(ctx)
	}
	return k, nil
}

// Poll goes on with the checkpoint as far as it goes without waiting, unless a connection has to be made again, and reports whether it
// is done; the error is why nothing came of it. If it is not done the error is that the context has ended, and nothing has changed.
func (k *Checkpointing) Poll(ctx context.Context) (done bool, err error) {
	if k.step == checkpointDone {
		return true, k.err
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	for k.step != checkpointDone && k.heard(ctx) {
		k.next(ctx)
	}
	if k.step != checkpointDone {
		return false, nil
	}
	return true, k.err
}

// Kept is what is there once the checkpoint is done.
func (k *Checkpointing) Kept() rpc.Kept {
	s := &k.save
	out := rpc.Kept{Name: blob.Base(s.Path), Path: s.Path, Base: s.Base, Clock: k.clock, Bound: k.c.o.Bound, Moment: s.Moment}
	if s.Track {
		out.ID = s.Stage
	}
	for _, text := range s.Parts {
		var part struct {
			File struct {
				Size int64 `json:"size"`
			} `json:"file"`
		}
		if json.Unmarshal(text, &part) == nil { // the servers understood it
			out.Bytes += part.File.Size
		}
	}
	for _, data := range s.Files {
		out.Bytes += int64(len(data))
	}
	return out
}

// Wait waits until the checkpoint is done; the error is why nothing came of it. If the context ends before, it is given up.
func (k *Checkpointing) Wait(ctx context.Context) error {
	k.c.watch.begin("checkpoint", nil)
	defer k.c.end()
	return k.wait(ctx)
}

func (k *Checkpointing) wait(ctx context.Context) error {
	for k.step != checkpointDone {
		within := ctx
		if k.step >= checkpointStopping { // it ends also if ctx has ended
			within = context.WithoutCancel(ctx)
		}
		err := k.c.failed
		if err == nil {
			err = k.c.wait(within, k.xs, math.MaxInt)
		}
		if err != nil {
			k.fail(ctx, err)
		} else {
			k.next(within)
		}
	}
	return k.err
}

// heard reports whether all is answered that the step waits for, or one error is known, without waiting.
func (k *Checkpointing) heard(ctx context.Context) bool {
	if k.c.failed != nil {
		return true
	}
	all := true
	for _, x := range k.xs {
		if x == nil {
			continue
		}
		if !x.link.poll(ctx, x) {
			all = false
		} else if x.err != nil && k.step == checkpointWriting {
			return true
		}
	}
	return all
}

// next takes the answers of a step and goes on with the next.
func (k *Checkpointing) next(ctx context.Context) {
	err := k.c.failed
	for _, x := range k.xs {
		if x != nil && x.err != nil && err == nil {
			err = x.err
		}
	}
	if k.step == checkpointCommitting && errors.Is(err, rpc.ErrNotFound) {
		err = &saveGone{err}
	}
	if err == nil && k.step == checkpointWriting {
		err = k.collect()
	}
	if err != nil {
		k.fail(ctx, err)
		return
	}
	release(k.xs)
	switch k.step {
	case checkpointWriting:
		k.begin(ctx, checkpointCommitting, rpc.OpCommit, 0, 1)
	case checkpointCommitting:
		k.save.Committed = true
		k.begin(ctx, checkpointEnding, rpc.OpAbort, 0, len(k.c.links))
	case checkpointStopping:
		k.begin(ctx, checkpointEnding, rpc.OpAbort, 1, len(k.c.links))
	case checkpointEnding:
		k.step = checkpointDone
	}
}

// fail ends the step, and the checkpoint, with an error: what is under way is given up, and forgotten by the servers, also if the context
// has ended.
func (k *Checkpointing) fail(ctx context.Context, err error) {
	ctx = context.WithoutCancel(ctx)
	abandon(k.xs)
	k.err = cmp.Or(k.err, err)
	switch {
	case k.c.failed != nil || k.step >= checkpointEnding: // servers see the connection end
		k.step = checkpointDone
	case k.step == checkpointStopping:
		k.begin(ctx, checkpointEnding, rpc.OpAbort, 1, len(k.c.links))
	default:
		k.begin(ctx, checkpointStopping, rpc.OpAbort, 0, 1)
	}
}

// begin begins a step: it asks the servers from lo to hi for the operation.
func (k *Checkpointing) begin(ctx context.Context, step checkpointStep, op rpc.Op, lo, hi int) {
	k.step = step
	if err := k.send(ctx, op, lo, hi); err != nil {
		k.fail(ctx, err)
	}
}

func (k *Checkpointing) send(ctx context.Context, op rpc.Op, lo, hi int) error {
	k.xs = make([]*exchange, len(k.c.links))
	for i := lo; i < hi; i++ {
		s := k.save
		s.Index = i
		if op != rpc.OpCommit { // the others need none of these
			s.Parts, s.Files = nil, nil
		}
		q, err := k.c.saveRequest(op, k.c.order, i, s)
		if err != nil {
			return err
		}
		k.xs[i] = &exchange{link: k.c.links[i], q: q, once: op != rpc.OpAbort}
	}
	return k.c.start(ctx, k.xs)
}

// collect takes what the servers tell of their shares.
func (k *Checkpointing) collect() error {
	for _, x := range k.xs {
		if len(x.resp.Results) != 1 {
			return x.link.lie("%d results of a checkpoint, want 1", len(x.resp.Results))
		}
		k.save.Parts = append(k.save.Parts, bytes.Clone(x.resp.Results[0].Data))
	}
	return nil
}

// poll takes the answer of an exchange if it is there, and reports whether it is. What has to be sent again is sent once somebody else
// has made a new connection.
func (l *link) poll(ctx context.Context, x *exchange) bool {
	if x.done || l.cutOff(x) {
		return true
	}
	if x.conn == nil || x.conn != l.conn { // the call of a lost connection is over: what it found is known
		if l.conn == nil || l.send(ctx, x) != nil {
			return false
		}
	}
	if x.call == nil || !x.call.Ready() {
		return false
	}
	r, err := x.call.Wait(ctx)
	l.answered(x, r, err)
	return x.done
}
