package ps

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

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

// Plan plans the keys, in any order and with duplicates, for lookups and pushes of the float32 matrices: one plan for each, the
// same where they are cut alike. It implements graph.Params. The plans are valid until the call after the next, so that one batch can be
// planned while another is computed; their memory is used again.
func (c *Client) Plan(keys []int64, matrices []string) ([]matrix.Plan, error) {
	c.plans[0], c.plans[1] = c.plans[1], c.plans[0]
	plans, made := make([]matrix.Plan, len(matrices)), 0
	var of []*Matrix
	for i, name := range matrices {
		m, err := c.Matrix(name)
		if err != nil {
			return nil, err
		}
		of = append(of, m)
		same := slices.IndexFunc(of[:i], func(o *Matrix) bool {
			return o.parts.SameColumns(m.parts) && o.meta.Rect().Cols == m.meta.Rect().Cols
		})
		if same >= 0 {
			plans[i] = plans[same]
			continue
		}
		if made == len(c.plans[0]) {
			c.plans[0] = append(c.plans[0], &Keys{})
		}
		if plans[i], err = m.Plan(c.plans[0][made], keys); err != nil {
			return nil, err
		}
		made++
	}
	return plans, nil
}

// PushPlanned is PushKeys of the unique columns of a plan: grad has for each of them the values of all rows.
func (c *Client) PushPlanned(name string, plan matrix.Plan, grad []float32) error {
	m, err := c.Matrix(name)
	if err != nil {
		return err
	}
	k, ok := plan.(*Keys)
	if !ok {
		return fmt.Errorf("ps: matrix %s: a %T, want a plan of this client", name, plan)
	}
	return PushKeys(m, k.distinct(), grad)
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
	if _, ok := m.direct(m.meta.Rect(), len(k.unique)); !ok {
		if addSame(m, k, grads) {
			return nil
		}
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
	rows, s := m.meta.Rect().Rows, m.gathered().(*sumsOf[T])
	n := int(rows.Len())
	l := s.group(rows)
	if l == nil {
		vals := make([]T, n*len(k.unique))
		sumAll(m, k, vals, grads)
		return s.keyed(rows, k.unique, k.groups, wire.View(vals))
	}
	from := len(l.vals)
	l.addKeys(k.unique, k.groups)
	l.vals = slices.Grow(l.vals, n*len(k.unique))[:from+n*len(k.unique)]
	sumAll(m, k, l.vals[from:], grads)
	return s.grown(l)
}

// sumAll adds up the gradients of each key, in the plan's order.
func sumAll[T matrix.Elem](m *Matrix, k *Keys, vals, grads []T) {
	n := int(m.meta.Rows)
	for r := range k.runs(m.parts, 0, len(k.unique)) {
		sum(&lumps{k: k, run: r, lump: n, n: n}, vals[r.lo*n:r.hi*n], grads)
	}
	divide(m, vals)
}

// addSame adds gradients of the same keys to those that wait as they came, if these are all that waits. It reports whether it did.
func addSame[T matrix.Elem](m *Matrix, k *Keys, grads []T) bool {
	if m.gather != gatherAuto || m.filter >= 0 || m.sums != nil && !m.sums.empty() {
		return false
	}
	var d *delta
	for i := range m.c.oplog {
		if m.c.oplog[i].m == m {
			if d != nil {
				return false
			}
			d = &m.c.oplog[i]
		}
	}
	if d == nil || d.sent || d.block.Data != nil || d.at != m.meta.Rect() {
		return false
	}
	i := 0
	for at, r := range k.bandRuns(m) {
		if i == len(d.shares) {
			return false
		}
		s := &d.shares[i]
		keys, _ := wire.Numbers[int64](m.c.arenas[s.server].in(s.keys))
		if s.server != r.server || s.part.Rows != at || !slices.Equal(keys, k.unique[r.lo:r.hi]) {
			return false
		}
		i++
	}
	if i != len(d.shares) {
		return false
	}
	i = 0
	for at, r := range k.bandRuns(m) {
		s := &d.shares[i]
		dst, _ := wire.Numbers[T](m.c.arenas[s.server].in(s.values))
		more := make([]T, len(dst))
		n := int(at.Len())
		sum(&lumps{k: k, run: r, lump: int(m.meta.Rows), lo: int(at.Lo), n: n}, more, grads)
		divide(m, more)
		for j, v := range more {
			dst[j] += v
		}
		i++
	}
	return true
}

// bandRuns yields the runs of all rows of the matrix, with the rows of each.
func (k *Keys) bandRuns(m *Matrix) iter.Seq2[matrix.Range, run] {
	return func(yield func(matrix.Range, run) bool) {
		for band := range m.parts.Bands() {
			at := m.parts.Band(band).Intersect(m.meta.Rect().Rows)
			if at.Len() == 0 {
				continue
			}
			for r := range k.runs(m.parts, band, math.MaxInt) {
				if !yield(at, r) {
					return
				}
			}
		}
	}
}

// divide divides increments by the number of tasks, if the matrix has it so.
func divide[T matrix.Elem](m *Matrix, vals []T) {
	if m.divisor > 1 {
		matrix.Block{Data: &matrix.Dense[T]{Val: vals}}.Divide(m.divisor)
	}
}
