package ssp

import (
	"fmt"
	"strings"
	"time"
)

// firstWait is how long nothing is said about a wait; each next line comes after twice the time.
const firstWait = 10 * time.Second

// timer is the earliest time at which something may have to be done.
type timer struct {
	at  time.Duration
	set bool
}

func (t *timer) upTo(at time.Duration) {
	if !t.set || at < t.at {
		*t = timer{at, true}
	}
}

// watch is when to say that something is waited for, and how long after the last time that is; 0: nobody waits.
type watch struct{ at, after time.Duration }

// begin starts a watch, if it has not.
func (j *Job[D, R]) begin(w *watch) {
	if w.after == 0 {
		*w = watch{j.now + firstWait, firstWait}
		j.timer.upTo(w.at)
	}
}

// due reports whether it is time to say something, and sets the next time.
func (j *Job[D, R]) due(w *watch) bool {
	if w.after == 0 {
		return false
	}
	said := j.now >= w.at
	if said {
		w.after *= 2
		w.at = j.now + w.after
	}
	j.timer.upTo(w.at)
	return said
}

// Next is the time of the next Deadline; ok is false if none is wanted. A Deadline that comes early or late does no harm.
func (j *Job[D, R]) Next() (at time.Duration, ok bool) { return j.timer.at, j.timer.set && !j.ended }

// expiry is when the member is given up if nothing is heard of it: its connection if it has one, or else itself.
func (m *member[D, R]) expiry() (at time.Duration, ok bool) {
	switch {
	case m.status == Here && m.lease > 0:
		return m.seen + m.lease, true
	case m.status == Away:
		return m.seen + m.grace, true
	}
	return 0, false
}

func (j *Job[D, R]) expect(m *member[D, R]) {
	if at, ok := m.expiry(); ok {
		j.timer.upTo(at)
	}
}

// deadline does whatever its time has come for.
func (j *Job[D, R]) deadline() {
	j.timer = timer{}
	for _, m := range j.members {
		if m == nil {
			continue
		}
		j.overdue(m)
		j.expect(m)
		if j.due(&m.gap) {
			j.do(Say{fmt.Sprintf("job %q: change %d of task %d at %s has not come, later ones wait: %d",
				j.name, m.last+1, m.task, m.name, len(m.early))})
		}
	}
	for _, s := range j.matrices {
		if j.due(&s.watch) {
			j.sayWhy(s)
		}
	}
	j.arrived()
	j.end()
}

func (j *Job[D, R]) overdue(m *member[D, R]) {
	at, ok := m.expiry()
	if !ok || j.now < at {
		return
	}
	if m.status == Away {
		j.lose(m, fmt.Sprintf("%s, and did not come back within %v", m.why, m.grace), Aborted)
		return
	}
	why := fmt.Sprintf("was not heard of for %v", m.lease)
	j.do(Say{fmt.Sprintf("job %q: task %d at %s %s, its connection is dropped", j.name, m.task, m.name, why)})
	j.do(DropConn{Conn: m.conn})
	j.gone(m, why)
}

// namesLimit is how many tasks a line for people names.
const namesLimit = 4

// sayWhy tells who waits for a matrix, and for whom.
func (j *Job[D, R]) sayWhy(s *series[D]) {
	var first *pull[D, R]
	more := 0
	for i := range j.pulls {
		switch p := &j.pulls[i]; {
		case p.needs[p.next].Matrix != s.ID:
		case first == nil:
			first = p
		default:
			more++
		}
	}
	if first == nil {
		return
	}
	others := ""
	if more > 0 {
		others = fmt.Sprintf(" (and %d more)", more)
	}
	j.do(Say{fmt.Sprintf("job %q: %v%s waits for clock %d of %v for %v: %s",
		j.name, first, others, j.least(first, first.needs[first.next]), s, seconds(j.now-first.since), j.slow(s))})
}

// slow names the tasks that are at the slowest clock of a matrix.
func (j *Job[D, R]) slow(s *series[D]) string {
	var names []string
	more := 0
	for t, m := range j.members {
		switch {
		case s.clocks.Of(t) != s.clocks.Slowest():
		case len(names) == namesLimit:
			more++
		default:
			names = append(names, fmt.Sprintf("task %d %s", t, j.whereabouts(m)))
		}
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s at clock %d", text, s.clocks.Slowest())
}

// whereabouts is what is known of a member.
func (j *Job[D, R]) whereabouts(m *member[D, R]) string {
	switch {
	case m == nil || m.status == Claimed:
		return "(has not joined)"
	case m.status == Away:
		return fmt.Sprintf("(%s, lost its connection %v ago)", m.name, seconds(j.now-m.seen))
	}
	return fmt.Sprintf("(%s, heard of %v ago)", m.name, seconds(j.now-m.seen))
}

// seconds is a time as people want to read it.
func seconds(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
