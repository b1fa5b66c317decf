package shard

import (
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// passing is the lazy of the store, if it has one.
func (k *keyed[T]) passing() []*lazy {
	if k.lazy == nil {
		return nil
	}
	return []*lazy{k.lazy}
}

// restored has a row be as of the i-th step, or of the present if there are none.
func (l *lazy) restored(row uint32, i int, stamps []int64) {
	if l.stamps[row] = l.as; stamps != nil {
		l.stamps[row] = uint16(stamps[i])
	}
}

// settled is columns, one after the other with their slots, brought up to date; so many slots are the own ones of the rule.
func settled(d matrix.DType, p *Past, rows, slots, own int, values []byte, stamps []int64) []byte {
	if d == matrix.F32 {
		return settledColumns[float32](p, rows, slots, own, values, stamps)
	}
	return settledColumns[float64](p, rows, slots, own, values, stamps)
}

func settledColumns[T number](p *Past, rows, slots, own int, values []byte, stamps []int64) []byte {
	val, _ := wire.Numbers[T](values) // aligned: fits has looked
	val = slices.Clone(val)
	for i, as := range stamps {
		settleColumn(p, rows, own, val[i*rows*(1+slots):], as)
	}
	return wire.View(val)
}

// settleColumn brings a column up to date that is as of a step.
func settleColumn[T number](p *Past, rows, slots int, val []T, as int64) {
	if as == p.now {
		return
	}
	var drift [1]kernel.Drift
	p.drift(&drift[0], as)
	l := kernel.Lag[T]{Idle: p.idle, Slab: val, Dim: rows, Slots: slots, Rows: firstRow, Drifts: drift[:]}
	l.Settle()
}

// level has the columns that are there, and that are about to get values of some of their rows, be of the same steps as these:
// those that are not, and their new values of high rows, are brought up to date.
func (k *keyed[T]) level(keys []int64, val []T, high int, stamps []int64) ([]T, []int64) {
	val, stamps = slices.Clone(val), slices.Clone(stamps)
	for i, key := range keys {
		line, at, there := k.index.find(uint64(key))
		if !there {
			continue
		}
		row := []uint32{k.index.lines[line].Row[at]}
		if k.lazy.stamps[row[0]] == uint16(stamps[i]) {
			continue
		}
		k.prepare(row)
		settleColumn(k.lazy.past, high, k.own, val[i*high*(1+k.slots):], stamps[i])
		stamps[i] = k.lazy.past.now
	}
	return val, stamps
}
