package spill

import "sync"

// buffer is memory that a record was read into. New memory costs several times what reading into it costs, so that of an
// evicted block serves the next one that comes; what nobody needs is left to the garbage collector.
type buffer struct {
	mem   []byte
	class int64
}

// bytes are the first n bytes of the buffer, or new memory if it is nil.
func (b *buffer) bytes(n int64) []byte {
	if b == nil {
		return make([]byte, n)
	}
	return b.mem[:n]
}

// buffer gives out memory for any record of a class.
func (d *disk) buffer(class int64) *buffer {
	if pool, ok := d.buffers.Load(class); ok {
		if b, ok := pool.(*sync.Pool).Get().(*buffer); ok {
			return b
		}
	}
	return &buffer{make([]byte, prefixLen+class), class}
}

// recycle takes back memory that no block lies in any more.
func (d *disk) recycle(b *buffer) {
	if b == nil {
		return
	}
	pool, ok := d.buffers.Load(b.class)
	if !ok {
		pool, _ = d.buffers.LoadOrStore(b.class, new(sync.Pool))
	}
	pool.(*sync.Pool).Put(b)
}
