// Package kernel holds the inner loops over floats: the functions without suffix work on float32, those with 64 on
// float64. They allocate nothing, start no goroutine, and keep no argument; any number of goroutines may call them on
// different memory. Lengths that do not fit together are a bug of the caller and panic before anything is written,
// except that an index outside of the weights panics where it is met.
//
// # Order of sums
//
// A result depends on the arguments alone: not on the machine, nor on which implementation runs. Every product is
// rounded before it is added (never a fused multiply-add), and sums have these orders:
//
//   - Dot and Sum: elements i of the first n - n%32 go to sum i%32; the 32 sums are folded to 8, sum j taking
//     (j + j+8) + (j+16 + j+24); elements of the remaining whole 8 go to sum i%8; the 8 are folded as
//     ((0+4) + (2+6)) + ((1+5) + (3+7)); the last n%8 elements are added one by one.
//   - GatherDot with one output: as Dot, but with 4 sums from the start, folded as (0+2) + (1+3), over n - n%4.
//   - GatherDot with more outputs, ScatterAxpy, Gemm and its variants: each output starts from its old value and takes
//     its products one by one.
//
// # Where assembly goes
//
// A table holds the functions of one element type; choose returns the table for the machine, once at start. Today that
// is the generic one, in pure Go. A file of assembly adds a table, copied from the generic one with its own functions in
// place, and a case in choose; tables lists it, and the tests hold every listed table to the bits of the generic one.
package kernel

// Float is an element type of the kernels.
type Float interface{ float32 | float64 }

// table is one implementation of the kernels. The functions are called with lengths that were checked.
type table[T Float] struct {
	name     string
	axpy     func(a T, x, y []T)
	dot      func(x, y []T) T
	scale    func(a T, x []T)
	add      func(x, y []T)
	sum      func(x []T) T
	gemm     func(m, n, k int, a []T, aRow, aCol int, b, c []T)
	gemmNT   func(m, n, k int, a, b, c []T)
	sigmoid  func(x, y []T)
	softplus func(x, y []T)
}

// generic is the implementation in pure Go.
func generic[T Float]() table[T] {
	return table[T]{
		name: "generic", axpy: axpy[T], dot: dot[T], scale: scale[T], add: add[T], sum: sum[T],
		gemm: gemm[T], gemmNT: gemmNT[T], sigmoid: sigmoid[T], softplus: softplus[T],
	}
}

// tables lists the implementations that this machine can run, the best first.
func tables[T Float]() []table[T] { return []table[T]{generic[T]()} }

func choose[T Float]() table[T] { return tables[T]()[0] }

// The tables in use, set once and never changed.
var (
	f32 = choose[float32]()
	f64 = choose[float64]()
)

// want panics unless the lengths are equal: a bug of the caller that would otherwise show as wrong numbers.
func want(got, want int, what string) {
	if got != want {
		panic("kernel: length of " + what + " does not fit")
	}
}
