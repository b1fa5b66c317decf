package angel

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"thole.example/wire"
)

// maxDepth is how deep the values that nobody asks for may be nested.
const maxDepth = 64

// scanner walks through JSON that may be large without building anything, and remembers the first error with its
// place. Unlike a general decoder it keeps the order of keys, takes numbers in quotes, and tells where each value is.
type scanner struct {
	b    []byte // what is in memory: all, or what was read of r and not passed yet
	pos  int
	base int64 // place of b[0] in the file
	err  error
	keys []byte // keys of the objects around here

	r   io.ReaderAt // where more is; nil: b is all
	end int64       // behind the last byte
	sum uint32      // checksum of all before b
}

// keptBack is how many bytes that were passed stay in memory: more than a key of ours and what is around it.
const keptBack = 64

// fill reads on where b ends, and drops what was passed, but for the last bytes. It says by how much what stays was moved,
// and whether there was more.
func (s *scanner) fill() (moved int, ok bool) {
	next := s.base + int64(len(s.b))
	if s.r == nil || s.err != nil || next >= s.end {
		return 0, false
	}
	if moved = max(0, s.pos-keptBack); moved > 0 {
		s.sum = crc32.Update(s.sum, castagnoli, s.b[:moved])
		s.b = s.b[:copy(s.b, s.b[moved:])]
		s.base, s.pos = s.base+int64(moved), s.pos-moved
	}
	n := int(min(max(window-int64(len(s.b)), int64(len(s.b)), 1), s.end-next))
	kept := len(s.b)
	s.b = slices.Grow(s.b, n)[:kept+n]
	if err := wire.ReadAt(s.r, s.b[kept:], next); err != nil {
		s.b, s.err = s.b[:kept], err
		return moved, false
	}
	return moved, true
}

// sumBefore is the checksum of everything before a place that is still in memory.
func (s *scanner) sumBefore(off int64) uint32 {
	return crc32.Update(s.sum, castagnoli, s.b[:max(0, off-s.base)])
}

func (s *scanner) off() int64 { return s.base + int64(s.pos) }

func (s *scanner) fail(off int64, text string, args ...any) {
	if s.err == nil {
		s.err = &wire.At{Off: off, Err: fmt.Errorf(text, args...)}
	}
}

// peek is the next byte that is not a blank; 0 at the end and after an error.
func (s *scanner) peek() byte {
	for s.err == nil && (s.pos < len(s.b) || s.more()) {
		switch c := s.b[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// more reports whether there is anything behind what is in memory.
func (s *scanner) more() bool {
	_, ok := s.fill()
	return ok
}

// expect takes the byte c.
func (s *scanner) expect(c byte) bool {
	switch got := s.peek(); {
	case s.err != nil:
		return false
	case s.pos >= len(s.b):
		s.fail(s.off(), "metadata end where %q is wanted: %w", c, wire.ErrTruncated)
		return false
	case got != c:
		s.fail(s.off(), "%q in the metadata, want %q", got, c)
		return false
	}
	s.pos++
	return true
}

// object calls member for each key of an object; member must take the value. The key is valid until then.
func (s *scanner) object(member func(key []byte, off int64)) {
	if !s.expect('{') {
		return
	}
	for first := true; s.err == nil; first = false {
		if s.peek() == '}' {
			s.pos++
			return
		}
		if !first && !s.expect(',') {
			return
		}
		s.peek()
		off, depth := s.off(), len(s.keys)
		s.keys = append(s.keys, s.quoted()...)
		if key := s.keys[depth:len(s.keys):len(s.keys)]; s.expect(':') {
			s.peek()
			member(key, off)
		}
		s.keys = s.keys[:depth]
	}
}

// quoted takes a string; the result is a view into the input unless it has escapes.
func (s *scanner) quoted() []byte {
	if !s.expect('"') {
		return nil
	}
	escaped := false
	for i := s.pos; ; i++ {
		for i >= len(s.b) {
			moved, ok := s.fill()
			if !ok {
				s.fail(s.off()-1, "string without an end: %w", wire.ErrTruncated)
				return nil
			}
			i -= moved
		}
		switch s.b[i] {
		case '"':
			text, off := s.b[s.pos:i], s.off()
			if s.pos = i + 1; escaped {
				return s.unescape(text, off)
			}
			return text
		case '\\':
			escaped = true
			i++
		}
	}
}

// escapes are the letters behind a backslash, each before what it stands for.
const escapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

func (s *scanner) unescape(b []byte, off int64) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		if b[i] == 'u' {
			r, n := unescapeRune(b[i-1:])
			if n == 0 {
				s.fail(off+int64(i), "escape %q, want four hex digits", b[i-1:min(len(b), i+5)])
				return nil
			}
			out = utf8.AppendRune(out, r)
			i += n - 2
			continue
		}
		at := bytes.IndexByte([]byte(escapes), b[i])
		if at < 0 || at%2 != 0 {
			s.fail(off+int64(i), "escape %q is not of JSON", b[i-1:i+1])
			return nil
		}
		out = append(out, escapes[at+1])
	}
	return out
}

// unescapeRune reads \uXXXX, or two of them that are a pair, and says how many bytes that took.
func unescapeRune(b []byte) (r rune, n int) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0, 0
	}
	if utf16.IsSurrogate(rune(v)) {
		if second, m := unescapeRune(b[6:]); m == 6 {
			if pair := utf16.DecodeRune(rune(v), second); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return rune(v), 6
}

// text takes a string; numbers and words are taken as they are written.
func (s *scanner) text() string {
	if s.peek() == '"' {
		return string(s.quoted())
	}
	return string(s.word())
}

// ends are the bytes that no number and no word has.
var ends = [256]bool{',': true, ':': true, '{': true, '}': true, '[': true, ']': true, '"': true,
	' ': true, '\t': true, '\r': true, '\n': true}

// word takes a number, true, false or null.
func (s *scanner) word() []byte {
	s.peek()
	end := s.pos
	for ; ; end++ {
		if end == len(s.b) {
			moved, ok := s.fill()
			if end -= moved; !ok {
				break
			}
		}
		if ends[s.b[end]] {
			break
		}
	}
	if s.pos == end {
		s.fail(s.off(), "no value where one is wanted")
	}
	word := s.b[s.pos:end]
	s.pos = end
	return word
}

// list calls one for each value of a list; one must take it.
func (s *scanner) list(one func()) {
	if !s.expect('[') {
		return
	}
	for first := true; s.err == nil && s.peek() != ']'; first = false {
		if first || s.expect(',') {
			s.peek()
			one()
		}
	}
	s.expect(']')
}

// integer takes a number within [lo, hi], in quotes or not.
func (s *scanner) integer(what string, lo, hi int64) int64 {
	c := s.peek()
	off := s.off()
	var digits []byte
	if c == '"' {
		digits = s.quoted()
	} else {
		digits = s.word()
	}
	if s.err != nil {
		return 0
	}
	v, n := parseInt(digits)
	unsigned := bytes.TrimPrefix(digits, []byte{'-'})
	switch {
	case n == 0 || n != len(digits):
		s.fail(off, "%s is %q, want an integer", what, digits[:min(len(digits), 40)])
	case len(unsigned) > 1 && (unsigned[0] == '0' || unsigned[0] == '+'):
		s.fail(off, "%s is %q, want an integer without leading zeros, which some read as octal", what, digits)
	case v < lo || v > hi:
		s.fail(off, "%s is %d, want %d..%d", what, v, lo, hi)
	default:
		return v
	}
	return 0
}

// skip passes over any value.
func (s *scanner) skip(depth int) {
	switch c := s.peek(); {
	case s.err != nil:
	case depth > maxDepth:
		s.fail(s.off(), "values nested deeper than %d", maxDepth)
	case c == '{':
		s.object(func([]byte, int64) { s.skip(depth + 1) })
	case c == '[':
		s.list(func() { s.skip(depth + 1) })
	case c == '"':
		s.quoted()
	default:
		s.word()
	}
}
