package rpc

import (
	"fmt"
	"math"

	"thole.example/wire"
)

// NameLimit is the longest name of a job, a matrix or a function in a message, in bytes.
const NameLimit = 4096

const (
	flagTick = 1 // Request.Tick
	flagSeq  = 2 // Request.Seq follows the lengths
	flagCols = 1 // Piece.Cols is not nil
)

// The fewest bytes that elements of a message take; a count is checked against them before anything is allocated.
const (
	pieceSize  = 48
	blockSize  = 32
	resultSize = 16
)

// Append adds the body of q's frame to g, whose length must be a multiple of 8; docs/format/wire.md has the layout. The
// slices of q must not change until g is written.
func (q *Request) Append(g *Gather) error {
	if err := names(q.Job, q.Func); err != nil {
		return err
	}
	if err := counts(len(q.Pieces), len(q.Arg)); err != nil {
		return err
	}
	flags := uint8(0)
	if q.Tick {
		flags |= flagTick
	}
	if q.Seq != 0 {
		flags |= flagSeq
	}
	g.U8(uint8(q.Op))
	g.U8(flags)
	g.U16(0)
	g.U32(uint32(q.Task))
	g.I64(q.Version)
	g.F64(q.Weight)
	g.F64(q.Rate)
	g.U32(uint32(q.Clock))
	g.U32(uint32(len(q.Pieces)))
	g.U32(uint32(len(q.Arg)))
	g.U16(uint16(len(q.Job)))
	g.U16(uint16(len(q.Func)))
	if q.Seq != 0 {
		g.U64(q.Seq)
	}
	g.Raw(q.Arg)
	g.String(q.Job)
	g.String(q.Func)
	g.Pad()
	return appendPieces(g, q.Pieces)
}

// ReadRequest decodes the body of a frame, which begins at a multiple of 8 in memory for its values to be used in
// place: the request's slices are views of it. The error is an *wire.At, which says at which byte of the body it was
// found.
func ReadRequest(body []byte) (*Request, error) {
	c := wire.NewCursor(body, 0, wire.Little)
	q := &Request{Op: Op(c.U8("op"))}
	flags := c.U8("flags")
	if flags&^(flagTick|flagSeq) != 0 {
		c.FailAt(1, "flags are %#x, want 0 to %d", flags, flagTick|flagSeq)
	}
	q.Tick = flags&flagTick != 0
	zeros(c, 2, "reserved bytes")
	q.Task = c.I32("task")
	q.Version = c.I64("version")
	q.Weight = c.F64("weight")
	q.Rate = c.F64("rate")
	q.Clock = c.I32("clock")
	pieces, arg := c.U32("number of pieces"), c.U32("length of the argument")
	job, fn := c.U16("length of the job's name"), c.U16("length of the function's name")
	if flags&flagSeq != 0 {
		if q.Seq = c.U64("sequence number"); q.Seq == 0 && c.Err() == nil {
			c.Fail("sequence number is 0, want one from 1 on")
		}
	}
	q.Arg = data(c, arg, "argument")
	q.Job = name(c, job, "job's name")
	q.Func = name(c, fn, "function's name")
	pad(c)
	q.Pieces = readPieces(c, pieces)
	c.End("the request")
	if c.Err() != nil {
		return nil, c.Err()
	}
	return q, nil
}

func appendPieces(g *Gather, pieces []Piece) error {
	for i := range pieces {
		p := &pieces[i]
		if err := names(p.Matrix); err != nil {
			return err
		}
		if err := counts(len(p.Blocks)); err != nil {
			return err
		}
		flags := uint16(0)
		if p.Cols != nil {
			flags |= flagCols
		}
		g.U16(uint16(len(p.Matrix)))
		g.U16(flags)
		g.U32(uint32(len(p.Blocks)))
		g.I64(p.At.Rows.Lo)
		g.I64(p.At.Rows.Hi)
		g.I64(p.At.Cols.Lo)
		g.I64(p.At.Cols.Hi)
		g.U64(uint64(len(p.Cols)))
		g.Ints(p.Cols)
		g.String(p.Matrix)
		g.Pad()
		for _, b := range p.Blocks {
			if err := g.Block(b); err != nil {
				return fmt.Errorf("matrix %s: %w", p.Matrix, err)
			}
		}
	}
	return nil
}

func readPieces(c *wire.Cursor, count uint32) []Piece {
	n := c.Count(int64(count), pieceSize, math.MaxUint32, "number of pieces")
	if n == 0 {
		return nil
	}
	pieces := make([]Piece, n)
	for i := range pieces {
		if readPiece(c, &pieces[i]); c.Err() != nil {
			return nil
		}
	}
	return pieces
}

func readPiece(c *wire.Cursor, p *Piece) {
	size, flags, blocks := c.U16("length of the matrix's name"), c.U16("piece flags"), c.U32("number of blocks")
	if flags&^flagCols != 0 {
		c.Fail("piece flags are %#x, want 0 or %d", flags, flagCols)
	}
	p.At.Rows.Lo, p.At.Rows.Hi = c.I64("first row"), c.I64("row behind the last")
	p.At.Cols.Lo, p.At.Cols.Hi = c.I64("first column"), c.I64("column behind the last")
	n := c.Count(c.I64("number of columns"), 8, math.MaxInt64, "number of columns")
	raw := c.Bytes(8*n, "columns")
	switch {
	case c.Err() != nil:
		return
	case flags&flagCols == 0 && n > 0:
		c.Fail("%d columns, but the flags say that there are none", n)
	case flags&flagCols != 0:
		p.Cols = ints(raw)
	}
	p.Matrix = name(c, size, "matrix's name")
	pad(c)
	if n = c.Count(int64(blocks), blockSize, math.MaxUint32, "number of blocks"); n == 0 {
		return
	}
	p.Blocks = append(p.Blocks, readBlock(c)) // one is the common case
	for len(p.Blocks) < n && c.Err() == nil {
		p.Blocks = append(p.Blocks, readBlock(c))
	}
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

func name(c *wire.Cursor, n uint16, what string) string {
	return string(c.Bytes(c.Count(int64(n), 1, NameLimit, what), what))
}

func names(all ...string) error {
	for _, s := range all {
		if len(s) > NameLimit {
			return fmt.Errorf("name %.20q… has %d bytes, want at most %d: %w", s, len(s), NameLimit, ErrTooLarge)
		}
	}
	return nil
}

func counts(all ...int) error {
	for _, n := range all {
		if int64(n) > math.MaxUint32 {
			return fmt.Errorf("%d elements, want less than 2^32: %w", n, ErrTooLarge)
		}
	}
	return nil
}
