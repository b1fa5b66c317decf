package shard

import "thole.example/kernel"

// denseCells is where cells lie, and their slots.
type denseCells[T number] struct {
	cells  int
	next   int // elements from a cell to its first slot, and from slot to slot
	low    int // bytes of packed cells
	mem    *kernel.Memory
	val    []T            // cells and slots; slots alone if cells are packed
	packed cellPacking[T] // nil: cells are as they are
}

// of is the cells of a slot, counted from 1, or the values themselves.
func (c *denseCells[T]) of(slot int) []T {
	if c.packed != nil {
		slot-- // the first in val is slot 1
	}
	return c.val[slot*c.next:][:c.cells]
}

// load copies cells from one on.
func (c *denseCells[T]) load(into []T, slot, at int) {
	if c.packed != nil && slot == 0 {
		c.packed.load(into, at)
		return
	}
	copy(into, c.of(slot)[at:])
}

// save is the way back.
func (c *denseCells[T]) save(slot, at int, val []T) {
	if c.packed != nil && slot == 0 {
		c.packed.store(at, val)
		return
	}
	copy(c.of(slot)[at:], val)
}

// copy copies cells from where they lie elsewhere.
func (c *denseCells[T]) copy(from *denseCells[T], slot, at, n int) {
	if c.packed != nil && slot == 0 {
		each := c.low / c.next
		copy(c.mem.Data()[at*each:][:n*each], from.mem.Data()[at*each:])
		return
	}
	copy(c.of(slot)[at:][:n], from.of(slot)[at:])
}

// await waits until the memory of some cells and their slots is there.
func (c *denseCells[T]) await(lo, hi int) {
	each := c.low / c.next
	c.mem.Await(each*lo, each*hi)
	for at, size := c.low, sizeOf[T](); at < c.low+len(c.val)*size; at += c.next * size {
		c.mem.Await(at+lo*size, at+hi*size)
	}
}
