package ssp

import (
	"cmp"
	"fmt"
	"slices"
)

// Window is how many changes a client may have under way, and how many of the last ones a job knows the outcome of. A
// client numbers its changes 1, 2, 3, ... over all its connections; after a lost one it sends again what was not answered.
const Window = 256

// window is what a job remembers of the changes of a task's client. They are executed in the order of their numbers, each
// once; a refused one counts as executed.
type window[D, R any] struct {
	last    uint64
	refused []refusal      // of the last changes, ascending; all others were done
	running []running[R]   // updates that the shell has not told the outcome of, ascending
	early   []change[D, R] // came before their turn, ascending
	gap     watch          // for the change that early ones wait for
}

type refusal struct {
	seq uint64
	err error
}

// running is an update that the shell executes, and who waits for it: its duplicates, too.
type running[R any] struct {
	seq  uint64
	reqs []Answer[R]
}

// change is a push, or an update with the fields that both have.
type change[D, R any] struct {
	Push[D, R]
	update bool
}

// outcome is why the change was refused, nil if it was not.
func (w *window[D, R]) outcome(seq uint64) error {
	for _, r := range w.refused {
		if r.seq == seq {
			return r.err
		}
	}
	return nil
}

// refuse remembers the outcome of a change that is not newer than the last, and forgets those that are too old.
func (w *window[D, R]) refuse(seq uint64, err error) {
	i, _ := slices.BinarySearchFunc(w.refused, seq, func(r refusal, seq uint64) int { return cmp.Compare(r.seq, seq) })
	w.refused = slices.Insert(w.refused, i, refusal{seq, err})
	w.refused = keep(w.refused, func(r *refusal) bool { return w.last-r.seq < Window })
}

// change takes a change that has come: in its turn it is executed, before that kept, after that answered again.
func (j *Job[D, R]) change(c change[D, R]) {
	m := j.worker(c.Conn, c.Req)
	if m == nil {
		return
	}
	switch {
	case c.Seq == 0:
		j.refuse(c.Req, fmt.Errorf("change of task %d without a number, want one from 1 on: %w", m.task, Malformed))
	case c.Seq <= m.last && m.last-c.Seq >= Window:
		j.refuse(c.Req, fmt.Errorf("change %d of task %d comes again after %d, want one of the last %d: %w",
			c.Seq, m.task, m.last, Window, Refused))
	case c.Seq <= m.last:
		j.again(m, &c)
	case c.Seq > m.last+1:
		j.early(m, c)
	default:
		j.execute(m, &c)
		j.catchUp(m)
	}
}

// early keeps a change until those before it have come.
func (j *Job[D, R]) early(m *member[D, R], c change[D, R]) {
	if c.Seq-m.last > Window || len(m.early) >= Window {
		j.refuse(c.Req, fmt.Errorf("change %d of task %d comes when %d is awaited and %d wait, want less than %d ahead: %w",
			c.Seq, m.task, m.last+1, len(m.early), Window, Refused))
		return
	}
	i, _ := slices.BinarySearchFunc(m.early, c.Seq+1, func(c change[D, R], seq uint64) int { return cmp.Compare(c.Seq, seq) })
	m.early = slices.Insert(m.early, i, c)
	j.begin(&m.gap)
}

// catchUp executes the changes whose turn has come.
func (j *Job[D, R]) catchUp(m *member[D, R]) {
	for len(m.early) > 0 && m.early[0].Seq <= m.last+1 {
		c := m.early[0]
		m.early = slices.Delete(m.early, 0, 1)
		m.gap = watch{}
		if c.Seq <= m.last {
			j.again(m, &c)
		} else {
			j.execute(m, &c)
		}
	}
	if len(m.early) > 0 {
		j.begin(&m.gap)
	}
}

// again answers a change that was executed, as it was answered then.
func (j *Job[D, R]) again(m *member[D, R], c *change[D, R]) {
	for i := range m.running {
		if r := &m.running[i]; r.seq == c.Seq {
			r.reqs = append(r.reqs, Answer[R]{Req: c.Req, Again: true})
			return
		}
	}
	err := m.outcome(c.Seq)
	if err == nil {
		err = j.checkNeeds(c.Then, Finished-1)
	}
	if err != nil {
		j.refuse(c.Req, err)
		return
	}
	j.await(pull[D, R]{req: c.Req, of: m, needs: c.Then, again: true})
}

// execute does the change whose turn it is.
func (j *Job[D, R]) execute(m *member[D, R], c *change[D, R]) {
	m.last = c.Seq
	err := c.Err
	if err == nil && !c.update {
		err = j.check(m, c)
	}
	if j.recorded {
		j.do(Made[R]{c.Req, m.task, c.Seq, err})
	}
	if err == nil && c.update {
		m.running = append(m.running, running[R]{c.Seq, []Answer[R]{{Req: c.Req}}})
		m.altered = true
		j.do(Run[R]{c.Req, m.task, c.Seq})
		return
	}
	if err != nil {
		m.refuse(c.Seq, err)
		j.refuse(c.Req, err)
		return
	}
	if err := j.push(m, c); err != nil {
		j.do(Refuse[R]{c.Req, err, true})
		return
	}
	j.await(pull[D, R]{req: c.Req, of: m, needs: c.Then, done: true})
}

// ran answers an update that the shell has executed.
func (j *Job[D, R]) ran(e Ran) {
	if e.Task < 0 || e.Task >= len(j.members) || j.members[e.Task] == nil {
		return
	}
	m := j.members[e.Task]
	i := slices.IndexFunc(m.running, func(r running[R]) bool { return r.seq == e.Seq })
	if i < 0 {
		return
	}
	reqs := m.running[i].reqs
	m.running = slices.Delete(m.running, i, i+1)
	if e.Err != nil {
		m.refuse(e.Seq, e.Err)
	}
	for _, r := range reqs {
		if e.Err != nil {
			j.refuse(r.Req, e.Err)
		} else {
			j.answer(r.Req, r.Again)
		}
	}
}
