package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/wire"
)

// snapshot is the state of a partition at one moment, on its way to a bucket or a function. What has to be
// done by the partition's owner is done in visits, between which it serves others, and what can be is read beside it.
type snapshot struct {
	of   *partition
	from *shard.Shard
	by   marking     // nil: everything is marked
	mark *shard.Mark // nil: there was nothing to save, or why not
	err  error
	pace *pace  // of all that are written one after the other
	lent *rooms // likewise
}

// marking makes the mark of a snapshot.
type marking func(s *shard.Shard) (*shard.Mark, error)

// Sizes of what a snapshot does.
const (
	savedCols = 1 << 18   // columns of a block of a sparse matrix
	bandBytes = 256 << 10 // that a visit of the partition copies
	bandKeys  = 1 << 14   // that a visit lists
)

// take begins the snapshot, in the partition's mailbox.
func (s *snapshot) take() {
	if s.of.shard != nil {
		s.from = s.of.shard
		if s.by != nil {
			s.mark, s.err = s.by(s.from)
		} else {
			s.mark = s.from.Mark()
		}
		s.of.recount()
	}
}

// snapshots asks all partitions here of the matrices for their state, in the job's mailbox: what is applied later is in none
// of them.
func (j *job) snapshots(stores []*store, by marking) [][]*snapshot {
	out := make([][]*snapshot, len(stores))
	still := j.still.own()
	still.RLock()
	defer still.RUnlock()
	for i, s := range stores {
		for _, p := range s.partitions {
			if p == nil {
				continue
			}
			shot := &snapshot{of: p, by: by}
			out[i] = append(out[i], shot)
			if p.post(p.deed(shot.take)) {
				j.later.idle = append(j.later.idle, p)
			}
		}
	}
	return out
}

// visit has the partition's mailbox do something with the mark.
func (s *snapshot) visit(ctx context.Context, f func(m *shard.Mark) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err := error(nil)
	s.of.wait(func() {
		defer s.of.of.job.server.recovered(&err)
		switch {
		case s.err != nil:
			err = s.err
		case s.mark == nil || s.of.shard == nil:
			err = s.of.gone()
		case s.of.shard != s.from:
			err = fmt.Errorf("matrix %q was loaded while it was being read: %w", s.of.of.meta.Name, rpc.ErrAborted)
		default:
			if err = s.of.makeRoom(0); err == nil {
				err = f(s.mark)
			}
			s.of.recount()
		}
	})
	return err
}

// beside reads something of a mark that was visited before, while the partition goes on.
func (s *snapshot) beside(ctx context.Context, read func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err := read()
	if err == nil || errors.Is(err, shard.ErrOwner) {
		return err
	}
	return cmp.Or(s.visit(ctx, func(*shard.Mark) error { return nil }), err) // what became of the partition, if that is why
}

// close gives the snapshot's memory back.
func (s *snapshot) close() {
	s.of.wait(func() {
		if s.mark != nil && s.of.shard == s.from { // else it ended with the shard
			s.mark.Close()
			s.of.recount()
		}
	})
}

// blocks is the stored values: the whole place as one dense block, or the stored columns in ascending order, savedCols of them
// a block. A block is valid until the next.
func (s *snapshot) blocks(ctx context.Context) iter.Seq2[matrix.Block, error] {
	if s.of.of.meta.Layout == matrix.RowSparse {
		return s.columns(ctx)
	}
	return func(yield func(matrix.Block, error) bool) {
		at := s.of.of.parts.At(s.of.id)
		b := matrix.NewDense(s.of.of.meta.DType, at)
		err := s.visit(ctx, func(*shard.Mark) error { return nil }) // which there is from then on
		if err == nil {
			err = s.cells(ctx, b)
		}
		yield(b, err)
	}
}

// cells fills in a dense block, band by band.
func (s *snapshot) cells(ctx context.Context, b matrix.Block) error {
	all, size := wire.ViewAny(b.Data.Values())
	rows, cols := b.At.Rows.Len(), b.At.Cols.Len()
	across := max(1, min(cols, bandBytes/int64(size))) // of one row, if rows are longer than a band
	high := int64(1)
	if across == cols {
		high = max(1, bandBytes/(max(1, cols)*int64(size)))
	}
	for r := int64(0); r < rows && cols > 0; r += high {
		for c := int64(0); c < cols; c += across {
			at := matrix.At(b.At.Rows.Lo+r, b.At.Rows.Lo+min(rows, r+high), b.At.Cols.Lo+c, b.At.Cols.Lo+min(cols, c+across))
			n := at.Rows.Len() * at.Cols.Len() * int64(size)
			dst := all[(r*cols+c)*int64(size):][:n]
			if err := s.beside(ctx, func() error { return s.mark.ReadRect(dst, at, 0) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// keys lists the stored columns, ascending.
func (s *snapshot) keys(ctx context.Context) ([]int64, error) {
	var all []int64
	for more := true; more; {
		err := s.visit(ctx, func(m *shard.Mark) error {
			if m.Absent() != nil {
				return fmt.Errorf("matrix %q: columns that are not stored have values: %w", s.of.of.meta.Name, errAbsent)
			}
			some := m.Keys(bandKeys)
			more = len(some) > 0
			all = append(all, some...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return all, nil
}

// columns is blocks for a sparse partition: one at least, of places that lie beside each other.
func (s *snapshot) columns(ctx context.Context) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		keys, err := s.keys(ctx)
		if err != nil {
			yield(matrix.Block{}, err)
			return
		}
		whole, meta := s.of.of.parts.At(s.of.id), &s.of.of.meta
		lo := whole.Cols.Lo
		for first := true; first || len(keys) > 0; first = false {
			n := min(savedCols, len(keys))
			at := matrix.Rect{Rows: whole.Rows, Cols: matrix.Range{Lo: lo, Hi: whole.Cols.Hi}}
			if n < len(keys) {
				at.Cols.Hi = keys[n]
			}
			b := matrix.Block{At: at, Data: matrix.KindOf(meta.DType).Cols(keys[:n:n], int(whole.Rows.Len()))}
			if !yield(b, s.values(ctx, b, keys[:n])) {
				return
			}
			keys, lo = keys[n:], at.Cols.Hi
		}
	}
}

// values fills in columns, band by band.
func (s *snapshot) values(ctx context.Context, b matrix.Block, keys []int64) error {
	all, size := wire.ViewAny(b.Data.Values())
	each := int(b.At.Rows.Len()) * size
	for some := range slices.Chunk(keys, max(1, bandBytes/max(1, each))) {
		dst := all[:len(some)*each]
		if err := s.visit(ctx, func(m *shard.Mark) error { return m.Read(dst, some, false) }); err != nil {
			return err
		}
		all = all[len(dst):]
	}
	return nil
}

// errAbsent is why stored columns alone are not asked for or saved: who reads them would take the others for zero.
var errAbsent = fmt.Errorf("%w: pull columns by key, or set them to 0 (\"zero\", or \"fill\" with 0 and then \"compress\")", rpc.ErrRefused)
