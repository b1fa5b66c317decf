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
	m.keep(k, m.meta.Rect().Rows, 1, func(l *lumps, bytes []byte) {
		dst, _ := wire.Numbers[T](bytes) // a buffer begins at a multiple of 8, and so does what is reserved in it
		sum(l, dst, grads)
		if c.o.Average {
			matrix.Block{Data: &matrix.Dense[T]{Val: dst}}.Scale(1 / float64(c.o.Tasks))
		}
	})
	return nil
}
