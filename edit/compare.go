package edit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
)

// Difference is what a comparison found of one matrix.
type Difference struct {
	Matrix  string  `json:"matrix"`
	Other   string  `json:"other,omitempty"` // name in the second model, if it is another
	What    string  `json:"what,omitempty"`  // why the values could not be compared: size, or only one model has it
	Cells   int64   `json:"cells"`           // stored in either model
	Differ  int64   `json:"differ"`          // of those, not the same number
	Missing int64   `json:"missing"`         // of those, stored in one model only
	Largest float64 `json:"largest"`         // largest absolute difference, an absent cell counting as zero
	Row     int64   `json:"row"`             // where it is
	Col     int64   `json:"col"`
}

// Same reports whether the comparison found no difference.
func (d *Difference) Same() bool { return d.What == "" && d.Differ == 0 && d.Missing == 0 }

// Compare compares two models number by number, whatever their formats and element types: exactly, integers beyond 2^53
// too. Two NaN are the same, and -0 is 0. Two models of one matrix each are compared whatever the names, since many formats
// take the name from the file. Sparse matrices are held in memory, one at a time.
func Compare(ctx context.Context, a, b format.Reader) ([]Difference, error) {
	var out []Difference
	pair := len(a.Matrices()) == 1 && len(b.Matrices()) == 1
	for _, m := range a.Matrices() {
		d := Difference{Matrix: m.Name}
		n, err := format.Find(b, m.Name)
		if err != nil && pair {
			n, err = b.Matrices()[0], nil
			d.Other = n.Name
		}
		switch {
		case err != nil:
			d.What = "only in the first"
		case m.Rows != n.Rows || m.Cols != n.Cols || m.ColLo != n.ColLo:
			d.What = fmt.Sprintf("%v and %v", m.Rect(), n.Rect())
		default:
			if err := d.values(ctx, a, b, m, n); err != nil {
				return nil, err
			}
		}
		out = append(out, d)
	}
	for _, n := range b.Matrices() {
		if _, err := format.Find(a, n.Name); err != nil && !pair {
			out = append(out, Difference{Matrix: n.Name, What: "only in the second"})
		}
	}
	return out, nil
}

// bandCells is how many cells of dense matrices are compared at a time.
const bandCells = 1 << 20

func (d *Difference) values(ctx context.Context, a, b format.Reader, m, n matrix.Meta) error {
	if m.Layout == matrix.RowSparse || n.Layout == matrix.RowSparse {
		return d.merge(ctx, a, b, m, n)
	}
	for band := range format.Bands(m.Rect(), bandCells) {
		one, err := fill(ctx, a, m.Name, band)
		if err != nil {
			return err
		}
		two, err := fill(ctx, b, n.Name, band)
		if err != nil {
			return err
		}
		width := band.Cols.Len()
		for i := range one.val {
			row := band.Rows.Lo + int64(i)/width
			p, q := one.has[row-band.Rows.Lo], two.has[row-band.Rows.Lo]
			if p || q {
				d.cell(row, band.Cols.Lo+int64(i)%width, one.number(i), two.number(i), p == q)
			}
		}
	}
	return nil
}

// filled is a band of a matrix with every cell.
type filled struct {
	val  []float64
	rest []float64 // of integers that no float64 holds; nil: there is none
	has  []bool    // which rows are stored
}

func (f *filled) number(i int) number {
	if f.rest == nil {
		return number{val: f.val[i]}
	}
	return number{f.val[i], f.rest[i]}
}

func fill(ctx context.Context, r format.Reader, name string, at matrix.Rect) (*filled, error) {
	out := matrix.NewDense(matrix.F64, at)
	f := &filled{val: out.Data.Values().([]float64), has: make([]bool, at.Rows.Len())}
	var rests matrix.Block
	for b, err := range r.Blocks(ctx, name, at) {
		if err != nil {
			return nil, err
		}
		wide, rest := split(b)
		if err := matrix.Put(out, wide); err != nil {
			return nil, err
		}
		if rest != nil {
			if f.rest == nil {
				rests = matrix.NewDense(matrix.F64, at)
				f.rest = rests.Data.Values().([]float64)
			}
			if err := matrix.Put(rests, *rest); err != nil {
				return nil, err
			}
		}
		for row := b.At.Rows.Lo; row < b.At.Rows.Hi; row++ {
			f.has[row-at.Rows.Lo] = true
		}
	}
	return f, nil
}

// cell counts a cell that either model stores; both says whether both do.
func (d *Difference) cell(row, col int64, v, w number, both bool) {
	d.Cells++
	same := v == w || v.val != v.val && w.val != w.val
	switch {
	case !both:
		d.Missing++
	case !same:
		d.Differ++
	}
	if same {
		return
	}
	gap := math.Abs(v.val - w.val + (v.rest - w.rest))
	if gap != gap {
		gap = math.Inf(1)
	}
	if gap > d.Largest {
		d.Largest, d.Row, d.Col = gap, row, col
	}
}

type entry struct {
	row, col int64
	number
}

// merge compares the stored cells of sparse matrices in order.
func (d *Difference) merge(ctx context.Context, a, b format.Reader, m, n matrix.Meta) error {
	one, err := entries(ctx, a.Blocks(ctx, m.Name, m.Rect()))
	if err != nil {
		return err
	}
	two, err := entries(ctx, b.Blocks(ctx, n.Name, n.Rect()))
	if err != nil {
		return err
	}
	for len(one) > 0 || len(two) > 0 {
		order := 0
		switch {
		case len(one) == 0:
			order = 1
		case len(two) == 0:
			order = -1
		default:
			order = inOrder(one[0], two[0])
		}
		switch {
		case order < 0:
			d.cell(one[0].row, one[0].col, one[0].number, number{}, false)
			one = one[1:]
		case order > 0:
			d.cell(two[0].row, two[0].col, number{}, two[0].number, false)
			two = two[1:]
		default:
			d.cell(one[0].row, one[0].col, one[0].number, two[0].number, true)
			one, two = one[1:], two[1:]
		}
	}
	return nil
}

func inOrder(x, y entry) int { return cmp.Or(cmp.Compare(x.row, y.row), cmp.Compare(x.col, y.col)) }

func entries(ctx context.Context, blocks iter.Seq2[matrix.Block, error]) ([]entry, error) {
	var out []entry
	for b, err := range blocks {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		rows, cells := b.Compact()
		wide, rest := split(cells)
		d := wide.Data.(*matrix.CSR[float64])
		var more []float64
		if rest != nil {
			more = rest.Data.Values().([]float64)
		}
		for r := range len(d.Ptr) - 1 {
			for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
				v := number{val: d.Val[i]}
				if more != nil {
					v.rest = more[i]
				}
				out = append(out, entry{rows[r], d.Idx[i], v})
			}
		}
	}
	slices.SortFunc(out, inOrder)
	return out, nil
}
