package format

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"thole.example/matrix"
	"thole.example/wire"
)

// Diff compares the values of two readers matrix by matrix and says in a few words how they differ first; "" if every
// stored value, name, shape and element type agrees, what numbers stand for, and the names of columns where both have some. Any
// NaN equals any other.
func Diff(ctx context.Context, a, b Reader) (string, error) {
	if len(a.Matrices()) != len(b.Matrices()) {
		return fmt.Sprintf("%d matrices and %d", len(a.Matrices()), len(b.Matrices())), nil
	}
	for _, m := range a.Matrices() {
		n, err := Find(b, m.Name)
		if err != nil {
			return err.Error(), nil
		}
		if m.Rows != n.Rows || m.Cols != n.Cols || m.DType != n.DType {
			return fmt.Sprintf("matrix %s: %d x %d %v and %d x %d %v", m.Name, m.Rows, m.Cols, m.DType, n.Rows, n.Cols, n.DType), nil
		}
		for _, d := range Differences(&m, &n) {
			both := len(said(m.Labels)) > 0 && len(said(n.Labels)) > 0
			if d.Of == Shapes || d.Of == Meanings || d.Of == Labels && both {
				return fmt.Sprintf("matrix %s: %v", m.Name, d), nil
			}
		}
		one, two := side{a, m, "matrix %s: cell (%d,%d) is %[4]s and %[5]s"}, side{b, n, "matrix %s: cell (%d,%d) is %[5]s and %[4]s"}
		diff, held, err := one.missing(ctx, two)
		if all, ok := m.Rect().Cells(); err == nil && diff == "" && (!ok || held < all) {
			diff, _, err = two.missing(ctx, one) // what the first does not hold at all
		}
		if diff != "" || err != nil {
			return diff, err
		}
	}
	return "", nil
}

// side is one matrix of a comparison.
type side struct {
	r    Reader
	m    matrix.Meta
	says string // how it says that a cell is, fourth, what the other side's is not, fifth
}

func (s side) differs(row, col int64, mine, other string) string {
	return fmt.Sprintf(s.says, s.m.Name, row, col, mine, other)
}

// missing finds the first cell of s that t does not have or has otherwise, and counts the cells that s holds.
func (s side) missing(ctx context.Context, t side) (diff string, held int64, err error) {
	err = Look(ctx, s.r, s.m.Name, func(b matrix.Block) error {
		same, err := t.sameBytes(ctx, b)
		if err != nil {
			return err
		}
		if same {
			held += int64(b.Data.NNZ())
			return nil
		}
		for part := range s.pieces(b) {
			var n int64
			diff, n, err = s.compare(ctx, t, part)
			if held += n; diff == "" && err == nil {
				continue
			}
			return cmp.Or(err, errFound)
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return diff, held, err
}

// errFound ends a walk that has found what it looked for.
var errFound = errors.New("found")

// sameBytes tells, for a block with every cell stored, whether t has the same bits there: the quick answer for most.
func (t side) sameBytes(ctx context.Context, b matrix.Block) (bool, error) {
	if b.Data.NNZ() == 0 || b.Data.NNZ() != denseLen(b.At) {
		return false, nil
	}
	b = b.ToDense()
	held := 0
	for other, err := range t.r.Blocks(ctx, t.m.Name, b.At) {
		if err != nil {
			return false, err
		}
		n := other.Data.NNZ()
		if n != denseLen(other.At) || !b.At.Contains(other.At) || b.Data.DType() != other.Data.DType() {
			return false, nil
		}
		mine := b
		if other.At != b.At {
			mine = b.Cut(other.At)
		}
		x, _ := wire.ViewAny(mine.Data.Values())
		y, _ := wire.ViewAny(other.ToDense().Data.Values())
		if !bytes.Equal(x, y) {
			return false, nil
		}
		held += n
	}
	return held == b.Data.NNZ(), nil
}

// pieces cuts a block so that the texts of its cells fit into memory.
func (s side) pieces(b matrix.Block) iter.Seq[matrix.Block] {
	return func(yield func(matrix.Block) bool) {
		if s.m.Layout == matrix.RowSparse {
			yield(b)
			return
		}
		for at := range Bands(b.At, bandCells/8) {
			if !yield(b.Cut(at)) {
				return
			}
		}
	}
}

// compare compares the printed cells of the block with those of t in its place.
func (s side) compare(ctx context.Context, t side, b matrix.Block) (diff string, held int64, err error) {
	cells := map[[2]int64]string{}
	if err := eachCell(ctx, s.m, b, func(r, c int64, v []byte) error {
		cells[[2]int64{r, c}] = string(v)
		return nil
	}); err != nil {
		return "", 0, err
	}
	held = int64(len(cells))
	for other, err := range t.r.Blocks(ctx, t.m.Name, b.At) {
		if err != nil {
			return "", held, err
		}
		if err := eachCell(ctx, t.m, other, func(r, c int64, v []byte) error {
			was, ok := cells[[2]int64{r, c}]
			delete(cells, [2]int64{r, c})
			switch {
			case diff != "" || ok && was == string(v):
			case ok:
				diff = s.differs(r, c, strconv.Quote(was), strconv.Quote(string(v)))
			default:
				diff = s.differs(r, c, "absent", strconv.Quote(string(v)))
			}
			return nil
		}); err != nil {
			return "", held, err
		}
	}
	for cell, v := range cells {
		if diff == "" {
			diff = s.differs(cell[0], cell[1], strconv.Quote(v), "absent")
		}
	}
	return diff, held, nil
}
