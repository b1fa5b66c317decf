package expr

import "math"

// kind is what a value of the code is: of the program's float type, or whole (int64; only in programs over int64 and int32).
type kind uint8

const (
	float kind = iota
	integer
)

// floating is the type that a program computes in.
type floating interface{ float64 | float32 }

// val is a value of the code: an operation on earlier values, by their numbers.
type val[F floating] struct {
	op      op
	kind    kind
	a, b, c int32
	p, q    F // of opNum: the number is p; of opAffine and opAxpy: the factor and the term
	ip, iq  int64
	row     int
}

// id reports whether two values are the same.
type id struct {
	op      op
	kind    kind
	a, b, c int32
	p, q    uint64
}

// lowering turns a tree into values: each is computed once, and constants are computed now, by the loops that would do it
// later.
type lowering[F floating] struct {
	whole   bool // the cells are whole
	scalars map[string]float64
	vals    []val[F]
	known   map[id]int32
}

const none = -1

// put finds or makes a value.
func (l *lowering[F]) put(v val[F]) int32 {
	key := id{v.op, v.kind, v.a, v.b, v.c, math.Float64bits(float64(v.p)), math.Float64bits(float64(v.q))}
	if v.kind == integer {
		key.p, key.q = uint64(v.ip), uint64(v.iq)
	}
	if v.op == opRow {
		key.a = int32(v.row)
	}
	at, ok := l.known[key]
	if !ok {
		at = int32(len(l.vals))
		l.vals = append(l.vals, v)
		l.known[key] = at
	}
	return at
}

func (l *lowering[F]) leaf(o op, k kind, row int) int32 {
	return l.put(val[F]{op: o, kind: k, a: none, b: none, c: none, row: row})
}

func (l *lowering[F]) float(v F) int32 {
	return l.put(val[F]{op: opNum, kind: float, a: none, b: none, c: none, p: v})
}

func (l *lowering[F]) int(v int64) int32 {
	return l.put(val[F]{op: opNum, kind: integer, a: none, b: none, c: none, ip: v})
}

// number is a constant, whole if the cells are and it is.
func (l *lowering[F]) number(v float64, n int64, whole bool) int32 {
	if l.whole && whole {
		return l.int(n)
	}
	return l.float(F(v))
}

// tree makes the value of a node.
func (l *lowering[F]) tree(n *node) int32 {
	own := float
	if l.whole {
		own = integer
	}
	switch n.op {
	case opNum:
		return l.number(n.num, n.int, n.whole)
	case opScalar:
		v := l.scalars[n.name]
		k, ok := whole(v)
		return l.number(v, k, ok)
	case opRow, opColumn:
		return l.leaf(n.op, own, n.row)
	}
	args := make([]int32, len(n.args))
	for i, a := range n.args {
		args[i] = l.tree(a)
	}
	switch n.op {
	case opMin, opMax:
		a := args[0]
		for _, b := range args[1:] {
			a = l.apply(n.op, a, b, none)
		}
		return a
	case opClip:
		return l.apply(opMin, l.apply(opMax, args[0], args[1], none), args[2], none)
	case opPow:
		return l.power(args[0], args[1])
	case opSelect:
		return l.choose(args[0], args[1], args[2])
	}
	return l.apply(n.op, args[0], append(args, none)[1], none)
}

// apply makes the value of an operation of one or two operands, in whole numbers where the package says so.
func (l *lowering[F]) apply(o op, a, b, c int32) int32 {
	if !l.whole {
		return l.do(o, float, a, b, c)
	}
	both := l.vals[a].kind == integer && (b == none || l.vals[b].kind == integer)
	switch o {
	case opNot, opAnd, opOr:
		return l.do(o, integer, l.truth(a), l.truth(b), none)
	case opLt, opLe, opGt, opGe, opEq, opNe:
		if !both {
			return l.truth(l.do(o, float, l.toFloat(a), l.toFloat(b), none))
		}
		return l.do(o, integer, a, b, none)
	case opCeil, opFloor, opRound, opTrunc:
		if both {
			return a
		}
	case opNeg, opAdd, opSub, opMul, opMod, opAbs, opSign, opMin, opMax:
		if both {
			return l.do(o, integer, a, b, none)
		}
	}
	return l.do(o, float, l.toFloat(a), l.toFloat(b), none)
}

// choose is c ? a : b.
func (l *lowering[F]) choose(c, a, b int32) int32 {
	v := l.vals[c]
	k := float
	if l.vals[a].kind == integer && l.vals[b].kind == integer {
		k, c = integer, l.truth(c)
	} else {
		a, b, c = l.toFloat(a), l.toFloat(b), l.toFloat(c)
	}
	switch {
	case v.op != opNum:
		return l.do(opSelect, k, c, a, b)
	case v.p != 0 || v.ip != 0:
		return a
	}
	return b
}

// power is a^b.
func (l *lowering[F]) power(a, b int32) int32 {
	v := l.vals[b]
	if v.op == opNum && v.kind == integer && l.vals[a].kind == integer && v.ip >= 0 && v.ip <= 64 {
		out := l.int(1)
		for k := v.ip; k > 0; k >>= 1 {
			if k&1 == 1 {
				out = l.apply(opMul, out, a, none)
			}
			a = l.apply(opMul, a, a, none)
		}
		return out
	}
	if v.op == opNum && v.kind == float && v.p == 2 {
		return l.apply(opMul, a, a, none)
	}
	return l.apply(opPow, a, b, none)
}

func (l *lowering[F]) toFloat(a int32) int32 {
	if a == none || l.vals[a].kind == float {
		return a
	}
	return l.do(opToFloat, float, a, none, none)
}

func (l *lowering[F]) truth(a int32) int32 {
	if a == none || l.vals[a].kind == integer {
		return a
	}
	return l.do(opTruth, integer, a, none, none)
}

// do makes the value of an operation whose operands are of the right kind: a constant if they are, else in the cheapest of
// the forms that give the same bits.
func (l *lowering[F]) do(o op, k kind, a, b, c int32) int32 {
	if at, ok := l.fold(o, k, a, b, c); ok {
		return at
	}
	switch o { // operands in any order: take them in one
	case opAdd, opMul, opMin, opMax, opEq, opNe, opAnd, opOr:
		if l.vals[a].op == opNum || l.vals[b].op != opNum && a > b {
			a, b = b, a // a number comes second
		}
	}
	var at int32
	var ok bool
	if k == integer {
		at, ok = l.linearInt(o, a, b)
	} else {
		at, ok = l.linear(o, a, b)
	}
	if ok {
		return at
	}
	return l.put(val[F]{op: o, kind: k, a: a, b: b, c: c})
}

// fold computes an operation on numbers.
func (l *lowering[F]) fold(o op, k kind, operands ...int32) (int32, bool) {
	var f [3][1]F
	var n [3][1]int64
	for i, at := range operands {
		if at == none {
			continue
		}
		v := &l.vals[at]
		if v.op != opNum {
			return 0, false
		}
		f[i][0], n[i][0] = v.p, v.ip
	}
	var df [1]F
	var dn [1]int64
	switch {
	case o == opToFloat:
		return l.float(F(n[0][0])), true
	case o == opTruth:
		truths(dn[:], f[0][:])
		return l.int(dn[0]), true
	case k == integer:
		stepInt(o, dn[:], n[0][:], n[1][:], n[2][:], 0, 0)
		return l.int(dn[0]), true
	}
	step(o, df[:], f[0][:], f[1][:], f[2][:], 0, 0)
	return l.float(df[0]), true
}

// linear writes sums, differences, products and quotients with numbers as p*a + q, and p*a + b. Each gives the same bits as
// what it stands for: 1*a is a, a + -0 is a, and the term of a product without one is -0.
func (l *lowering[F]) linear(o op, a, b int32) (int32, bool) {
	minusZero := F(math.Copysign(0, -1))
	affine := func(a int32, p, q F) (int32, bool) {
		return l.put(val[F]{op: opAffine, a: a, b: none, c: none, p: p, q: q}), true
	}
	product := func(at int32) bool { // at is p*a without a term
		v := &l.vals[at]
		return v.op == opAffine && v.q == 0 && math.Signbit(float64(v.q))
	}
	plus := func(a int32, q F) (int32, bool) {
		if product(a) {
			return affine(l.vals[a].a, l.vals[a].p, q)
		}
		return affine(a, 1, q)
	}
	axpy := func(p F, a, b int32) (int32, bool) {
		return l.put(val[F]{op: opAxpy, a: a, b: b, c: none, p: p}), true
	}
	number := func(at int32) (F, bool) { return l.vals[at].p, l.vals[at].op == opNum }
	switch o {
	case opNeg:
		return affine(a, -1, minusZero)
	case opAdd:
		if q, ok := number(b); ok {
			return plus(a, q)
		} else if product(a) {
			return axpy(l.vals[a].p, l.vals[a].a, b)
		} else if product(b) {
			return axpy(l.vals[b].p, l.vals[b].a, a)
		}
	case opSub:
		if q, ok := number(b); ok {
			return plus(a, -q)
		} else if q, ok := number(a); ok {
			return affine(b, -1, q)
		} else if product(b) {
			return axpy(-l.vals[b].p, l.vals[b].a, a)
		}
	case opMul:
		if p, ok := number(b); ok {
			return affine(a, p, minusZero)
		}
	case opDiv:
		if p, ok := number(b); ok {
			if frac, exp := math.Frexp(float64(p)); math.Abs(frac) == 0.5 && exp > -100 && exp < 100 {
				return affine(a, 1/p, minusZero) // a power of two: its inverse is exact
			}
		}
	}
	return 0, false
}

// linearInt is linear for whole numbers, where sums may be taken together in any way.
func (l *lowering[F]) linearInt(o op, a, b int32) (int32, bool) {
	affine := func(a int32, p, q int64) (int32, bool) {
		if v := &l.vals[a]; v.op == opAffine {
			a, p, q = v.a, p*v.ip, p*v.iq+q
		}
		return l.put(val[F]{op: opAffine, kind: integer, a: a, b: none, c: none, ip: p, iq: q}), true
	}
	number := func(at int32) (int64, bool) { return l.vals[at].ip, l.vals[at].op == opNum }
	switch o {
	case opNeg:
		return affine(a, -1, 0)
	case opAdd:
		if q, ok := number(b); ok {
			return affine(a, 1, q)
		}
	case opSub:
		if q, ok := number(b); ok {
			return affine(a, 1, -q)
		} else if q, ok := number(a); ok {
			return affine(b, -1, q)
		}
	case opMul:
		if p, ok := number(b); ok {
			return affine(a, p, 0)
		}
	}
	return 0, false
}
