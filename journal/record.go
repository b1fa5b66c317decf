package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"thole.example/wire"
)

const (
	magic       = "THOLELOG"
	version     = 1
	identityLen = 56
	segmentHead = 96
	recordHead  = 32
	// BodyLimit is the greatest length of a record's body. The length has 32 bits; less than that keeps sums of lengths in an int
	// of 32 bits.
	BodyLimit = 1 << 30
	// No log comes there, at a gigabyte a second for a century; it keeps sums with lengths in 64 bits.
	positionLimit = 1 << 62
)

// castagnoli gives the table of CRC32C, which the processor's own instruction stands behind.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// padded is the length that a record with a body of n bytes takes.
func padded(n int) int { return (recordHead + n + 7) &^ 7 }

// head is the beginning of a record.
type head struct {
	position, synced uint64
	n, kind, sum     uint32
}

// put writes the head to the first 32 bytes of b.
func (h head) put(b []byte, seed uint32) {
	le := binary.LittleEndian
	le.PutUint32(b[4:], h.sum)
	le.PutUint64(b[8:], h.position)
	le.PutUint32(b[16:], h.n)
	le.PutUint32(b[20:], h.kind)
	le.PutUint64(b[24:], h.synced)
	le.PutUint32(b, crc32.Update(seed, castagnoli(), b[4:recordHead]))
}

// flaw is what keeps bytes from being what is wanted at their place.
func flaw(off int64, format string, args ...any) error {
	return &wire.At{Off: off, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrDamaged)}
}

// decodeHead is the head of the record at a position, of which byte off of the file is the first.
func decodeHead(b []byte, off int64, position uint64, seed uint32) (head, error) {
	le := binary.LittleEndian
	h := head{position: le.Uint64(b[8:]), synced: le.Uint64(b[24:]), n: le.Uint32(b[16:]), kind: le.Uint32(b[20:]), sum: le.Uint32(b[4:])}
	if h.position != position {
		return head{}, flaw(off+8, "a record of position %d, want %d", h.position, position)
	}
	if got, want := le.Uint32(b), crc32.Update(seed, castagnoli(), b[4:recordHead]); got != want {
		return head{}, flaw(off, "the checksum of a record's head is %#08x, want %#08x", got, want)
	}
	if h.n > BodyLimit {
		return head{}, flaw(off+16, "a body of %d bytes, want at most %d", h.n, BodyLimit)
	}
	if h.synced > position {
		return head{}, flaw(off+24, "synced up to position %d, want at most the record's own, %d", h.synced, position)
	}
	return h, nil
}

// check holds the body and what follows it to the head.
func (h head) check(body, padding []byte, off int64, seed uint32) error {
	if got := crc32.Update(seed, castagnoli(), body); got != h.sum {
		return flaw(off+4, "the checksum of a record's body is %#08x, want %#08x", h.sum, got)
	}
	for i, c := range padding {
		if c != 0 {
			return flaw(off+recordHead+int64(len(body)+i), "%#02x after a record's body, want zeros", c)
		}
	}
	return nil
}

// label is what the head of a segment says.
type label struct {
	first, synced, previous uint64
	identity                string
}

// bytes are those of the head.
func (s label) bytes() []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, segmentHead), magic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, s.first)
	b = le.AppendUint64(b, s.synced)
	b = le.AppendUint64(b, s.previous)
	b = append(b, s.identity...)[:segmentHead]
	le.PutUint32(b[12:], crc32.Update(seedOf(s.identity), castagnoli(), b[16:]))
	return b
}

// seedOf is the checksum that those of a log begin with.
func seedOf(identity string) uint32 { return crc32.Checksum([]byte(identity), castagnoli()) }

// decodeLabel is the head of the segment whose name says the first position.
func decodeLabel(b []byte, first uint64) (label, error) {
	if len(b) < segmentHead {
		return label{}, flaw(0, "%d bytes, want the head of a segment of %d", len(b), segmentHead)
	}
	le := binary.LittleEndian
	if string(b[:8]) != magic {
		return label{}, flaw(0, "magic %q, want %q", b[:8], magic)
	}
	if v := le.Uint32(b[8:]); v != version {
		return label{}, &wire.At{Off: 8, Err: fmt.Errorf("version %d of the format, want %d: another program has written it", v, version)}
	}
	text := b[segmentHead-identityLen : segmentHead]
	s := label{le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[32:]), string(bytes.TrimRight(text, "\x00"))}
	if got, want := le.Uint32(b[12:]), crc32.Update(seedOf(s.identity), castagnoli(), b[16:segmentHead]); got != want {
		return label{}, flaw(12, "the checksum of a segment's head is %#08x, want %#08x", got, want)
	}
	switch {
	case s.first != first:
		return label{}, flaw(16, "the first position is %d, want %d as the file's name says", s.first, first)
	case s.first > positionLimit:
		return label{}, flaw(16, "the first position is %d, want at most %d", s.first, uint64(positionLimit))
	case s.synced > s.first:
		return label{}, flaw(24, "synced up to position %d, want at most the first, %d", s.synced, s.first)
	case s.previous > s.first:
		return label{}, flaw(32, "the segment before begins at position %d, want at most the first, %d", s.previous, s.first)
	case s.identity == "" || strings.ContainsRune(s.identity, 0):
		return label{}, flaw(40, "the identity is %q, want a text", s.identity)
	}
	return s, nil
}
