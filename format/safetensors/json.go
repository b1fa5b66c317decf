package safetensors

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"thole.example/wire"
)

// parser reads the JSON of headers. Nothing in a header nests deeper than a known level, so that it has no recursion.
// After the first error every read gives zero.
type parser struct {
	src  []byte
	pos  int
	base int64 // byte of the file that src begins at
	err  error
}

// fail records an error at the next byte.
func (p *parser) fail(text string, args ...any) { p.failAt(p.pos, text, args...) }

func (p *parser) failAt(pos int, text string, args ...any) {
	if p.err == nil {
		p.err = &wire.At{Off: p.base + int64(pos), Err: fmt.Errorf(text, args...)}
	}
}

// rest is what follows, cut for an error message.
func (p *parser) rest() []byte { return p.src[p.pos:min(len(p.src), p.pos+20)] }

func (p *parser) space() {
	for p.pos < len(p.src) && (p.src[p.pos] == ' ' || p.src[p.pos]-'\t' <= 1 || p.src[p.pos] == '\r') {
		p.pos++
	}
}

// has passes over the mark if it comes next.
func (p *parser) has(mark byte) bool {
	if p.err != nil {
		return false
	}
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == mark {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(mark byte) {
	if !p.has(mark) {
		p.fail("%q, want %q", p.rest(), mark)
	}
}

// list calls item for each element between two marks, until an error.
func (p *parser) list(begin, end byte, item func()) {
	p.want(begin)
	if p.has(end) {
		return
	}
	for p.err == nil {
		item()
		if !p.has(',') {
			p.want(end)
			return
		}
	}
}

// object calls member for each key of an object, which must take the value; at is where the key begins.
func (p *parser) object(member func(key string, at int)) {
	p.list('{', '}', func() {
		p.space()
		at := p.pos
		key := p.text()
		p.want(':')
		if p.space(); p.err == nil {
			member(key, at)
		}
	})
}

// whole reads a whole number from 0 to 2^63-1, written without a needless zero.
func (p *parser) whole() int64 {
	p.space()
	end := p.pos
	for end < len(p.src) && p.src[end]-'0' <= 9 {
		end++
	}
	digits := p.src[p.pos:min(end, p.pos+20)]
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || digits[0] == '0' && len(digits) > 1 {
		p.fail("%q, want a whole number from 0 to 2^63-1", p.rest())
		return 0
	}
	p.pos = end
	return n
}

// text reads a text in quotes. The whole input is known to be UTF-8.
func (p *parser) text() string {
	p.want('"')
	if p.err != nil {
		return ""
	}
	from := p.pos
	n := bytes.IndexAny(p.src[from:], "\"\\")
	if n >= 0 && p.src[from+n] == '"' {
		p.pos += n + 1
		p.plain(from, from+n)
		return string(p.src[from : from+n])
	}
	var out []byte
	for p.err == nil {
		n := bytes.IndexAny(p.src[p.pos:], "\"\\")
		if n < 0 {
			p.failAt(from-1, "%q, want a text that ends", p.src[from-1:min(len(p.src), from+20)])
			break
		}
		at := p.pos + n
		p.plain(p.pos, at)
		out = append(out, p.src[p.pos:at]...)
		p.pos = at + 1
		if p.src[at] == '"' {
			return string(out)
		}
		out = p.escape(out)
	}
	return ""
}

// plain checks that the bytes may stand in a text as they are.
func (p *parser) plain(from, to int) {
	for i, c := range p.src[from:to] {
		if c < ' ' {
			p.failAt(from+i, "control character %#02x in a text, want it escaped", c)
			return
		}
	}
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape appends the character that is written as what follows a backslash.
func (p *parser) escape(out []byte) []byte {
	at := p.pos - 1
	if p.pos == len(p.src) {
		p.failAt(at, "a backslash at the end")
		return out
	}
	c := p.src[p.pos]
	p.pos++
	if short, ok := escapes[c]; ok {
		return append(out, short)
	}
	if c != 'u' {
		p.failAt(at, "escape %q, want one of JSON's", p.src[at:p.pos])
		return out
	}
	r := p.hex()
	if utf16.IsSurrogate(r) {
		low := rune(-1)
		if bytes.HasPrefix(p.src[p.pos:], []byte(`\u`)) {
			p.pos += 2
			low = p.hex()
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			p.failAt(at, "half of a surrogate pair, want both")
		}
	}
	return utf8.AppendRune(out, r)
}

// hex reads four hexadecimal digits.
func (p *parser) hex() rune {
	digits := p.src[p.pos:min(len(p.src), p.pos+4)]
	n, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil || len(digits) < 4 {
		p.fail("%q, want four hexadecimal digits", digits)
		return 0
	}
	p.pos += 4
	return rune(n)
}

// appendText writes a text in quotes with the escapes that the library's writer uses.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
