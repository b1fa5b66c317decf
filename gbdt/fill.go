package gbdt

import (
	"context"
	"encoding/binary"
)

// fill writes the codes of the rows lo to hi, which are those from first on here.
func (b *Binned) fill(ctx context.Context, rows Rows, lo, hi, first, cores int) error {
	// A row begins as one that mentions nothing.
	silent := make([]byte, b.codes.Stride)
	for i := range b.columns {
		if c := &b.columns[i]; c.alone {
			b.put(silent, c, c.usual)
		}
	}
	blocks := make([]Block, max(1, cores))
	return each(ctx, cores, spans(hi-lo), func(worker, at int) error {
		in, from := &blocks[worker], at*blockRows
		in.Reset()
		rows.Read(lo+from, min(lo+from+blockRows, hi), in)
		for i := range len(in.Ptr) - 1 {
			row := b.codes.Row(first + from + i)
			copy(row, silent)
			for k := in.Ptr[i]; k < in.Ptr[i+1]; k++ {
				at := b.index.Of(int(in.Feature[k]))
				if at < 0 {
					continue // it does not vary
				}
				c := &b.columns[at]
				if bin := c.binOf(in.Value[k]); bin != c.usual || c.alone {
					b.put(row, c, min(bin, c.all()-1))
				}
			}
		}
		return nil
	})
}

// put writes the code of a bin of the column.
func (b *Binned) put(row []byte, c *column, bin int) {
	g, code := &b.groups[c.group], c.code(bin)
	if g.wide {
		binary.LittleEndian.PutUint16(row[g.at:], uint16(code))
	} else {
		row[g.at] = byte(code)
	}
}
