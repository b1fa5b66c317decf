package csv

import (
	"context"
	"io"
	"math"
	"runtime"
	"strconv"
	"sync"

	"thole.example/internal/number"
	"thole.example/matrix"
)

// penCells is how many cells one goroutine writes at a time.
const penCells = 32 << 10

// pen turns rows into text on all processors and writes it in order. Its buffers are used again.
type pen struct {
	bufs [][]byte
}

func (p *pen) write(ctx context.Context, out io.Writer, lanes []matrix.Block, sep byte) error {
	columns := make([]printer, len(lanes))
	width := int64(0)
	for i, b := range lanes {
		columns[i] = newPrinter(b)
		width += b.At.Cols.Len()
	}
	rows := int(lanes[0].At.Rows.Len())
	step := int(max(1, penCells/max(1, width)))
	if p.bufs == nil {
		p.bufs = make([][]byte, runtime.GOMAXPROCS(0))
	}
	for from := 0; from < rows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var wg sync.WaitGroup
		used := 0
		for ; used < len(p.bufs) && from < rows; used++ {
			lo, hi := from, min(rows, from+step)
			from = hi
			buf := &p.bufs[used]
			wg.Go(func() { *buf = appendRows((*buf)[:0], columns, lo, hi, sep) })
		}
		wg.Wait()
		for _, text := range p.bufs[:used] {
			if _, err := out.Write(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendRows(text []byte, columns []printer, lo, hi int, sep byte) []byte {
	for r := lo; r < hi; r++ {
		for _, c := range columns {
			text = c.append(text, r, sep)
		}
		if len(text) > 0 && text[len(text)-1] == sep {
			text = text[:len(text)-1]
		}
		text = append(text, '\n')
	}
	return text
}

// printer appends the cells of a row, each with the separator behind it.
type printer interface {
	append(text []byte, row int, sep byte) []byte
}

type values[T matrix.Stored] struct {
	val   []T
	width int
	cell  func(text []byte, v T) []byte
}

func (v *values[T]) append(text []byte, row int, sep byte) []byte {
	for _, x := range v.val[row*v.width : (row+1)*v.width] {
		text = append(v.cell(text, x), sep)
	}
	return text
}

func newPrinter(b matrix.Block) printer {
	width := int(b.At.Cols.Len())
	switch d := b.Data.(type) {
	case *matrix.Dense[float64]:
		return &values[float64]{d.Val, width, appendF64}
	case *matrix.Dense[float32]:
		return &values[float32]{d.Val, width, appendF32}
	case *matrix.Dense[matrix.Float16]:
		return &values[matrix.Float16]{d.Val, width, func(t []byte, v matrix.Float16) []byte { return appendF32(t, v.Float32()) }}
	case *matrix.Dense[matrix.BFloat16]:
		return &values[matrix.BFloat16]{d.Val, width, func(t []byte, v matrix.BFloat16) []byte { return appendF32(t, v.Float32()) }}
	case *matrix.Dense[uint64]:
		return &values[uint64]{d.Val, width, func(t []byte, v uint64) []byte { return strconv.AppendUint(t, v, 10) }}
	case *matrix.Dense[int64]:
		return wholes(d, width)
	case *matrix.Dense[int32]:
		return wholes(d, width)
	case *matrix.Dense[int16]:
		return wholes(d, width)
	case *matrix.Dense[int8]:
		return wholes(d, width)
	case *matrix.Dense[uint32]:
		return wholes(d, width)
	case *matrix.Dense[uint16]:
		return wholes(d, width)
	case *matrix.Dense[uint8]:
		return wholes(d, width)
	}
	return wholes(b.Data.(*matrix.Dense[matrix.Boolean]), width)
}

func wholes[T int64 | int32 | int16 | int8 | uint32 | uint16 | uint8 | matrix.Boolean](d *matrix.Dense[T], width int) printer {
	return &values[T]{d.Val, width, func(t []byte, v T) []byte { return number.AppendInt64(t, int64(v)) }}
}

// appendF64 spells infinities and NaN as DAPHNE does.
func appendF64(text []byte, v float64) []byte {
	if v-v != 0 {
		return appendSpecial(text, v)
	}
	return number.AppendFloat64(text, v)
}

func appendF32(text []byte, v float32) []byte {
	if v-v != 0 {
		return appendSpecial(text, float64(v))
	}
	return number.AppendFloat32(text, v)
}

func appendSpecial(text []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(text, "inf"...)
	case math.IsInf(v, -1):
		return append(text, "-inf"...)
	}
	return append(text, "nan"...)
}
