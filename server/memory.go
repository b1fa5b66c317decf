package server

import (
	"fmt"
	"math"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
)

// take counts n bytes of tables. What others use for the moment does not count against them, for they give it back: there is
// no room if all that is for tables has not enough of it.
func (s *Server) take(n int64) (budget.Charge, bool) {
	c, ok := s.Ledger.TryTake(budget.Tables, n)
	if !ok && n <= s.Ledger.Most(budget.Tables)-s.Ledger.Used()[budget.Tables] {
		return s.Ledger.Force(budget.Tables, n), true
	}
	return c, ok
}

// tooMuch says what there is no room for, and how much there is.
func (s *Server) tooMuch(what string, args ...any) error {
	return fmt.Errorf(what+" beside %s of others, want at most %s in all: %w (--memory is %s)",
		append(args, format.Bytes(s.Ledger.Used()[budget.Tables]), format.Bytes(s.Ledger.Most(budget.Tables)),
			rpc.ErrRefused, format.Bytes(s.Ledger.Total()))...)
}

// takeTables counts what dense partitions take from the start, or says that it would be too much.
func (s *Server) takeTables(stores []*store) error {
	for i, st := range stores {
		n := st.denseBytes()
		var ok bool
		if st.reserved, ok = s.take(n); !ok {
			release(stores[:i])
			return s.tooMuch("matrix %q would take %s on this server", st.meta.Name, format.Bytes(n))
		}
	}
	return nil
}

// release gives back what was counted for matrices that were not made.
func release(stores []*store) {
	for _, s := range stores {
		s.reserved.Release()
	}
}

// room reserves what sparse partitions may grow by when deltas are applied. Where there is not enough for all keys to be new
// it looks which are.
func (j *job) room(deltas []ssp.Delta[*delta]) error {
	if j.server.Ledger == nil {
		return nil
	}
	for _, d := range deltas {
		s := (*j.stores.Load())[d.Matrix]
		if s.meta.Layout != matrix.RowSparse {
			continue
		}
		each := shard.ColumnBytes(&s.meta, s.rule)
		c, ok := j.server.take(min(int64(len(d.Data.part.Keys)), math.MaxInt64/each) * each)
		if !ok {
			n := s.missing(&d.Data.part) * each
			if c, ok = j.server.take(n); !ok {
				return j.server.tooMuch("new columns of matrix %q would take %s on this server", s.meta.Name, format.Bytes(n))
			}
		}
		d.Data.growth = c
	}
	return nil
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
