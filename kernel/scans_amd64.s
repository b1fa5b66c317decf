#include "textflag.h"

// Scans of n bytes, a multiple of 128 and at least that. Those of floats look at the bits of a value that mask has.

// HEAD loads the mask to Y15.
#define HEAD(spread) \
	MOVQ  x+0(FP), SI    \
	MOVQ  n+8(FP), CX    \
	MOVQ  arg+16(FP), DX \
	spread 0(DX), Y15

#define LOADMASKED \
	VANDPS 0(SI), Y15, Y0  \
	VANDPS 32(SI), Y15, Y1 \
	VANDPS 64(SI), Y15, Y2 \
	VANDPS 96(SI), Y15, Y3

#define LOAD \
	VMOVDQU 0(SI), Y0  \
	VMOVDQU 32(SI), Y1 \
	VMOVDQU 64(SI), Y2 \
	VMOVDQU 96(SI), Y3

#define NEXT \
	ADDQ $128, SI \
	SUBQ $128, CX \
	JNZ  loop

// The extremes of floats: the smallest in Y8, Y9, the largest in Y10, Y11, in Y12 ones where something was no number.
#define EXTREMES(least, most, compare) \
	LOADMASKED            \
	VMOVUPS Y0, Y8        \
	VMOVUPS Y0, Y9        \
	VMOVUPS Y0, Y10       \
	VMOVUPS Y0, Y11       \
	VXORPS  Y12, Y12, Y12 \
loop:                     \
	LOADMASKED            \
	compare $3, Y0, Y1, Y4 \
	compare $3, Y2, Y3, Y5 \
	least   Y8, Y0, Y8    \
	least   Y9, Y1, Y9    \
	most    Y10, Y0, Y10  \
	most    Y11, Y1, Y11  \
	least   Y8, Y2, Y8    \
	least   Y9, Y3, Y9    \
	most    Y10, Y2, Y10  \
	most    Y11, Y3, Y11  \
	VORPS   Y4, Y5, Y4    \
	VORPS   Y4, Y12, Y12  \
	NEXT                  \
	least   Y8, Y9, Y8    \
	most    Y10, Y11, Y10 \
	VMOVUPS Y8, 16(DX)    \
	VMOVUPS Y10, 48(DX)   \
	VMOVUPS Y12, 80(DX)   \
	VZEROUPPER            \
	RET

#define WIDER(x, least, most) \
	VPCMPGTQ  x, least, Y4         \
	VPCMPGTQ  most, x, Y5          \
	VBLENDVPD Y4, x, least, least  \
	VBLENDVPD Y5, x, most, most

// Counts of zeros, in lanes.
#define ZEROS(equal, count) \
	VXORPS  Y4, Y4, Y4    \
	VXORPS  Y8, Y8, Y8    \
	VXORPS  Y9, Y9, Y9    \
loop:                     \
	LOAD                  \
	equal(Y0)             \
	equal(Y1)             \
	equal(Y2)             \
	equal(Y3)             \
	count   Y0, Y8, Y8    \
	count   Y1, Y9, Y9    \
	count   Y2, Y8, Y8    \
	count   Y3, Y9, Y9    \
	NEXT                  \
	VMOVDQU Y8, 16(DX)    \
	VMOVDQU Y9, 48(DX)    \
	VZEROUPPER            \
	RET

#define EQF32(x) VCMPPS $0, Y4, x, x
#define EQF64(x) VCMPPD $0, Y4, x, x
#define EQI32(x) VPCMPEQD Y4, x, x
#define EQI64(x) VPCMPEQQ Y4, x, x

// The first 128 bytes that have a value above the limit in Y14.
#define FIND(load, above) \
loop:                    \
	load                 \
	above(Y0)            \
	above(Y1)            \
	above(Y2)            \
	above(Y3)            \
	VPOR      Y0, Y1, Y0 \
	VPOR      Y2, Y3, Y2 \
	VPOR      Y0, Y2, Y0 \
	VPMOVMSKB Y0, AX     \
	TESTL     AX, AX     \
	JNZ       found      \
	NEXT                 \
found:                   \
	SUBQ x+0(FP), SI     \
	MOVQ SI, ret+24(FP)  \
	VZEROUPPER           \
	RET

#define GTF32(x) VCMPPS $30, Y14, x, x
#define GTF64(x) VCMPPD $30, Y14, x, x
// Integers have a lower bound in Y15 too, instead of a mask.
#define GTI32(x) \
	VPCMPGTD x, Y15, Y4 \
	VPCMPGTD Y14, x, x  \
	VPOR     Y4, x, x
#define GTI64(x) \
	VPCMPGTQ x, Y15, Y4 \
	VPCMPGTQ Y14, x, x  \
	VPOR     Y4, x, x

// Counts of pairs that differ by more than the limit in Y14, in lanes.
#define DIFFER(at, minus, compare, count, t) \
	VMOVUPS at(SI), Y0     \
	VMOVUPS at(DI), Y1     \
	minus   Y1, Y0, Y2     \
	VANDPS  Y15, Y2, Y2    \
	compare $22, Y14, Y2, Y2 \
	compare $4, Y1, Y0, Y0 \
	VANDPS  Y0, Y2, Y2     \
	count   Y2, t, t
#define DIFFERENCES(minus, compare, count) \
	MOVQ   y+24(FP), DI    \
	VXORPS Y8, Y8, Y8      \
	VXORPS Y9, Y9, Y9      \
loop:                      \
	DIFFER(0, minus, compare, count, Y8)  \
	DIFFER(32, minus, compare, count, Y9) \
	DIFFER(64, minus, compare, count, Y8) \
	DIFFER(96, minus, compare, count, Y9) \
	ADDQ    $128, DI       \
	NEXT                   \
	VMOVDQU Y8, 16(DX)     \
	VMOVDQU Y9, 48(DX)     \
	VZEROUPPER             \
	RET

// HALVES adds the halves of x, as if it were unsigned.
#define HALVES(x, low, high) \
	VPXOR  Y13, x, x      \
	VPAND  Y14, x, Y4     \
	VPSRLQ $32, x, x      \
	VPADDQ Y4, low, low   \
	VPADDQ x, high, high

// func extremesF32(x unsafe.Pointer, n int, arg *scan)
TEXT ·extremesF32(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSS)
	EXTREMES(VMINPS, VMAXPS, VCMPPS)

// func extremesF64(x unsafe.Pointer, n int, arg *scan)
TEXT ·extremesF64(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	EXTREMES(VMINPD, VMAXPD, VCMPPD)

// func extremesI32(x unsafe.Pointer, n int, arg *scan)
TEXT ·extremesI32(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSS)
	VMOVDQU (SI), Y8
	VMOVDQU Y8, Y9
	VMOVDQU Y8, Y10
	VMOVDQU Y8, Y11

loop:
	LOAD
	VPMINSD Y0, Y8, Y8
	VPMINSD Y1, Y9, Y9
	VPMAXSD Y0, Y10, Y10
	VPMAXSD Y1, Y11, Y11
	VPMINSD Y2, Y8, Y8
	VPMINSD Y3, Y9, Y9
	VPMAXSD Y2, Y10, Y10
	VPMAXSD Y3, Y11, Y11
	NEXT
	VPMINSD Y8, Y9, Y8
	VPMAXSD Y10, Y11, Y10
	VMOVDQU Y8, 16(DX)
	VMOVDQU Y10, 48(DX)
	VZEROUPPER
	RET

// func extremesI64(x unsafe.Pointer, n int, arg *scan)
TEXT ·extremesI64(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	VMOVDQU (SI), Y8
	VMOVDQU Y8, Y9
	VMOVDQU Y8, Y10
	VMOVDQU Y8, Y11

loop:
	LOAD
	WIDER(Y0, Y8, Y10)
	WIDER(Y1, Y9, Y11)
	WIDER(Y2, Y8, Y10)
	WIDER(Y3, Y9, Y11)
	NEXT
	WIDER(Y9, Y8, Y10)
	WIDER(Y11, Y8, Y10)
	VMOVDQU Y8, 16(DX)
	VMOVDQU Y10, 48(DX)
	VZEROUPPER
	RET

// func zerosF32(x unsafe.Pointer, n int, arg *scan)
TEXT ·zerosF32(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	ZEROS(EQF32, VPSUBD)

// func zerosF64(x unsafe.Pointer, n int, arg *scan)
TEXT ·zerosF64(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	ZEROS(EQF64, VPSUBQ)

// func zerosI32(x unsafe.Pointer, n int, arg *scan)
TEXT ·zerosI32(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	ZEROS(EQI32, VPSUBD)

// func zerosI64(x unsafe.Pointer, n int, arg *scan)
TEXT ·zerosI64(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	ZEROS(EQI64, VPSUBQ)

// func findF32(x unsafe.Pointer, n int, arg *scan) int
TEXT ·findF32(SB), NOSPLIT, $0-32
	HEAD(VBROADCASTSS)
	VBROADCASTSS 8(DX), Y14
	FIND(LOADMASKED, GTF32)

// func findF64(x unsafe.Pointer, n int, arg *scan) int
TEXT ·findF64(SB), NOSPLIT, $0-32
	HEAD(VBROADCASTSD)
	VBROADCASTSD 8(DX), Y14
	FIND(LOADMASKED, GTF64)

// func findI32(x unsafe.Pointer, n int, arg *scan) int
TEXT ·findI32(SB), NOSPLIT, $0-32
	HEAD(VBROADCASTSS)
	VBROADCASTSS 8(DX), Y14
	FIND(LOAD, GTI32)

// func findI64(x unsafe.Pointer, n int, arg *scan) int
TEXT ·findI64(SB), NOSPLIT, $0-32
	HEAD(VBROADCASTSD)
	VBROADCASTSD 8(DX), Y14
	FIND(LOAD, GTI64)

// func differF32(x unsafe.Pointer, n int, arg *scan, y unsafe.Pointer)
TEXT ·differF32(SB), NOSPLIT, $0-32
	HEAD(VBROADCASTSS)
	VBROADCASTSS 8(DX), Y14
	DIFFERENCES(VSUBPS, VCMPPS, VPSUBD)

// func differF64(x unsafe.Pointer, n int, arg *scan, y unsafe.Pointer)
TEXT ·differF64(SB), NOSPLIT, $0-32
	HEAD(VBROADCASTSD)
	VBROADCASTSD 8(DX), Y14
	DIFFERENCES(VSUBPD, VCMPPD, VPSUBQ)

// func sumI64(x unsafe.Pointer, n int, arg *scan)
TEXT ·sumI64(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	VPCMPEQQ Y14, Y14, Y14
	VPSLLQ   $63, Y14, Y13 // makes signed numbers unsigned ones in the same order
	VPSRLQ   $32, Y14, Y14
	VPXOR    Y8, Y8, Y8
	VPXOR    Y9, Y9, Y9
	VPXOR    Y10, Y10, Y10
	VPXOR    Y11, Y11, Y11

loop:
	LOAD
	HALVES(Y0, Y8, Y10)
	HALVES(Y1, Y9, Y11)
	HALVES(Y2, Y8, Y10)
	HALVES(Y3, Y9, Y11)
	NEXT
	VPADDQ  Y9, Y8, Y8
	VPADDQ  Y11, Y10, Y10
	VMOVDQU Y8, 16(DX)
	VMOVDQU Y10, 48(DX)
	VZEROUPPER
	RET

// func sumI32(x unsafe.Pointer, n int, arg *scan)
TEXT ·sumI32(SB), NOSPLIT, $0-24
	HEAD(VBROADCASTSD)
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9

loop:
	VPMOVSXDQ 0(SI), Y0
	VPMOVSXDQ 16(SI), Y1
	VPMOVSXDQ 32(SI), Y2
	VPMOVSXDQ 48(SI), Y3
	VPADDQ    Y0, Y8, Y8
	VPADDQ    Y1, Y9, Y9
	VPADDQ    Y2, Y8, Y8
	VPADDQ    Y3, Y9, Y9
	VPMOVSXDQ 64(SI), Y0
	VPMOVSXDQ 80(SI), Y1
	VPMOVSXDQ 96(SI), Y2
	VPMOVSXDQ 112(SI), Y3
	VPADDQ    Y0, Y8, Y8
	VPADDQ    Y1, Y9, Y9
	VPADDQ    Y2, Y8, Y8
	VPADDQ    Y3, Y9, Y9
	NEXT
	VPADDQ    Y9, Y8, Y8
	VMOVDQU   Y8, 16(DX)
	VZEROUPPER
	RET
