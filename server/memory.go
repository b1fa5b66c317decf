package server

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
)

// tablesLeft is how much tables may still take. What messages and staged deltas have for now does not count: it goes when
// the tables grow, others wait for it, or it goes to disk.
func (s *Server) tablesLeft() int64 { return s.Ledger.Left() }

// tablesLeft is how much the tables of the job may still take. Those of a copy may take a quarter of the memory more: the server has
// accepted its changes, and does not have the connections of the copy's readers and the marks that their functions read.
func (s *store) tablesLeft() int64 {
	left := s.job.server.tablesLeft()
	if s.job.copy.Load() != nil {
		left += s.job.server.Ledger.Total() / 4
	}
	return left
}

// tooMuch says what there is no room for, and how much there is.
func (s *Server) tooMuch(what string, args ...any) error {
	return fmt.Errorf(what+" beside %s that matrices, jobs, connections and modules have, want at most %s in all: %w (--memory is %s)",
		append(args, format.Bytes(s.Ledger.Lasting()), format.Bytes(s.Ledger.Most(budget.Tables)),
			rpc.ErrRefused, format.Bytes(s.Ledger.Total()))...)
}

// takeTables counts what matrices take from the start: what they are apart from their values, and dense partitions. If that is too much
// the error says so, and nothing is counted.
func (s *Server) takeTables(stores []*store) error {
	for i, st := range stores {
		if err := s.takeTable(st); err != nil {
			release(stores[:i])
			return err
		}
	}
	return nil
}

func (s *Server) takeTable(st *store) error {
	n, apart := st.denseBytes(), st.bytes()
	if err := st.accounts.take(n, st.here()); err != nil {
		return err
	}
	about, err := s.hold(budget.Metadata, apart, st.accounts)
	if err == nil {
		st.reserved, err = s.Ledger.Hold(budget.Tables, n)
	}
	if err != nil {
		about.release()
		st.accounts.add(-n, -st.here())
		if _, full := errors.AsType[*budget.TooLarge](err); !full {
			return err
		}
		return s.tooMuch("matrix %q would take %s on this server", st.meta.Name, format.Bytes(max(n, apart)))
	}
	st.about = about
	return nil
}

// release gives back what was counted for matrices that were not made.
func release(stores []*store) {
	for _, s := range stores {
		s.about.release()
		s.reserved.Release()
		s.accounts.add(-s.denseBytes(), -s.here())
	}
}

// lacks returns how many bytes this server lacks for n more columns and the slack, which are bytes that cannot go to disk. It is at most 0
// if there is room.
func (s *store) lacks(n int, slack int64) int64 {
	if full := s.columns(n) + slack - s.accounts.left(); full > 0 {
		return full
	}
	if !s.canPage() || s.noDisk.Load() != nil {
		return s.columns(n) + slack - s.tablesLeft()
	}
	lack := int64(n)*shard.KeyBytes + slack - s.tablesLeft()
	if lack > 0 {
		_, movable := s.job.server.movable(nil)
		lack -= movable
	}
	return lack
}

// room refuses deltas that would make sparse partitions grow too large, each by itself, and reserves what those take that are
// applied at once. Where there is not enough for all keys to be new it looks which are. Deltas that wait for their clock often
// bring the same keys as others: their room is looked for when they are applied (partition.room).
func (j *job) room(deltas []ssp.Delta[*delta]) error {
	for _, d := range deltas {
		s := d.Data.of
		if s.meta.Layout != matrix.RowSparse || !s.bounded() || d.Data.call != nil { // what a function makes is not known
			continue
		}
		n, slack := len(d.Data.part.Keys), int64(0)
		if s.bound != ssp.ASP { // it is looked at again when it is applied, when a partition may have grown by a page more than by its columns
			slack = int64(len(s.owned)) * pageBytes
		}
		if s.lacks(n, slack) > 0 {
			if n = int(s.missing(&d.Data.part)); n > 0 && s.lacks(n, slack) > 0 {
				return s.tooMany(n)
			}
		}
		if s.bound == ssp.ASP && !s.canPage() {
			d.Data.growth = j.server.Ledger.Force(budget.Tables, s.columns(n))
		}
	}
	return nil
}

// pageBytes is about the least by which the memory of a table grows.
const pageBytes = 4 << 10

// columns is what n columns of the matrix take that are not there yet.
func (s *store) columns(n int) int64 {
	each := shard.ColumnBytes(&s.meta, s.rule)
	return min(int64(n), math.MaxInt64/each) * each
}

// tooMany says that there is no room for n columns more.
func (s *store) tooMany(n int) error {
	bytes := s.columns(n)
	if bytes > s.accounts.left() {
		return s.accounts.full()
	}
	return s.hinted(s.job.server.tooMuch("new columns of matrix %q would take %s on this server", s.meta.Name, format.Bytes(bytes)))
}

// hinted says with an error that memory is short why rows could not go to disk, or what to do about it.
func (s *store) hinted(err error) error {
	noDisk := s.noDisk.Load()
	switch {
	case noDisk != nil:
		return fmt.Errorf("%w; rows could not go to disk: %w", err, *noDisk)
	case s.job.server.Scratch == "" && s.pageable():
		return fmt.Errorf("%w; with --scratch FOLDER rows that are not used go to disk", err)
	case s.canPage():
		return fmt.Errorf("%w; rows go to disk, but %d bytes of each key and some of each page stay", err, shard.KeyBytes)
	}
	return err
}

// room says whether there is room for the columns that deltas which have waited make in the partition.
func (p *partition) room(deltas []shard.Delta) error {
	if p.of.bound == ssp.ASP && !p.of.canPage() {
		return nil // it was reserved
	}
	return p.enough(deltas)
}

// enough tells why there is no memory for the columns that deltas would make.
func (p *partition) enough(deltas []shard.Delta) error {
	s := p.of
	if !s.bounded() || s.meta.Layout != matrix.RowSparse {
		return nil
	}
	keys, missing := 0, 0
	for i := range deltas {
		keys += len(deltas[i].Keys)
	}
	if s.columns(keys) <= s.left() {
		return p.makeRoom(keys)
	}
	for i := range deltas {
		missing += p.shard.Missing(deltas[i].Keys)
	}
	if s.lacks(missing, 0) > 0 {
		return s.tooMany(missing)
	}
	return p.makeRoom(missing)
}

// roomFor refuses a function that would make more columns here than there is room for. It may wait for the partitions.
func (s *store) roomFor(call *psf.Call) error {
	if !s.bounded() || s.meta.Layout != matrix.RowSparse || s.lacks(len(call.Makes), 0) <= 0 {
		return nil
	}
	missing := 0
	for _, at := range s.partitions {
		if at != nil {
			at.wait(func() {
				if at.shard != nil { // else the job has ended
					missing += at.shard.Missing(at.makes(call))
				}
			})
		}
	}
	if s.lacks(missing, 0) > 0 {
		return s.tooMany(missing)
	}
	return nil
}

// makes are the columns that a function makes in the partition if they are not stored.
func (p *partition) makes(call *psf.Call) []int64 {
	if len(call.Makes) == 0 || !call.Writes.Touches(p.of.parts.At(p.id).Rows) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(call.Makes), func(col int64) bool { return p.of.parts.Of(col) != p.id%p.of.parts.Beside() })
}

// missing counts the keys of a part that have no column yet. It waits for the partitions, which is for when memory is short.
func (s *store) missing(p *rpc.Part) int64 {
	var n int64
	keys := p.Keys
	for _, g := range p.Groups {
		at, some := s.partitions[g.Partition], keys[:g.Keys]
		keys = keys[g.Keys:]
		at.wait(func() {
			if at.shard != nil { // else the job has ended
				n += int64(at.shard.Missing(some))
			}
		})
	}
	return n
}
