package format

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"

	"thole/blob"
	"thole/matrix"
)

// Convert writes the matrices of src to the path in the format of c, one block in memory at a time. only names the
// matrices to take, all if it is empty. done is called after each block with the number of its stored values; nil is
// allowed.
func Convert(ctx context.Context, src Reader, c Codec, b blob.Bucket, path string, o Options, only []string, done func(n int)) error {
	ms, err := choose(src, only)
	if err != nil {
		return err
	}
	if err := o.CheckSet(c.Info()); err != nil {
		return err
	}
	if o.Files == nil {
		o.Files = src.Files()
	}
	w, err := c.Create(ctx, b, path, ms, o)
	if err != nil {
		return Wrap(c.Info().Name, path, err)
	}
	defer w.Abort(context.WithoutCancel(ctx))
	var parts []Part
	for _, m := range ms {
		for blk, err := range src.Blocks(ctx, m.Name, m.Rect()) {
			if err != nil {
				return err
			}
			p, err := w.Put(ctx, m.Name, blk)
			if err != nil {
				return Wrap(c.Info().Name, path, err)
			}
			parts = append(parts, p)
			if done != nil {
				done(blk.Data.NNZ())
			}
		}
	}
	return Wrap(c.Info().Name, path, w.Commit(ctx, parts))
}

func choose(src Reader, only []string) ([]matrix.Meta, error) {
	if len(only) == 0 {
		return src.Matrices(), nil
	}
	var ms []matrix.Meta
	for _, name := range only {
		m, err := Find(src, name)
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// bandCells is how many cells of a dense matrix that is stored sparse are filled in at a time.
const bandCells = 1 << 20

// Cat prints a matrix as lines "row<TAB>col<TAB>value": the stored cells of a sparse matrix, every cell of the saved
// rows of a dense one.
func Cat(ctx context.Context, w io.Writer, src Reader, m matrix.Meta) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	emit := func(row, col int64, value []byte) error {
		line = strconv.AppendInt(line[:0], row, 10)
		line = append(line, '\t')
		line = strconv.AppendInt(line, col, 10)
		line = append(line, '\t')
		line = append(append(line, value...), '\n')
		_, err := out.Write(line)
		return err
	}
	for b, err := range src.Blocks(ctx, m.Name, m.Rect()) {
		if err != nil {
			out.Flush()
			return err
		}
		if err := eachCell(ctx, m, b, emit); err != nil {
			return err
		}
	}
	return out.Flush()
}

func eachCell(ctx context.Context, m matrix.Meta, b matrix.Block, emit func(int64, int64, []byte) error) error {
	if _, sparse := b.Data.(matrix.Empty); m.Layout == matrix.RowSparse || !sparse && b.Data.NNZ() == denseLen(b.At) {
		return b.EachText(emit)
	}
	for band := range Bands(b.At, bandCells) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.Cut(band).ToDense().EachText(emit); err != nil {
			return err
		}
	}
	return nil
}

func denseLen(at matrix.Rect) int {
	n, ok := at.Cells()
	if !ok {
		return -1
	}
	return int(n)
}

// Bands cuts a place into pieces of at most cells cells, in row-major order: several whole rows, or parts of one row.
func Bands(at matrix.Rect, cells int64) func(yield func(matrix.Rect) bool) {
	return func(yield func(matrix.Rect) bool) {
		if at.Empty() {
			return
		}
		width := min(at.Cols.Len(), cells)
		height := max(1, cells/width)
		for r := at.Rows.Lo; r < at.Rows.Hi; r += height {
			rows := matrix.Range{Lo: r, Hi: min(r+height, at.Rows.Hi)}
			for c := at.Cols.Lo; c < at.Cols.Hi; c += width {
				cols := matrix.Range{Lo: c, Hi: min(c+width, at.Cols.Hi)}
				if !yield(matrix.Rect{Rows: rows, Cols: cols}) {
					return
				}
			}
		}
	}
}

// Diff compares the values of two readers matrix by matrix and says in a few words how they differ first; "" if every
// stored value, name, size and element type agrees.
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
		if diff, err := diffValues(ctx, a, b, m, n); diff != "" || err != nil {
			return diff, err
		}
	}
	return "", nil
}

// diffValues compares the printed cells of the blocks of a with the same places of b.
func diffValues(ctx context.Context, a, b Reader, m, n matrix.Meta) (string, error) {
	for blk, err := range a.Blocks(ctx, m.Name, m.Rect()) {
		if err != nil {
			return "", err
		}
		cells := map[[2]int64]string{}
		if err := eachCell(ctx, m, blk, func(r, c int64, v []byte) error {
			cells[[2]int64{r, c}] = string(v)
			return nil
		}); err != nil {
			return "", err
		}
		diff := ""
		for other, err := range b.Blocks(ctx, n.Name, blk.At) {
			if err != nil {
				return "", err
			}
			if err := eachCell(ctx, n, other, func(r, c int64, v []byte) error {
				if was, ok := cells[[2]int64{r, c}]; (!ok || was != string(v)) && diff == "" {
					diff = fmt.Sprintf("matrix %s: cell (%d,%d) is %q and %q", m.Name, r, c, was, v)
				}
				delete(cells, [2]int64{r, c})
				return nil
			}); err != nil {
				return "", err
			}
		}
		for cell, v := range cells {
			if diff == "" {
				diff = fmt.Sprintf("matrix %s: cell (%d,%d) is %q and absent", m.Name, cell[0], cell[1], v)
			}
		}
		if diff != "" {
			return diff, nil
		}
	}
	return "", nil
}
