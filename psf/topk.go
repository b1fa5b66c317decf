package psf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
)

// topLimit is the most cells that topk answers with.
const topLimit = 1 << 20

// topk is the largest stored cells. Of equal ones those of lower rows, then columns, come first; cells that are no numbers are
// left out.
var topk = Func{
	Name: "topk", Help: "the largest stored cells, each with row and column, the largest first",
	Params: []Param{
		{Name: "k", Kind: Count, Default: "10", Help: "how many"}, rowsParam,
		{Name: "abs", Kind: Flag, Default: "false", Help: "by magnitude"},
	},
	Bind: func(a Args, m *matrix.Meta) (*Call, error) {
		rows, err := a.Rows("rows", m)
		if err != nil {
			return nil, err
		}
		k := a.Count("k")
		if k > topLimit {
			return nil, fmt.Errorf("k is %d, want at most %d", k, topLimit)
		}
		return &Call{
			Reads: rows,
			Part: func(v View) ([]byte, error) {
				return top(v, topping{rows.In(v.At().Rows), int(k), a.Flag("abs")})
			},
			Merge: func(parts [][]byte) (Answer, error) {
				switch m.DType {
				case matrix.F64:
					return mergeTop[float64](m, parts, int(k), a.Flag("abs"))
				case matrix.F32:
					return mergeTop[float32](m, parts, int(k), a.Flag("abs"))
				case matrix.I64:
					return mergeTop[int64](m, parts, int(k), a.Flag("abs"))
				}
				return mergeTop[int32](m, parts, int(k), a.Flag("abs"))
			},
		}, nil
	},
}

// topping is what is looked for.
type topping struct {
	rows []int64
	k    int
	abs  bool
}

// Place is a cell and its value, as topk answers.
type Place struct {
	Row   int64           `json:"row"`
	Col   int64           `json:"col"`
	Value json.RawMessage `json:"value"`
}

// peak is a Place with its value as a number.
type peak[T kernel.Number] struct {
	row, col int64
	value    T
}

// first orders cells as the answer does.
func first[T kernel.Number](abs bool) func(a, b peak[T]) int {
	return func(a, b peak[T]) int {
		by := cmp.Compare(b.value, a.value)
		if abs {
			by = cmp.Compare(below(a.value), below(b.value))
		}
		return cmp.Or(by, cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col))
	}
}

// below is minus the magnitude, which every integer has.
func below[T kernel.Number](v T) T {
	if v > 0 {
		return -v
	}
	return v
}

var top = typed(topAs[float64], topAs[float32], topAs[int64], topAs[int32])

// finalists are the cells that may be among the first k.
type finalists[T kernel.Number] struct {
	topping
	cells []peak[T]
	limit T    // what does not reach it is out
	full  bool // there is a limit
	// ordered says that cells come as equal ones are answered: of those that are equal to the last one none comes before it.
	ordered bool
	found   []uint32
}

func topAs[T kernel.Number](v View, cells Cells[T], t topping) ([]byte, error) {
	f := finalists[T]{topping: t, ordered: v.Meta().Layout == matrix.RowDense}
	err := cells.Apart(t.rows, false, func(c *Chunk[T]) error {
		for r, row := range c.Rows {
			f.add(c, c.IDs[r], row)
		}
		return nil
	})
	f.cut()
	places := make([]Place, len(f.cells))
	for i, p := range f.cells {
		places[i] = Place{p.row, p.col, cell(p.value)}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(places)
}

// spareFinalists is how many more than 2k cells are kept before those that are out are thrown away.
const spareFinalists = 1024

func (f *finalists[T]) add(c *Chunk[T], id int64, row []T) {
	if f.k == 0 {
		return
	}
	at := 0
	for ; at < len(row) && !f.full; at++ {
		if v := row[at]; v == v {
			f.take(peak[T]{id, c.Column(at), v})
		}
	}
	if f.abs {
		f.found = kernel.AboveAbs(row[at:], f.limit, f.found[:0])
	} else {
		f.found = kernel.Above(row[at:], f.limit, f.found[:0])
	}
	for _, i := range f.found {
		f.take(peak[T]{id, c.Column(at + int(i)), row[at+int(i)]})
	}
}

func (f *finalists[T]) take(p peak[T]) {
	if f.cells = append(f.cells, p); len(f.cells) >= 2*f.k+spareFinalists {
		f.cut()
	}
}

// cut keeps the first k. Another cell that is only equal to the last of them may still come before it, so the limit is the
// next lower number; where there is none, all cells are looked at.
func (f *finalists[T]) cut() {
	slices.SortFunc(f.cells, first[T](f.abs))
	if len(f.cells) < f.k {
		return
	}
	f.cells = f.cells[:f.k]
	if f.k > 0 {
		f.limit, f.full = f.below(f.cells[f.k-1].value)
	}
}

// below is a limit that cells which may still come before the last one are above, if there is such a number: if they come in
// any order those that are equal to it, too.
func (f *finalists[T]) below(last T) (limit T, ok bool) {
	if f.abs && last < 0 {
		if last == -last {
			return -(last + 1), true // the largest integer: the magnitude of the least one is above it
		}
		last = -last
	}
	if f.ordered {
		return last, true
	}
	limit = lower(last)
	return limit, limit < last
}

// lower is the next lower number; the least one itself, which nothing is above that was not there before.
func lower[T kernel.Number](v T) T {
	switch v := any(v).(type) {
	case float64:
		return any(math.Nextafter(v, math.Inf(-1))).(T)
	case float32:
		return any(math.Nextafter32(v, float32(math.Inf(-1)))).(T)
	case int64:
		return any(max(v, math.MinInt64+1) - 1).(T)
	case int32:
		return any(max(v, math.MinInt32+1) - 1).(T)
	}
	return v
}

func mergeTop[T kernel.Number](m *matrix.Meta, parts [][]byte, k int, abs bool) (Answer, error) {
	var all []peak[T]
	for _, p := range parts {
		var places []Place
		if err := json.Unmarshal(p, &places); err != nil {
			return nil, fmt.Errorf("psf: an answer %.60q: %w", p, err)
		}
		if len(places) > k {
			return nil, fmt.Errorf("psf: an answer of %d cells, want at most %d", len(places), k)
		}
		for _, at := range places {
			if whole := m.Rect(); !whole.Rows.Has(at.Row) || !whole.Cols.Has(at.Col) || len(at.Value) == 0 || at.Value[0] == 'n' {
				return nil, fmt.Errorf("psf: an answer of cell %.60q in row %d column %d, want a number in %v", at.Value, at.Row, at.Col, whole)
			}
			v, err := parseCell[T](at.Value)
			if err != nil {
				return nil, fmt.Errorf("psf: an answer %.60q: %w", at.Value, err)
			}
			all = append(all, peak[T]{at.Row, at.Col, v})
		}
	}
	slices.SortFunc(all, first[T](abs))
	places := make([]Place, min(k, len(all)))
	for i := range places {
		places[i] = Place{all[i].row, all[i].col, cell(all[i].value)}
	}
	return answerOf(places)
}
