package ssp

import (
	"fmt"
	"math"
)

// check tells why a push cannot be done. It changes nothing.
func (j *Job[D, R]) check(m *member[D, R], c *change[D, R]) error {
	for i := range c.Deltas {
		d := &c.Deltas[i]
		if d.Matrix < 1 || d.Matrix >= len(j.matrices) {
			return fmt.Errorf("push to matrix %d of job %q, want one from 1 to %d: %w",
				d.Matrix, j.name, len(j.matrices)-1, Malformed)
		}
		if err := j.current(m, d.Matrix, d.Clock); err != nil {
			return err
		}
	}
	for i, t := range c.Ticks {
		if t.Matrix < 0 || t.Matrix >= len(j.matrices) || i > 0 && t.Matrix <= c.Ticks[i-1].Matrix {
			return fmt.Errorf("tick of matrix %d of job %q, want ascending ones from 0 to %d: %w",
				t.Matrix, j.name, len(j.matrices)-1, Malformed)
		}
		if err := j.current(m, t.Matrix, t.Clock); err != nil {
			return err
		}
		if !(t.Weight >= 0) || math.IsInf(t.Weight, 0) || math.IsNaN(t.Rate) || math.IsInf(t.Rate, 0) {
			return fmt.Errorf("%v: tick with weight %v and rate %v: %w", j.matrices[t.Matrix], t.Weight, t.Rate, Malformed)
		}
		if err := j.weighed(m, c, t); err != nil {
			return err
		}
	}
	return j.checkNeeds(c.Then, Finished-1)
}

// current wants the clock to be the task's present one of the matrix.
func (j *Job[D, R]) current(m *member[D, R], matrix, clock int) error {
	s := j.matrices[matrix]
	switch now := s.clocks.Of(m.task); {
	case now != clock:
		return fmt.Errorf("%v: push of clock %d by task %d, which is at clock %d: %w", s, clock, m.task, now, Malformed)
	case clock >= Finished-1:
		return fmt.Errorf("%v: push of clock %d, want one below %d: %w", s, clock, Finished-1, Malformed)
	}
	return nil
}

// weighed wants gradients under ASP, where each task's tick is a step of its own, to have a weight.
func (j *Job[D, R]) weighed(m *member[D, R], c *change[D, R], t Tick) error {
	s := j.matrices[t.Matrix]
	if !s.own() || t.Weight > 0 {
		return nil
	}
	gradients := s.ahead.gradients(t.Clock, m.task)
	for i := range c.Deltas {
		gradients = gradients || c.Deltas[i].Matrix == t.Matrix && !c.Deltas[i].Weightless
	}
	if gradients {
		return s.weightless()
	}
	return nil
}

// own reports whether the tick of each task is a step of its own.
func (s *series[D]) own() bool { return s.Bound == ASP && s.Rule }

func (s *series[D]) weightless() error {
	return fmt.Errorf("%v: gradients for its rule, but no task told over how many examples (weight): %w", s, Refused)
}

// String is how people call the matrix.
func (s *series[D]) String() string { return ofMatrix(s.ID, s.Name) }

// ofMatrix is how people call the matrix of the number, 0 for the job's own clock.
func ofMatrix(id int, name string) string {
	if id == 0 {
		return "the job"
	}
	return "matrix " + name
}

// push does a push that was checked, up to what follows it. After an error the job has failed.
func (j *Job[D, R]) push(m *member[D, R], c *change[D, R]) error {
	for i := 0; i < len(c.Deltas); {
		s, n := j.matrices[c.Deltas[i].Matrix], i
		for ; i < len(c.Deltas) && c.Deltas[i].Matrix == s.ID; i++ {
			if s.Bound != ASP || s.Rule {
				s.ahead.add(c.Deltas[i].Clock, entry[D]{task: m.task, delta: c.Deltas[i].Data, weightless: c.Deltas[i].Weightless})
			}
		}
		if s.Bound == ASP && !s.Rule {
			at := make([]D, 0, i-n)
			for _, d := range c.Deltas[n:i] {
				at = append(at, d.Data)
			}
			j.do(Apply[D]{Matrix: s.ID, Clock: c.Deltas[n].Clock, Deltas: at})
		}
	}
	moved := false
	for _, t := range c.Ticks {
		s := j.matrices[t.Matrix]
		if s.own() {
			j.apply(s, t.Clock, s.ahead.take(t.Clock, m.task), t.Weight, t.Rate)
		} else if s.Rule && t.Weight > 0 {
			s.ahead.add(t.Clock, entry[D]{task: m.task, tick: true, weight: t.Weight, rate: t.Rate})
		}
		if moved = s.tick(m.task, t.Clock+1) || moved; t.Matrix == 0 {
			m.altered = false
		}
	}
	if !moved {
		return nil
	}
	return j.advance()
}

// tick moves a task's clock and reports whether the slowest one moved.
func (s *series[D]) tick(task, n int) bool {
	before := s.clocks.Slowest()
	slowest, err := s.clocks.Tick(task, n)
	s.moved = s.moved || err == nil && slowest > before
	return s.moved
}

// advance folds what is due in the matrices whose slowest clock has moved, then lets readers go on. When it has moved by
// more than one, as when the slowest task leaves, it stops at every clock that a reader waits for: under BSP a reader sees
// nothing later than its clock. After an error the job has failed.
func (j *Job[D, R]) advance() error {
	for more := true; more; {
		for _, s := range j.matrices {
			if !s.moved {
				continue
			}
			to := j.stop(s)
			if err := j.fold(s, to); err != nil {
				j.fail(err)
				return err
			}
			s.shown = to
		}
		for _, s := range j.matrices {
			if s.moved {
				j.do(Published{s.ID, s.shown})
			}
		}
		more = j.wake()
	}
	return nil
}

// stop is the clock up to which the matrix can be folded before readers look.
func (j *Job[D, R]) stop(s *series[D]) int {
	to := s.clocks.Slowest()
	if to == s.shown+1 {
		return to
	}
	for i := range j.pulls {
		p := &j.pulls[i]
		for _, n := range p.needs[p.next:] {
			if least := j.least(p, n); n.Matrix == s.ID && least > s.shown {
				to = min(to, least)
			}
		}
	}
	return to
}

// fold applies the clocks below one, one after the other.
func (j *Job[D, R]) fold(s *series[D], below int) error {
	for {
		step, ok := s.ahead.due(below)
		if !ok {
			return nil
		}
		var weight, rate float64
		gradients := false
		deltas := make([]D, 0, len(step.entries))
		for i := range step.entries {
			e := &step.entries[i]
			if e.tick {
				weight += e.weight
				rate = max(rate, e.rate)
			} else {
				deltas = append(deltas, e.delta)
				gradients = gradients || !e.weightless
			}
		}
		s.ahead.recycle(step.entries)
		if s.Rule && weight == 0 && gradients {
			j.do(Discard[D]{s.ID, deltas})
			return fmt.Errorf("job %q: %w", j.name, s.weightless())
		}
		j.apply(s, step.clock, deltas, weight, rate)
	}
}

// apply gives a clock's deltas out, if there is anything to do.
func (j *Job[D, R]) apply(s *series[D], clock int, deltas []D, weight, rate float64) {
	step := s.Rule && weight > 0
	if step {
		j.do(Apply[D]{s.ID, clock, deltas, weight, max(rate, 0), true})
	} else if len(deltas) > 0 {
		j.do(Apply[D]{Matrix: s.ID, Clock: clock, Deltas: deltas})
	}
}
