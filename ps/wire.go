package ps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// wireType is the type of a name.
func wireType(name string) (matrix.DType, error) {
	as, err := matrix.ParseNarrow(name)
	if err != nil {
		return as, fmt.Errorf("values cross the wire as %w", err)
	}
	return as, nil
}

// fitsWire tells why values of the matrix cannot cross the wire as the type.
func fitsWire(meta *matrix.Meta, as matrix.DType) error {
	if as != matrix.Invalid && !rpc.CanNarrow(meta.DType, as) {
		return fmt.Errorf("ps: matrix %s: values of %v that cross the wire as %v, want those of f32 or f64", meta.Name, meta.DType, as)
	}
	return nil
}

// SetWire sets how values of the matrix cross the wire from now on, as [Model.SetWire] does. With "" what rounding lost so far is sent
// by the next Flush or Clock.
func (m *Matrix) SetWire(name string) error {
	as, err := wireType(name)
	if err != nil {
		return fmt.Errorf("ps: matrix %s: %w", m.meta.Name, err)
	}
	if err := fitsWire(&m.meta, as); err != nil {
		return err
	}
	if err := m.c.begin(context.Background(), "change of the wire type", m); err != nil {
		return err
	}
	defer m.c.end()
	m.wire = as
	return nil
}

// answers is the type of the values that the matrix's servers answer with.
func (m *Matrix) answers(kind rpc.Kind) matrix.DType {
	if kind != rpc.KindStored && !m.own && (m.wire == matrix.F16 || m.wire == matrix.BF16) {
		return m.wire
	}
	return m.meta.DType
}

// owingLimit is how many bytes of remainders a matrix keeps: the change after there are more is sent as it is, and with it all of them.
const owingLimit = 256 << 20

// remainders are what rounding lost: what was to be sent less what was sent. The next increments of a cell are added to its own.
type remainders[T matrix.Elem] struct {
	rows  map[int64][]T                  // of rows that were sent whole
	keyed map[matrix.Range]*keyedRest[T] // of keys, by the rows that were sent together
	bytes int
}

// keyedRest are the remainders of keys, each of all the rows.
type keyedRest[T matrix.Elem] struct {
	place map[int64]int // of a key's first one in vals
	vals  []T
}

// restBytes is about what a key takes in a map.
const restBytes = 32

func (s *sumsOf[T]) owed() int { return s.lost.bytes }

// repay puts all remainders back into the sums.
func (s *sumsOf[T]) repay() error {
	lost := s.lost
	s.lost = remainders[T]{}
	for _, r := range slices.Sorted(maps.Keys(lost.rows)) {
		at := matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: s.m.meta.Rect().Cols}
		if err := s.block(matrix.Block{At: at, Data: &matrix.Dense[T]{Val: lost.rows[r]}}); err != nil {
			return err
		}
	}
	order := slices.SortedFunc(maps.Keys(lost.keyed), func(a, b matrix.Range) int {
		return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Hi, b.Hi))
	})
	for _, rows := range order {
		rest, n := lost.keyed[rows], int(rows.Len())
		keys, vals := []int64(nil), []T(nil)
		for _, key := range slices.Sorted(maps.Keys(rest.place)) {
			own := rest.vals[rest.place[key]:][:n]
			if slices.ContainsFunc(own, func(v T) bool { return v != 0 }) {
				keys, vals = append(keys, key), append(vals, own...)
			}
		}
		if len(keys) == 0 {
			continue
		}
		if err := s.keyed(rows, keys, wire.View(vals)); err != nil {
			return err
		}
	}
	return nil
}

// columnType is the type that a column of so many rows is rounded for: a scale for few of them takes more than it saves.
func columnType(as matrix.DType, rows int) matrix.DType {
	if as == matrix.I8 && rows <= 4 {
		return matrix.BF16
	}
	return as
}

// roundLog rounds what a compacted log sends, with what was lost of it before, and keeps what is lost. It tells as which type the
// values can be sent: Invalid if one of them is not finite, and nothing was rounded.
func (s *sumsOf[T]) roundLog(l *keyLog[T]) matrix.DType {
	if !finite(l.vals) {
		return matrix.Invalid
	}
	n := l.lump()
	as := columnType(s.m.wire, n)
	if s.lost.keyed == nil {
		s.lost.keyed = map[matrix.Range]*keyedRest[T]{}
	}
	rest := s.lost.keyed[l.rows]
	if rest == nil {
		rest = &keyedRest[T]{place: map[int64]int{}}
		s.lost.keyed[l.rows] = rest
	}
	for i, key := range l.keys {
		at, ok := rest.place[key]
		if !ok {
			at = len(rest.vals)
			rest.place[key] = at
			rest.vals = append(rest.vals, l.vals[i*n:(i+1)*n]...)
			clear(rest.vals[at:])
			s.lost.bytes += restBytes + n*s.m.meta.DType.Size()
		}
		roundTo(as, l.vals[i*n:(i+1)*n], rest.vals[at:at+n])
	}
	return as
}

// roundRows is roundLog for rows that are sent whole.
func (s *sumsOf[T]) roundRows(at matrix.Range, rows map[int64]*denseRow[T]) matrix.DType {
	for r := at.Lo; r < at.Hi; r++ {
		if !finite(rows[r].val) {
			return matrix.Invalid
		}
	}
	if s.lost.rows == nil {
		s.lost.rows = map[int64][]T{}
	}
	for r := at.Lo; r < at.Hi; r++ {
		val, rest := rows[r].val, s.lost.rows[r]
		if rest == nil {
			rest = make([]T, len(val))
			s.lost.rows[r] = rest
			s.lost.bytes += len(val) * s.m.meta.DType.Size()
		}
		lo := s.m.meta.ColLo
		for i := 0; i < len(val); {
			end := min(len(val), i+int(rpc.RunColumns-(lo+int64(i))&(rpc.RunColumns-1)))
			roundTo(s.m.wire, val[i:end], rest[i:end])
			i = end
		}
	}
	return s.m.wire
}

// finite reports whether all of the values are; integers are not asked.
func finite[T matrix.Elem](vals []T) bool {
	switch v := any(vals).(type) {
	case []float32:
		return kernel.NonFinite(v) < 0
	case []float64:
		return kernel.NonFinite64(v) < 0
	}
	return true
}

// roundTo adds to each of the values what is left of it from before, rounds it, and leaves what that lost. What is too large for the
// type is sent as its largest number, and the rest of it later.
func roundTo[T matrix.Elem](as matrix.DType, vals, rest []T) {
	switch v := any(vals).(type) {
	case []float32:
		roundFloats(as, v, any(rest).([]float32))
	case []float64:
		roundFloats(as, v, any(rest).([]float64))
	}
}

func roundFloats[T float32 | float64](as matrix.DType, vals, rest []T) {
	for i := range vals {
		if sum := vals[i] + rest[i]; !math.IsInf(float64(sum), 0) {
			vals[i], rest[i] = sum, 0 // else what is left waits
		}
	}
	switch as {
	case matrix.I8:
		scale := T(rpc.Scale(vals))
		by := 1 / scale
		for i, v := range vals {
			k := max(-127, min(127, math.RoundToEven(float64(v*by))))
			vals[i] = T(k) * scale
			rest[i] += v - vals[i]
		}
	case matrix.F16:
		var half [rpc.RunColumns]matrix.Float16
		for len(vals) > 0 {
			n := min(len(vals), len(half))
			matrix.ToFloat16s(half[:n], vals[:n])
			for i, h := range half[:n] {
				settle(vals, rest, i, h.Float32(), matrix.Float16(0x7bff).Float32())
			}
			vals, rest = vals[n:], rest[n:]
		}
	case matrix.BF16:
		var half [rpc.RunColumns]matrix.BFloat16
		for len(vals) > 0 {
			n := min(len(vals), len(half))
			matrix.ToBFloat16s(half[:n], vals[:n])
			for i, h := range half[:n] {
				settle(vals, rest, i, h.Float32(), matrix.BFloat16(0x7f7f).Float32())
			}
			vals, rest = vals[n:], rest[n:]
		}
	}
}

// settle replaces a value by the rounded one, which is at most the largest.
func settle[T float32 | float64](vals, rest []T, i int, rounded, largest float32) {
	v := vals[i]
	vals[i] = T(max(-largest, min(largest, rounded)))
	rest[i] += v - vals[i]
}

// narrow writes values of the matrix's type, that were rounded before, as those of the part.
func narrow(p *rpc.Part, dst, values []byte, wide matrix.DType) {
	if wide == matrix.F32 {
		v, _ := wire.Numbers[float32](values)
		rpc.Narrow(p, dst, p.DType, v)
		return
	}
	v, _ := wire.Numbers[float64](values)
	rpc.Narrow(p, dst, p.DType, v)
}

// narrowKeys has the part of keys, whose values were rounded for the type, have them so. They are put where they were.
func narrowKeys(p *rpc.Part, as matrix.DType) {
	wide := p.DType
	n := narrowest(p, as)
	narrowed := make([]uint64, (n+7)/8) // the values are read when it is written
	out := wire.View(narrowed)[:n]
	narrow(p, out, p.Values, wide)
	p.Values = p.Values[:copy(p.Values, out)]
}

// narrowest gives the part the type, or bf16 for int8 if that takes less: a number that is a product of an int8 and a power of two
// is one of bf16, too. It is never more than the values took. It tells how many bytes they take.
func narrowest(p *rpc.Part, as matrix.DType) int64 {
	p.DType = as
	n, _ := p.NarrowBytes(as)
	if half, _ := p.NarrowBytes(matrix.BF16); as == matrix.I8 && half <= n {
		p.DType, n = matrix.BF16, half
	}
	return n
}

// widened is the part's values as those of the type, in memory of their own.
func widened(p *rpc.Part, to matrix.DType) ([]byte, error) {
	n, ok := p.Cells()
	if size, fits := p.NarrowBytes(p.DType); !ok || !fits || size != int64(len(p.Values)) {
		return nil, fmt.Errorf("%d bytes of values for %d cells of %v, want %d", len(p.Values), n, p.DType, size)
	}
	if to == matrix.F32 {
		dst := make([]float32, n)
		return wire.View(dst), rpc.Widen(p, dst)
	}
	dst := make([]float64, n)
	return wire.View(dst), rpc.Widen(p, dst)
}
