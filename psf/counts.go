package psf

import (
	"fmt"
	"math"

	"thole.example/kernel"
	"thole.example/matrix"
)

var (
	nnz  = countOf("nnz", "number of cells that are not 0", true)
	size = countOf("size", "number of stored cells", false)
	// equal counts cells that differ: differences that cancel each other do not make rows equal.
	equal = Func{
		Name: "equal", Help: "1 if two rows differ nowhere by more than the tolerance, else 0; no number differs from everything",
		Params: []Param{{Name: "row1", Kind: Row}, {Name: "row2", Kind: Row}, {Name: "tolerance", Kind: Number, Default: "1e-10"}},
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			x, y, err := twoRows(a, m)
			if err != nil {
				return nil, err
			}
			d := differing{[2]int64{x, y}, a.Number("tolerance")}
			if d.tolerance < 0 || !m.DType.Float() && !exactInt(math.Floor(d.tolerance), m.DType) {
				return nil, fmt.Errorf("tolerance is %v, want a number from 0 on, of %v", d.tolerance, m.DType)
			}
			if err := checkSize("tolerance", d.tolerance, m); err != nil {
				return nil, err
			}
			return &Call{
				Reads: RowSet(x, y), Together: true,
				Part: func(v View) ([]byte, error) { return different(v, d) },
				Merge: func(parts [][]byte) (Answer, error) {
					return mergeExact(parts, func(e *kernel.Exact) any {
						if e.Value() == 0 {
							return 1
						}
						return 0
					})
				},
			}, nil
		},
	}
)

// countOf is a get function that counts cells: with values those that are not 0, or else those that are stored.
func countOf(name, help string, values bool) Func {
	return exactOf(name, help,
		func(v View, rows []int64) ([]byte, error) { return count(v, counting{rows, values}) },
		func(*matrix.Meta) func(e *kernel.Exact) any { return wholeOf(&matrix.Meta{DType: matrix.I64}) })
}

// counting is what is counted.
type counting struct {
	rows   []int64
	values bool
}

var count = typed(countAs[float64], countAs[float32], countAs[int64], countAs[int32])

func countAs[T kernel.Number](v View, cells Cells[T], k counting) ([]byte, error) {
	e := &kernel.Exact{}
	err := cells.Apart(k.rows, false, func(c *Chunk[T]) error {
		n := len(c.All)
		if k.values {
			n = kernel.NonZero(c.All)
		}
		e.Add(float64(n))
		return nil
	})
	if n := v.Absent(); n != 0 && k.values {
		for _, r := range k.rows {
			if cells.Value(r) != 0 {
				e.AddTimes(1, n)
			}
		}
	}
	return e.Append(nil), err
}

// differing is two rows and how far they may lie apart.
type differing struct {
	rows      [2]int64
	tolerance float64
}

var different = typed(differentAs[float64], differentAs[float32], differentAs[int64], differentAs[int32])

func differentAs[T kernel.Number](v View, cells Cells[T], d differing) ([]byte, error) {
	e, most := &kernel.Exact{}, tolerance[T](d.tolerance)
	err := cells.Together(d.rows[:], 0, func(c *Chunk[T]) error {
		e.Add(float64(kernel.Different(c.Rows[0], c.Rows[1], most)))
		return nil
	})
	if n := v.Absent(); n != 0 {
		x, y := []T{cells.Value(d.rows[0])}, []T{cells.Value(d.rows[1])}
		e.AddTimes(float64(kernel.Different(x, y, most)), n)
	}
	return e.Append(nil), err
}

// tolerance is the largest difference that there may be, in numbers of the type: of integers a whole one.
func tolerance[T kernel.Number](v float64) T {
	if half := 0.5; T(half) == 0 {
		return narrow[T](math.Floor(v))
	}
	return T(v)
}
