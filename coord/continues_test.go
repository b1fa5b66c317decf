package coord_test

import (
	"fmt"
	"slices"
	"time"

	"thole.example/coord"
)

// disk is a log with its identity, which outlives processes. It has at every moment what its process has.
type disk struct {
	id    string
	state []int
}

// content is what a process has of what the role holds: changes by number, in their order. A holder sends it to standbys and acknowledges a
// change when all of them have it that the record may name.
type content struct {
	state []int
	disk  *disk
	from  *process // the holder that sends this one a copy
	sent  map[string]int
	asked []string        // the copies that the record is to name
	named map[string]bool // those that it may name
}

// keep replaces what a process has.
func (c *content) keep(state []int) {
	if c.state = slices.Clone(state); c.disk != nil {
		c.disk.state = c.state
	}
}

// mount gives a process a log: that of the one before at its place, another, or none.
func (w *world) mount(number, life int) (c content) {
	if w.rand.IntN(5) == 0 {
		return c
	}
	if w.disks[number] == nil || w.chance(10) {
		w.disks[number] = &disk{id: fmt.Sprintf("log %d.%d", number, life)}
	}
	c.disk = w.disks[number]
	c.state = slices.Clone(c.disk.state)
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
			q.keep(p.state)
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
}

// recorded is when a process knows whom the record names.
func (w *world) recorded(p *process) {
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
	switch complete := h.Since < h.Epoch; {
	case h.Log != p.log() || len(h.Copies) > 0:
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
