package npy

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"thole.example/format"
	"thole.example/wire"
)

// maxRank is the largest number of dimensions, NumPy's own limit.
const maxRank = 64

// dict is what the header's dictionary says.
type dict struct {
	descr   string  // "" of a structured array
	fields  []field // of a structured array
	fortran bool
	shape   []int64
}

// field is one entry of the type of a structured array.
type field struct {
	name, descr string
	at          int64 // the byte of the file where it begins
}

// parser reads the one form of a Python dictionary literal that headers have. It has no recursion: the only list within
// is that of the fields of a record.
type parser struct {
	c    *wire.Cursor
	src  []byte
	pos  int
	utf8 bool // else Latin-1
}

// next is the byte of the file that comes next.
func (p *parser) next() int64 { return p.c.Off() - int64(len(p.src)-p.pos) }

// fail records an error at the next byte.
func (p *parser) fail(text string, args ...any) {
	p.c.FailAt(p.next(), text, args...)
}

// parseDict reads the header text src, which the cursor has just passed. The text of version 3 is UTF-8.
func parseDict(c *wire.Cursor, src []byte, version uint8) dict {
	p := &parser{c: c, src: src, utf8: version == 3}
	if p.utf8 && !utf8.Valid(src) {
		p.pos = len(src) - len(bytes.TrimLeftFunc(src, func(r rune) bool { return r != utf8.RuneError }))
		p.fail("%#02x, want UTF-8", src[min(p.pos, len(src)-1)])
	}
	var d dict
	seen := map[string]bool{}
	p.want('{')
	for !p.has('}') && c.Err() == nil {
		key := p.text()
		if seen[key] {
			p.fail("key %q twice", key)
		}
		seen[key] = true
		p.want(':')
		switch key {
		case "descr":
			d.descr, d.fields = p.descr()
		case "fortran_order":
			d.fortran = p.truth()
		case "shape":
			d.shape = p.tuple()
		default:
			p.fail("key %.40q, want descr, fortran_order or shape", key)
		}
		if !p.has(',') {
			p.want('}')
			break
		}
	}
	p.space()
	if p.pos < len(src) {
		p.fail("%.20q behind the dictionary, want spaces", src[p.pos:])
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			p.fail("no key %q in the header", key)
		}
	}
	return d
}

func (p *parser) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

// has passes over the mark if it comes next.
func (p *parser) has(mark byte) bool {
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == mark {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(mark byte) {
	if !p.has(mark) {
		p.fail("%.20q, want %q", p.src[p.pos:], mark)
	}
}

// text reads a string literal.
func (p *parser) text() string {
	p.space()
	if p.pos == len(p.src) || p.src[p.pos] != '\'' && p.src[p.pos] != '"' {
		p.fail("%.20q, want a text in quotes", p.src[p.pos:])
		return ""
	}
	begin, quote := p.pos, p.src[p.pos]
	p.pos++
	var out []byte
	for p.c.Err() == nil {
		n := bytes.IndexAny(p.src[p.pos:], string(quote)+`\`)
		if n < 0 || bytes.IndexByte(p.src[p.pos:p.pos+n], '\n') >= 0 {
			p.pos = begin
			p.fail("%.20q, want a text that ends", p.src[begin:])
			break
		}
		out = p.plain(out, p.src[p.pos:p.pos+n])
		p.pos += n + 1
		if p.src[p.pos-1] == quote {
			return string(out)
		}
		out = p.escape(out)
	}
	return ""
}

// plain appends characters that stand for themselves.
func (p *parser) plain(out, some []byte) []byte {
	if p.utf8 {
		return append(out, some...)
	}
	for _, c := range some {
		out = utf8.AppendRune(out, rune(c))
	}
	return out
}

// escape appends the character that is written as what follows a backslash, as Python writes texts.
func (p *parser) escape(out []byte) []byte {
	const plain, meant = "\\'\"nrt", "\\'\"\n\r\t"
	if p.pos == len(p.src) {
		p.fail("a backslash at the end")
		return out
	}
	c := p.src[p.pos]
	if i := strings.IndexByte(plain, c); i >= 0 {
		p.pos++
		return append(out, meant[i])
	}
	n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	digits := p.src[p.pos+1 : min(len(p.src), p.pos+1+n)]
	code, err := strconv.ParseUint(string(digits), 16, 32)
	if n == 0 || len(digits) < n || err != nil || !utf8.ValidRune(rune(code)) || code > utf8.MaxRune {
		p.fail("%.10q behind a backslash, want a character", p.src[p.pos:])
		return out
	}
	p.pos += 1 + n
	return utf8.AppendRune(out, rune(code))
}

// descr reads the type: a text, or the list of the fields of a record.
func (p *parser) descr() (string, []field) {
	if !p.has('[') {
		return p.text(), nil
	}
	fields := []field{}
	for !p.has(']') && p.c.Err() == nil {
		fields = append(fields, p.field())
		if !p.has(',') {
			p.want(']')
			break
		}
	}
	return "", fields
}

// field reads a pair of name and type; a name may be a pair of title and name.
func (p *parser) field() (f field) {
	p.space()
	f.at = p.next()
	p.want('(')
	if p.has('(') {
		p.text()
		p.want(',')
		f.name = p.text()
		p.want(')')
	} else {
		f.name = p.text()
	}
	p.want(',')
	if p.space(); p.pos < len(p.src) && p.src[p.pos] == '[' {
		p.fail("field %.40q is a record within a record, want a number: %w", f.name, format.ErrVersion)
		return f
	}
	f.descr = p.text()
	if p.has(',') {
		p.fail("field %.40q is a subarray, want one number: %w", f.name, format.ErrVersion)
	}
	p.want(')')
	return f
}

func (p *parser) truth() bool {
	p.space()
	for _, word := range []string{"True", "False"} {
		if strings.HasPrefix(string(p.src[p.pos:min(len(p.src), p.pos+len(word))]), word) {
			p.pos += len(word)
			return word == "True"
		}
	}
	p.fail("%.20q, want True or False", p.src[p.pos:])
	return false
}

// tuple reads sizes; a tuple of one needs its comma.
func (p *parser) tuple() []int64 {
	p.want('(')
	sizes := []int64{}
	for !p.has(')') && p.c.Err() == nil {
		if len(sizes) == maxRank {
			p.fail("more than %d dimensions: %w", maxRank, format.ErrLimit)
			return nil
		}
		sizes = append(sizes, p.size())
		if !p.has(',') {
			if len(sizes) == 1 {
				p.fail("%.20q, want a comma", p.src[p.pos:])
			}
			p.want(')')
			break
		}
	}
	return sizes
}

// size reads a decimal number; Python 2 wrote an L behind long ones.
func (p *parser) size() int64 {
	p.space()
	end := p.pos
	for end < len(p.src) && p.src[end] >= '0' && p.src[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(p.src[p.pos:end]), 10, 64)
	if err != nil {
		p.fail("%.24q, want a size of 0 or more, below 2^63", p.src[p.pos:])
		return 0
	}
	p.pos = end
	if p.pos < len(p.src) && p.src[p.pos] == 'L' {
		p.pos++
	}
	return n
}
