package kernel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// preparing is the huge pages of a mapping that are found and cleared before they are written to: that takes up to some
// milliseconds each where the host of a virtual machine has to find them first. A goroutine does it, in the order in which they
// will be needed. Whoever needs one before that does it out of turn or, where it has begun, waits for its end: two that
// write to the same missing page would clear two.
type preparing struct {
	sync.Mutex
	pending atomic.Bool // there are pages in the queue, or begun
	queue   []int       // pages by number, the next one first
	begun   []int
	ended   sync.Cond
	running bool // there is a goroutine
	workers sync.WaitGroup
}

// clearing has the goroutines of all memory prepare one page at a time: a host serves them one after the other, and processors
// are for those who write to them.
var clearing sync.Mutex

// Ready has the system prepare the huge pages that begin in the bytes [from, to), which will be written to soon, one after the
// other from the beginning or from the end, and does not wait for it. Only what is mapped is prepared. Await is for before
// they are written to.
func (m *Memory) Ready(from, to int, fromEnd bool) {
	first, end := (from+hugePage-1)/hugePage, (min(to, m.mapped.room)+hugePage-1)/hugePage
	if first >= end || m.plain {
		return
	}
	if first*hugePage > m.ahead.to {
		m.ahead.from = first * hugePage
	}
	m.ahead.from, m.ahead.to = min(m.ahead.from, first*hugePage), max(m.ahead.to, end*hugePage)
	pages := make([]int, 0, end-first)
	for page := first; page < end; page++ {
		pages = append(pages, page)
	}
	if fromEnd {
		slices.Reverse(pages)
	}
	m.mapped.prepare(pages)
}

// Await waits until those of the bytes [from, to) that Ready was called for are prepared. It costs nothing while nothing is
// being prepared.
func (m *Memory) Await(from, to int) {
	if m.mapped.pending.Load() {
		m.mapped.await(from, to)
	}
}

func (m *mapping) await(from, to int) {
	in := func(page int) bool { return page >= from/hugePage && page*hugePage < to }
	m.Lock()
	defer m.Unlock()
	for {
		if at := slices.IndexFunc(m.queue, in); at >= 0 {
			m.populate(at)
		} else if slices.ContainsFunc(m.begun, in) {
			m.ended.Wait()
		} else {
			return
		}
	}
}

// prepare has a goroutine prepare pages after those in the queue.
func (m *mapping) prepare(pages []int) {
	m.Lock()
	defer m.Unlock()
	m.queue = append(m.queue, pages...)
	m.setPending()
	if m.running || len(m.queue) == 0 {
		return
	}
	m.ended.L, m.running = m, true
	m.workers.Go(func() {
		for m.next() {
			runtime.Gosched() // to whoever waits for that page
		}
	})
}

// next prepares the first page of the queue, if there is one.
func (m *mapping) next() bool {
	clearing.Lock()
	defer clearing.Unlock()
	m.Lock()
	defer m.Unlock()
	m.running = len(m.queue) > 0
	if m.running {
		m.populate(0)
	}
	return m.running
}

// populate prepares the page at a place of the queue. Others can have the lock meanwhile.
func (m *mapping) populate(at int) {
	page := m.queue[at]
	m.queue = slices.Delete(m.queue, at, at+1)
	m.begun = append(m.begun, page)
	bytes := unsafe.Slice((*byte)(m.base), m.room)[page*hugePage:][:hugePage]
	m.Unlock()
	err := unix.Madvise(bytes, unix.MADV_POPULATE_WRITE)
	m.Lock()
	if err != nil { // a system that cannot: pages come as they are written
		m.queue = nil
	}
	at = slices.Index(m.begun, page)
	m.begun = slices.Delete(m.begun, at, at+1)
	m.setPending()
	m.ended.Broadcast()
}

// pause waits for the pages that have begun and has no others begin; those are returned, for prepare.
func (m *mapping) pause() (pages []int) {
	m.Lock()
	defer m.Unlock()
	pages, m.queue = m.queue, nil
	for len(m.begun) > 0 {
		m.ended.Wait()
	}
	m.setPending()
	return pages
}

// setPending is for after the pages in the queue or those begun are others.
func (m *mapping) setPending() { m.pending.Store(len(m.queue)+len(m.begun) > 0) }
