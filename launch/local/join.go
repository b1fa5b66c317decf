package local

import (
	"slices"
	"time"
)

// Processes may join a group that runs, and leave it.

// over reports whether a member has ended for good.
func (m *Member) over() bool { return m.Phase == Ended || m.Phase == Left }

// Join has a process join the group, and says its number. One that has left comes back in its place. On trial the others do without it
// until Keep: when it fails it leaves.
func (g *Group) Join(now time.Time, p Process, trial bool) (i int, do []Effect) {
	i = slices.IndexFunc(g.Members, func(m Member) bool { return m.Name == p.Name })
	if i < 0 {
		i = len(g.Members)
		g.Members = append(g.Members, Member{Process: p, Phase: Ended})
	}
	if g.outcome != nil {
		return i, nil
	}
	g.Members[i] = Member{Process: p, Phase: Waiting, Trial: trial}
	switch p.Kind {
	case Server:
		do = append(do, g.start(now, i))
	default:
		do = g.startWorkers(now)
	}
	return i, do
}

// Keep says that the others need a process, if it is on trial.
func (g *Group) Keep(now time.Time, i int) []Effect {
	m := &g.Members[i]
	tried := m.Trial
	if m.Trial = false; tried && m.Phase == Left && g.outcome == nil {
		return g.end(now, Outcome{Failed: i, Why: m.Last.String()})
	}
	return nil
}

// Leave has a process leave the group. A server that does not end by itself is killed; a worker has all the time that it takes.
func (g *Group) Leave(now time.Time, i int) []Effect {
	m := &g.Members[i]
	switch {
	case g.outcome != nil || m.Phase == Leaving || m.Phase == Left:
		return nil
	case m.Phase != Running:
		return g.gone(now, i)
	}
	m.Phase, m.due = Leaving, time.Time{}
	if m.Kind == Server {
		m.due = now.Add(grace)
	}
	return []Effect{{Leave, i}}
}

// gone says that a process is none of the group any more.
func (g *Group) gone(now time.Time, i int) []Effect {
	m := &g.Members[i]
	if m.Phase = Left; m.Kind == Worker {
		return g.workerDone(now, i)
	}
	return nil
}

// counts is how many processes the group needs.
func (g *Group) counts() (n Counts) {
	for i := range g.Members {
		switch m := &g.Members[i]; {
		case m.Trial || m.Phase == Leaving || m.Phase == Left:
		case m.Kind == Server:
			n.Servers++
		default:
			n.Workers++
		}
	}
	return n
}
