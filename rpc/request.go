package rpc

import (
	"fmt"
	"math"

	"thole.example/matrix"
	"thole.example/wire"
)

// NameLimit is the longest name of a function in a message, in bytes.
const NameLimit = 4096

// The fewest bytes that elements of a message take; a count is checked against them before anything is allocated.
const (
	tickSize   = 24
	partSize   = 64
	groupSize  = 8
	resultSize = 16
)

// Append adds the body of q's frame to g, whose length must be a multiple of 8; docs/format/wire.md has the layout. The
// slices of q must not change until g is written.
func (q *Request) Append(g *Gather) error {
	if len(q.Func) > NameLimit {
		return fmt.Errorf("name %.20q… has %d bytes, want at most %d: %w", q.Func, len(q.Func), NameLimit, ErrTooLarge)
	}
	if err := counts(len(q.Parts), len(q.Ticks), len(q.Arg)); err != nil {
		return err
	}
	g.U8(uint8(q.Op))
	g.U8(0)
	g.U16(uint16(len(q.Func)))
	g.U32(uint32(q.Clock))
	g.U64(q.Seq)
	g.U32(uint32(len(q.Ticks)))
	g.U32(uint32(len(q.Parts)))
	g.U32(uint32(len(q.Arg)))
	g.U32(0)
	for _, t := range q.Ticks {
		g.U32(t.Matrix)
		g.U32(uint32(t.Clock))
		g.F64(t.Weight)
		g.F64(t.Rate)
	}
	g.Raw(q.Arg)
	g.String(q.Func)
	g.Pad()
	return appendParts(g, q.Parts)
}

// ReadRequest decodes the body of a frame, which begins at a multiple of 8 in memory: the request's slices are views of
// it. The error is an *wire.At, which says at which byte of the body it was found.
func ReadRequest(body []byte) (*Request, error) {
	c := wire.NewCursor(body, 0, wire.Little)
	memory := &struct { // mostly there is one part
		q     Request
		first [1]Part
	}{}
	q := &memory.q
	q.Op = Op(c.U8("op"))
	zeros(c, 1, "reserved byte")
	name := c.U16("length of the function's name")
	q.Clock = int32(c.U32("clock"))
	q.Seq = c.U64("sequence number")
	ticks, parts, arg := c.U32("number of ticks"), c.U32("number of parts"), c.U32("length of the argument")
	zeros(c, 4, "reserved bytes")
	if n := c.Count(int64(ticks), tickSize, math.MaxUint32, "number of ticks"); n > 0 {
		q.Ticks = make([]Tick, n)
	}
	for i := range q.Ticks {
		t := &q.Ticks[i]
		t.Matrix, t.Clock = c.U32("matrix of a tick"), c.I32("clock of a tick")
		t.Weight, t.Rate = c.F64("weight"), c.F64("rate")
	}
	q.Arg = data(c, arg, "argument")
	q.Func = string(c.Bytes(c.Count(int64(name), 1, NameLimit, "function's name"), "function's name"))
	pad(c)
	q.Parts = readParts(c, parts, &memory.first)
	c.End("the request")
	if c.Err() != nil {
		return nil, c.Err()
	}
	return q, nil
}

func appendParts(g *Gather, parts []Part) error {
	for i := range parts {
		p := &parts[i]
		if err := counts(len(p.Groups), len(p.Keys)); err != nil {
			return err
		}
		g.U8(uint8(p.Kind))
		g.U8(uint8(p.DType))
		g.U16(p.flags())
		g.U32(p.Matrix)
		g.U32(p.Version)
		g.U32(uint32(p.Clock))
		g.I64(p.Rows.Lo)
		g.I64(p.Rows.Hi)
		g.I64(p.Cols.Lo)
		g.I64(p.Cols.Hi)
		g.U32(uint32(len(p.Groups)))
		g.U32(uint32(len(p.Keys)))
		g.U64(uint64(len(p.Values)))
		for _, group := range p.Groups {
			g.U32(group.Partition)
			g.U32(group.Keys)
		}
		g.Ints(p.Keys)
		g.Values(p.Values, p.DType.Size())
	}
	return nil
}

// The flags of a part.
const (
	flagMake   = 1
	flagOwn    = 2
	flagAssign = 4
)

func (p *Part) flags() (f uint16) {
	if p.Make {
		f |= flagMake
	}
	if p.Own {
		f |= flagOwn
	}
	if p.Assign {
		f |= flagAssign
	}
	return f
}

// readParts reads parts, into first if there is one.
func readParts(c *wire.Cursor, count uint32, first *[1]Part) []Part {
	n := c.Count(int64(count), partSize, math.MaxUint32, "number of parts")
	if n == 0 {
		return nil
	}
	parts := first[:]
	if n > 1 {
		parts = make([]Part, n)
	}
	for i := range parts {
		if readPart(c, &parts[i]); c.Err() != nil {
			return nil
		}
	}
	return parts
}

func readPart(c *wire.Cursor, p *Part) {
	p.Kind, p.DType = Kind(c.U8("kind of a part")), matrix.DType(c.U8("element type"))
	if c.Err() == nil && (p.Kind < KindDense || p.Kind > KindFunc) {
		c.FailAt(c.Off()-2, "kind of a part is %d, want 1..4", p.Kind)
	}
	if flags := c.U16("flags of a part"); c.Err() == nil && flags > flagMake|flagOwn|flagAssign {
		c.FailAt(c.Off()-2, "flags of a part are %#x, want a sum of %#x, %#x and %#x", flags, flagMake, flagOwn, flagAssign)
	} else {
		p.Make, p.Own, p.Assign = flags&flagMake != 0, flags&flagOwn != 0, flags&flagAssign != 0
	}
	p.Matrix, p.Version, p.Clock = c.U32("matrix"), c.U32("version"), c.I32("clock")
	p.Rows.Lo, p.Rows.Hi = c.I64("first row"), c.I64("row after the last")
	p.Cols.Lo, p.Cols.Hi = c.I64("first column"), c.I64("column after the last")
	groups, keys, size := c.U32("number of groups"), c.U32("number of keys"), c.U64("bytes of values")
	n := c.Count(int64(groups), groupSize, math.MaxUint32, "number of groups")
	if n > 0 {
		p.Groups = make([]Group, n)
	}
	sum := uint64(0)
	for i := range p.Groups {
		p.Groups[i] = Group{c.U32("partition"), c.U32("keys of a group")}
		sum += uint64(p.Groups[i].Keys)
	}
	if c.Err() == nil && n > 0 && sum != uint64(keys) {
		c.Fail("groups of %d keys in a part of %d", sum, keys)
	}
	if k := c.Count(int64(keys), 8, math.MaxUint32, "number of keys"); k > 0 {
		p.Keys = ints(c.Bytes(8*k, "keys"))
	}
	if size > math.MaxInt64 {
		c.Fail("values of %d bytes", size)
	}
	if k := c.Count(int64(size), 1, math.MaxInt64, "bytes of values"); k > 0 {
		p.Values = c.Bytes(k, "values")
		element := p.DType.Size()
		if element == 0 || k%element != 0 {
			c.Fail("%d bytes of values of type %d", k, p.DType)
			return
		}
		wire.Swap(p.Values, element, wire.Little)
	}
	pad(c)
}

// ints is the numbers in raw: in place if they lie so that it can be.
func ints(raw []byte) []int64 {
	if wire.NativeOrder == wire.Little && len(raw) > 0 {
		if v, ok := wire.Numbers[int64](raw); ok {
			return v
		}
	}
	v := make([]int64, len(raw)/8)
	wire.Get(v, raw, wire.Little)
	return v
}

// data is n bytes in place, nil if there are none.
func data(c *wire.Cursor, n uint32, what string) []byte {
	if n == 0 {
		return nil
	}
	return c.Bytes(int(n), what)
}

func counts(all ...int) error {
	for _, n := range all {
		if int64(n) > math.MaxUint32 {
			return fmt.Errorf("%d elements, want less than 2^32: %w", n, ErrTooLarge)
		}
	}
	return nil
}
