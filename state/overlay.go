package state

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// layer is at a band of cells of one partition of one of the checkpoints. Bands come in row-major order, as those that are made.
type layer struct {
	next func() (piece, error, bool)
	at   piece
	more bool
}

func (l *layer) advance() (err error) {
	l.at, err, l.more = l.next()
	return err
}

// layers are those of a partition of the last checkpoint, the oldest first: what is newer lies over it.
func (s *sources) layers(ctx context.Context, m *Matrix, p *Partition) (all []*layer, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	for age := len(s.of) - 1; age >= 0; age-- {
		for _, id := range s.of[age].common(m, p.ID) {
			l := &layer{}
			var end func()
			l.next, end = iter.Pull2(s.of[age].pieces(ctx, []int{id}, s.read))
			stops = append(stops, end)
			if err := l.advance(); err != nil {
				stop()
				return nil, nil, err
			}
			all = append(all, l)
		}
	}
	return all, stop, nil
}

// dense writes the cells of a partition: each from the newest checkpoint that has it.
func (s *sources) dense(ctx context.Context, w *Writer, m *Matrix, p *Partition) error {
	all, stop, err := s.layers(ctx, m, p)
	if err != nil {
		return err
	}
	defer stop()
	for at := range format.Bands(p.At, mergedBytes/int64(p.DType.Size()*(1+p.Slots))) {
		var b Band
		for range 1 + p.Slots {
			b.Values = append(b.Values, matrix.NewDense(p.DType, at))
		}
		err := lay(all, p, b.Values, at)
		if err == nil {
			err = w.Band(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lay copies the cells of the layers, and the slots of these, to the blocks of a place, one layer over the other.
func lay(all []*layer, p *Partition, into []matrix.Block, at matrix.Rect) error {
	for _, l := range all {
		for l.more {
			if err := l.lay(p, into); err != nil {
				return err
			}
			if after(l.at.b.Values[0].At, at) {
				break // the next place may have something of the band, and this place has nothing of later bands
			}
			if err := l.advance(); err != nil {
				return err
			}
		}
	}
	return nil
}

// after reports whether a place ends after another in row-major order.
func after(a, b matrix.Rect) bool {
	return cmp.Or(cmp.Compare(a.Rows.Hi, b.Rows.Hi), cmp.Compare(a.Cols.Hi, b.Cols.Hi)) > 0
}

// lay copies the cells of the layer's band, and the slots of these, that a place has.
func (l *layer) lay(p *Partition, into []matrix.Block) error {
	if from := l.at.p; from.Slots != p.Slots || from.DType != p.DType {
		return fmt.Errorf("partition %d of matrix %q has %d slots, want %d", from.ID, from.Matrix, from.Slots, p.Slots)
	}
	size := int64(p.DType.Size())
	for slot, b := range l.at.b.Values {
		to := into[slot]
		common := b.At.Intersect(to.At)
		if common.Empty() {
			return nil
		}
		src, _ := wire.ViewAny(b.Data.Values())
		dst, _ := wire.ViewAny(to.Data.Values())
		for row := common.Rows.Lo; row < common.Rows.Hi; row++ {
			from := ((row-b.At.Rows.Lo)*b.At.Cols.Len() + common.Cols.Lo - b.At.Cols.Lo) * size
			at := ((row-to.At.Rows.Lo)*to.At.Cols.Len() + common.Cols.Lo - to.At.Cols.Lo) * size
			copy(dst[at:][:common.Cols.Len()*size], src[from:])
		}
	}
	return nil
}
