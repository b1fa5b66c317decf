#include "textflag.h"

// A row of field-aware factorization machines:
//
//	DI matrix of vectors      SI where the row's values are in it, FIELDS further where their fields are in a row of it
//	R8 vectors of value i     R9 those of i's field, without the place      R14 x      CX values
//	AX place of value j       BX its field                                  R10, R11 as R8, R9, of the gradient
#define FIELDS 1024

// EACHPAIR runs first for each i, in DX, pair for each j > i, in R13, and last.
#define EACHPAIR(first, pair, last) \
	XORQ DX, DX            \
i:                             \
	MOVQ (SI)(DX*8), R8    \
	MOVQ FIELDS(SI)(DX*8), R9 \
	ADDQ DI, R8            \
	ADDQ DI, R9            \
	first                  \
	LEAQ 1(DX), R13        \
j:                             \
	MOVQ (SI)(R13*8), AX   \
	MOVQ FIELDS(SI)(R13*8), BX \
	pair                   \
	INCQ R13               \
	CMPQ R13, CX           \
	JLT  j                 \
	last                   \
	INCQ DX                \
	LEAQ 1(DX), R13        \
	CMPQ R13, CX           \
	JLT  i                 \
	VZEROUPPER             \
	RET

// The sums of the row are v3, those of a value v0.
#define CLEAR(v0) VXORPS v0, v0, v0
#define PRODUCT(v0, v1, v2) \
	VMOVUPS      (R9)(AX*1), v1     \
	VMULPS       (R8)(BX*1), v1, v1 \
	VBROADCASTSS (R14)(R13*4), v2   \
	VMULPS       v2, v1, v1         \
	VADDPS       v1, v0, v0
#define SUMUP(v0, v2, v3) \
	VBROADCASTSS (R14)(DX*4), v2 \
	VMULPS       v2, v0, v0 \
	VADDPS       v0, v3, v3 \
	VMOVUPS      v3, (R12)

// The gradient times x_i is v3.
#define GRADIENT(v2, v3) \
	VBROADCASTSS d+40(FP), v3    \
	VBROADCASTSS (R14)(DX*4), v2 \
	VMULPS       v2, v3, v3      \
	LEAQ         (R8)(R12*1), R10 \
	LEAQ         (R9)(R12*1), R11
#define BOTH(v0, v1, v2, v3) \
	VBROADCASTSS (R14)(R13*4), v2    \
	VMULPS       v3, v2, v2          \
	VMULPS       (R9)(AX*1), v2, v0  \
	VMULPS       (R8)(BX*1), v2, v1  \
	VADDPS       (R10)(BX*1), v0, v0 \
	VMOVUPS      v0, (R10)(BX*1)     \
	VADDPS       (R11)(AX*1), v1, v1 \
	VMOVUPS      v1, (R11)(AX*1)
#define NOTHING

// func fieldPairs4(sums *[8]float32, src *float32, row *fieldRow, x *float32, n int)
TEXT ·fieldPairs4(SB), NOSPLIT, $0-40
	MOVQ   sums+0(FP), R12
	MOVQ   src+8(FP), DI
	MOVQ   row+16(FP), SI
	MOVQ   x+24(FP), R14
	MOVQ   n+32(FP), CX
	VXORPS X3, X3, X3
	EACHPAIR(CLEAR(X0), PRODUCT(X0, X1, X2), SUMUP(X0, X2, X3))

// func fieldPairs8(sums *[8]float32, src *float32, row *fieldRow, x *float32, n int)
TEXT ·fieldPairs8(SB), NOSPLIT, $0-40
	MOVQ   sums+0(FP), R12
	MOVQ   src+8(FP), DI
	MOVQ   row+16(FP), SI
	MOVQ   x+24(FP), R14
	MOVQ   n+32(FP), CX
	VXORPS Y3, Y3, Y3
	EACHPAIR(CLEAR(Y0), PRODUCT(Y0, Y1, Y2), SUMUP(Y0, Y2, Y3))

// func fieldPairsGrad4(dst, src *float32, row *fieldRow, x *float32, n int, d float32)
TEXT ·fieldPairsGrad4(SB), NOSPLIT, $0-44
	MOVQ dst+0(FP), R12
	MOVQ src+8(FP), DI
	SUBQ DI, R12
	MOVQ row+16(FP), SI
	MOVQ x+24(FP), R14
	MOVQ n+32(FP), CX
	EACHPAIR(GRADIENT(X2, X3), BOTH(X0, X1, X2, X3), NOTHING)

// func fieldPairsGrad8(dst, src *float32, row *fieldRow, x *float32, n int, d float32)
TEXT ·fieldPairsGrad8(SB), NOSPLIT, $0-44
	MOVQ dst+0(FP), R12
	MOVQ src+8(FP), DI
	SUBQ DI, R12
	MOVQ row+16(FP), SI
	MOVQ x+24(FP), R14
	MOVQ n+32(FP), CX
	EACHPAIR(GRADIENT(Y2, Y3), BOTH(Y0, Y1, Y2, Y3), NOTHING)
