package kernel

// fastActivations are those of a level in assembly, for n bytes, a multiple of 128.
var fastActivations = [avx512 + 1][activations]func(dst, x, y *float32, n int){
	avx2:   {reluAVX2, reluGradAVX2, sigmoidAVX2, sigmoidGradAVX2, tanhAVX2, tanhGradAVX2, mulAddAVX2},
	avx512: {reluAVX2, reluGradAVX2, sigmoid512, sigmoidGradAVX2, tanh512, tanhGradAVX2, mulAddAVX2},
}

// activateOn does the first numbers and tells how many.
func activateOn(on level, f activation, dst, x, y []float32) int {
	n, bytes := whole[float32](on, len(dst))
	if n > 0 {
		fastActivations[on][f](&dst[0], &x[0], &y[0], bytes)
	}
	return n
}

//go:noescape
func reluAVX2(dst, x, y *float32, n int)

//go:noescape
func reluGradAVX2(dst, x, y *float32, n int)

//go:noescape
func sigmoidAVX2(dst, x, y *float32, n int)

//go:noescape
func sigmoid512(dst, x, y *float32, n int)

//go:noescape
func sigmoidGradAVX2(dst, x, y *float32, n int)

//go:noescape
func tanhAVX2(dst, x, y *float32, n int)

//go:noescape
func tanh512(dst, x, y *float32, n int)

//go:noescape
func tanhGradAVX2(dst, x, y *float32, n int)

//go:noescape
func mulAddAVX2(dst, x, y *float32, n int)
