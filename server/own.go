package server

import (
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/wire"
)

// readOwn is read with what the task has pushed itself and is not folded yet. The job's core told what that is when it said that the
// values may be read, and nothing is folded in between. Staged functions are left out.
func (r *read) readOwn(from *shard.Shard, p *rpc.Part, dst []byte) error {
	var own []share
	for _, d := range r.g.own {
		if d.of != r.from.of || d.call != nil || d.leftOut() {
			continue
		}
		for sh := range d.shares() {
			if int(sh.partition) == r.from.id {
				own = append(own, sh)
			}
		}
	}
	t := overlay{rows: p.Rows, cols: p.Cols, keys: r.keys, dtype: p.DType, values: dst}
	var err error
	switch p.Kind {
	case rpc.KindDense:
		err = from.ReadRect(dst, matrix.Rect{Rows: p.Rows, Cols: p.Cols})
	case rpc.KindKeys:
		err = from.Read(dst, p.Rows, r.keys)
	case rpc.KindStored:
		t.keys, err = columnsWith(from, own, p.Cols)
		if err == nil {
			size := len(t.keys) * int(p.Rows.Len()) * p.DType.Size()
			r.memory = r.g.x.More(size, 8*len(t.keys))
			t.values = r.memory.Bytes()
			p.Keys, p.Values = t.keys, t.values
			err = from.Read(t.values, p.Rows, t.keys)
		}
	}
	for i := 0; i < len(own) && err == nil; i++ { // one after the other, so that no more than one has to be read from disk at once
		err = with(own[i:i+1], nil, takes(func(deltas []shard.Delta) error { return t.add(&deltas[0], own[i].d.part.Assign) }))
	}
	return err
}

// columnsWith is the stored columns, and those that the shares would make, ascending.
func columnsWith(from *shard.Shard, own []share, cols matrix.Range) ([]int64, error) {
	if from.Absent() != nil {
		return nil, errAbsent
	}
	keys := from.Keys(cols)
	for i := range own {
		err := with(own[i:i+1], nil, takes(func(deltas []shard.Delta) error {
			for _, k := range deltas[0].Keys {
				if cols.Has(k) {
					keys = append(keys, k)
				}
			}
			return nil
		}))
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// overlay is values that are read, and to which more is added: with keys column after column, else row after row.
type overlay struct {
	rows, cols matrix.Range
	keys       []int64
	at         map[int64]int // where each key is
	dtype      matrix.DType
	values     []byte
}

// add adds the values of the delta, or with assign puts them in.
func (t *overlay) add(d *shard.Delta, assign bool) error {
	switch t.dtype {
	case matrix.F64:
		return addDelta[float64](t, d, assign)
	case matrix.F32:
		return addDelta[float32](t, d, assign)
	case matrix.I64:
		return addDelta[int64](t, d, assign)
	case matrix.I32:
		return addDelta[int32](t, d, assign)
	}
	return fmt.Errorf("own writes of %v: %w", t.dtype, rpc.ErrMalformed)
}

// find is where the cell of the first row in a column is, and how far the next row's is from it; false if the column is not there.
func (t *overlay) find(col int64) (first, next int, ok bool) {
	if t.keys == nil {
		return int(col - t.cols.Lo), int(t.cols.Len()), t.cols.Has(col)
	}
	if t.at == nil {
		t.at = make(map[int64]int, len(t.keys))
		for i, k := range t.keys {
			t.at[k] = i
		}
	}
	i, ok := t.at[col]
	return i * int(t.rows.Len()), 1, ok
}

func addDelta[T float64 | float32 | int64 | int32](t *overlay, d *shard.Delta, assign bool) error {
	to, ok := wire.Numbers[T](t.values)
	from, fine := wire.Numbers[T](d.Values)
	if !ok || !fine {
		return fmt.Errorf("own writes that do not lie as %v must: %w", t.dtype, rpc.ErrInternal)
	}
	rows := d.Rows.Intersect(t.rows)
	column := func(col int64, value func(row int64) T) {
		first, next, ok := t.find(col)
		for r := rows.Lo; ok && r < rows.Hi; r++ {
			if at := &to[first+int(r-t.rows.Lo)*next]; assign {
				*at = value(r)
			} else {
				*at += value(r)
			}
		}
	}
	if d.Keys != nil {
		for i, col := range d.Keys {
			column(col, func(row int64) T { return from[i*int(d.Rows.Len())+int(row-d.Rows.Lo)] })
		}
		return nil
	}
	for col := d.Cols.Lo; col < d.Cols.Hi; col++ {
		column(col, func(row int64) T { return from[int(row-d.Rows.Lo)*int(d.Cols.Len())+int(col-d.Cols.Lo)] })
	}
	return nil
}
