package server

import (
	"maps"
	"math"
	"slices"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/shard"
	"thole.example/spill"
)

// A server that was given a folder for it has the rows of sparse matrices go to disk when tables have all the memory that they may:
// in every partition those that nothing has used for longest. They come back when they are asked for, and others go. It begins to
// see which rows are used when memory is three quarters full.
//
// What a partition reads or changes is read and changed in memory, by its owner, who has called makeRoom before. It gives up rows of
// its own; if those are not enough the owners of others are asked to give up some of theirs, and the partition goes on meanwhile.

// pages is the place of one partition's rows on disk: of each page a block of bytes. It implements shard.Disk.
type pages struct {
	disk *spill.Store
	name string
	size int // of a page
	last int
}

func (d *pages) key(page, size int) spill.Key {
	return spill.Key{Name: d.name, At: matrix.At(int64(page), int64(page)+1, 0, int64(size))}
}

// Put implements shard.Disk.
func (d *pages) Put(page int, b []byte) error {
	d.last, d.size = max(d.last, page), len(b)
	key := d.key(page, len(b))
	return d.disk.Put(key, matrix.Block{At: key.At, Data: &matrix.Dense[uint8]{Val: b}})
}

// Get implements shard.Disk.
func (d *pages) Get(page int, b []byte) error {
	return d.disk.View(d.key(page, len(b)), func(got matrix.Block) error {
		copy(b, got.Data.(*matrix.Dense[uint8]).Val) // which is as long: its place is in the key
		return nil
	})
}

// Bytes implements shard.Disk.
func (d *pages) Bytes() int64 { return int64(d.last+1) * spill.EntryBytes }

// Close implements shard.Disk.
func (d *pages) Close() error {
	for page := range d.last + 1 {
		if err := d.disk.Delete(d.key(page, d.size)); err != nil {
			return err
		}
	}
	return nil
}

// canPage reports whether rows of the matrix may go to disk.
func (s *store) canPage() bool {
	return s.job.server.Ledger != nil && s.job.server.Scratch != "" && kernel.CanDrop && s.pageable()
}

// pageable reports whether rows of the matrix may go to disk on a server that has a place for them.
func (s *store) pageable() bool {
	return s.meta.Layout == matrix.RowSparse && s.meta.Keep.MaxBytes == 0 && len(s.meta.Widths) == 0
}

// page gives a partition of the matrix a place on disk.
func (s *store) page(sh *shard.Shard) error {
	server := s.job.server
	disk, name, err := server.scratch.open(&server.scratch.rows, spill.Options{Dir: server.Scratch, NoMap: true}, "rows")
	if err == nil {
		err = sh.Page(&pages{disk: disk, name: name})
	}
	return err
}

// makeRoom has rows of a partition of the matrix go to disk if tables have no memory left for so many columns more in it. It tells how
// many bytes are lacking then.
func (s *store) makeRoom(sh *shard.Shard, columns int) (lack int64) {
	server := s.job.server
	n := s.columns(columns)
	left := server.tablesLeft() - n
	if !s.canPage() {
		return max(0, -left)
	}
	away, _, _ := sh.Paged()
	if left >= server.Ledger.Most(budget.Tables)/4 && away == 0 {
		return 0
	}
	before, more := sh.Bytes(), n+min(left, left/2) // others have rows that come back, too
	if left >= 0 && away == 0 {
		more = math.MaxInt64
	}
	if !s.giveRoom(sh, more) {
		return max(0, -left)
	}
	_, movable, _ := sh.Paged()
	rows := n - int64(columns)*shard.KeyBytes
	return max(0, -left-(before-sh.Bytes())-movable-rows)
}

// giveRoom lets the rows of a partition take so many bytes more in memory than they do, or fewer. It reports whether they can: not if
// there is no disk, or it is full.
func (s *store) giveRoom(sh *shard.Shard, more int64) bool {
	server := s.job.server
	err := error(nil)
	if _, _, ok := sh.Paged(); !ok {
		err = s.page(sh)
	}
	if err == nil && more < math.MaxInt64 {
		err = sh.Room(more)
	}
	switch {
	case err != nil && s.noDisk.Swap(&err) == nil:
		server.logger().Error("memory is short, and rows of a matrix could not go to disk", "job", s.job.full.String(), "matrix", s.meta.Name,
			"folder", server.Scratch, "err", err)
	case err == nil:
		s.noDisk.Store(nil)
		if away, _, _ := sh.Paged(); away > 0 && s.saidPaging.CompareAndSwap(false, true) {
			server.logger().Warn("memory is short: rows of a matrix that were not used for longest go to disk", "job", s.job.full.String(),
				"matrix", s.meta.Name, "folder", server.Scratch, "memory", format.Bytes(server.Ledger.Total()))
		}
	}
	return err == nil
}

// makeRoom is that of the partition, and has others give up rows if its own are not enough. Rows that are there are read and changed
// whatever the memory: those of a block are few.
func (p *partition) makeRoom(columns int) error {
	if p.shard == nil || !p.of.canPage() {
		return nil
	}
	lack := p.of.makeRoom(p.shard, columns)
	if lack > 0 || p.away.Load() > 0 {
		p.recount()
	}
	if lack > 0 && p.of.job.server.relieve(lack, p) > 0 && columns > 0 {
		return p.of.tooMany(columns)
	}
	return nil
}

// looked counts what the partition takes after rows may have come back.
func (p *partition) looked() {
	if p.away.Load() > 0 {
		p.recount()
	}
}

// relieve asks the owners of partitions to give up rows of n bytes. They do it by and by: whoever needs the memory goes on. If there
// are too few it asks nobody, and tells how many bytes are lacking.
func (s *Server) relieve(n int64, except *partition) (lack int64) {
	all, total := s.movable(except)
	if total < n {
		return n - total
	}
	for _, p := range all {
		give := int64(float64(p.movable.Load()) / float64(total) * float64(n))
		if p.post(p.deed(func() { p.giveUp(give) })) {
			go p.run()
		}
	}
	return 0
}

// giveUp has rows of the partition go to disk.
func (p *partition) giveUp(n int64) {
	if p.shard != nil {
		p.of.giveRoom(p.shard, -n)
		p.recount()
	}
}

// movable is the partitions that have rows in memory which could go to disk, and how many bytes these have.
func (s *Server) movable(except *partition) (all []*partition, total int64) {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	for _, j := range jobs {
		for _, st := range (*j.stores.Load())[1:] {
			if st.noDisk.Load() != nil {
				continue
			}
			for _, p := range st.partitions {
				if p == nil || p == except {
					continue
				}
				if n := p.movable.Load(); n > 0 {
					all, total = append(all, p), total+n
				}
			}
		}
	}
	return all, total
}

// unpagedLeast is what a partition keeps in memory that has no place on disk yet, about.
const unpagedLeast = 512 << 10

// countPages counts what lies on disk, and what could.
func (p *partition) countPages() {
	if !p.of.canPage() {
		return
	}
	away, movable, ok := p.shard.Paged()
	if !ok {
		movable = max(0, p.shard.Bytes()-int64(p.shard.Columns())*shard.KeyBytes-unpagedLeast)
	}
	p.away.Store(away)
	p.movable.Store(movable)
}
