package expr

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// functionNames lists all functions for errors.
func functionNames() string { return strings.Join(slices.Sorted(maps.Keys(functions)), " ") }

// String is the expression as text in one form: with the fewest parentheses, and spaces around operators of two operands.
// Parse reads the same expression from it; it may be longer than the text that was parsed.
func (e *Expr) String() string {
	var b strings.Builder
	write(&b, e.root, levelSelect)
	return b.String()
}

// write writes a node where something stands that binds as strongly as level, or stronger.
func write(b *strings.Builder, n *node, level int) {
	own := levelOf(n)
	if own < level {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	o, isInfix := infix(n.op)
	switch {
	case n.op == opNum && n.whole:
		b.WriteString(strconv.FormatInt(n.int, 10))
	case n.op == opNum:
		b.WriteString(strconv.FormatFloat(n.num, 'g', -1, 64))
	case n.op == opRow:
		b.WriteByte("xyz"[n.row])
	case n.op == opColumn:
		b.WriteByte('i')
	case n.op == opScalar:
		b.WriteString(n.name)
	case n.op == opNeg:
		b.WriteByte('-')
		write(b, n.args[0], levelSign)
	case n.op == opNot:
		b.WriteByte('!')
		write(b, n.args[0], levelSign)
	case n.op == opSelect:
		write(b, n.args[0], levelOr)
		b.WriteString(" ? ")
		write(b, n.args[1], levelSelect)
		b.WriteString(" : ")
		write(b, n.args[2], levelSelect)
	case isInfix:
		left, right := own, own+1
		if n.op == opPow {
			left, right = levelLeaf, levelSign
		} else if own == levelCompare {
			left = own + 1
		}
		write(b, n.args[0], left)
		b.WriteString(" " + o.text + " ")
		write(b, n.args[1], right)
	default:
		writeCall(b, n)
	}
}

func writeCall(b *strings.Builder, n *node) {
	for name, f := range functions {
		if f.op == n.op {
			b.WriteString(name)
		}
	}
	b.WriteByte('(')
	for i, a := range n.args {
		if i > 0 {
			b.WriteString(", ")
		}
		write(b, a, levelSelect)
	}
	b.WriteByte(')')
}

// levelOf is how strongly a node binds.
func levelOf(n *node) int {
	if o, ok := infix(n.op); ok {
		return o.level
	}
	switch n.op {
	case opNeg, opNot:
		return levelSign
	case opSelect:
		return levelSelect
	}
	return levelLeaf
}
