package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

const (
	magic     = "ARROW1"
	startLen  = 8         // magic and two zeros
	tailLen   = 4 + 6     // length of the footer, magic
	goesOn    = 1<<32 - 1 // before the length of a message
	metaLimit = 256 << 20 // bytes of a flatbuffer
	padLimit  = 64        // fewer bytes than these may stand between two things
)

// endMark is the mark behind the last message.
const endMark = "\xff\xff\xff\xff\x00\x00\x00\x00"

// Kinds of messages.
const (
	kindSchema     = 1
	kindDictionary = 2
	kindBatch      = 3
)

var kindNames = []string{"none", "schema", "dictionary batch", "record batch", "tensor", "sparse tensor"}

func kindName(k uint8) string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("message of kind %d", k)
}

// message is a flatbuffer in a frame, and where the body behind it is.
type message struct {
	off     int64 // of the frame
	prefix  int64 // bytes of the frame before the flatbuffer: 8, 4 in files of before version 0.15, or 0 of a bare schema
	end     bool  // the mark behind the last message
	version int16 // as stored: 0 is V1
	kind    uint8
	flat    *flat
	head    tab
	body    int64
	size    int64 // of the body
}

// next is the place behind the message.
func (m *message) next() int64 { return m.body + m.size }

// readMessage reads the message at off, which ends before end.
func readMessage(o blob.Object, off, end int64) (m message, err error) {
	m = message{off: off, prefix: 4}
	n, err := m.frame(o, end)
	if err != nil || n == 0 {
		m.body, m.end = off+m.prefix, err == nil
		return m, err
	}
	at := off + m.prefix
	if n < 0 || n > end-at {
		return m, corrupt(at-4, "message of %d bytes, want at most %d", n, end-at)
	}
	if n > metaLimit {
		return m, &wire.At{Off: at - 4, Err: fmt.Errorf("message of %d bytes, want at most %d: %w", n, metaLimit, format.ErrLimit)}
	}
	raw := make([]byte, n)
	if err := wire.ReadAt(o, raw, at); err != nil {
		return m, err
	}
	return m, m.parse(raw, end)
}

// parse reads the flatbuffer of the message, whose body ends before end.
func (m *message) parse(raw []byte, end int64) error {
	at := m.off + m.prefix
	m.flat = newFlat(raw, at)
	root := m.flat.root()
	m.version, m.kind, m.head = root.i16(0, 0), root.u8(1), root.tab(2)
	m.body, m.size = at+int64(len(raw)), root.i64(3)
	switch {
	case m.flat.err != nil:
		return m.flat.err
	case m.kind > kindBatch:
		return &wire.At{Off: m.off, Err: fmt.Errorf("a %s, want a table: %w", kindName(m.kind), format.ErrVersion)}
	case m.size < 0 || m.size > end-m.body:
		return corrupt(at, "%s with a body of %d bytes, want at most %d", kindName(m.kind), m.size, end-m.body)
	case m.kind == kindSchema && m.size != 0:
		return corrupt(at, "schema with a body of %d bytes, want none", m.size)
	}
	return m.flat.end(messageSpec)
}

// bareSchema is the message of a schema that stands without a frame between the places, as Polars begins files; nil if
// there is none.
func bareSchema(o blob.Object, from, to int64) *message {
	if to-from > metaLimit {
		return nil
	}
	raw := make([]byte, to-from)
	if wire.ReadAt(o, raw, from) != nil {
		return nil
	}
	m := &message{off: from}
	raw = bytes.TrimSuffix(raw, []byte(endMark)) // there are no batches
	if m.parse(raw, to) != nil || m.kind != kindSchema {
		return nil
	}
	return m
}

// frame is the length of the flatbuffer, 0 for the end of a stream.
func (m *message) frame(o blob.Object, end int64) (int64, error) {
	var raw [8]byte
	some := raw[:min(8, end-m.off)]
	if len(some) < 4 {
		return 0, corrupt(m.off, "%d bytes, want the length of a message", len(some))
	}
	if err := wire.ReadAt(o, some, m.off); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(some)
	if n == goesOn {
		if m.prefix = 8; len(some) < 8 {
			return 0, corrupt(m.off, "%d bytes, want the length of a message", len(some))
		}
		n = binary.LittleEndian.Uint32(some[4:])
	}
	return int64(int32(n)), nil
}

// checkVersion reports whether we know the version.
func checkVersion(v int16) error {
	if v != 3 && v != 4 {
		return fmt.Errorf("metadata of version V%d, want V4 or V5: %w", v+1, format.ErrVersion)
	}
	return nil
}

func corrupt(off int64, text string, args ...any) error {
	return &wire.At{Off: off, Err: fmt.Errorf(text, args...)}
}
