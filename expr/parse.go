package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parser reads a text from left to right. The first error stays.
type parser struct {
	text  string
	at    int
	depth int
	ops   int
	err   error
}

// Parse reads an expression. Errors say at which column of the text, counted in bytes from 1, what was found and what was
// wanted.
func Parse(text string) (*Expr, error) {
	if len(text) > TextLimit {
		return nil, fmt.Errorf("expr: %d bytes of text, want at most %d", len(text), TextLimit)
	}
	p := &parser{text: text}
	root := p.choice()
	if p.space(); p.err == nil && p.at < len(text) {
		p.fail(p.at, "an operator or the end")
	}
	if p.err != nil {
		return nil, p.err
	}
	e := &Expr{root: root}
	e.survey(root)
	return e, nil
}

// fail keeps the first error: what was found at a place, and what was wanted.
func (p *parser) fail(at int, want string) {
	if p.err != nil {
		return
	}
	found := "the end"
	if at < len(p.text) {
		end := at
		for end < len(p.text) && named(p.text[end]) {
			end++
		}
		if end == at {
			_, size := utf8.DecodeRuneInString(p.text[at:])
			end = at + size
		}
		found = strconv.Quote(p.text[at:min(end, at+20)])
	}
	p.err = fmt.Errorf("expr: column %d: found %s, want %s", at+1, found, want)
}

// named tells the characters of names and numbers.
func named(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.'
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take reads a mark if it comes next.
func (p *parser) take(mark string) bool {
	p.space()
	if p.err != nil || !strings.HasPrefix(p.text[p.at:], mark) {
		return false
	}
	p.at += len(mark)
	return true
}

// need reads a mark that has to come next.
func (p *parser) need(mark string) {
	if !p.take(mark) {
		p.fail(p.at, strconv.Quote(mark))
	}
}

// node makes a place of the tree, within the limits. After an error it makes none: whoever called stops soon.
func (p *parser) node(o op, args ...*node) *node {
	if p.ops++; p.ops > OpLimit && p.err == nil {
		p.err = fmt.Errorf("expr: column %d: more than %d operations, numbers and names", p.at+1, OpLimit)
	}
	return &node{op: o, args: args}
}

// enter counts how deep the parser is; who enters leaves.
func (p *parser) enter() bool {
	if p.depth++; p.depth > DepthLimit && p.err == nil {
		p.err = fmt.Errorf("expr: column %d: more than %d parentheses, calls, signs and choices inside each other", p.at+1, DepthLimit)
	}
	return p.err == nil
}

func (p *parser) leave() { p.depth-- }

// choice reads c ? a : b and whatever binds stronger.
func (p *parser) choice() *node {
	defer p.leave()
	if !p.enter() {
		return nil
	}
	c := p.operators(levelOr)
	if !p.take("?") {
		return c
	}
	a := p.choice()
	p.need(":")
	b := p.choice()
	return p.node(opSelect, c, a, b)
}

// operators reads operands joined by operators that bind as strongly as level or stronger.
func (p *parser) operators(level int) *node {
	if level == levelSign {
		return p.sign()
	}
	a := p.operators(level + 1)
	for n := 0; p.err == nil; n++ {
		at := p.at
		o, ok := p.operator(level)
		switch {
		case !ok:
			return a
		case level == levelCompare && n > 0:
			p.fail(at, `&& between two comparisons: "a < b && b < c"`)
		default:
			b := p.operators(level + 1)
			a = p.node(o, a, b)
		}
	}
	return a
}

// operator reads an operator of a level, if one comes next.
func (p *parser) operator(level int) (op, bool) {
	p.space()
	for _, b := range binaries {
		if strings.HasPrefix(p.text[p.at:], b.text) {
			if b.level != level {
				return 0, false
			}
			p.at += len(b.text)
			return b.op, true
		}
	}
	return 0, false
}

// sign reads -a and !a, and powers.
func (p *parser) sign() *node {
	minus := p.take("-")
	plus := !minus && p.take("+")
	if !minus && !plus && !p.take("!") {
		a := p.leaf()
		if p.take("^") {
			return p.node(opPow, a, p.sign())
		}
		return a
	}
	defer p.leave()
	if !p.enter() {
		return nil
	}
	switch a := p.sign(); {
	case minus:
		return p.node(opNeg, a)
	case plus:
		return a
	default:
		return p.node(opNot, a)
	}
}

// leaf reads a number, a name, a call or parentheses.
func (p *parser) leaf() *node {
	if p.take("(") {
		a := p.choice()
		p.need(")")
		return a
	}
	start := p.at
	for p.at < len(p.text) && named(p.text[p.at]) {
		p.at++
	}
	word := p.text[start:p.at]
	switch {
	case p.err != nil:
		return nil
	case word == "":
		p.fail(start, `a number, a name, "-", "!" or "("`)
		return nil
	case word[0] == '.' || word[0] >= '0' && word[0] <= '9':
		return p.number(start)
	}
	return p.name(start, word)
}

// number reads a number that begins at a place; the sign of an exponent is not part of a word.
func (p *parser) number(start int) *node {
	if c := p.text[p.at-1]; (c == 'e' || c == 'E') && p.at < len(p.text) && (p.text[p.at] == '-' || p.text[p.at] == '+') {
		for p.at++; p.at < len(p.text) && named(p.text[p.at]); p.at++ {
		}
	}
	word := p.text[start:p.at]
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || strings.ContainsAny(word, "xXpP_") {
		p.fail(start, "a decimal number that a float64 can hold")
		return nil
	}
	n := p.node(opNum)
	n.num = v
	if n.int, err = strconv.ParseInt(word, 10, 64); err == nil {
		n.whole = true
	} else if n.int, n.whole = whole(v); !n.whole {
		n.int = 0
	}
	return n
}

// whole is v as a whole number, if it is one that an int64 holds.
func whole(v float64) (int64, bool) {
	if v != math.Trunc(v) || !(v >= -1<<63 && v < 1<<63) {
		return 0, false
	}
	return int64(v), true
}

// name reads what begins with a letter.
func (p *parser) name(start int, word string) *node {
	f, isFunction := functions[word]
	called := p.take("(")
	switch {
	case strings.Contains(word, "."):
		p.fail(start, "a name of letters, digits and _")
	case isFunction && !called:
		p.fail(p.at, fmt.Sprintf(`"(" after the function %s`, word))
	case called && !isFunction:
		p.fail(start, "a function: one of "+functionNames())
	case called:
		return p.call(word, f)
	case word == "x" || word == "y" || word == "z":
		n := p.node(opRow)
		n.row = int(word[0] - 'x')
		return n
	case word == "i":
		return p.node(opColumn)
	default:
		n := p.node(opScalar)
		n.name = word
		return n
	}
	return nil
}

// call reads the arguments of a function.
func (p *parser) call(word string, f function) *node {
	var args []*node
	start := p.at
	if !p.take(")") {
		for args = append(args, p.choice()); p.take(","); {
			args = append(args, p.choice())
		}
		p.need(")")
	}
	switch {
	case p.err != nil:
	case len(args) < f.min && f.max == 0:
		p.err = fmt.Errorf("expr: column %d: %d arguments of %s, want at least %d", start+1, len(args), word, f.min)
	case len(args) < f.min || f.max > 0 && len(args) > f.max:
		p.err = fmt.Errorf("expr: column %d: %d arguments of %s, want %d", start+1, len(args), word, f.min)
	}
	return p.node(f.op, args...)
}
