package expr

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// The naive evaluator: it walks the tree, one cell at a time, in one of three arithmetics.

// values are what the names of one cell stand for, as float64 or int64.
type values struct {
	rows    [3]float64
	ints    [3]int64
	column  int64
	scalars map[string]float64
}

func truthOf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

var oneFloat = map[op]func(float64) float64{
	opNeg: func(a float64) float64 { return -a }, opNot: func(a float64) float64 { return truthOf(a == 0) },
	opAbs: math.Abs, opCeil: math.Ceil, opFloor: math.Floor, opRound: math.Round, opTrunc: math.Trunc, opSqrt: math.Sqrt,
	opExp: math.Exp, opExpm1: math.Expm1, opLog: math.Log, opLog10: math.Log10, opLog1p: math.Log1p, opSin: math.Sin,
	opCos: math.Cos, opTanh: math.Tanh,
	opSigmoid: func(a float64) float64 {
		if a < 0 {
			return math.Exp(a) / (1 + math.Exp(a))
		}
		return 1 / (1 + math.Exp(-a))
	},
	opSign: func(a float64) float64 {
		if a > 0 {
			return 1
		} else if a < 0 {
			return -1
		}
		return a
	},
}

var twoFloats = map[op]func(a, b float64) float64{
	opAdd: func(a, b float64) float64 { return a + b }, opSub: func(a, b float64) float64 { return a - b },
	opMul: func(a, b float64) float64 { return a * b }, opDiv: func(a, b float64) float64 { return a / b },
	opMod: math.Mod,
	opMin: func(a, b float64) float64 { return min(a, b) }, opMax: func(a, b float64) float64 { return max(a, b) },
	opPow: func(a, b float64) float64 {
		if b == 2 {
			return a * a
		}
		return math.Pow(a, b)
	},
	opLt: func(a, b float64) float64 { return truthOf(a < b) }, opLe: func(a, b float64) float64 { return truthOf(a <= b) },
	opGt: func(a, b float64) float64 { return truthOf(a > b) }, opGe: func(a, b float64) float64 { return truthOf(a >= b) },
	opEq: func(a, b float64) float64 { return truthOf(a == b) }, opNe: func(a, b float64) float64 { return truthOf(a != b) },
	opAnd: func(a, b float64) float64 { return truthOf(a != 0 && b != 0) },
	opOr:  func(a, b float64) float64 { return truthOf(a != 0 || b != 0) },
}

// naive is the value of a tree over floats; round is the rounding of every operation.
func naive(n *node, v *values, round func(float64) float64) float64 {
	var a []float64
	for _, arg := range n.args {
		a = append(a, naive(arg, v, round))
	}
	switch n.op {
	case opNum:
		return round(n.num)
	case opRow:
		return v.rows[n.row]
	case opColumn:
		return round(float64(v.column))
	case opScalar:
		return round(v.scalars[n.name])
	case opSelect:
		if a[0] != 0 {
			return a[1]
		}
		return a[2]
	case opClip:
		return min(max(a[0], a[1]), a[2])
	}
	if f := oneFloat[n.op]; f != nil {
		return round(f(a[0]))
	}
	out := a[0]
	for _, b := range a[1:] {
		out = round(twoFloats[n.op](out, b))
	}
	return out
}

// number is a value over whole cells: whole, or a float.
type number struct {
	n     int64
	f     float64
	whole bool
}

func (n number) float() float64 {
	if n.whole {
		return float64(n.n)
	}
	return n.f
}

func constant(v float64) number {
	if n, ok := whole(v); ok {
		return number{n: n, whole: true}
	}
	return number{f: v}
}

func (n number) truth() int64 {
	if n.whole && n.n != 0 || !n.whole && n.f != 0 {
		return 1
	}
	return 0
}

var twoInts = map[op]func(a, b int64) int64{
	opAdd: func(a, b int64) int64 { return a + b }, opSub: func(a, b int64) int64 { return a - b },
	opMul: func(a, b int64) int64 { return a * b },
	opMod: func(a, b int64) int64 {
		if b == 0 {
			return 0
		}
		return a % b
	},
	opMin: func(a, b int64) int64 { return min(a, b) }, opMax: func(a, b int64) int64 { return max(a, b) },
}

var compareInts = map[op]func(a, b int64) bool{
	opLt: func(a, b int64) bool { return a < b }, opLe: func(a, b int64) bool { return a <= b },
	opGt: func(a, b int64) bool { return a > b }, opGe: func(a, b int64) bool { return a >= b },
	opEq: func(a, b int64) bool { return a == b }, opNe: func(a, b int64) bool { return a != b },
}

func naiveInt(n *node, v *values) number {
	var a []number
	for _, arg := range n.args {
		a = append(a, naiveInt(arg, v))
	}
	switch n.op {
	case opNum:
		if n.whole {
			return number{n: n.int, whole: true}
		}
		return number{f: n.num}
	case opRow:
		return number{n: v.ints[n.row], whole: true}
	case opColumn:
		return number{n: v.column, whole: true}
	case opScalar:
		return constant(v.scalars[n.name])
	case opSelect:
		out := a[2]
		if a[0].truth() == 1 {
			out = a[1]
		}
		if a[1].whole && a[2].whole {
			return out
		}
		return number{f: out.float()}
	case opClip:
		return twoNumbers(opMin, twoNumbers(opMax, a[0], a[1]), a[2])
	case opNot:
		return number{n: 1 - a[0].truth(), whole: true}
	}
	if f := oneFloat[n.op]; f != nil {
		if !a[0].whole {
			return number{f: f(a[0].f)}
		}
		switch k := a[0].n; n.op {
		case opNeg:
			return number{n: -k, whole: true}
		case opAbs:
			return number{n: max(k, -k), whole: true}
		case opSign:
			return number{n: sign(k), whole: true}
		case opCeil, opFloor, opRound, opTrunc:
			return a[0]
		}
		return number{f: f(a[0].float())}
	}
	out := a[0]
	for _, b := range a[1:] {
		out = twoNumbers(n.op, out, b)
	}
	return out
}

func twoNumbers(o op, a, b number) number {
	both := a.whole && b.whole
	switch {
	case o == opAnd:
		return number{n: a.truth() & b.truth(), whole: true}
	case o == opOr:
		return number{n: a.truth() | b.truth(), whole: true}
	case compareInts[o] != nil && both:
		return number{n: int64(truthOf(compareInts[o](a.n, b.n))), whole: true}
	case compareInts[o] != nil:
		return number{n: int64(twoFloats[o](a.float(), b.float())), whole: true}
	case twoInts[o] != nil && both:
		return number{n: twoInts[o](a.n, b.n), whole: true}
	}
	return number{f: twoFloats[o](a.float(), b.float())}
}

// wholePower marks trees where a power may be whole: the exponent must be a constant, which the evaluator of one cell cannot see.
func wholePower(n *node) bool {
	if n.op == opPow {
		return true
	}
	return slices.ContainsFunc(n.args, wholePower)
}

func saturate(n number, lo, hi int64) int64 {
	if n.whole {
		return min(max(n.n, lo), hi)
	}
	switch f := math.RoundToEven(n.f); {
	case f != f:
		return 0
	case f >= float64(hi):
		return hi
	case f <= float64(lo):
		return lo
	default:
		return int64(f)
	}
}

var special = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 3, 7, 1e-310, math.MaxFloat64, math.Inf(1), math.Inf(-1),
	math.NaN(), 1 << 53, 2147483647, -1e19, 709.5}

// tree draws an expression.
func tree(t *rapid.T, depth int) *node {
	if depth == 0 || rapid.IntRange(0, 9).Draw(t, "leaf") == 0 {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			v := math.Abs(rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 2, 3, 0.5, 0.25, 1e-3, 1e300, 1 << 53, 3e9}),
				rapid.Float64Range(0, 10)).Draw(t, "number"))
			n := &node{op: opNum, num: v}
			n.int, n.whole = whole(v)
			return n
		case 1:
			return &node{op: opColumn}
		case 2:
			return &node{op: opScalar, name: rapid.SampledFrom([]string{"k", "lambda", "x1"}).Draw(t, "name")}
		}
		return &node{op: opRow, row: rapid.IntRange(0, 2).Draw(t, "row")}
	}
	o := op(rapid.IntRange(int(opNeg), int(opClip)).Draw(t, "op"))
	count := 1
	switch {
	case o == opSelect || o == opClip:
		count = 3
	case o == opMin || o == opMax:
		count = rapid.IntRange(1, 3).Draw(t, "args")
	case twoFloats[o] != nil:
		count = 2
	}
	n := &node{op: o}
	for range count {
		n.args = append(n.args, tree(t, depth-1))
	}
	return n
}

var drawScalars = rapid.Custom(func(t *rapid.T) map[string]float64 {
	return map[string]float64{"k": rapid.SampledFrom(special).Draw(t, "k"), "lambda": 0.25, "x1": 3}
})

// bind makes the program of a tree, by its text.
func bind[T Elem](t *rapid.T, n *node, scalars map[string]float64) *Program[T] {
	e, err := Parse((&Expr{root: n}).String())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e.root, n) {
		t.Fatalf("%s reads back as %s", &Expr{root: n}, e)
	}
	own := map[string]float64{}
	for _, name := range e.Scalars() {
		own[name] = scalars[name]
	}
	p, err := Bind[T](e, own)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// draw fills rows with special and other values; some are longer than a block.
func draw[T Elem](t *rapid.T, convert func(float64) T) (rows [][]T, cols []int64, first int64) {
	n := rapid.SampledFrom([]int{1, 2, 30, block, block + 7}).Draw(t, "cells")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for range 3 {
		row := make([]T, n)
		for i := range row {
			v := special[rng.IntN(len(special))]
			if rng.IntN(2) == 0 {
				v = rng.NormFloat64() * 10
			}
			row[i] = convert(v)
		}
		rows = append(rows, row)
	}
	if rapid.Bool().Draw(t, "keyed") {
		for range n {
			cols = append(cols, rng.Int64N(1<<40)-5)
		}
	}
	return rows, cols, rng.Int64N(1000)
}

func columnOf(first int64, cols []int64, i int) int64 {
	if cols != nil {
		return cols[i]
	}
	return first + int64(i)
}

// run computes a chunk, into its own row or another, and some of its cells alone.
func run[T Elem](t *rapid.T, p *Program[T], rows [][]T, first int64, cols []int64) []T {
	in := [][]T{slices.Clone(rows[0]), slices.Clone(rows[1]), slices.Clone(rows[2])}
	dst := make([]T, len(rows[0]))
	if at := rapid.IntRange(0, 3).Draw(t, "into"); at < 3 {
		dst = in[at]
	}
	if err := p.Clone().Run(dst, in, first, cols); err != nil {
		t.Fatal(err)
	}
	for i := range min(3, len(dst)) {
		got := p.At(columnOf(first, cols, i), rows[0][i], rows[1][i], rows[2][i])
		if got != dst[i] && (got == got || dst[i] == dst[i]) {
			t.Fatalf("cell %d alone is %v, in the chunk %v", i, got, dst[i])
		}
	}
	return dst
}

func TestFloats(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testFloats[float64](t) })
	t.Run("float32", func(t *testing.T) { testFloats[float32](t) })
}

func testFloats[F floating](t *testing.T) {
	round := func(v float64) float64 { return float64(F(v)) }
	rapid.Check(t, func(t *rapid.T) {
		n := tree(t, rapid.IntRange(0, 5).Draw(t, "depth"))
		scalars := drawScalars.Draw(t, "scalars")
		rows, cols, first := draw(t, func(v float64) F { return F(v) })
		got := run(t, bind[F](t, n, scalars), rows, first, cols)
		for i := range got {
			v := &values{column: columnOf(first, cols, i), scalars: scalars}
			for k := range rows {
				v.rows[k] = float64(rows[k][i])
			}
			want := F(naive(n, v, round))
			if got[i] != want && (got[i] == got[i] || want == want) ||
				got[i] == 0 && math.Signbit(float64(got[i])) != math.Signbit(float64(want)) {
				t.Fatalf("%s of %v: %v, want %v", &Expr{root: n}, *v, got[i], want)
			}
		}
	})
}

func TestInts(t *testing.T) {
	t.Run("int64", func(t *testing.T) { testInts[int64](t, math.MinInt64, math.MaxInt64) })
	t.Run("int32", func(t *testing.T) { testInts[int32](t, math.MinInt32, math.MaxInt32) })
}

func testInts[T int64 | int32](t *testing.T, lo, hi int64) {
	rapid.Check(t, func(t *rapid.T) {
		n := tree(t, rapid.IntRange(0, 5).Draw(t, "depth"))
		if wholePower(n) {
			return // see TestWholePowers
		}
		scalars := drawScalars.Draw(t, "scalars")
		rows, cols, first := draw(t, func(v float64) T { return T(saturate(number{f: v}, lo, hi)) })
		got := run(t, bind[T](t, n, scalars), rows, first, cols)
		for i := range got {
			v := &values{column: columnOf(first, cols, i), scalars: scalars}
			for k := range rows {
				v.ints[k] = int64(rows[k][i])
			}
			if want := T(saturate(naiveInt(n, v), lo, hi)); got[i] != want {
				t.Fatalf("%s of %v: %v, want %v", &Expr{root: n}, *v, got[i], want)
			}
		}
	})
}

func cell[T Elem](t *testing.T, text string, x, y T, k float64) T {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	scalars := map[string]float64{}
	for _, name := range e.Scalars() {
		scalars[name] = k
	}
	p, err := Bind[T](e, scalars)
	if err != nil {
		t.Fatal(err)
	}
	return p.At(12, x, y, 0)
}

// What the package comment says of whole cells.
func TestWholeCells(t *testing.T) {
	for _, c := range []struct {
		text string
		x    int32
		want int32
	}{
		{"x/2", 7, 4}, {"x/2", 5, 2}, {"x/0", 3, math.MaxInt32}, {"x/0", -3, math.MinInt32}, {"x/0", 0, 0}, {"x%0", 3, 0},
		{"2*x", math.MaxInt32, math.MaxInt32}, {"-2*x", math.MaxInt32, math.MinInt32}, {"0.5*x", -7, -4}, {"sqrt(x)", 10, 3},
		{"i", 0, 12}, {"k", 0, 3}, {"x^3", -5, -125}, {"x^0", 0, 1}, {"x^-1", 2, 0}, {"!x", 0, 1}, {"x && 0.1", 5, 1},
		{"x > 2.5 ? 1e10 : -1e10", 3, math.MaxInt32}, {"(x > 2.5) * 7", 3, 7}, {"sqrt(x)", -1, 0},
	} {
		if got := cell(t, c.text, c.x, 0, 3); got != c.want {
			t.Errorf("%s for x = %d: %d, want %d", c.text, c.x, got, c.want)
		}
	}
	for _, c := range []struct {
		text string
		x    int64
		want int64
	}{
		{"9007199254740993 + x", 0, 9007199254740993}, {"x + 1", math.MaxInt64, math.MinInt64}, {"x + 0.0", 1<<53 + 1, 1<<53 + 1},
		{"x + 0.5", 1<<53 + 1, 1 << 53}, {"x * 1.5", math.MaxInt64, math.MaxInt64}, {"x > 0 ? x : 0", 1<<62 + 1, 1<<62 + 1},
		{"x > 0 ? x : 0.5", 1<<62 + 1, 1 << 62}, {"-9223372036854775808 + x", 0, math.MinInt64}, {"x % -1", math.MinInt64, 0},
	} {
		if got := cell(t, c.text, c.x, 0, 0); got != c.want {
			t.Errorf("%s for x = %d: %d, want %d", c.text, c.x, got, c.want)
		}
	}
}

func TestWholePowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, x := rapid.IntRange(0, 64).Draw(t, "exponent"), rapid.Int64().Draw(t, "x")
		want := int64(1)
		for range k {
			want *= x
		}
		n := &node{op: opPow, args: []*node{{op: opRow}, {op: opNum, num: float64(k), int: int64(k), whole: true}}}
		if got := bind[int64](t, n, nil).At(0, x, 0, 0); got != want {
			t.Fatalf("%d^%d is %d, want %d", x, k, got, want)
		}
	})
}

// Programs of one expression share nothing that changes.
func TestClonesRunAtOnce(t *testing.T) {
	e, err := Parse("k*x + sqrt(y) > 3 ? i : x*y")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Bind[float32](e, map[string]float64{"k": 2})
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float32, 5000), make([]float32, 5000)
	for i := range x {
		x[i], y[i] = float32(i%7), float32(i%11)
	}
	want := make([]float32, len(x))
	if err := p.Run(want, [][]float32{x, y}, 3, nil); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		q := p.Clone()
		wg.Go(func() {
			for range 20 {
				got := make([]float32, len(x))
				if err := q.Run(got, [][]float32{x, y}, 3, nil); err != nil || !slices.Equal(got, want) {
					t.Errorf("a clone gives something else, or %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRunRefuses(t *testing.T) {
	e, err := Parse("x + k*y")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Bind[float64](e, nil); err == nil || !strings.Contains(err.Error(), `no value for "k"`) {
		t.Errorf("without k: %v", err)
	}
	if _, err := Bind[float64](e, map[string]float64{"k": 1, "l": 2}); err == nil || !strings.Contains(err.Error(), `"l", want one of: k`) {
		t.Errorf("with l: %v", err)
	}
	p, err := Bind[float64](e, map[string]float64{"k": 1})
	if err != nil {
		t.Fatal(err)
	}
	one, two := []float64{1}, []float64{1, 2}
	for want, in := range map[string][][]float64{
		"1 rows for x + k * y, want 2 to 3": {one}, "4 rows": {one, one, one, one}, "2 cells of y, want 1": {one, two},
		"2 cells of z, want 1": {one, one, two},
	} {
		if err := p.Run(one, in, 0, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", in, err, want)
		}
	}
	if err := p.Run(one, [][]float64{one, one}, 0, []int64{1, 2}); err == nil || !strings.Contains(err.Error(), "2 columns, want 1") {
		t.Errorf("two columns: %v", err)
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	for _, text := range []string{"2*x+1", "max(x, y)", "i % 3 == 0 ? sqrt(abs(x)) / y : sigmoid(x) * k"} {
		if n := allocations[float64](t, text) + allocations[float32](t, text) + allocations[int64](t, text) + allocations[int32](t, text); n != 0 {
			t.Errorf("%s: %v allocations, want 0", text, n)
		}
	}
}

func allocations[T Elem](t *testing.T, text string) float64 {
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	scalars := map[string]float64{}
	for _, name := range e.Scalars() {
		scalars[name] = 0.5
	}
	p, err := Bind[T](e, scalars)
	if err != nil {
		t.Fatal(err)
	}
	in := [][]T{make([]T, 2000), make([]T, 2000)}
	return testing.AllocsPerRun(5, func() {
		if err := p.Run(in[0], in, 0, nil); err != nil {
			t.Error(err)
		}
	})
}
