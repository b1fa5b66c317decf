package ps

import (
	"context"
	"fmt"

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

// columnType is the type that a column of so many rows is rounded for: a scale for few of them takes more than it saves.
func columnType(as matrix.DType, rows int) matrix.DType {
	if as == matrix.I8 && rows <= 4 {
		return matrix.BF16
	}
	return as
}

// oneBand reports whether the map does not cut the rows: only then what is laid for the servers can be rounded, as a scale is of all
// rows of a key.
func (m *Matrix) oneBand() bool { return m.parts.Bands() == 1 }

// round rounds the values of keys, which lie where they are sent from, for the wire, with what was lost of them before, and keeps what
// is lost. What is not finite, or was to be sent as it is, is.
func (m *Matrix) round(d *delta) {
	if m.wire == matrix.Invalid || d.exact || d.sent || m.c.leaving {
		return
	}
	for i := range d.shares {
		if p := &d.shares[i].part; p.Kind != rpc.KindKeys || p.Rows != d.at.Rows {
			return
		}
	}
	if m.sums == nil {
		m.sums = newSums(m)
	}
	m.sums.round(d)
}

func (s *sumsOf[T]) round(d *delta) {
	for i := range d.shares {
		vals, _ := wire.Numbers[T](d.shares[i].part.Values)
		if !finite(vals) {
			return
		}
	}
	as, rest := columnType(s.m.wire, int(d.at.Rows.Len())), s.lost.of(d.at.Rows)
	before := rest.count
	for i := range d.shares {
		p := &d.shares[i].part
		vals, _ := wire.Numbers[T](p.Values)
		if !rest.round(as, p.Keys, vals) {
			break
		}
		narrowKeys(p, as)
	}
	s.lost.bytes += (rest.count - before) * (restBytes + rest.size())
}

// restBytes is about what a key takes in an index.
const restBytes = 32

// roundLog rounds what a compacted log sends, and keeps what is lost. It tells as which type the values can be sent: Invalid if one of
// them is not finite, and nothing was rounded.
func (s *sumsOf[T]) roundLog(l *keyLog[T]) matrix.DType {
	if !finite(l.vals) {
		return matrix.Invalid
	}
	as, rest := columnType(s.m.wire, l.lump()), s.lost.of(l.rows)
	before := rest.count
	if !rest.round(as, l.keys, l.vals) {
		as = matrix.Invalid
	}
	s.lost.bytes += (rest.count - before) * (restBytes + rest.size())
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
			end := len(val)
			if s.m.wire == matrix.I8 {
				end = min(end, i+int(rpc.RunColumns-(lo+int64(i))&(rpc.RunColumns-1)))
			}
			roundTo(s.m.wire, val[i:end], rest[i:end], end-i, []uint32{0})
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

// roundTo rounds rows of n values each with what is left of them, row i of the values with row rows[i] of rest, as the kernel does.
func roundTo[T matrix.Elem](as matrix.DType, vals, rest []T, n int, rows []uint32) {
	switch v := any(vals).(type) {
	case []float32:
		roundFloats(as, v, any(rest).([]float32), n, rows)
	case []float64:
		roundFloats(as, v, any(rest).([]float64), n, rows)
	}
}

func roundFloats[T float32 | float64](as matrix.DType, vals, rest []T, n int, rows []uint32) {
	switch as {
	case matrix.I8:
		kernel.RoundRuns(vals, rest, n, rows)
	case matrix.F16:
		kernel.RoundHalves[matrix.Float16](vals, rest, n, rows)
	case matrix.BF16:
		kernel.RoundHalves[matrix.BFloat16](vals, rest, n, rows)
	}
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

// narrowKeys has the part of keys, whose values were rounded for the type, have them so, where they were.
func narrowKeys(p *rpc.Part, as matrix.DType) {
	wide := p.DType
	n := narrowest(p, as)
	narrow(p, p.Values[:n], p.Values, wide)
	p.Values = p.Values[:n:n]
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
