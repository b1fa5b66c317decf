package kernel

// wide is how many bytes the vectors have that move rows.
const wide = 32

func scatterInputsOn(on level, dst, src []byte, size int, inputs []Input, first uint32) {
	if on != plain && size%wide == 0 && len(inputs) > 0 && len(dst) >= size && len(src) >= size && size > 0 {
		inputs = inputs[scatterInputsAVX2(&dst[0], &src[0], size, &inputs[0], len(inputs), first, len(dst)/size, len(src)/size):]
	}
	scatterInputs(dst, src, size, inputs, first) // what is left has an index that does not fit
}

func sumInputsOn(on level, dst, src []float32, n int, inputs []Input, first uint32) {
	if on != plain && n%(wide/4) == 0 && len(inputs) > 0 && len(dst) >= n && len(src) >= n && n > 0 {
		inputs = inputs[sumInputsAVX2(&dst[0], &src[0], 4*n, &inputs[0], len(inputs), first, len(src)/n, len(dst)/n):]
	}
	SumInputsAny(dst, src, n, inputs, first)
}

// scatterInputsAVX2 moves rows of size bytes, a multiple of 32, for n inputs, and answers with how many came before one whose
// input is not below rows, or whose place is not below places.
//
//go:noescape
func scatterInputsAVX2(dst, src *byte, size int, inputs *Input, n int, first uint32, rows, places int) int

// sumInputsAVX2 moves or adds rows of size bytes, a multiple of 32, and answers as scatterInputsAVX2 does.
//
//go:noescape
func sumInputsAVX2(dst, src *float32, size int, inputs *Input, n int, first uint32, rows, places int) int
