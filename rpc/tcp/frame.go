package tcp

import (
	"encoding/binary"
	"fmt"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/kernel"
	"thole.example/rpc"
)

// kind is what a frame is.
type kind uint8

const (
	kindRequest  kind = 1 + iota // to the server; body: rpc.Request
	kindResponse                 // to the client; body: rpc.Response
	kindFault                    // to the client; body: rpc.Fault; id 0: why the server ends the connection
	kindCancel                   // to the server: the caller gave the request up; no body
	kindAlive                    // to both; no body; id: of the last request sent, or how many answers were sent
)

// headSize is what stands before a body:
//
//	0  length u32 | kind u8 | flags u8 | number u16     number: of the frame among those of its direction
//	8  id u64
//	16 checksum of the body u32 | checksum of these 20 bytes u32
const headSize = 24

// flagSum says that the checksum of the body is there.
const flagSum = 1

// head is a frame's head.
type head struct {
	size   uint32
	kind   kind
	flags  uint8
	number uint16
	id     uint64
	sum    uint32 // of the body
}

func (h head) put(b []byte) {
	binary.LittleEndian.PutUint32(b, h.size)
	b[4], b[5] = byte(h.kind), h.flags
	binary.LittleEndian.PutUint16(b[6:], h.number)
	binary.LittleEndian.PutUint64(b[8:], h.id)
	binary.LittleEndian.PutUint32(b[16:], h.sum)
	binary.LittleEndian.PutUint32(b[20:], kernel.CRC32C(0, b[:20]))
}

// parseHead decodes the head of a frame whose body must not be larger than the limit.
func parseHead(b *[headSize]byte, limit uint32) (head, error) {
	h := head{binary.LittleEndian.Uint32(b[:]), kind(b[4]), b[5], binary.LittleEndian.Uint16(b[6:]),
		binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b[16:])}
	sum, found := kernel.CRC32C(0, b[:20]), binary.LittleEndian.Uint32(b[20:])
	switch {
	case sum != found:
		return h, fmt.Errorf("checksum of a frame's head is %08x, want %08x: its bytes were changed on the way", found, sum)
	case h.kind < kindRequest || h.kind > kindAlive:
		return h, fmt.Errorf("frame of kind %d, want 1..5", h.kind)
	case h.flags&^flagSum != 0:
		return h, fmt.Errorf("frame with flags %#x, want 0..1", h.flags)
	case h.kind >= kindCancel && h.size != 0:
		return h, fmt.Errorf("frame of kind %d has a body of %d bytes, want none", h.kind, h.size)
	case h.size > limit:
		return h, fmt.Errorf("frame of %d bytes, want at most %d: %w", h.size, limit, rpc.ErrTooLarge)
	}
	return h, nil
}

// checkSum compares the checksum of a body with that in its head.
func (h head) checkSum(sum uint32) error {
	if h.flags&flagSum != 0 && sum != h.sum {
		return fmt.Errorf("checksum of a body of %d bytes is %08x, want %08x: its bytes were changed on the way", h.size, sum, h.sum)
	}
	return nil
}

// frame is a frame under construction: room for the head, then the body.
type frame struct {
	rpc.Gather
	kind   kind
	id     uint64
	memory *rpc.Buffer   // that the body refers to; released once it is written
	charge budget.Charge // of the frame's own memory

	inFlight access.InFlight // of the exchange that it answers
}

func (f *frame) begin() *frame {
	f.Reset()
	for range headSize / 8 {
		f.U64(0)
	}
	return f
}

// body is the size of the body.
func (f *frame) body() int { return f.Len() - headSize }

// seal fills in the head. What the frame refers to must not change from now on.
func (f *frame) seal(number uint16, sum bool, list [][]byte) {
	h := head{size: uint32(f.body()), kind: f.kind, number: number, id: f.id}
	if sum && h.size > 0 {
		h.flags = flagSum
		skip := headSize
		for _, b := range list {
			h.sum = kernel.CRC32C(h.sum, b[skip:])
			skip = 0
		}
	}
	h.put(f.Head(headSize))
}

// done gives back what the frame held.
func (f *frame) done() {
	f.memory.Release()
	f.memory = nil
	f.charge.Release()
	f.inFlight.Release()
	f.Reset()
}
