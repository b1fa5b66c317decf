package arrow

import (
	"context"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// piece is a part of a column that is a part of a block.
type piece struct {
	at   matrix.Rect
	from *loaded
}

// fill reads the pieces, which lie side by side, into the block.
func fill(ctx context.Context, b matrix.Block, pieces []piece) error {
	dst, size := wire.ViewAny(b.Data.Values())
	if len(pieces) == 1 && pieces[0].at == b.At {
		return pieces[0].from.into(ctx, dst, b.At)
	}
	rows, pitch := int(b.At.Rows.Len()), int(b.At.Cols.Len())*size
	var columns [format.Together][]byte
	for len(pieces) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 0
		for n < min(format.Together, len(pieces)) && pieces[n].at.Cols.Len() == 1 {
			n++
		}
		wide := max(1, n) // a piece of several columns goes by itself
		start := int(pieces[0].at.Cols.Lo-b.At.Cols.Lo) * size
		for k := range wide {
			width := int(pieces[k].at.Cols.Len()) * size
			if cap(columns[k]) < rows*width {
				columns[k] = make([]byte, rows*width)
			}
			columns[k] = columns[k][:rows*width]
			if err := pieces[k].from.into(ctx, columns[k], pieces[k].at); err != nil {
				return err
			}
		}
		if n == 0 {
			width := len(columns[0]) / max(1, rows)
			for r := range rows {
				copy(dst[r*pitch+start:], columns[0][r*width:(r+1)*width])
			}
		} else {
			format.ToRows(dst[start:], pitch, size, columns[:n])
		}
		pieces = pieces[wide:]
	}
	return nil
}
