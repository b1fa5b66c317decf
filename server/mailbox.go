package server

import (
	"slices"
	"sync"
)

// work is something that a mailbox does.
type work interface{ do() }

// mailbox keeps work for one owner at a time, who does it in the order in which it came: the goroutine of whoever finds the
// mailbox idle. Work must not wait. What takes long posts itself again, at the end, and so lets others in between its
// bands. The zero value is empty.
type mailbox struct {
	mu    sync.Mutex
	queue []work
	owned bool
	of    *job // whose work it is; nil: it is not counted
	park  bool // the owner's: what it did last keeps the mailbox until somebody calls resume
}

// parking is work that keeps its mailbox from doing more: do sets park, and parked is called once the mailbox stands still.
type parking interface {
	work
	parked()
}

// post puts work at the end. It reports whether the caller is the owner now, who has to go on with next.
func (m *mailbox) post(w ...work) (owner bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(m.queue, w...)
	owner = !m.owned
	m.owned = true
	return owner
}

// try makes the caller the owner if nothing is to be done; then it may do what work does, and has to call run. It reports whether it is.
func (m *mailbox) try() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owned {
		return false
	}
	m.owned = true
	return true
}

// next is the owner's: what came since, all together, or nil, and the mailbox has no owner any more. used is what next gave
// before; its memory is used again.
func (m *mailbox) next(used []work) []work {
	clear(used)
	m.mu.Lock()
	defer m.mu.Unlock()
	batch := m.queue
	m.queue = used[:0]
	if len(batch) == 0 {
		m.owned = false
		return nil
	}
	return batch
}

// capture is how much work an owner does that others post before it leaves the mailbox to a goroutine of its own.
const capture = 16

// run is what an owner does who has nothing else to do with the work.
func (m *mailbox) run() {
	done := 0
	for batch := m.next(nil); batch != nil; batch = m.next(batch) {
		for i, w := range batch {
			if w.do(); m.park {
				m.stop(batch[i+1:])
				w.(parking).parked()
				return
			}
		}
		if done += len(batch); done >= capture {
			m.hand()
			return
		}
	}
}

// hand leaves the mailbox, which the caller owns, to a goroutine of its own.
func (m *mailbox) hand() {
	over := func() {}
	if m.of != nil {
		over = m.of.leaves()
	}
	go func() { defer over(); m.run() }()
}

// stop puts back what is left to do; the mailbox has no goroutine until resume, and still is nobody else's.
func (m *mailbox) stop(left []work) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(slices.Clone(left), m.queue...)
}

// resume has a mailbox that was parked go on, on a goroutine of its own.
func (m *mailbox) resume() {
	m.park = false
	m.hand()
}

// deed is work that is a function.
type deed func()

func (d deed) do() { d() }
