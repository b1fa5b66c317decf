package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/internal/number"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/state"
)

// bringBack restores the last checkpoint of this training, or the one that the user names, and reports whether there was one.
func (s *taskCheckpoints) bringBack(ctx context.Context) (bool, error) {
	p := s.p
	if p.checkpoint != "" {
		all, err := s.list(ctx, s.folder(), s.claiming())
		if err != nil {
			return false, err
		}
		same, err := s.last(ctx, p.checkpoint, all)
		if same && p.resumes() && p.attempt <= p.first {
			s.say("--resume %s is not needed: %s has later checkpoints of this training", p.resume, p.checkpoint)
		}
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
			return true, s.restore(ctx, blob.Parent(p.resume), *one)
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
	if steps, err := strconv.ParseInt(blob.Base(at), 10, 64); err == nil && steps >= 0 {
		return blob.Join(blob.Parent(at), state.StepName(steps))
	}
	return at
}

// named is the checkpoint at a path, the last part of which may be the number of steps.
func (s *taskCheckpoints) named(ctx context.Context, at string) (*state.Entry, error) {
	all, err := s.listAll(ctx, blob.Parent(at), s.client.Checkpoints)
	if err != nil {
		return nil, err
	}
	name := blob.Base(inFull(at))
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
	return nil, fmt.Errorf("--resume %s: no checkpoint there%s", s.p.resume, besides(s.p.resume, names(all)))
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
	return errors.Join(err, s.outnumbered())
}

// outnumbered is the error of a task that has joined in an attempt before the last one that wrote checkpoints of this training, which it
// could not replace: all of the job was started again, and its servers do not know how often it had been.
func (s *taskCheckpoints) outnumbered() error {
	if last := s.lasts[s.moment.Run]; last > s.moment.Attempt {
		return &unfit{last + 1}
	}
	return nil
}

// goOnWith goes on with the checkpoints of a task that went away, in whose place this one is.
func (s *taskCheckpoints) goOnWith(ctx context.Context) error {
	all, err := s.list(ctx, s.folder(), s.claiming())
	if err == nil {
		err = s.begins(ctx) // it may have been lost before its first checkpoint
	}
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Err == nil && e.Head.Moment.Digest == s.moment.Digest {
			s.moment.Run, s.step = e.Head.Moment.Run, placeOf(&e.Head.Moment).Made()
		}
	}
	s.say("continues in place of a lost process")
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
	if s.moment.Servers != nil {
		return s.claimElsewhere
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
	if s.lasts == nil {
		s.lasts = map[string]int{}
	}
	for _, e := range all {
		if e.Err != nil || !e.Ours() {
			continue
		}
		s.names = append(s.names, e.Name)
		if run := e.Head.Moment.Run; folder == s.folder() {
			s.lasts[run] = max(s.lasts[run], e.Head.Moment.Attempt)
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
			s.say("%s cannot be used: %v", blob.Join(folder, e.Name), e.Err)
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
		return fmt.Errorf("--resume never, and %s has %s, the last one %s: --force removes them, another --checkpoint keeps them",
			folder, number.Of(len(all), "checkpoint"), all[len(all)-1].Name)
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
	name := blob.Join(folder, e.Name)
	s.moment.Run = e.Head.Moment.Run
	if err := s.outnumbered(); err != nil {
		return err
	}
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
	s.step = placeOf(&at).Made()
	s.say("goes on from %s, of epoch %d, step %d of %d", name, at.Epoch, at.Step, at.Steps)
	return nil
}
