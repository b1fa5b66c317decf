// Package expr holds functions of cells that users write as text, such as "2*x + 1" or "x > 0 ? max(x, y) : k": they are
// parsed, checked, and run over chunks of rows in the type of the matrix. It is not a language: there are no loops, no
// assignments and nothing that could fail while it runs.
//
//	x y z                                 the cells of up to three rows
//	i                                     the number of the cell's column
//	any other name                        a scalar, whose value is given at [Bind]
//	2  0.5  1e-3                          numbers
//	f(...)                                a function; see below
//	a ^ b                                 power, from the right: 2^3^2 is 2^9, and -x^2 is -(x^2)
//	-a  !a
//	a * b  a / b  a % b
//	a + b  a - b
//	a < b  <=  >  >=  ==  !=              1 or 0; they do not chain
//	a && b                                1 or 0; what is not 0 is true, NaN too
//	a || b
//	c ? a : b                             from the right; both sides are computed
//
// Each line binds stronger than the ones below it. The functions are abs, sign, ceil, floor, round (half away from zero),
// trunc, sqrt, exp, expm1, log, log10, log1p, sin, cos, tanh, sigmoid; pow(a, b), which is a^b; clip(a, lo, hi), which is
// min(max(a, lo), hi); and min and max of one or more. NaN goes through min, max, sign and clip. a % b has the sign of a.
// x^2 is x*x.
//
// # Types
//
// For float64 and float32 every operation is rounded to that type; functions from sqrt on are computed in float64 and then
// rounded. They are those of package math: exp and its relatives may differ in the last bit between kinds of processors.
//
// For int64 and int32 whole numbers stay whole: numbers, scalars and operands without a fraction are added, subtracted,
// multiplied (also by a power with a constant exponent from 0 to 64), compared and divided with a remainder in 64 bits, with
// wrap-around, and so do min, max, clip, abs, sign, rounding and the choice between two whole values. a % 0 is 0 there.
// Everything else ("/", sqrt, 0.5*x) is computed in float64. The result is rounded to the nearest whole number, halves to the
// even one, and what the type cannot hold becomes its smallest or largest value; NaN becomes 0. So for int32, 7/2 is 4, x/0 is
// the largest value for a positive x, and 2*x stays within the type instead of changing its sign.
package expr

import "slices"

// Limits of what is parsed.
const (
	TextLimit  = 4096 // bytes of text
	DepthLimit = 100  // parentheses, calls and signs inside each other
	OpLimit    = 400  // operations, numbers and names
)

// Elem is the type of cells.
type Elem interface {
	float64 | float32 | int64 | int32
}

// Expr is an expression as parsed. It does not change and may be used by many goroutines.
type Expr struct {
	root    *node
	rows    int
	columns bool
	scalars []string
}

// node is a place in the tree of an expression.
type node struct {
	op    op
	num   float64 // opNum: the number
	whole bool    // opNum: int holds it exactly
	int   int64
	row   int    // opRow
	name  string // opScalar
	args  []*node
}

// Rows is how many rows the expression needs: 1 with x, 2 with y, 3 with z; 0 with none of them.
func (e *Expr) Rows() int { return e.rows }

// Columns reports whether the value depends on the cell's column, by i.
func (e *Expr) Columns() bool { return e.columns }

// Scalars are the names whose values Bind needs, sorted, each once. The caller owns the slice.
func (e *Expr) Scalars() []string { return slices.Clone(e.scalars) }

// survey notes which rows, columns and scalars are used.
func (e *Expr) survey(n *node) {
	switch n.op {
	case opRow:
		e.rows = max(e.rows, n.row+1)
	case opColumn:
		e.columns = true
	case opScalar:
		if at, found := slices.BinarySearch(e.scalars, n.name); !found {
			e.scalars = slices.Insert(e.scalars, at, n.name)
		}
	}
	for _, a := range n.args {
		e.survey(a)
	}
}
