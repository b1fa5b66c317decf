//go:build !amd64

package kernel

func scatterInputsOn(_ level, dst, src []byte, size int, inputs []Input, first uint32) {
	scatterInputs(dst, src, size, inputs, first)
}

func sumInputsOn(_ level, dst, src []float32, n int, inputs []Input, first uint32) {
	SumInputsAny(dst, src, n, inputs, first)
}
