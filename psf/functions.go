package psf

import "slices"

// Funcs is the table of built-in functions, a new slice on every call; append to it to add functions of your own.
func Funcs() []Func {
	return slices.Concat(
		[]Func{sum, asum, nrm2, dot, maxGet, minGet, amax, amin, nnz, size, equal, topk, histogram, quantiles},
		mapFuncs(),
		[]Func{random, randomUniform, randomNormal, xavierUniform, xavierNormal, kaimingUniform, kaimingNormal},
		[]Func{put, increment, maxA, minA, zero, reset, compress, diag, eye},
	)
}

// Parameters that many functions have.
var (
	rowsParam   = Param{Name: "rows", Kind: RowList, Optional: true, Help: "which rows (default: all)"}
	storedParam = Param{Name: "stored", Kind: Flag, Default: "false", Help: "leave cells alone that are not stored"}
)
