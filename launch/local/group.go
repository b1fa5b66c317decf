package local

import (
	"fmt"
	"time"
)

// Action is what is to be done with a process.
type Action int

// Actions.
const (
	Start Action = iota
	Leave        // be asked to end, and given the time that it takes
	Terminate
	Kill
)

// Effect is something that a Group asks for.
type Effect struct {
	Action
	Process int // its number
}

// Phase is where a process is in its life.
type Phase string

// Phases of processes.
const (
	Waiting Phase = "waiting" // for the servers to come up
	Pausing Phase = "pausing" // before it is started again
	Running Phase = "running"
	Ending  Phase = "ending" // it was told to
	Ended   Phase = "ended"
	Leaving Phase = "leaving" // it was told to end, and the others go on without it
	Left    Phase = "left"    // and has
)

// Member is what a Group knows of a process.
type Member struct {
	Process
	Phase    Phase
	Up       bool      // it has said that it is up since it was started
	Since    time.Time // it was started; zero: never
	Restarts int
	Last     *Exit // how it ended last; nil: it never did
	Trial    bool  // the others do without it yet: it leaves them when it fails

	due   time.Time     // to be started, while Pausing, or killed, while Leaving; zero: never
	pause time.Duration // before the last start
}

// Outcome is how a launch ended.
type Outcome struct {
	Failed int    // the process that is to blame; -1: none
	Why    string // it ended before its workers were done; "": they are
	Stop   bool   // because it was asked to
}

// Group decides when processes are started, started again and ended. It is a state machine: what happens comes in by methods, each with
// the time of it, and what is to be done comes out as effects and, for people, as lines that Say gets. It is for one goroutine.
type Group struct {
	Members  []Member
	Restarts int                            // of each process, at most
	Grace    time.Duration                  // that the first worker has to end by itself when all are to; 0: it is told with the others
	Say      func(process int, text string) // process -1: all of them
	stopping bool                           // it was asked to, and the others wait for it
	outcome  *Outcome                       // nil: it goes on
	deadline time.Time                      // what has not ended then is killed, or told to end; zero: none
}

// NewGroup is a group of processes of which none runs yet. The first of the workers is the one whose end with status 0 means that the
// work is done: without it there is nothing for the others to do.
func NewGroup(all []Process, restarts int, say func(process int, text string)) *Group {
	g := &Group{Restarts: restarts, Say: say}
	for _, p := range all {
		g.Members = append(g.Members, Member{Process: p, Phase: Waiting})
	}
	return g
}

// Begin starts the servers; workers are started when these are up, or at once if there are none.
func (g *Group) Begin(now time.Time) (do []Effect) {
	for i := range g.Members {
		if g.Members[i].Kind == Server {
			do = append(do, g.start(now, i))
		}
	}
	return append(do, g.startWorkers(now)...)
}

// Up says that a process is up.
func (g *Group) Up(now time.Time, i int) []Effect {
	g.Members[i].Up = true
	return g.startWorkers(now)
}

// startWorkers starts the workers that wait, if all servers are up.
func (g *Group) startWorkers(now time.Time) (do []Effect) {
	if g.outcome != nil {
		return nil
	}
	for i := range g.Members {
		if m := &g.Members[i]; m.Kind == Server && !m.Up && m.Phase != Left && !m.Trial {
			return nil
		}
	}
	for i := range g.Members {
		if m := &g.Members[i]; m.Kind == Worker && m.Phase == Waiting {
			do = append(do, g.start(now, i))
		}
	}
	return do
}

func (g *Group) start(now time.Time, i int) Effect {
	m := &g.Members[i]
	m.Phase, m.Since, m.Up = Running, now, m.Ready == ""
	return Effect{Start, i}
}

// Ended says that a process has ended, or could not be started.
func (g *Group) Ended(now time.Time, i int, x Exit) []Effect {
	m := &g.Members[i]
	leaves := m.Phase == Leaving
	m.Phase, m.Up, m.Last = Ended, false, &x
	if g.outcome != nil {
		return nil
	}
	if g.stopping {
		return g.stopped(now, i)
	}
	if leaves {
		return g.gone(now, i)
	}
	v, over := judge(m.Kind, x), g.first() >= 0 && i != g.first() && g.finished(g.first())
	if over && v != done {
		g.Say(i, fmt.Sprintf("%v, when the work was done", x))
	}
	switch {
	case v == done, over && m.Kind == Worker:
		return g.workerDone(now, i)
	case over && v == fails:
		return g.end(now, Outcome{Failed: -1})
	case m.Trial && (v == fails || m.Restarts >= g.Restarts):
		g.Say(i, fmt.Sprintf("%v: the others go on without it", x))
		return g.gone(now, i)
	case v == fails:
		return g.end(now, Outcome{Failed: i, Why: x.String()})
	case m.Restarts >= g.Restarts && m.Optional && i != g.first():
		g.Say(i, fmt.Sprintf("%v, after %d restarts: the others go on without it", x, m.Restarts))
		return g.workerDone(now, i)
	case m.Restarts >= g.Restarts && m.Restarts > 0:
		return g.end(now, Outcome{Failed: i, Why: fmt.Sprintf("%v, after %d restarts", x, m.Restarts)})
	case m.Restarts >= g.Restarts:
		return g.end(now, Outcome{Failed: i, Why: fmt.Sprintf("%v, and is not to be started again", x)})
	}
	if m.pause *= 2; m.pause == 0 || now.Sub(m.Since) >= calm {
		m.pause = firstPause
	}
	m.pause = min(m.pause, mostPause)
	m.Phase, m.due = Pausing, now.Add(m.pause)
	m.Restarts++
	g.Say(i, fmt.Sprintf("%v after %v, starts again in %v (restart %d of at most %d)", x, now.Sub(m.Since).Round(100*time.Millisecond),
		m.pause, m.Restarts, g.Restarts))
	return nil
}

// first is the number of the first worker; -1 if there is none.
func (g *Group) first() int {
	for i := range g.Members {
		if g.Members[i].Kind == Worker {
			return i
		}
	}
	return -1
}

// finished reports whether a worker is done.
func (g *Group) finished(i int) bool {
	m := &g.Members[i]
	return m.Phase == Ended && judge(m.Kind, *m.Last) == done
}

// workerDone ends the servers when it was the last worker. The others have some time from when the first is done.
func (g *Group) workerDone(now time.Time, i int) []Effect {
	left := false
	for k := range g.Members {
		left = left || g.Members[k].Kind == Worker && !g.Members[k].over()
	}
	if !left {
		return g.end(now, Outcome{Failed: -1})
	}
	if i == g.first() {
		g.deadline = now.Add(rest)
	}
	return nil
}

// interrupted is how a group ends that was asked to.
func interrupted() Outcome { return Outcome{Failed: -1, Why: "interrupted", Stop: true} }

// Stop ends all, as somebody asked for it: the first worker has some time for it, then the others are told to end, too.
func (g *Group) Stop(now time.Time) []Effect {
	if g.outcome != nil || g.stopping {
		return nil
	}
	i := g.first()
	if g.Grace == 0 || i < 0 || g.Members[i].Phase != Running {
		return g.end(now, interrupted())
	}
	g.stopping, g.deadline = true, now.Add(g.Grace)
	return []Effect{{Leave, i}}
}

// stopped says that a process has ended while the others wait for the first worker.
func (g *Group) stopped(now time.Time, i int) []Effect {
	switch {
	case i == g.first() && g.finished(i): // it had come to the end of the work
		return g.end(now, Outcome{Failed: -1})
	case i == g.first() || g.Members[i].Kind == Server: // without which it waits in vain
		return g.end(now, interrupted())
	}
	return nil
}

// Kill ends all at once.
func (g *Group) Kill(now time.Time) []Effect {
	if g.outcome == nil {
		g.end(now, interrupted())
	}
	g.deadline = time.Time{}
	return g.killAll()
}

func (g *Group) killAll() (do []Effect) {
	for i := range g.Members {
		if p := g.Members[i].Phase; p == Running || p == Leaving || p == Ending {
			do = append(do, Effect{Kill, i})
		}
	}
	return do
}

// end tells all to end, for the reason that is known now.
func (g *Group) end(now time.Time, o Outcome) (do []Effect) {
	g.outcome, g.deadline = &o, now.Add(grace)
	for i := range g.Members {
		switch m := &g.Members[i]; m.Phase {
		case Running, Leaving:
			m.Phase = Ending
			do = append(do, Effect{Terminate, i})
		case Waiting, Pausing:
			m.Phase = Ended
		}
	}
	return do
}

// Next is when Time wants to be called again; zero: not until something happens.
func (g *Group) Next() time.Time {
	next := g.deadline
	for i := range g.Members {
		m := &g.Members[i]
		if (m.Phase == Pausing || m.Phase == Leaving && !m.due.IsZero()) && (next.IsZero() || m.due.Before(next)) {
			next = m.due
		}
	}
	return next
}

// Time says what time it is.
func (g *Group) Time(now time.Time) (do []Effect) {
	if !g.deadline.IsZero() && !now.Before(g.deadline) {
		g.deadline = time.Time{}
		if g.outcome == nil && g.stopping {
			return g.end(now, interrupted())
		}
		if g.outcome == nil {
			g.Say(-1, fmt.Sprintf("the work is done, and the other workers have not ended within %v", rest))
			return g.end(now, Outcome{Failed: -1})
		}
		return g.killAll()
	}
	for i := range g.Members {
		switch m := &g.Members[i]; {
		case now.Before(m.due):
		case m.Phase == Pausing:
			do = append(do, g.start(now, i))
		case m.Phase == Leaving && !m.due.IsZero():
			m.due = time.Time{}
			do = append(do, Effect{Kill, i})
		}
	}
	return do
}

// Outcome is how it all ended; nil while a process runs, or is going to.
func (g *Group) Outcome() *Outcome {
	for i := range g.Members {
		if !g.Members[i].over() {
			return nil
		}
	}
	return g.outcome
}
