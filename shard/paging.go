package shard

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"thole.example/kernel"
)

// Disk is where pages of rows go that memory has no room for. Methods are called by the owner of the shard alone.
type Disk interface {
	// Put keeps a copy of a page, in place of an earlier one of the number. After an error that one may be lost.
	Put(page int, b []byte) error
	// Get reads a page into b, which is as long.
	Get(page int, b []byte) error
	// Bytes is what it takes of memory itself.
	Bytes() int64
	// Close gives up all pages.
	Close() error
}

// paging has the rows of a slab lie on disk that have not been used for longest, a page of some rows at a time. Rows keep their
// numbers and the places where they are in memory, so whoever works on some has them come back first (slab.need) and goes on as
// ever. Columns that are made together share a page, and those that are named often are made early: a page of theirs stays.
//
// A page that cannot be read back is lost, and the shard with it: all that it is asked for later fails.
type paging struct {
	disk Disk
	rows int // of a page
	size int // bytes of a page
	room int // pages that memory has room for; 0: nobody has said

	away   bits     // pages on disk alone
	gone   int      // how many
	kept   bits     // pages that disk has as they are
	used   []uint32 // by page: the tick at which it was used last
	tick   uint32
	oldest []int32 // memory of shed

	lost error // why a page did not come back
	full error // why the last page could not go
}

const (
	pageBytes  = 8 << 10   // of a page, about: a disk reads less in as much time
	leastPages = 2 * block // that memory always has room for: the rows of a block may lie in as many
)

var errNoPaging = errors.New("rows cannot be moved to disk")

// Page gives a sparse partition a place on disk for its rows: they go there when those in memory take more than Room says. After an
// error, of a partition that cannot do it, the disk stays the caller's; else it is closed with the shard. Reads of a partition with a
// place on disk may not run beside each other.
func (s *Shard) Page(d Disk) error { return s.wrap(s.store.page(d)) }

// Room says that the rows of a partition with a place on disk may take so many bytes more in memory than they do, or if it is below 0
// that many fewer: those used longest ago go to disk, now and whenever others come back. Some 64 pages always stay. It returns an error
// if they could not go; then they are in memory as before.
func (s *Shard) Room(more int64) error { return s.wrap(s.store.makeRoom(more)) }

// Paged tells how many bytes of rows lie on disk alone, and how many in memory could; false if there is no place on disk.
func (s *Shard) Paged() (away, movable int64, ok bool) { return s.store.paged() }

func (d *dense[T]) page(Disk) error { return errNoPaging }

func (d *dense[T]) makeRoom(int64) error { return errNoPaging }

func (d *dense[T]) paged() (away, movable int64, ok bool) { return 0, 0, false }

func (d *dense[T]) failed() error { return nil }

func (k *keyed[T]) page(d Disk) error {
	if !kernel.CanDrop || k.buckets != nil || k.slab.step == 0 { // what has a budget has its memory from the start
		return errNoPaging
	}
	rows := (max(pageBytes, os.Getpagesize()) + k.slab.step - 1) / k.slab.step // so that no page of the system has parts of three
	return k.slab.move(func() error {
		k.slab.mem.Plain()
		if err := k.slab.mem.Map(); err != nil {
			return err
		}
		k.slab.paging = &paging{disk: d, rows: rows, size: rows * k.slab.step, tick: 1}
		return nil
	})
}

func (k *keyed[T]) makeRoom(more int64) error {
	p := k.slab.paging
	if p == nil {
		return errNoPaging
	}
	p.room = max(k.slab.pages()+int(more/int64(p.size)), leastPages)
	k.slab.shed(0)
	return p.full
}

func (k *keyed[T]) paged() (away, movable int64, ok bool) {
	p := k.slab.paging
	if p == nil {
		return 0, 0, false
	}
	return int64(p.gone) * int64(p.size), int64(max(0, k.slab.pages()-leastPages)) * int64(p.size), true
}

// failed is why rows are missing that the partition had.
func (k *keyed[T]) failed() error {
	if p := k.slab.paging; p != nil && p.lost != nil {
		return fmt.Errorf("rows of a sparse partition are lost: %w", p.lost)
	}
	return nil
}

// pages is how many pages are in memory, of those that are full.
func (s *slab[T]) pages() int { return int(s.used)/s.paging.rows - s.paging.gone }

// need has rows, of at most a block, be in memory until it is called again, to be changed or only read.
func (s *slab[T]) need(rows []uint32, change bool) {
	p := s.paging
	if p == nil {
		return
	}
	if p.tick++; p.tick == 0 { // after 2^32 calls
		clear(p.used)
		p.tick = 1
	}
	if p.room > 0 && p.full == nil {
		s.shed(block)
	}
	for _, row := range rows {
		s.touch(row, change)
	}
}

// touch has one row more be in memory until need is called.
func (s *slab[T]) touch(row uint32, change bool) {
	p := s.paging
	if p == nil {
		return
	}
	page := row / uint32(p.rows)
	if p.away.has(page) {
		if err := p.disk.Get(int(page), s.page(int(page))); err != nil && p.lost == nil {
			p.lost = err
		}
		p.away.clear(page)
		p.gone--
	}
	if int(page) >= len(p.used) {
		p.used = append(p.used, make([]uint32, int(page)+1-len(p.used))...)
	}
	p.used[page] = p.tick
	if change && p.kept.has(page) {
		p.kept.clear(page)
	}
}

// page is the memory of a page.
func (s *slab[T]) page(i int) []byte {
	size := s.paging.size
	return s.data()[i*size : (i+1)*size]
}

// shed moves pages to disk, those first that were used longest ago, if there is no room in memory for n more. Some more than have to
// go do, so that it seldom has to look for them.
func (s *slab[T]) shed(n int) {
	p := s.paging
	p.full = nil
	have, full := s.pages(), int(s.used)/p.rows
	if have+n <= p.room || p.lost != nil {
		return
	}
	p.used = append(p.used, make([]uint32, max(0, full-len(p.used)))...)
	p.away.reach(full)
	p.kept.reach(full)
	p.oldest = p.oldest[:0]
	for page := 1; page < full; page++ { // the first has row 0, which is always needed, and the one after the last gets new rows
		if p.used[page] != p.tick && !p.away.has(uint32(page)) {
			p.oldest = append(p.oldest, int32(page))
		}
	}
	slices.SortStableFunc(p.oldest, func(a, b int32) int { return cmp.Compare(p.used[a], p.used[b]) })
	many := have + n - p.room + p.room/8
	for _, page := range p.oldest {
		switch {
		case many == 0:
			return
		case p.full != nil && !p.kept.has(uint32(page)): // it would fail, too
			continue
		}
		if err := s.leave(int(page)); err != nil {
			p.full = err
		} else {
			many--
		}
	}
}

// leave moves a page to disk. Of its memory goes what lies in whole pages of the system; one that it shares with another goes with the
// last of both.
func (s *slab[T]) leave(page int) error {
	p, at := s.paging, uint32(page)
	if !p.kept.has(at) {
		if err := p.disk.Put(page, s.page(page)); err != nil {
			return err
		}
		p.kept.set(at)
	}
	system := os.Getpagesize()
	from, to := page*p.size+system-1, (page+1)*p.size
	if p.away.has(at - 1) {
		from -= system - 1
	}
	if p.away.has(at + 1) {
		to += system - 1
	}
	if from, to = from&^(system-1), to&^(system-1); from < to && !s.mem.Drop(from, to) {
		return errNoPaging
	}
	p.away.set(at)
	p.gone++
	return nil
}

// bytes is what paging takes itself, less what lies on disk.
func (p *paging) bytes() int64 {
	if p == nil {
		return 0
	}
	return p.disk.Bytes() + int64(4*cap(p.used)+4*cap(p.oldest)+8*(cap(p.away)+cap(p.kept))) - int64(p.gone)*int64(p.size)
}

func (p *paging) close() {
	if p != nil {
		_ = p.disk.Close() // nobody asks for what it has any more
	}
}
