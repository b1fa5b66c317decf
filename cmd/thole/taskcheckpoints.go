package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"thole.example/blob"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/state"
	"thole.example/train"
)

// taskCheckpoints is the checkpoints of a training, in one folder of the servers' bucket, as the first task writes them and brings them
// back.
type taskCheckpoints struct {
	p      *plan
	client *ps.Client
	net    rpc.Network
	files  map[string][]byte // that are kept in each of them
	say    func(format string, args ...any)
	now    func() time.Time

	moment state.Moment      // of this attempt
	kept   []state.Entry     // that this attempt wrote, the oldest first: later ones may be based on them
	names  []string          // of all of trainings in the folder that was listed last
	lasts  map[string]int    // the last attempt of each training that wrote in its own folder, by identity
	going  *ps.Checkpointing // nil: none is being written
	to     string            // the path of that,
	base   string            // and the identity of what it is based on
	began  time.Time         // when the last one was, or the training,
	step   int               // and after how many steps
	failed bool              // it was said that one could not be written
	orders *ps.Orders        // nil: nobody can order anything
	asked  []*ps.Order       // for a checkpoint, not answered yet
	move   *move             // nil: the job is not about to move

	catalogue catalogue
}

// newCheckpoints is what a task has to do with checkpoints: nothing, but for the first one. w may be nil.
func (p *plan) newCheckpoints(client *ps.Client, net rpc.Network, files map[string][]byte, task int, w *watcher) *taskCheckpoints {
	if task > 0 {
		return nil
	}
	s := &taskCheckpoints{p: p, client: client, net: net, files: files, say: func(string, ...any) {}, now: time.Now}
	s.moment = state.Moment{Attempt: max(1, p.attempt), Tasks: p.tasks, Digest: fmt.Sprintf("%x", sha256.Sum256(p.settings))}
	if w != nil {
		s.say, s.now = w.bar.line, w.env.now
	}
	s.began = s.now()
	if p.checkpoint != "" && p.attempt > 0 {
		s.orders = client.Orders()
	}
	if p.moves() {
		p.where.note(&s.moment)
	}
	return s
}

// folder is where the checkpoints are, in the servers' bucket.
func (s *taskCheckpoints) folder() string { return s.p.there(s.p.checkpoint) }

// placeOf is where the training was.
func placeOf(m *state.Moment) train.Place {
	p := train.Place{Epoch: m.Epoch, Step: m.Step, Steps: m.Steps, Past: m.Made - m.Step}
	if m.Made == 0 {
		p.Past = (m.Epoch - 1) * m.Steps
	}
	return p
}

// save begins a checkpoint when it is time, and goes on with the one that is being written: it is what train.Options.Save does.
func (s *taskCheckpoints) save(ctx context.Context, at train.Place) error {
	s.arrived()
	due := at.Made() != s.step && (at.Last || s.p.every.due(at, s.step, s.now().Sub(s.began)))
	if err := s.goOn(ctx, at.Last || due && s.p.every.epochs > 0); err != nil { // between epochs there is no second chance
		return err
	}
	if err := s.listen(ctx, at); err != nil {
		return err
	}
	if busy, err := s.hear(ctx, at); busy || err != nil {
		return err
	}
	if s.going == nil && due && at.Made() != s.step {
		if err := s.begin(ctx, at); err != nil {
			return err
		}
		if at.Last {
			if err := s.goOn(ctx, true); err != nil {
				return err
			}
		}
	}
	return s.catalogue.goOn(ctx, at.Last)
}

// begin begins a checkpoint: a whole one or an increment.
func (s *taskCheckpoints) begin(ctx context.Context, at train.Place) (err error) {
	s.moment.Epoch, s.moment.Step, s.moment.Steps, s.moment.Made = at.Epoch, at.Step, at.Steps, at.Made()
	if s.moment.Best = ""; at.Best > 0 {
		s.moment.Best = state.BestName(at.Best)
	}
	o := ps.CheckpointOptions{Path: blob.Join(s.folder(), state.StepName(int64(at.Made()))), Track: true, Files: s.files,
		Keep: s.catalogue.keep(s.p.keepCheckpoints)}
	whole, base := state.Next(s.kept, s.moment.Run)
	if s.base = ""; !whole {
		o.Base, s.base = base.Path, base.Head.ID
	}
	if o.Moment, err = json.Marshal(s.moment); err != nil {
		return err
	}
	s.to, s.began, s.step = o.Path, s.now(), at.Made()
	if s.going, err = s.client.BeginCheckpoint(ctx, o); err != nil {
		return s.without(ctx, err)
	}
	return nil
}

// goOn goes on with the checkpoint that is being written, and with wait until it is there. One that cannot be written is told of, and
// does not end the training.
func (s *taskCheckpoints) goOn(ctx context.Context, wait bool) error {
	if s.going == nil {
		return nil
	}
	done, err := s.going.Poll(ctx)
	if wait && !done {
		err = s.going.Wait(ctx)
		done = true
	}
	switch {
	case err != nil:
		return s.without(ctx, err)
	case done:
		e, err := entryOf(s.going.Kept(), s.base)
		if err != nil {
			return err
		}
		s.kept = append(s.kept, e)
		s.going, s.failed = nil, false
		s.p.written++
		s.catalogue.wrote(&e, placeOf(&e.Head.Moment).Made())
	}
	return nil
}

// without goes on without the checkpoint that was to be written, unless it was a server or the task that is not there any more. A
// connection that was lost may come back, with all that the server had: whether it does is for the next call to find out.
func (s *taskCheckpoints) without(ctx context.Context, err error) error {
	s.going = nil
	switch {
	case ctx.Err() == nil && errors.Is(err, rpc.ErrLost) && !errors.Is(err, rpc.ErrClosed) && s.client.Retry() > 0:
	case ctx.Err() == nil && errors.Is(err, blob.ErrUnavailable): // the servers have everything: the next checkpoint may be written
		if !s.failed {
			s.say("checkpoint %s could not be written: %v; training continues", s.to, err)
		}
	case ctx.Err() != nil || ps.Recoverable(err):
		return err
	case errors.Is(err, rpc.ErrPassed): // the next step has another moment
		s.step, s.began = -1, time.Time{}
		return nil
	case !s.failed:
		s.say("checkpoint %s could not be written: %v; training continues", s.to, err)
	}
	s.failed, s.kept = true, nil // it may not be known what the servers remember: the next one is whole
	return nil
}

// best keeps the state of an epoch that is the best so far.
func (s *taskCheckpoints) best(ctx context.Context, epoch int) error {
	of := s.moment
	of.Epoch, of.Step, of.Steps, of.Made, of.Best = epoch, 0, 0, 0, ""
	moment, err := json.Marshal(of)
	if err != nil {
		return err
	}
	o := ps.CheckpointOptions{Path: blob.Join(s.folder(), state.BestName(epoch)), Files: s.files, Moment: moment}
	return s.client.WriteCheckpoint(ctx, o)
}
