package expr

// op is an operation of the tree or of the code.
type op uint8

const (
	opNum op = iota
	opRow
	opColumn
	opScalar

	opNeg
	opNot
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opPow
	opLt
	opLe
	opGt
	opGe
	opEq
	opNe
	opAnd
	opOr
	opSelect

	opAbs
	opSign
	opCeil
	opFloor
	opRound
	opTrunc
	opSqrt
	opExp
	opExpm1
	opLog
	opLog10
	opLog1p
	opSin
	opCos
	opTanh
	opSigmoid
	opMin
	opMax
	opClip

	// Of the code only.
	opAffine  // p*a + q
	opAxpy    // p*a + b
	opCopy    // a
	opToFloat // of a whole number
	opTruth   // 1 or 0, whole, of a float
)

// function is what a name with parentheses means.
type function struct {
	op       op
	min, max int // arguments; max 0: any number
}

// functions are all functions by name.
var functions = map[string]function{
	"abs": {opAbs, 1, 1}, "sign": {opSign, 1, 1}, "ceil": {opCeil, 1, 1}, "floor": {opFloor, 1, 1},
	"round": {opRound, 1, 1}, "trunc": {opTrunc, 1, 1}, "sqrt": {opSqrt, 1, 1}, "exp": {opExp, 1, 1},
	"expm1": {opExpm1, 1, 1}, "log": {opLog, 1, 1}, "log10": {opLog10, 1, 1}, "log1p": {opLog1p, 1, 1},
	"sin": {opSin, 1, 1}, "cos": {opCos, 1, 1}, "tanh": {opTanh, 1, 1}, "sigmoid": {opSigmoid, 1, 1},
	"pow": {opPow, 2, 2}, "min": {opMin, 1, 0}, "max": {opMax, 1, 0}, "clip": {opClip, 3, 3},
}

// binary is an operator between two operands.
type binary struct {
	text  string
	op    op
	level int
}

// Levels of binding, the weakest first.
const (
	levelSelect = iota + 1
	levelOr
	levelAnd
	levelCompare
	levelAdd
	levelMul
	levelSign
	levelPow
	levelLeaf
)

// binaries are all operators between two operands; those of two characters first, so that they are found first.
var binaries = []binary{
	{"||", opOr, levelOr}, {"&&", opAnd, levelAnd},
	{"<=", opLe, levelCompare}, {">=", opGe, levelCompare}, {"==", opEq, levelCompare}, {"!=", opNe, levelCompare},
	{"<", opLt, levelCompare}, {">", opGt, levelCompare},
	{"+", opAdd, levelAdd}, {"-", opSub, levelAdd},
	{"*", opMul, levelMul}, {"/", opDiv, levelMul}, {"%", opMod, levelMul},
	{"^", opPow, levelPow},
}

// infix finds the operator of an operation.
func infix(o op) (binary, bool) {
	for _, b := range binaries {
		if b.op == o {
			return b, true
		}
	}
	return binary{}, false
}
