package npy

import (
	"strconv"
	"strings"

	"thole/format"
	"thole/internal/wire"
)

// maxRank is the largest number of dimensions, NumPy's own limit.
const maxRank = 64

// dict is what the header's dictionary says.
type dict struct {
	descr   string
	fortran bool
	shape   []int64
}

// parser reads the one form of a Python dictionary literal that headers have. It has no recursion: no value within is a
// list or a dictionary.
type parser struct {
	c   *wire.Cursor
	src []byte
	pos int
}

// fail records an error at the next byte.
func (p *parser) fail(text string, args ...any) {
	p.c.FailAt(p.c.Off()-int64(len(p.src)-p.pos), text, args...)
}

// parseDict reads the header text src, which the cursor has just passed.
func parseDict(c *wire.Cursor, src []byte) dict {
	p := &parser{c: c, src: src}
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
			d.descr = p.descr()
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

// text reads a string literal without escapes, which no header has.
func (p *parser) text() string {
	p.space()
	rest := p.src[p.pos:]
	if len(rest) == 0 || rest[0] != '\'' && rest[0] != '"' {
		p.fail("%.20q, want a text in quotes", rest)
		return ""
	}
	n := strings.IndexByte(string(rest[1:]), rest[0])
	if n < 0 || strings.IndexByte(string(rest[1:1+n]), '\\') >= 0 {
		p.fail("%.20q, want a text that ends, without a backslash", rest)
		return ""
	}
	p.pos += n + 2
	return string(rest[1 : 1+n])
}

func (p *parser) descr() string {
	if p.space(); p.pos < len(p.src) && p.src[p.pos] == '[' {
		p.fail("a structured array, want one of numbers: %w", format.ErrVersion)
		return ""
	}
	return p.text()
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
