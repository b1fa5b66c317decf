package psf

import (
	"fmt"
	"math"

	"thole.example/kernel"
	"thole.example/matrix"
)

// The sums are exact, and rounded once: their results have the same bits however the matrix is cut. The partitions answer with
// accumulators.
var (
	sum = sumOf("sum", "sum of all cells", plain)
	// asum is the norm l1.
	asum = sumOf("asum", "sum of the magnitudes of all cells", magnitude)
	// nrm2 is the Euclidean norm: the root of the exact sum of squares, which may be beyond float64.
	nrm2 = sumOf("nrm2", "Euclidean norm of all cells", square)
	dot  = Func{
		Name: "dot", Help: "inner product of two rows",
		Params: []Param{{Name: "row1", Kind: Row}, {Name: "row2", Kind: Row}},
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			x, y, err := twoRows(a, m)
			if err != nil {
				return nil, err
			}
			return &Call{
				Reads: RowSet(x, y), Together: true,
				Part:  func(v View) ([]byte, error) { return products(v, [2]int64{x, y}) },
				Merge: func(parts [][]byte) (Answer, error) { return mergeExact(parts, wholeOf(m)) },
			}, nil
		},
	}
)

// twoRows are the arguments row1 and row2.
func twoRows(a Args, m *matrix.Meta) (x, y int64, err error) {
	if x, err = a.Row("row1", m); err == nil {
		y, err = a.Row("row2", m)
	}
	return x, y, err
}

// RowSet is some rows, in any order and perhaps several times.
func RowSet(rows ...int64) Rows {
	r, _ := Args{"": rows}.Rows("", &matrix.Meta{Rows: math.MaxInt64})
	return r
}

// summand is what of a cell is added up.
type summand uint8

const (
	plain summand = iota
	magnitude
	square
)

// sumOf is a get function that adds up something of the cells of rows.
func sumOf(name, help string, what summand) Func {
	return exactOf(name, help,
		func(v View, rows []int64) ([]byte, error) { return addUp(v, summing{rows, what}) },
		func(m *matrix.Meta) func(e *kernel.Exact) any {
			if what == square {
				return func(e *kernel.Exact) any { return num(e.Root()) }
			}
			return wholeOf(m)
		})
}

// exactOf is a get function whose partitions each give an exact sum of their part of some rows.
func exactOf(name, help string, part func(v View, rows []int64) ([]byte, error),
	finish func(m *matrix.Meta) func(e *kernel.Exact) any) Func {
	return Func{
		Name: name, Help: help, Params: []Param{rowsParam},
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			rows, err := a.Rows("rows", m)
			if err != nil {
				return nil, err
			}
			return &Call{
				Reads: rows,
				Part:  func(v View) ([]byte, error) { return part(v, rows.In(v.At().Rows)) },
				Merge: func(parts [][]byte) (Answer, error) { return mergeExact(parts, finish(m)) },
			}, nil
		},
	}
}

// wholeOf is the sum as the matrix's numbers are: of integers an int64 if it is one.
func wholeOf(m *matrix.Meta) func(e *kernel.Exact) any {
	return func(e *kernel.Exact) any {
		if n, ok := e.Int(); ok && !m.DType.Float() {
			return n
		}
		return num(e.Value())
	}
}

// mergeExact adds up the accumulators of partitions.
func mergeExact(parts [][]byte, finish func(e *kernel.Exact) any) (Answer, error) {
	all := &kernel.Exact{}
	for _, p := range parts {
		e, rest, err := kernel.ParseExact(p)
		if err != nil {
			return nil, fmt.Errorf("psf: %w", err)
		}
		if len(rest) > 0 {
			return nil, fmt.Errorf("psf: %d bytes after a sum", len(rest))
		}
		all.Merge(e)
	}
	return answerOf(finish(all))
}

// summing is the sum over some rows.
type summing struct {
	rows []int64
	what summand
}

var addUp = typed(addUpAs[float64], addUpAs[float32], addUpAs[int64], addUpAs[int32])

func addUpAs[T kernel.Number](v View, cells Cells[T], s summing) ([]byte, error) {
	e := &kernel.Exact{}
	err := cells.Apart(s.rows, false, func(c *Chunk[T]) error {
		addAs(s.what, e, c.All)
		return nil
	})
	if n := v.Absent(); n != 0 {
		one := make([]T, 1)
		for _, r := range s.rows {
			if one[0] = cells.Value(r); one[0] != 0 {
				each := &kernel.Exact{}
				addAs(s.what, each, one)
				e.MergeTimes(each, n)
			}
		}
	}
	return e.Append(nil), err
}

// addAs adds the summands of cells.
func addAs[T kernel.Number](s summand, e *kernel.Exact, row []T) {
	switch s {
	case plain:
		kernel.AddAll(e, row)
	case magnitude:
		kernel.AddAbs(e, row)
	case square:
		kernel.AddSquares(e, row)
	}
}

var products = typed(productsAs[float64], productsAs[float32], productsAs[int64], productsAs[int32])

func productsAs[T kernel.Number](v View, cells Cells[T], rows [2]int64) ([]byte, error) {
	e := &kernel.Exact{}
	err := cells.Together(rows[:], 0, func(c *Chunk[T]) error {
		kernel.AddProducts(e, c.Rows[0], c.Rows[1])
		return nil
	})
	if n := v.Absent(); n != 0 {
		each := &kernel.Exact{}
		kernel.AddProducts(each, []T{cells.Value(rows[0])}, []T{cells.Value(rows[1])})
		e.MergeTimes(each, n)
	}
	return e.Append(nil), err
}
