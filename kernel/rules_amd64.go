package kernel

// fastTables are the tables with assembly, the best first. The rules that divide and take roots run at the speed of the divider: vectors
// of 512 bits bring them nothing where it is as wide as a vector of 256, and make them twice as fast where it is wider.
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
	for kind, run := range [ruleKinds]func(*Batch[float32], *settings[float32]){
		addition: addAVX512, sgdPlain: sgdAVX512, sgdL1: sgdL1AVX512, momentumPlain: momentumAVX512,
		nesterovPlain: nesterovAVX512, adagradPlain: adagradAVX512, adagradL1: adagradL1AVX512,
		rmspropPlain: rmspropAVX512, adadeltaPlain: adadeltaAVX512,
		adamPlain: adamAVX512, adamwPlain: adamwAVX512, amsgradPlain: amsgradAVX512,
		ftrlTaken: ftrlTakenAVX512, ftrlFixed: ftrlFixedAVX512,
	} {
		if run != nil {
			wide.rules[kind] = filling(run, t.rules[kind])
		}
	}
	return []table[float32]{wide, t}
}

// filling is a rule for rows that fill a vector of 512 bits, with that of AVX2 for those that do not.
func filling(wide, narrow func(*Batch[float32], *settings[float32])) func(*Batch[float32], *settings[float32]) {
	return func(b *Batch[float32], k *settings[float32]) {
		if b.Dim < 16 {
			narrow(b, k)
			return
		}
		wide(b, k)
	}
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

//go:noescape
func addAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func sgdAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func sgdL1AVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func momentumAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func nesterovAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func adagradAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func adagradL1AVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func rmspropAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func adadeltaAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func adamAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func adamwAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func amsgradAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func ftrlTakenAVX512(b *Batch[float32], k *settings[float32])

//go:noescape
func ftrlFixedAVX512(b *Batch[float32], k *settings[float32])
