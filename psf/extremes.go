package psf

import (
	"encoding/json"
	"fmt"

	"thole.example/kernel"
	"thole.example/matrix"
)

var (
	maxGet = extremeOf("max", "largest cell", extreme{})
	minGet = extremeOf("min", "least cell", extreme{least: true})
	amax   = extremeOf("amax", "largest magnitude of a cell", extreme{magnitude: true})
	amin   = extremeOf("amin", "least magnitude of a cell", extreme{magnitude: true, least: true})
)

// extreme says which cell is looked for.
type extreme struct {
	least, magnitude bool
	rows             []int64
}

// edge is a partition's answer: what it found among stored cells, and among the values of cells that are not stored, which
// count if all partitions with these rows together have some.
type edge struct {
	Band   int64           `json:"band"` // its first row
	Stored json.RawMessage `json:"stored,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Absent int64           `json:"absent,omitempty"`
}

// extremeOf is a get function that looks for an extreme. A cell that is no number makes the answer no number.
func extremeOf(name, help string, what extreme) Func {
	return Func{
		Name: name, Help: help + "; null if there are no cells", Params: []Param{rowsParam},
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			rows, err := a.Rows("rows", m)
			if err != nil {
				return nil, err
			}
			return &Call{
				Reads: rows,
				Part: func(v View) ([]byte, error) {
					own := what
					own.rows = rows.In(v.At().Rows)
					return edgeOf(v, own)
				},
				Merge: func(parts [][]byte) (Answer, error) {
					switch m.DType {
					case matrix.F64:
						return mergeEdges[float64](parts, what)
					case matrix.F32:
						return mergeEdges[float32](parts, what)
					case matrix.I64:
						return mergeEdges[int64](parts, what)
					}
					return mergeEdges[int32](parts, what)
				},
			}, nil
		},
	}
}

var edgeOf = typed(edgeAs[float64], edgeAs[float32], edgeAs[int64], edgeAs[int32])

// best is the extreme of some values, if there are any.
type best[T kernel.Number] struct {
	of    extreme
	value T
	found bool
}

func (b *best[T]) add(lo, hi T) {
	v := hi
	if b.of.least {
		v = lo
	}
	switch {
	case !b.found || v != v:
		b.value, b.found = v, true
	case b.value != b.value:
	case b.of.least:
		b.value = min(b.value, v)
	default:
		b.value = max(b.value, v)
	}
}

func (b *best[T]) addAll(v []T) {
	switch {
	case len(v) == 0:
	case b.of.magnitude:
		b.add(kernel.AbsMinMax(v))
	default:
		b.add(kernel.MinMax(v))
	}
}

func (b *best[T]) text() json.RawMessage {
	if !b.found {
		return nil
	}
	return cell(b.value)
}

func edgeAs[T kernel.Number](v View, cells Cells[T], what extreme) ([]byte, error) {
	stored, absent := best[T]{of: what}, best[T]{of: what}
	err := cells.Apart(what.rows, false, func(c *Chunk[T]) error {
		stored.addAll(c.All)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := edge{Band: v.At().Rows.Lo, Stored: stored.text(), Absent: v.Absent()}
	if v.Meta().Layout == matrix.RowSparse {
		for _, r := range what.rows {
			absent.addAll([]T{cells.Value(r)})
		}
		out.Value = absent.text()
	}
	return json.Marshal(out)
}

func mergeEdges[T kernel.Number](parts [][]byte, what extreme) (Answer, error) {
	all, bands := best[T]{of: what}, map[int64]edge{}
	take := func(text json.RawMessage) error {
		if text == nil {
			return nil
		}
		v, err := parseCell[T](text)
		if err == nil {
			all.add(v, v)
		}
		return err
	}
	for _, p := range parts {
		var e edge
		err := json.Unmarshal(p, &e)
		if err == nil {
			err = take(e.Stored)
		}
		if err != nil {
			return nil, fmt.Errorf("psf: an answer %.60q: %w", p, err)
		}
		e.Absent += bands[e.Band].Absent
		bands[e.Band] = e
	}
	for _, e := range bands {
		if e.Absent > 0 {
			if err := take(e.Value); err != nil {
				return nil, fmt.Errorf("psf: an absent cell %.60q: %w", e.Value, err)
			}
		}
	}
	if !all.found {
		return Answer("null"), nil
	}
	return Answer(cell(all.value)), nil
}
