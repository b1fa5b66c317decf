package daphne

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// cell is the place of a piece in the grid.
func (w *writer) cell(p piece) (row, col int64) {
	if w.data == frame {
		return p.Rows[0] / w.tall, p.Cols[0]
	}
	return p.Rows[0] / w.tall, p.Cols[0] / w.broad
}

// sort orders pieces as the file has them: row-major, those of one cell of the grid behind each other.
func (w *writer) sort(pieces []piece) {
	slices.SortFunc(pieces, func(a, b piece) int {
		if !w.grid() {
			return byPlace(a.at(), b.at())
		}
		row, col := w.cell(a)
		row2, col2 := w.cell(b)
		return cmp.Or(cmp.Compare(row, row2), cmp.Compare(col, col2), byPlace(a.at(), b.at()))
	})
}

// together is how many of the first pieces make one block.
func (w *writer) together(pieces []piece) int {
	if !w.grid() {
		return 1
	}
	row, col := w.cell(pieces[0])
	n := 1
	for ; n < len(pieces); n++ {
		if r, c := w.cell(pieces[n]); r != row || c != col {
			break
		}
	}
	return n
}

// merge writes the pieces of one cell of the grid as a block.
func (w *writer) merge(ctx context.Context, out io.Writer, from *spools, pieces []piece) error {
	at := pieces[0].at()
	for _, p := range pieces[1:] {
		at.Rows.Hi, at.Cols.Hi = max(at.Rows.Hi, p.Rows[1]), max(at.Cols.Hi, p.Cols[1])
		at.Cols.Lo = min(at.Cols.Lo, p.Cols[0])
	}
	var b matrix.Block
	if w.from.Layout == matrix.RowDense {
		b = matrix.NewDense(w.colType(at.Cols.Lo), at)
	}
	var side []matrix.Block
	for _, p := range pieces {
		one, err := w.load(ctx, from, p)
		if err != nil {
			return err
		}
		if w.from.Layout == matrix.RowSparse {
			side = append(side, one)
		} else if err := matrix.Put(b, one); err != nil {
			return err
		}
	}
	if w.from.Layout == matrix.RowSparse {
		b = blockio.Smallest(blockio.Join(at, w.colType(at.Cols.Lo), side), w.from.Layout)
	}
	return blockio.Encoder{Codes: w.codes}.Stream(w.shape(b), func(piece []byte) error {
		_, err := out.Write(piece)
		return err
	})
}

// load reads a piece, with values of the type of its column.
func (w *writer) load(ctx context.Context, from *spools, p piece) (matrix.Block, error) {
	t := w.colType(p.Cols[0])
	if p.Spool == "" {
		return matrix.Block{At: p.at(), Data: matrix.Empty{D: t}}, nil
	}
	src, err := from.open(ctx, p)
	if err != nil {
		return matrix.Block{}, err
	}
	raw := make([]byte, p.Len)
	if err := wire.ReadAt(src, raw, p.Off); err != nil {
		return matrix.Block{}, err
	}
	d := blockio.Decoder{Codes: w.codes, Type: t}
	c := wire.NewCursor(raw, p.Off, wire.Little)
	b, err := d.Read(c)
	if err != nil {
		return b, err
	}
	if c.End("a part"); c.Err() != nil || b.At != p.at() || int64(b.Data.NNZ()) != p.NNZ {
		return b, fmt.Errorf("part %v with %d cells holds %v with %d: %w", p.at(), p.NNZ, b.At, b.Data.NNZ(), format.ErrCorrupt)
	}
	return b, nil
}
