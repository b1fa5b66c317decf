package ssp

import (
	"fmt"
	"slices"
	"time"
)

// pull waits for clocks.
type pull[D any, R comparable] struct {
	req   R
	of    *member[D, R] // nil: somebody who looks
	needs []Need
	next  int  // of needs; those before are reached
	exact bool // whatever the bound
	again bool // a duplicate
	done  bool // a push that was executed
	since time.Duration
}

func (j *Job[D, R]) pull(e *Pull[R]) {
	m := j.worker(e.Conn, e.Req)
	if m == nil {
		return
	}
	if err := j.checkNeeds(e.Needs, Finished-1); err != nil {
		j.refuse(e.Req, err)
		return
	}
	j.await(pull[D, R]{req: e.Req, of: m, needs: e.Needs, exact: e.Exact})
}

func (j *Job[D, R]) look(e *Look[R]) {
	err := j.failed
	if err == nil {
		err = j.checkNeeds(e.Needs, Finished)
	}
	if err != nil {
		j.refuse(e.Req, err)
		return
	}
	j.await(pull[D, R]{req: e.Req, needs: e.Needs, exact: true})
}

// String is who waits.
func (p *pull[D, R]) String() string {
	if p.of == nil {
		return "a reader"
	}
	return fmt.Sprintf("task %d", p.of.task)
}

func (j *Job[D, R]) checkNeeds(needs []Need, last int) error {
	for _, n := range needs {
		switch {
		case n.Matrix < 0 || n.Matrix >= len(j.matrices):
			return fmt.Errorf("pull of matrix %d of job %q, want one from 0 to %d: %w", n.Matrix, j.name, len(j.matrices)-1, Malformed)
		case n.Clock < 0 || n.Clock > last:
			return fmt.Errorf("%v: pull at clock %d, want one from 0 to %d: %w", j.matrices[n.Matrix], n.Clock, last, Malformed)
		}
	}
	return nil
}

// await answers when everything needed is reached.
func (j *Job[D, R]) await(p pull[D, R]) {
	if j.reached(&p) {
		j.deliver(&p)
		return
	}
	p.since = j.now
	j.begin(&j.matrices[p.needs[p.next].Matrix].watch)
	j.pulls = append(j.pulls, p)
}

// reached looks at what is still needed. Slowest clocks never fall: what was reached once stays so.
func (j *Job[D, R]) reached(p *pull[D, R]) bool {
	for ; p.next < len(p.needs); p.next++ {
		if j.Slowest(p.needs[p.next].Matrix) < j.least(p, p.needs[p.next]) {
			return false
		}
	}
	return true
}

// least is the clock that the slowest task has to reach for one of the pull's needs.
func (j *Job[D, R]) least(p *pull[D, R], n Need) int {
	if p.exact {
		return n.Clock
	}
	return j.matrices[n.Matrix].Bound.Need(n.Clock)
}

func (j *Job[D, R]) deliver(p *pull[D, R]) {
	if j.quiesced(p.of) {
		j.order.held = append(j.order.held, *p)
		return
	}
	clock := Finished
	for _, n := range p.needs {
		if now := j.Slowest(n.Matrix); p.of == nil && now > n.Clock {
			j.refuse(p.req, fmt.Errorf("%v: clock %d is wanted, it is at %d: %w", j.matrices[n.Matrix], n.Clock, now, Passed))
			return
		}
		clock = min(clock, j.Slowest(n.Matrix))
	}
	if len(p.needs) == 0 {
		clock = j.Slowest(0)
	}
	if own := j.own(p); own != nil {
		j.do(Own[D, R]{p.req, own})
	}
	j.do(Answer[R]{p.req, clock, p.again})
}

// own is what the reader has pushed itself and wants to see.
func (j *Job[D, R]) own(p *pull[D, R]) (deltas []D) {
	for i, n := range p.needs {
		again := func(o Need) bool { return o.Own && o.Matrix == n.Matrix }
		if n.Own && p.of != nil && !slices.ContainsFunc(p.needs[:i], again) {
			deltas = append(deltas, j.matrices[n.Matrix].ahead.of(p.of.task)...)
		}
	}
	return deltas
}

// wake answers the pulls that need no more, in the order in which they came. It reports whether there is more to fold.
func (j *Job[D, R]) wake() (more bool) {
	for _, s := range j.matrices {
		if s.moved {
			s.moved, s.watch = s.shown < s.clocks.Slowest(), watch{}
			more = more || s.moved
		}
	}
	j.pulls = keep(j.pulls, func(p *pull[D, R]) bool {
		if j.reached(p) {
			j.deliver(p)
			return false
		}
		j.begin(&j.matrices[p.needs[p.next].Matrix].watch)
		return true
	})
	return more
}
