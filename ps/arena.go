package ps

import (
	"thole.example/budget"
	"thole.example/rpc"
)

// span is where bytes lie in an arena; of no bytes if they lie elsewhere.
type span struct{ at, n int }

// arena is the memory of what is pushed to one server: one buffer, which is sent as it is.
type arena struct {
	buffer *rpc.Buffer
	used   int
	last   int // bytes that were used last time
}

func newArenas(servers int) []*arena {
	all := make([]*arena, servers)
	for i := range all {
		all[i] = &arena{}
	}
	return all
}

// reserve takes n bytes that begin at a multiple of 8. Bytes that were taken before may move.
func (a *arena) reserve(n int) span {
	p := span{a.used, n}
	a.used += (n + 7) &^ 7
	if have := a.bytes(); a.used > len(have) {
		more := rpc.NewBuffer(max(a.used, a.last, 2*len(have)), budget.Charge{})
		copy(whole(more), have[:p.at])
		a.buffer.Release()
		a.buffer = more
	}
	return p
}

// bytes is all of the buffer.
func (a *arena) bytes() []byte { return whole(a.buffer) }

func whole(f *rpc.Buffer) []byte {
	b := f.Bytes()
	return b[:cap(b)]
}

// in is the bytes of the span.
func (a *arena) in(p span) []byte { return a.bytes()[p.at : p.at+p.n : p.at+p.n] }

// leave gives the buffer to whoever sends it.
func (a *arena) leave() *rpc.Buffer {
	f := a.buffer
	*a = arena{last: a.used}
	return f
}
