package format

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"

	"thole.example/matrix"
)

// Cat prints a matrix as lines "row<TAB>col<TAB>value": the stored cells of a sparse matrix, every cell of the saved
// rows of a dense one, of those within want. Up to 65536 cells come row by row, whatever blocks hold them, so that the
// same matrix is the same text in every format; more come as Blocks gives them.
func Cat(ctx context.Context, w io.Writer, src Reader, m matrix.Meta, want matrix.Rect) error {
	p := &printer{out: bufio.NewWriterSize(w, 1<<16)}
	for b, err := range src.Blocks(ctx, m.Name, m.Rect().Intersect(want)) {
		if err != nil {
			p.flush()
			return err
		}
		if err := eachCell(ctx, m, b, p.cell); err != nil {
			return err
		}
	}
	return p.flush()
}

// sortedCells is how many cells wait to be put in order.
const sortedCells = 1 << 16

// printer prints cells; the first ones wait, in case there are no more of them than can be put in order.
type printer struct {
	out  *bufio.Writer
	text []byte // of the cells that wait, or one
	wait []waiting
	many bool
}

// waiting is a cell and where its line is in the text.
type waiting struct {
	row, col int64
	lo, hi   int
}

func (p *printer) cell(row, col int64, value []byte) error {
	if p.many {
		p.text = p.text[:0]
	}
	lo := len(p.text)
	p.text = strconv.AppendInt(p.text, row, 10)
	p.text = append(p.text, '\t')
	p.text = strconv.AppendInt(p.text, col, 10)
	p.text = append(p.text, '\t')
	p.text = append(append(p.text, value...), '\n')
	if !p.many && len(p.wait) < sortedCells {
		p.wait = append(p.wait, waiting{row, col, lo, len(p.text)})
		return nil
	}
	p.many, p.wait = true, nil
	_, err := p.out.Write(p.text)
	return err
}

// flush prints what waits.
func (p *printer) flush() error {
	slices.SortFunc(p.wait, func(a, b waiting) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) })
	for _, c := range p.wait {
		if _, err := p.out.Write(p.text[c.lo:c.hi]); err != nil {
			return err
		}
	}
	p.wait = nil
	return p.out.Flush()
}
