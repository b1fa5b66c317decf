package ps

import (
	"context"
	"fmt"

	"thole.example/matrix"
	"thole.example/wire"
)

// Plan plans the keys, columns of the matrix in any order that may come several times, into k, whose memory is used again;
// nil makes a new plan. The keys are copied. An error names the first key that the matrix does not have.
func (m *Matrix) Plan(k *Keys, keys []int64) (*Keys, error) {
	if k == nil {
		k = &Keys{}
	}
	if err := k.plan(m.parts, m.meta.Rect().Cols, keys); err != nil {
		return nil, fmt.Errorf("ps: matrix %s: %w", m.meta.Name, err)
	}
	return k, nil
}

// fits tells why values of n elements of the type are not those of the planned keys for all rows of the matrix.
func (m *Matrix) fits(k *Keys, dtype matrix.DType, n int) error {
	switch {
	case dtype != m.meta.DType:
		return fmt.Errorf("ps: matrix %s: values of %v, want %v", m.meta.Name, dtype, m.meta.DType)
	case k.parts == nil || k.parts != m.parts && !k.parts.SameColumns(m.parts):
		return fmt.Errorf("ps: matrix %s: keys were planned for other partitions", m.meta.Name)
	}
	if all, ok := matrix.Cells(m.meta.Rows, int64(k.inputs)); !ok || all != int64(n) {
		return fmt.Errorf("ps: matrix %s: %d values, want %d for %d rows of %d keys", m.meta.Name, n, all, m.meta.Rows, k.inputs)
	}
	return nil
}

// PushKeys keeps gradients of the planned keys until the next Flush or Clock: grads has the values of each input for all
// rows, input after input. Those of one key are added up in the order of the inputs. grads and k are the caller's again
// when it returns.
func PushKeys[T matrix.Elem](m *Matrix, k *Keys, grads []T) error {
	c := m.c
	if err := c.begin(context.Background(), "push", m); err != nil {
		return err
	}
	defer c.end()
	if err := m.fits(k, matrix.DTypeOf[T](), len(grads)); err != nil {
		return err
	}
	if len(grads) == 0 {
		return nil
	}
	rows := m.meta.Rect().Rows
	if _, ok := m.direct(m.meta.Rect(), false); !ok {
		return pushGathered(m, k, grads)
	}
	m.keep(k, rows, 1, func(l *lumps, bytes []byte) {
		dst, _ := wire.Numbers[T](bytes) // a buffer begins at a multiple of 8, and so does what is reserved in it
		sum(l, dst, grads)
		divide(m, dst)
	})
	return nil
}

// pushGathered adds gradients of planned keys to what waits.
func pushGathered[T matrix.Elem](m *Matrix, k *Keys, grads []T) error {
	rows := m.meta.Rect().Rows
	n := int(rows.Len())
	vals := make([]T, n*len(k.unique))
	for r := range k.runs(m.parts, 0, len(k.unique)) {
		sum(&lumps{k: k, run: r, lump: n, n: n}, vals[r.lo*n:r.hi*n], grads)
	}
	divide(m, vals)
	return m.gathered().keyed(rows, k.unique, wire.View(vals))
}

// divide divides increments by the number of tasks, if the matrix has it so.
func divide[T matrix.Elem](m *Matrix, vals []T) {
	if m.divisor > 1 {
		matrix.Block{Data: &matrix.Dense[T]{Val: vals}}.Divide(m.divisor)
	}
}
