package coord_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"thole.example/coord"
)

// disk is a log with its identity, which outlives processes. It has at every moment what its process has, and no identity while it is not whole.
type disk struct {
	id    string
	state []int
}

// content is what a process has of what the role holds: changes by number, in their order. A holder sends it to standbys and acknowledges a
// change when all of them have it that the record may name.
type content struct {
	state   []int
	disk    *disk
	old     string   // identity of the log when the process began
	fresh   string   // and that it gets if that is not continued; "": the process keeps none
	from    *process // the holder that sends this one a copy
	sent    map[string]int
	asked   []string        // the copies that the record is to name
	named   map[string]bool // those that it may name
	owns    bool            // the record names its log, as far as it knows; it acknowledges nothing before
	whole   bool            // what it holds is on its disk, and the record is to name that
	fromLog bool            // it was there already
}

// keep replaces what a process has.
func (c *content) keep(state []int) {
	if c.state = slices.Clone(state); c.disk != nil {
		c.disk.state = c.state
	}
}

// begin has a log of its own begin with what a process has.
func (c *content) begin(state []int) {
	if c.keep(state); c.disk != nil {
		c.disk.id = c.fresh
	}
}

// copy replaces what a standby has. Of its disk it says nothing.
func (c *content) copy(state []int) {
	if c.state = slices.Clone(state); c.disk != nil {
		c.disk.id, c.disk.state = "", nil
	}
}

// mount gives a process a log: that of the one before at its place, another, or none.
func (w *world) mount(number, life int) (c content) {
	if w.rand.IntN(5) == 0 {
		return c
	}
	if d := w.disks[number]; d == nil || w.chance(10) {
		if d != nil {
			w.gone[d.id] = true
		}
		w.disks[number] = &disk{}
	}
	c.disk = w.disks[number]
	c.old, c.fresh, c.state = c.disk.id, fmt.Sprintf("log %d.%d", number, life), slices.Clone(c.disk.state)
	return c
}

// work is what a process does under its role, again and again.
func (w *world) work(p *process) {
	if p.dead {
		return
	}
	w.after(500*time.Millisecond+w.upTo(time.Second), func() { w.work(p) })
	if p.frozen > w.now || !p.believes(w.now) {
		return
	}
	if !p.owns {
		w.own(p)
		return
	}
	w.changes++
	p.keep(append(p.state, w.changes))
	if p.sent == nil {
		p.sent, p.named = map[string]int{}, map[string]bool{}
	}
	var copies []string
	for _, q := range w.all {
		if q == p || q.dead || q.frozen > w.now {
			continue
		}
		switch {
		case q.from == p && w.chance(15):
			q.from = nil // the connection is lost
		case q.from == p || w.rand.IntN(4) == 0:
			q.from, p.sent[q.id()] = p, len(p.state)
			q.copy(p.state)
			copies = append(copies, q.id())
		}
	}
	if !slices.Equal(copies, p.asked) && w.rand.IntN(3) > 0 {
		if w.rand.IntN(2) == 0 {
			w.step(p, coord.Copies{Copies: p.asked}) // is under way when the next comes
		}
		p.asked = copies
		for _, id := range copies {
			p.named[id] = true
		}
		w.step(p, coord.Copies{Copies: copies})
	}
	all := len(p.state)
	for id := range p.named {
		all = min(all, p.sent[id])
	}
	if all > len(w.acked) {
		w.acked = slices.Clone(p.state[:all])
	}
	if there, whole := w.logged(w.record); there && !whole {
		w.wrong = fmt.Sprintf("%s acknowledges %d changes that are not all in the log of %+v", p.id(), len(w.acked), w.record)
	}
}

// own is what a process does that continues what was held: it brings what it holds to its disk if it is not there, or fails and gives the
// role back or ends.
func (w *world) own(p *process) {
	switch {
	case w.chance(15):
		w.failed++
		w.die(p)
	case w.chance(20):
		w.failed++
		w.step(p, coord.Release{})
	case !p.whole:
		if !p.fromLog {
			p.begin(p.state)
		}
		p.whole = true
		w.step(p, coord.Own{})
	}
}

// logged reports whether the log that a record names is on a disk, and whether all that was acknowledged is in it.
func (w *world) logged(h *coord.Holder) (there, whole bool) {
	for _, d := range w.disks {
		if h != nil && h.Log != "" && d.id == h.Log {
			return true, len(d.state) >= len(w.acked) && slices.Equal(d.state[:len(w.acked)], w.acked)
		}
	}
	return false, false
}

// recorded is when a process knows whom the record names.
func (w *world) recorded(p *process) {
	if !p.owns {
		p.owns = true
		return
	}
	clear(p.named)
	for _, id := range p.asked {
		p.named[id] = true
	}
	w.named++
}

// takeover is when the store has a record of another than before: whoever says that nothing was lost has all that was acknowledged, and whoever
// has lost it has waited for others.
func (w *world) takeover(p *process, h coord.Holder) {
	before := w.record
	log, copies := p.fresh, []string(nil)
	switch {
	case before == nil:
	case slices.Contains(before.Copies, p.id()): // until it owns what it has, what the one before has counts
		log = cmp.Or(before.Log, p.fresh)
		copies = slices.DeleteFunc(slices.Clone(before.Copies), func(id string) bool { return id == p.id() })
	case p.old != "" && before.Log == p.old:
		log, copies = p.disk.id, before.Copies
	}
	switch complete := h.Since < h.Epoch; {
	case h.Log != log || !slices.Equal(h.Copies, copies):
		w.wrong = fmt.Sprintf("%s takes over with the log %q and the copies %v", p.id(), h.Log, h.Copies)
	case complete && (before == nil || before.Since != h.Since):
		w.wrong = fmt.Sprintf("%s says that nothing was lost since %d, after %+v", p.id(), h.Since, before)
	case complete && (len(p.state) < len(w.acked) || !slices.Equal(p.state[:len(w.acked)], w.acked)):
		w.wrong = fmt.Sprintf("%s says that nothing was lost since %d: of %d acknowledged changes it has %d other", p.id(), h.Since,
			len(w.acked), len(p.state))
	case complete:
	case before != nil && before.Log != "" && float64(w.now-w.changed)*fastest < float64(3*simLease):
		w.wrong = fmt.Sprintf("%s loses what was held %v after the last sign of %+v", p.id(), w.now-w.changed, before)
	default:
		w.lost += min(1, len(w.acked))
		w.acked = nil
	}
}
