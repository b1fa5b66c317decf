package tcp

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"thole.example/rpc"
	"thole.example/wire"
)

// kind is what a frame is.
type kind uint8

const (
	kindRequest  kind = 1 + iota // to the server; body: rpc.Request
	kindResponse                 // to the client; body: rpc.Response
	kindFault                    // to the client; body: rpc.Fault; id 0: why the server ends the connection
	kindCancel                   // to the server: the caller gave the request up; no body
	kindPing                     // to the server; no body
	kindPong                     // to the client; no body
)

// headSize is what stands before a body: its length u32, the kind u8, three zeros, the request's number u64.
const headSize = 16

// head is a frame's head.
type head struct {
	size uint32
	kind kind
	id   uint64
}

// frame is a frame under construction: 16 bytes for the head, then the body.
type frame struct {
	rpc.Gather
	charge int64 // taken from the queue's budget
}

func (f *frame) begin() *frame {
	f.Reset()
	f.U64(0)
	f.U64(0)
	return f
}

// seal fills in the head; false if the body is larger than the limit.
func (f *frame) seal(k kind, id uint64, limit uint32) bool {
	size := int64(f.Len() - headSize)
	if size > int64(limit) {
		return false
	}
	b := f.Head(headSize)
	binary.LittleEndian.PutUint32(b, uint32(size))
	b[4] = byte(k)
	binary.LittleEndian.PutUint64(b[8:], id)
	return true
}

// parseHead decodes the head of a frame whose body must not be larger than the limit.
func parseHead(b *[headSize]byte, limit uint32) (head, error) {
	h := head{binary.LittleEndian.Uint32(b[:]), kind(b[4]), binary.LittleEndian.Uint64(b[8:])}
	switch {
	case h.kind < kindRequest || h.kind > kindPong:
		return h, fmt.Errorf("frame of kind %d, want 1..6", h.kind)
	case b[5]|b[6]|b[7] != 0:
		return h, fmt.Errorf("frame head has % x where zeros must be", b[5:8])
	case h.kind >= kindCancel && h.size != 0:
		return h, fmt.Errorf("frame of kind %d has a body of %d bytes, want none", h.kind, h.size)
	case h.size > limit:
		return h, fmt.Errorf("frame of %d bytes, want at most %d: %w", h.size, limit, rpc.ErrTooLarge)
	}
	return h, nil
}

// readerSize is large enough for many small frames in one read; larger bodies are read into their own memory.
const readerSize = 64 << 10

// reader reads frames.
type reader struct {
	br    *bufio.Reader
	limit uint32
	head  [headSize]byte
}

func newReader(nc net.Conn, limit uint32, moved *atomic.Uint64) *reader {
	return &reader{br: bufio.NewReaderSize(counted{nc, moved}, readerSize), limit: limit}
}

// next reads the head of the next frame.
func (r *reader) next() (head, error) {
	if _, err := io.ReadFull(r.br, r.head[:]); err != nil {
		return head{}, err
	}
	return parseHead(&r.head, r.limit)
}

// trust is how much memory a length alone is given; for more, bytes must have come.
const trust = 4 << 20

// body reads n bytes into new memory that begins at a multiple of 8.
func (r *reader) body(n uint32) ([]byte, error) {
	room := min(int64(n), trust)
	buf := words(room)
	done := 0
	for {
		m, err := io.ReadFull(r.br, buf[done:])
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if done += m; err != nil || done == int(n) {
			return buf, err
		}
		room = min(int64(n), 4*room)
		more := words(room)
		copy(more, buf)
		buf = more
	}
}

// words is n bytes of new memory that begins at a multiple of 8.
func words(n int64) []byte { return wire.View(make([]uint64, (n+7)/8))[:n] }

// counted counts the reads that brought something.
type counted struct {
	net.Conn
	moved *atomic.Uint64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.moved.Add(1)
	}
	return n, err
}
