package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

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
	going  *ps.Checkpointing // nil: none is being written
	to     string            // the path of that,
	base   string            // and the identity of what it is based on
	began  time.Time         // when the last one was, or the training,
	step   int               // and after how many steps
	failed bool              // it was said that one could not be written
	orders *ps.Orders        // nil: the job cannot move
	move   *move             // nil: it is not about to

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
	if p.moves() {
		s.orders = client.Orders()
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

// bringBack restores the last checkpoint of this training, or the one that the user names, and reports whether there was one.
func (s *taskCheckpoints) bringBack(ctx context.Context) (bool, error) {
	p := s.p
	if p.checkpoint != "" {
		all, err := s.list(ctx, s.folder(), s.claiming())
		if err != nil {
			return false, err
		}
		same, err := s.last(ctx, p.checkpoint, all)
		if same || err != nil {
			return same, err
		}
	}
	if err := s.begins(ctx); err != nil || !p.resumes() {
		return false, err
	}
	at := p.there(p.resume)
	all, err := s.list(ctx, at, s.client.Checkpoints)
	if err == nil && len(all) == 0 { // it may be a checkpoint itself
		var one *state.Entry
		if one, err = s.named(ctx, at); err == nil {
			return true, s.restore(ctx, path.Dir(p.resume), *one)
		}
	}
	if err != nil {
		return false, err
	}
	same, err := s.last(ctx, p.resume, all)
	if err == nil && !same {
		err = fmt.Errorf("--resume %s: there is no checkpoint to go on from", p.resume)
	}
	return same, err
}

// inFull is the path of a checkpoint, the last part of which may be the number of steps alone.
func inFull(at string) string {
	if steps, err := strconv.ParseInt(path.Base(at), 10, 64); err == nil && steps >= 0 {
		return path.Join(path.Dir(at), state.StepName(steps))
	}
	return at
}

// named is the checkpoint at a path, the last part of which may be the number of steps.
func (s *taskCheckpoints) named(ctx context.Context, at string) (*state.Entry, error) {
	all, err := s.listAll(ctx, path.Dir(at), s.client.Checkpoints)
	if err != nil {
		return nil, err
	}
	name := path.Base(inFull(at))
	for i := range all {
		switch e := &all[i]; {
		case e.Name != name:
		case e.Err != nil:
			return nil, fmt.Errorf("--resume %s: %w", s.p.resume, e.Err)
		case e.Head.Moment.Run == "":
			return nil, fmt.Errorf("--resume %s is the state beside a model, not a checkpoint of a training: --load %s goes on from it", s.p.resume,
				strings.TrimSuffix(s.p.resume, stateEnding))
		default:
			return e, nil
		}
	}
	return nil, fmt.Errorf("--resume %s: no checkpoint there", s.p.resume)
}

// begins gives the training an identity: that of an attempt of it which ended before its first checkpoint, if that has kept the state of
// its best epoch, which this one will replace; else a new one.
func (s *taskCheckpoints) begins(ctx context.Context) error {
	s.moment.Run = rand.Text()
	if s.p.checkpoint == "" {
		return nil
	}
	all, err := s.listAll(ctx, s.folder(), s.client.Checkpoints)
	for _, e := range all {
		if e.Err == nil && !e.Stepped() && e.Ours() && e.Head.Moment.Digest == s.moment.Digest {
			s.moment.Run = e.Head.Moment.Run
		}
	}
	return err
}

// goOnWith goes on with the checkpoints of a task that went away, in whose place this one is.
func (s *taskCheckpoints) goOnWith(ctx context.Context) error {
	all, err := s.list(ctx, s.folder(), s.claiming())
	if err != nil {
		return err
	}
	s.moment.Run = rand.Text()
	for _, e := range all {
		if e.Err == nil && e.Head.Moment.Digest == s.moment.Digest {
			s.moment.Run, s.step = e.Head.Moment.Run, placeOf(&e.Head.Moment).Made()
		}
	}
	s.say("goes on in the place of a process that was lost")
	return nil
}

// lookup is how the servers are asked for the checkpoints in a folder.
type lookup func(ctx context.Context, folder string) ([]rpc.Kept, error)

// claiming is the lookup by which the folder becomes this job's. Where a store has the catalogue that keeps others off, also from the
// attempts of a server that is frozen and may have the folder still.
func (s *taskCheckpoints) claiming() lookup {
	if s.catalogue.from != nil {
		return s.client.Checkpoints
	}
	return s.client.ClaimCheckpoints
}

// list is the checkpoints in a folder of the servers' bucket that are named by their steps.
func (s *taskCheckpoints) list(ctx context.Context, folder string, by lookup) ([]state.Entry, error) {
	all, err := s.listAll(ctx, folder, by)
	return s.catalogue.counted(slices.DeleteFunc(all, func(e state.Entry) bool { return !e.Stepped() })), err
}

func (s *taskCheckpoints) listAll(ctx context.Context, folder string, by lookup) ([]state.Entry, error) {
	kept, err := by(ctx, folder)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, k := range kept {
		ids[k.Path] = k.ID
	}
	all := make([]state.Entry, len(kept))
	for i, k := range kept {
		if all[i], err = entryOf(k, ids[k.Base]); err != nil {
			return nil, err
		}
	}
	s.names = nil
	for _, e := range all {
		if e.Err == nil && e.Ours() {
			s.names = append(s.names, e.Name)
		}
	}
	return all, nil
}

// entryOf is a checkpoint as the servers tell of it, as far as they do; base is the identity of what it is based on.
func entryOf(k rpc.Kept, base string) (state.Entry, error) {
	e := state.Entry{Name: k.Name, Path: k.Path, Bytes: k.Bytes}
	if k.Err != "" {
		e.Err = errors.New(k.Err)
		return e, nil
	}
	e.Head = &state.Checkpoint{ID: k.ID, Base: state.Link{Path: k.Base, ID: base}, Clock: k.Clock, Plan: k.Plan, Bound: k.Bound}
	if len(k.Moment) > 0 {
		if err := json.Unmarshal(k.Moment, &e.Head.Moment); err != nil {
			return e, fmt.Errorf("%s: moment %.100q: %w", k.Path, k.Moment, err)
		}
	}
	return e, nil
}

// last restores the last of some checkpoints; where there were other tasks, the last one between epochs. One that is damaged is told of,
// and the next attempt takes the one before.
func (s *taskCheckpoints) last(ctx context.Context, folder string, all []state.Entry) (bool, error) {
	p := s.p
	if len(all) == 0 {
		return false, nil
	}
	if p.resume == resumeNever && p.attempt <= p.first {
		return false, s.clear(ctx, folder, all)
	}
	amid := 0
	for _, e := range slices.Backward(all) {
		if e.Err == nil && p.giveUp == 0 && e.Head.Moment.Tasks != p.tasks && e.Head.Moment.Step != e.Head.Moment.Steps {
			amid++
			continue
		}
		if e.Err == nil && p.damaged[e.Path] == nil {
			if err := s.restore(ctx, folder, e); err != nil {
				return false, err
			}
			return true, nil
		}
		if p.damaged[e.Path] == nil {
			p.spoil(e.Path, e.Err)
			s.say("%s cannot be used: %v", path.Join(folder, e.Name), e.Err)
		}
	}
	if amid > 0 {
		at := all[len(all)-1].Head.Moment
		return false, fmt.Errorf("%s: the last checkpoint is of step %d of %d in epoch %d of %d tasks, and none is of an epoch's end, "+
			"where %d may go on: want as many tasks (--checkpoint-every epoch writes some between epochs)",
			folder, at.Step, at.Steps, at.Epoch, at.Tasks, p.tasks)
	}
	return false, fmt.Errorf("%s: none of %d checkpoints can be used, the last one: %w (--resume never --force begins anew)",
		folder, len(all), p.damaged[all[len(all)-1].Path])
}

// clear removes the checkpoints of another training, if the user says so.
func (s *taskCheckpoints) clear(ctx context.Context, folder string, all []state.Entry) error {
	if !s.p.force {
		return fmt.Errorf("--resume never, and %s has %d checkpoints, the last one %s: --force removes them, another --checkpoint keeps them",
			folder, len(all), all[len(all)-1].Name)
	}
	return s.client.RemoveCheckpoints(ctx, s.folder(), s.names)
}

// damaged reports whether a checkpoint could not be read, or something that it is based on is not there.
func damaged(err error) bool {
	fault, ok := errors.AsType[*rpc.Fault](err)
	return ok && (fault.Kind == nil || errors.Is(err, rpc.ErrNotFound))
}

// errDamaged is that of a checkpoint that another attempt does without.
var errDamaged = errors.New("another one is taken")

// restore restores a checkpoint of a training with the same settings.
func (s *taskCheckpoints) restore(ctx context.Context, folder string, e state.Entry) error {
	p := s.p
	name := path.Join(folder, e.Name)
	if err := p.asBefore(name, e.Head.Plan, s.say); err != nil {
		return err
	}
	if e.Head.Bound != p.bound {
		s.say("%s is of a training under %v, this one goes on under %v", name, e.Head.Bound, p.bound)
	}
	switch _, err := s.client.Restore(ctx, e.Path); {
	case err == nil:
	case ps.Recoverable(err):
		return err
	case p.checkpoint != "" && damaged(err):
		p.spoil(e.Path, err)
		return fmt.Errorf("%w: %w", err, errDamaged)
	default:
		return withAdvice(err, p.otherSeed(err))
	}
	at := e.Head.Moment
	p.resumed = true
	s.moment.Run, s.step = at.Run, placeOf(&at).Made()
	s.say("goes on from %s, of epoch %d, step %d of %d", name, at.Epoch, at.Step, at.Steps)
	return nil
}

// save begins a checkpoint when it is time, and goes on with the one that is being written: it is what train.Options.Save does.
func (s *taskCheckpoints) save(ctx context.Context, at train.Place) error {
	s.arrived()
	due := at.Made() != s.step && (at.Last || s.p.every.due(at, s.step, s.now().Sub(s.began)))
	if err := s.goOn(ctx, at.Last || due && s.p.every.epochs > 0); err != nil { // between epochs there is no second chance
		return err
	}
	if busy, err := s.hear(ctx, at); busy || err != nil {
		return err
	}
	if s.going == nil && due {
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
	o := ps.CheckpointOptions{Path: path.Join(s.folder(), state.StepName(int64(at.Made()))), Track: true, Files: s.files,
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
	case ctx.Err() != nil || ps.Recoverable(err):
		return err
	case errors.Is(err, rpc.ErrPassed): // the next step has another moment
		s.step, s.began = -1, time.Time{}
		return nil
	case !s.failed:
		s.say("checkpoint %s could not be written: %v; the training goes on", s.to, err)
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
	o := ps.CheckpointOptions{Path: path.Join(s.folder(), state.BestName(epoch)), Files: s.files, Moment: moment}
	return s.client.WriteCheckpoint(ctx, o)
}
