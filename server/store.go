package server

import (
	"fmt"
	"math"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

// store is a matrix of a job, with the partitions that are this server's.
type store struct {
	job        *job
	number     uint32
	spec       []byte // as it was created, to compare
	meta       matrix.Meta
	bound      ssp.Bound
	own        bool // the bound is the matrix's own
	lasting    bool // the job has checkpoints, as far as is known when the matrix is made, or a log
	parts      *part.Map
	digest     string // of parts
	rule       *psf.Rule
	blockRows  int64 // of the matrix as it is saved
	blockCols  int64
	partitions []*partition  // by id; nil where another server has it
	owned      []*partition  // those that are here, ascending: of many servers each has a few
	slowest    atomic.Int32  // clock of the matrix, as far as it has been folded
	choice     rpc.NonFinite // what becomes of values that are not finite
	nonFinite  int64         // parts of pushes with such values; the job's mailbox counts
	reserved   budget.Charge // of dense partitions, until they are made
	about      held          // of what is no value
	accounts   accounts
	saidPaging atomic.Bool           // that rows go to disk
	noDisk     atomic.Pointer[error] // why rows could not go to disk when that was tried last
}

// store is the matrix of the number.
func (j *job) store(number uint32) (*store, error) {
	if all := *j.stores.Load(); number > 0 && int64(number) < int64(len(all)) {
		return all[number], nil
	}
	return nil, fmt.Errorf("matrix number %d of job %q: %w", number, j.name, rpc.ErrNotFound)
}

// fresh reports whether values may be read by a task at the clock, which is one that there can be.
func (s *store) fresh(clock int32) bool {
	return clock >= 0 && s.bound.Fresh(int(s.slowest.Load()), int(clock))
}

// check says what is wrong with a part of a request, apart from its clock.
func (s *store) check(p *rpc.Part) error {
	if p.Version != s.parts.Version {
		return fmt.Errorf("matrix %q: routing map %d, here it is %d: %w", s.meta.Name, p.Version, s.parts.Version, rpc.ErrStale)
	}
	whole, at := s.meta.Rect(), matrix.Rect{Rows: p.Rows, Cols: p.Cols}
	if s.counts(p) {
		at.Rows = whole.Rows
	}
	if !whole.Contains(at) || p.Rows.Hi < p.Rows.Lo || p.Cols.Hi < p.Cols.Lo {
		return fmt.Errorf("matrix %q: part at %v, want one in %v: %w", s.meta.Name, at, whole, rpc.ErrMalformed)
	}
	if len(p.Groups) != 1 && p.Kind != rpc.KindKeys {
		return fmt.Errorf("matrix %q: a part of %d partitions, want 1: %w", s.meta.Name, len(p.Groups), rpc.ErrMalformed)
	}
	sparse := s.meta.Layout == matrix.RowSparse
	switch {
	case p.Kind == rpc.KindKeys:
	case p.Kind == rpc.KindDense && !sparse && len(p.Keys) == 0, p.Kind == rpc.KindStored && sparse && len(p.Keys) == 0:
	default:
		return fmt.Errorf("matrix %q is %v: a part of kind %d with %d keys: %w",
			s.meta.Name, s.meta.Layout, p.Kind, len(p.Keys), rpc.ErrMalformed)
	}
	keys := p.Keys
	for i, g := range p.Groups {
		if uint64(g.Partition) >= uint64(len(s.partitions)) || s.partitions[g.Partition] == nil {
			return fmt.Errorf("matrix %q: no partition %d here: %w", s.meta.Name, g.Partition, rpc.ErrMalformed)
		}
		if i > 0 && g.Partition <= p.Groups[i-1].Partition {
			return fmt.Errorf("matrix %q: partition %d after %d, want them ascending: %w",
				s.meta.Name, g.Partition, p.Groups[i-1].Partition, rpc.ErrMalformed)
		}
		if int64(g.Keys) > int64(len(keys)) || g.Keys == 0 && p.Kind == rpc.KindKeys {
			return fmt.Errorf("matrix %q: partition %d with %d of the %d keys that are left: %w",
				s.meta.Name, g.Partition, g.Keys, len(keys), rpc.ErrMalformed)
		}
		if err := s.checkShare(p, int(g.Partition), keys[:g.Keys]); err != nil {
			return err
		}
		keys = keys[g.Keys:]
	}
	if p.Kind == rpc.KindKeys && len(keys) > 0 {
		return fmt.Errorf("matrix %q: %d keys of no partition: %w", s.meta.Name, len(keys), rpc.ErrMalformed)
	}
	return nil
}

// counts reports whether the part brings shows and clicks of columns.
func (s *store) counts(p *rpc.Part) bool {
	return p.Kind == rpc.KindKeys && p.Values != nil && !p.Assign && s.meta.Keep.Counts() && p.Rows == s.meta.CountRows()
}

// checkShare says what is wrong with what a part asks of or brings to one partition.
func (s *store) checkShare(p *rpc.Part, id int, keys []int64) error {
	at := s.parts.At(id)
	if p.Kind != rpc.KindKeys {
		if asked := (matrix.Rect{Rows: p.Rows, Cols: p.Cols}); !at.Contains(asked) {
			return fmt.Errorf("matrix %q: part at %v of partition %d at %v: %w", s.meta.Name, asked, id, at, rpc.ErrMalformed)
		}
		return nil
	}
	cols := at.Cols.Intersect(p.Cols)
	if !at.Rows.Contains(p.Rows) && !s.counts(p) {
		return fmt.Errorf("matrix %q: rows %v of partition %d at %v: %w", s.meta.Name, p.Rows, id, at, rpc.ErrMalformed)
	}
	// A key of another partition is found nowhere when it is read; written it would be there twice.
	bits, top := 0, uint64(0)
	if p.Values != nil && s.parts.Bits > 0 {
		bits, top = s.parts.Bits, uint64(id)
	}
	if i := kernel.Within(keys, cols.Lo, cols.Hi, bits, top); i < len(keys) {
		return fmt.Errorf("matrix %q: column %d in partition %d, want one of its own in %v: %w",
			s.meta.Name, keys[i], id, cols, rpc.ErrMalformed)
	}
	return nil
}

// checkValues says what is wrong with the values that a part brings.
func (s *store) checkValues(p *rpc.Part) error {
	if p.DType != s.meta.DType {
		return fmt.Errorf("matrix %q: delta of %v, want %v: %w", s.meta.Name, p.DType, s.meta.DType, rpc.ErrMalformed)
	}
	cells, ok := matrix.Cells(p.Rows.Len(), int64(len(p.Keys)))
	if p.Kind == rpc.KindDense {
		cells, ok = matrix.Rect{Rows: p.Rows, Cols: p.Cols}.Cells()
	}
	if size := int64(p.DType.Size()); p.Kind == rpc.KindStored || !ok || cells > math.MaxInt64/size || cells*size != int64(len(p.Values)) {
		return fmt.Errorf("matrix %q: %d bytes of values for %d cells of %v: %w", s.meta.Name, len(p.Values), cells, p.DType, rpc.ErrMalformed)
	}
	if !aligned(p.Values, p.DType.Size()) {
		return fmt.Errorf("matrix %q: values that do not begin at a multiple of %d bytes: %w", s.meta.Name, p.DType.Size(), rpc.ErrMalformed)
	}
	return nil
}

// aligned reports whether the values lie as numbers of the size must; they always do in what came over a wire.
func aligned(values []byte, size int) bool {
	ok := true
	switch size {
	case 8:
		_, ok = wire.Numbers[uint64](values)
	case 4:
		_, ok = wire.Numbers[uint32](values)
	}
	return ok
}
