package formattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// Compare holds a reader to what is known: names, sizes, types, labels and the other things that are said of matrices, the files
// beside them, and every bit of every cell. The error says all that differs.
func (g *Golden) Compare(ctx context.Context, r format.Reader) error {
	got := r.Matrices()
	if len(got) != len(g.matrices) {
		return fmt.Errorf("%d matrices, want %d", len(got), len(g.matrices))
	}
	var wrong []error
	for i := range got {
		wrong = append(wrong, g.matrices[i].same(&got[i]), g.matrices[i].holds(ctx, r))
	}
	if files := r.Files(); !maps.EqualFunc(files, g.beside, bytes.Equal) {
		wrong = append(wrong, fmt.Errorf("beside the matrices %q, want %q", files, g.beside))
	}
	return errors.Join(wrong...)
}

// same compares descriptions.
func (m *truth) same(got *matrix.Meta) error {
	want := &m.meta
	if got.Name != want.Name || got.Rows != want.Rows || got.Cols != want.Cols || got.Layout != want.Layout {
		return fmt.Errorf("matrix %s %d x %d %v, want %s %d x %d %v",
			got.Name, got.Rows, got.Cols, got.Layout, want.Name, want.Rows, want.Cols, want.Layout)
	}
	if d := format.Differences(got, want); len(d) > 0 {
		return fmt.Errorf("matrix %s: %v", want.Name, d)
	}
	return got.Check()
}

// holds compares cells.
func (m *truth) holds(ctx context.Context, r format.Reader) error {
	seen := map[place]bool{}
	for b, err := range r.Blocks(ctx, m.meta.Name, m.meta.Rect()) {
		if err == nil {
			err = b.Check()
		}
		if err == nil {
			err = m.agrees(b, seen)
		}
		if err != nil {
			return fmt.Errorf("matrix %s: %w", m.meta.Name, err)
		}
	}
	for p := range m.cells {
		if !seen[p] {
			return fmt.Errorf("matrix %s: no cell (%d,%d)", m.meta.Name, p.row, p.col)
		}
	}
	return nil
}

// agrees compares the cells of a block that was read.
func (m *truth) agrees(b matrix.Block, seen map[place]bool) error {
	if want := m.meta.ColType(b.At.Cols.Lo); b.Data.DType() != want {
		return fmt.Errorf("block of %v, want %v", b.Data.DType(), want)
	}
	if m.meta.Layout == matrix.RowDense {
		b = b.ToDense() // what a block of a dense matrix does not hold is zero
	}
	b = b.ToCSR()
	raw, size := wire.ViewAny(b.Data.Values())
	return b.EachText(func(row, col int64, text []byte) error {
		var bits uint64
		for k := range size {
			bits |= uint64(raw[k]) << (8 * k)
		}
		raw = raw[size:]
		p := place{row, col}
		want, ok := m.cells[p]
		switch {
		case !ok:
			return fmt.Errorf("cell (%d,%d) is %s, want none", row, col, text)
		case seen[p]:
			return fmt.Errorf("cell (%d,%d) twice", row, col)
		case want.bits != bits && !(want.nan && string(text) == "NaN"):
			return fmt.Errorf("cell (%d,%d) is %s, bits %x, want bits %x", row, col, text, bits, want.bits)
		}
		seen[p] = true
		return nil
	})
}
