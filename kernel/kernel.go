// Package kernel holds the inner loops over numbers: functions of Float or Number work on all types of these, others without
// suffix on float32, those with 64 on float64. They allocate nothing but what they return, start no goroutine, and keep no
// argument; any number of goroutines may call them on different memory. Lengths that do not fit together are a bug of the
// caller and panic before anything is written, as does a place that a matrix does not have.
//
// # Order of sums
//
// A result depends on the arguments alone: not on the machine, nor on which implementation runs. Every product is
// rounded before it is added, except in Gemm and its variants, and sums have these orders:
//
//   - Dot and Sum: elements i of the first n - n%32 go to sum i%32; the 32 sums are folded to 8, sum j taking
//     (j + j+8) + (j+16 + j+24); elements of the remaining whole 8 go to sum i%8; the 8 are folded as
//     ((0+4) + (2+6)) + ((1+5) + (3+7)); the last n%8 elements are added one by one.
//   - Linear with one column: value i of a row goes to sum i%4, the 4 are folded as (0+2) + (1+3) and added to the old value.
//   - Linear with more columns and all gradients over sparse rows: each output starts from its old value and takes its products
//     one by one.
//   - InteractSum: column j goes to sum j%8, and the 8 are folded as those of Dot.
//   - Gemm and its variants: each output starts from its old value and takes its products in order of k, by fused
//     multiply-adds: each product is exact, and its sum with the output so far is rounded once.
//     (docs/adr/0025-fused-products.md has the reasons.)
//
// Sums in an Exact have no order: they are rounded once, when their Value is asked for.
//
// # Where assembly goes
//
// A table holds the functions of one element type, search those on an index, mover those that copy rows; each is chosen
// for the machine once at start. The generic one, in pure Go, is always there, and the tests hold every other one that
// the machine can run to its bits.
package kernel

// Float is an element type of the kernels.
type Float interface{ float32 | float64 }

// table is one implementation of the kernels. The functions are called with lengths that were checked.
type table[T Float] struct {
	name  string
	axpy  func(a T, x, y []T)
	dot   func(x, y []T) T
	scale func(a T, x []T)
	add   func(x, y []T)
	sum   func(x []T) T
	gemm  gemmer[T]
	rules [ruleKinds]func(b *Batch[T], k *settings[T])
}

// generic is the implementation in pure Go.
func generic[T Float]() table[T] {
	t := table[T]{
		name: "generic", axpy: axpy[T], dot: dot[T], scale: scale[T], add: add[T], sum: sum[T],
		gemm: gemmer[T]{rows: 1, cols: 32, run: fusedTiles[T], lanes: 32},
	}
	for kind, cells := range plainRules[T]() {
		if cells != nil {
			t.rules[kind] = byRow(cells)
		}
	}
	return t
}

// tables lists the implementations that this machine can run, the best first.
func tables[T Float]() []table[T] {
	plain := []table[T]{generic[T]()}
	if fast, ok := any(fastTables()).([]table[T]); ok {
		return append(fast, plain...)
	}
	return plain
}

func choose[T Float]() table[T] { return tables[T]()[0] }

// The tables in use, set once and never changed.
var (
	f32 = choose[float32]()
	f64 = choose[float64]()
)

// tableOf is the table in use for an element type.
func tableOf[T Float]() *table[T] {
	if t, ok := any(&f32).(*table[T]); ok {
		return t
	}
	return any(&f64).(*table[T])
}

// checkLen panics unless the lengths are equal: a bug of the caller that would otherwise show as wrong numbers.
func checkLen(got, want int, what string) {
	if got != want {
		panic("kernel: length of " + what + " does not fit")
	}
}
