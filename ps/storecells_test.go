package ps_test

import (
	"cmp"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

type cell struct{ row, col int64 }

type cells struct {
	number uint32
	meta   matrix.Meta
	parts  *part.Map
	bound  ssp.Bound
	index  int
	value  map[cell]float64
}

func (m *cells) add(d stagedCell) { m.value[d.at] += d.v }

// places are the cells of a part, in the order of its values.
func (m *cells) places(p *rpc.Part) ([]cell, error) {
	bad := func(format string, args ...any) ([]cell, error) {
		return nil, fmt.Errorf("matrix %s: %s: %w", m.meta.Name, fmt.Sprintf(format, args...), rpc.ErrMalformed)
	}
	whole := matrix.Rect{Rows: p.Rows, Cols: p.Cols}
	switch {
	case p.Version != m.parts.Version:
		return nil, rpc.ErrStale
	case p.DType != m.meta.DType:
		return bad("values of %v", p.DType)
	case whole.Empty() || !m.meta.Rect().Contains(whole):
		return bad("part at %v", whole)
	case len(p.Groups) == 0:
		return bad("no groups")
	}
	for _, g := range p.Groups {
		if int(g.Partition) >= len(m.parts.Owners) || m.parts.Owners[g.Partition] != m.index {
			return bad("partition %d is not here", g.Partition)
		}
	}
	at := m.parts.At(int(p.Groups[0].Partition))
	var out []cell
	switch p.Kind {
	case rpc.KindDense:
		if len(p.Groups) != 1 || p.Groups[0].Keys != 0 || len(p.Keys) != 0 || m.parts.Bits > 0 || !at.Contains(whole) || m.meta.Layout != matrix.RowDense {
			return bad("dense part at %v of partition %v with %d keys", whole, p.Groups, len(p.Keys))
		}
		for r := p.Rows.Lo; r < p.Rows.Hi; r++ {
			for c := p.Cols.Lo; c < p.Cols.Hi; c++ {
				out = append(out, cell{r, c})
			}
		}
	case rpc.KindKeys:
		seen, i := map[int64]bool{}, 0
		for _, g := range p.Groups {
			x := m.parts.At(int(g.Partition))
			if !x.Rows.Contains(p.Rows) || g.Keys == 0 {
				return bad("rows %v of partition %d, %d keys", p.Rows, g.Partition, g.Keys)
			}
			for _, key := range p.Keys[i : i+int(g.Keys)] {
				band := int(g.Partition) / m.parts.Beside()
				if seen[key] || !p.Cols.Has(key) || m.parts.Of(key)+band*m.parts.Beside() != int(g.Partition) {
					return bad("key %d of partition %d", key, g.Partition)
				}
				seen[key] = true
				for r := p.Rows.Lo; r < p.Rows.Hi; r++ {
					out = append(out, cell{r, key})
				}
			}
			i += int(g.Keys)
		}
		if i != len(p.Keys) {
			return bad("%d keys in groups of %d", len(p.Keys), i)
		}
	case rpc.KindStored:
		if len(p.Groups) != 1 || len(p.Keys) != 0 || m.meta.Layout != matrix.RowSparse || !at.Contains(whole) {
			return bad("stored part at %v of %v", whole, p.Groups)
		}
		cols := map[int64]bool{}
		for c := range m.value {
			if p.Rows.Has(c.row) && p.Cols.Has(c.col) && (m.parts.Bits == 0 || m.parts.Of(c.col) == int(p.Groups[0].Partition)) {
				cols[c.col] = true
			}
		}
		for c := range cols {
			out = append(out, cell{p.Rows.Lo, c})
		}
		slices.SortFunc(out, func(a, b cell) int { return cmp.Compare(a.col, b.col) })
		p.Keys = nil
		var full []cell
		for _, c := range out {
			p.Keys = append(p.Keys, c.col)
			for r := p.Rows.Lo; r < p.Rows.Hi; r++ {
				full = append(full, cell{r, c.col})
			}
		}
		out = full
	}
	return out, nil
}

func numbers(b []byte, d matrix.DType) []float64 {
	var out []float64
	switch d {
	case matrix.F64:
		v, _ := wire.Numbers[float64](b)
		out = append(out, v...)
	case matrix.F32:
		v, _ := wire.Numbers[float32](b)
		for _, x := range v {
			out = append(out, float64(x))
		}
	}
	return out
}

func bytesOf(v []float64, d matrix.DType) []byte {
	if d == matrix.F64 {
		return wire.View(v)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return wire.View(out)
}
