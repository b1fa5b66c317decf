package ps

import (
	"thole.example/matrix"
	"thole.example/ssp"
)

// cache keeps rows that were pulled, each with the slowest clock that it was as of. The zero value is empty.
type cache struct {
	rows map[int64]cached
	used int64 // bytes
}

type cached struct {
	row   matrix.Block
	clock int
}

// cacheBytes is how much a matrix's row cache keeps before it starts anew.
const cacheBytes = 64 << 20

// get is a copy of the row and its clock, if it is there and fresh enough for a reader at clock now.
func (c *cache) get(row int64, bound ssp.Bound, now int) (matrix.Block, int, bool) {
	have, ok := c.rows[row]
	if !ok || !bound.Fresh(have.clock, now) {
		return matrix.Block{}, 0, false
	}
	return have.row.Clone(), have.clock, true
}

// put keeps a copy of the row.
func (c *cache) put(row int64, b matrix.Block, clock int) {
	size := rowBytes(b)
	if size > cacheBytes {
		return
	}
	if old, ok := c.rows[row]; ok {
		c.used -= rowBytes(old.row)
	}
	if c.used += size; c.used > cacheBytes {
		c.rows, c.used = nil, size
	}
	if c.rows == nil {
		c.rows = map[int64]cached{}
	}
	c.rows[row] = cached{b.Clone(), clock}
}

func (c *cache) forget() { *c = cache{} }

func rowBytes(b matrix.Block) int64 {
	const entry = 64 // about what a map's entry takes beside the values
	n := int64(b.Data.NNZ()*b.Data.DType().Size()) + entry
	if d, ok := b.Data.(matrix.Keyed); ok {
		n += 8 * int64(len(d.Keys()))
	}
	return n
}
