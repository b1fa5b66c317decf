package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/train"
)

// Who is about to end, a server or a worker, orders a checkpoint. The first task hears of it after a step, and makes no other before the
// checkpoint is there: whoever goes then takes no step with it.

// listen hears of orders, and writes the checkpoints that are asked for. When this process is to end, and has one, it makes no more steps.
func (s *taskCheckpoints) listen(ctx context.Context, at train.Place) error {
	for s.orders != nil {
		o, err := s.nextOrder(ctx)
		switch {
		case err != nil:
			return err
		case o != nil && o.Servers != nil:
			s.say("moves to %s: the values are copied first", strings.Join(o.Servers, ", "))
			s.move = &move{Order: o, before: s.p.written}
		case o != nil:
			s.asked = append(s.asked, o)
		case len(s.asked) > 0:
			if err := s.keepNow(ctx, at); err != nil {
				return err
			}
			if len(s.asked) > 0 { // after the next step
				return nil
			}
		case s.p.farewell.begun() && s.has(at): // somebody waits for the answer, and ends this process then
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(listenPause):
			}
		default:
			return nil
		}
	}
	return nil
}

// listenPause is how often a task that makes no more steps looks for orders.
const listenPause = 2 * time.Millisecond

// nextOrder is the next order, nil if there is none, or one is made that goes on longer than a step.
func (s *taskCheckpoints) nextOrder(ctx context.Context) (*ps.Order, error) {
	if s.move != nil {
		return nil, nil
	}
	return s.orders.Poll(ctx)
}

// has reports whether there is a checkpoint of now.
func (s *taskCheckpoints) has(at train.Place) bool {
	n := len(s.kept)
	return n > 0 && placeOf(&s.kept[n-1].Head.Moment).Made() == at.Made()
}

// keepNow writes a checkpoint of now, unless there is one, and answers those who asked for it. If its clock has passed on a server they are
// to be answered after another step.
func (s *taskCheckpoints) keepNow(ctx context.Context, at train.Place) error {
	if err := s.goOn(ctx, true); err != nil {
		return err
	}
	if !s.has(at) {
		if err := s.begin(ctx, at); err != nil {
			return err
		}
		if err := s.goOn(ctx, true); err != nil {
			return err
		}
	}
	var answer func(o *ps.Order) error
	switch {
	case s.has(at):
		to := s.kept[len(s.kept)-1].Path
		answer = func(o *ps.Order) error { return s.client.Moved(ctx, o, to) }
		s.say("%s was asked for, as somebody ends", to)
	case s.failed:
		why := fmt.Errorf("the checkpoint %s could not be written", s.to)
		answer = func(o *ps.Order) error { return s.client.Stays(ctx, o, why) }
	default:
		return nil
	}
	asked := s.asked
	s.asked = nil
	for _, o := range asked {
		if err := answer(o); err != nil && !errors.Is(err, rpc.ErrNotFound) { // whoever asked has given up
			return err
		}
	}
	return nil
}
