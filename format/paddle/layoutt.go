package paddle

import (
	"bytes"
	"unicode/utf8"
)

const reservedBytes = 256 // that layout T begins with

// layoutT is the file of named tensors that Paddle 1.6 and 1.7 wrote:
//
//	0     256   reserved; what they hold is of no meaning, and may come from the memory of the program that wrote them
//	256   4     "TNUM"
//	260   u64   number of tensors
//	268         each tensor: "NAME", u64 length of the name, name, u32 version 0, i32 size of the TensorDesc,
//	            TensorDesc, values
//
// All numbers are little-endian. The reserved bytes are neither kept nor shown.
var layoutT = layout{name: "tnum", like: likeT, walk: walkT}

func likeT(head []byte, _ int64) bool {
	return len(head) >= reservedBytes+4 && bytes.Equal(head[reservedBytes:reservedBytes+4], []byte("TNUM"))
}

func walkT(l *listing) {
	s := l.scan
	l.head("header")
	reserved := s.take(reservedBytes, "reserved bytes")
	if bytes.ContainsFunc(reserved, func(r rune) bool { return r != 0 }) {
		l.note("the %d reserved bytes are not zero: they may come from the memory of the program that wrote the file", reservedBytes)
	}
	if s.print != nil && s.err == nil {
		s.print.Gap(0, reservedBytes, "reserved, of no meaning")
	}
	mark(s, "TNUM")
	n := s.number((s.size-s.off)/minNamed, "number of tensors")
	s.means("%d tensors", n)
	for i := int64(0); i < n && s.err == nil; i++ {
		l.head("tensor %d", i)
		start := s.off
		mark(s, "NAME")
		length := s.number(maxName, "length of the name")
		s.means("name of %d bytes", length)
		b := s.take(length, "name")
		if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
			s.fault(FaultName, s.off-length, "name %q, want UTF-8 without NUL", b)
		}
		s.means("name %q", b)
		r := l.readBare(string(b))
		r.start = start
		l.addRecord(&r)
	}
	l.end("the last tensor")
}

// minNamed is the size of the smallest tensor with its name: mark, length, version, size, element type.
const minNamed = 4 + 8 + 4 + 4 + 2

// mark reads four letters.
func mark(s *scan, want string) {
	if b := s.take(int64(len(want)), "mark"); b != nil && string(b) != want {
		s.failAt(s.off-int64(len(want)), "mark %q, want %q", b, want)
	}
	s.means("mark %q", want)
}
