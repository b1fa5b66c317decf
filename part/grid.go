package part

import (
	"fmt"
	"math/bits"

	"thole.example/matrix"
)

// grid is the bounds of the rows and columns of blocks of a matrix that has cells.
func grid(m *matrix.Meta, p Partitioner, servers int) (rows, cols []int64, err error) {
	r, c := p.sides(m)
	at := m.Rect()
	high, wide := r.blocks(at.Rows), c.blocks(at.Cols)
	// Columns are shared out rather than rows; of a tall matrix whose columns stay together, rows.
	if !c.fixed {
		wide = fair(wide, min(high, partsLimit), uint64(servers), uint64(at.Cols.Len()))
	} else if !r.fixed {
		high = fair(high, min(wide, partsLimit), uint64(servers), uint64(at.Rows.Len()))
	}
	if high > partsLimit || wide > partsLimit || high*wide > partsLimit {
		return nil, nil, fmt.Errorf("blocks of %d x %d make %d x %d partitions, want at most %d", r.size, c.size, high, wide, partsLimit)
	}
	return r.bounds(at.Rows, high), c.bounds(at.Cols, wide), nil
}

// blocks is how many blocks of the side there are in the range.
func (s side) blocks(r matrix.Range) uint64 {
	n, by := uint64(r.Hi-r.Lo), uint64(s.size)
	return n/by + min(1, n%by)
}

// fair is the smallest number of blocks from n on that, with others of their kind above and below each, give every
// server as many partitions; if there cannot be so many, as many as there can be up to one for each server.
func fair(n, others, servers, limit uint64) uint64 {
	step := servers / gcd(servers, others)
	limit = min(limit, partsLimit/others)
	if up := (n + step - 1) / step * step; up <= limit {
		return up
	}
	return max(n, min(limit, (servers+others-1)/others))
}

func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// bounds are those of n blocks: of the fixed size, or as equal as can be.
func (s side) bounds(r matrix.Range, n uint64) []int64 {
	width := uint64(r.Hi - r.Lo)
	out := make([]int64, n+1)
	for i := range out {
		hi, lo := bits.Mul64(uint64(i), width)
		at, _ := bits.Div64(hi, lo, n)
		if s.fixed {
			if hi, at = bits.Mul64(uint64(i), uint64(s.size)); hi > 0 {
				at = width
			}
		}
		out[i] = r.Lo + int64(min(at, width))
	}
	return out
}
