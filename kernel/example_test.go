package kernel_test

import (
	"fmt"

	"thole.example/kernel"
)

// Two outputs from a sparse row: features 1 and 3 of four.
func ExampleLinear() {
	w := []float32{0, 0, 1, 10, 0, 0, 2, 20} // two weights of each feature
	out := []float32{0.5, 0}
	kernel.Linear(out, w, 2, kernel.Sparse{Ptr: []int{0, 2}, At: []uint32{1, 3}, X: []float32{1, 3}})
	fmt.Println(out)
	// Output: [7.5 70]
}

// In float64 the ones would be lost beside the large number, in this order or another.
func ExampleExact() {
	e := &kernel.Exact{}
	kernel.AddAll(e, []float64{1, 1e100, 1, -1e100})
	other := &kernel.Exact{} // another partition of the same matrix
	kernel.AddAll(other, []float64{0.5})
	e.Merge(other)
	fmt.Println(e.Value())
	// Output: 2.5
}
