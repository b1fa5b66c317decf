package kernel

// fastTables are the tables with assembly, the best first. There is none with wider vectors: the rules that divide and
// take roots run at the speed of the divider, and the others at that of memory, whatever the width.
func fastTables() []table[float32] {
	if machine == plain {
		return nil
	}
	t := generic[float32]()
	t.name = "avx2"
	t.add = func(x, y []float32) { combine(avx2, Plus, y, x, y) }
	t.rules = [ruleKinds]func(*Batch[float32], *settings[float32]){
		addition: addAVX2, sgdPlain: sgdAVX2, sgdL1: sgdL1AVX2, momentumPlain: momentumAVX2,
		nesterovPlain: nesterovAVX2, adagradPlain: adagradAVX2, adagradL1: adagradL1AVX2,
		rmspropPlain: rmspropAVX2, adadeltaPlain: adadeltaAVX2,
		adamPlain: adamAVX2, adamwPlain: adamwAVX2, amsgradPlain: amsgradAVX2,
		ftrlTaken: ftrlTakenAVX2, ftrlFixed: ftrlFixedAVX2,
	}
	t.gemm = gemmer[float32]{rows: 6, cols: 16, run: gemmAVX2, transpose: transposeAVX2, column: columnAVX2, lanes: 8}
	if machine == avx2 {
		return []table[float32]{t}
	}
	wide := t
	wide.name = "avx512"
	wide.gemm = gemmer[float32]{rows: 14, cols: 32, run: gemm512, transpose: transpose512, column: column512, lanes: 16}
	return []table[float32]{wide, t}
}

//go:noescape
func addAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func sgdAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func sgdL1AVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func momentumAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func nesterovAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func adagradAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func adagradL1AVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func rmspropAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func adadeltaAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func adamAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func adamwAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func amsgradAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func ftrlTakenAVX2(b *Batch[float32], k *settings[float32])

//go:noescape
func ftrlFixedAVX2(b *Batch[float32], k *settings[float32])
