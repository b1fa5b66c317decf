package kernel

// gemm512 and the others are written by internal/asm.
//
//go:generate go run ./internal/asm
//go:noescape
func gemm512(rows, n, k int, a []float32, aRow, aCol int, b []float32, bRow, bTile int, c []float32, cRow int)

//go:noescape
func gemmAVX2(rows, n, k int, a []float32, aRow, aCol int, b []float32, bRow, bTile int, c []float32, cRow int)

//go:noescape
func transpose512(dst []float32, dstRow int, src []float32, srcRow, fours int)

//go:noescape
func transposeAVX2(dst []float32, dstRow int, src []float32, srcRow, fours int)

//go:noescape
func column512(pairs, fours int, a []float32, aRow int, b, c []float32)

//go:noescape
func columnAVX2(pairs, fours int, a []float32, aRow int, b, c []float32)
