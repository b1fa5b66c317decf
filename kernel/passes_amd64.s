#include "textflag.h"
#include "passes_amd64.h"

DATA ·absBits32<>+0(SB)/4, $0x7fffffff
GLOBL ·absBits32<>(SB), RODATA|NOPTR, $4
DATA ·absBits64<>+0(SB)/8, $0x7fffffffffffffff
GLOBL ·absBits64<>(SB), RODATA|NOPTR, $8
DATA ·signBit32<>+0(SB)/4, $0x80000000
GLOBL ·signBit32<>(SB), RODATA|NOPTR, $4
DATA ·signBit64<>+0(SB)/8, $0x8000000000000000
GLOBL ·signBit64<>(SB), RODATA|NOPTR, $8

// ONE makes a pass of op(x), which may use Y14 and Y15.
#define ONE(op) \
	MOVQ    n+16(FP), CX   \
	MOVQ    dst+0(FP), DI  \
	MOVQ    x+8(FP), SI    \
loop:                      \
	VMOVUPS 0(SI), Y0      \
	VMOVUPS 32(SI), Y1     \
	VMOVUPS 64(SI), Y2     \
	VMOVUPS 96(SI), Y3     \
	op(Y0)                 \
	op(Y1)                 \
	op(Y2)                 \
	op(Y3)                 \
	VMOVUPS Y0, 0(DI)      \
	VMOVUPS Y1, 32(DI)     \
	VMOVUPS Y2, 64(DI)     \
	VMOVUPS Y3, 96(DI)     \
	ADDQ    $128, SI       \
	ADDQ    $128, DI       \
	SUBQ    $128, CX       \
	JNZ     loop           \
	VZEROUPPER             \
	RET

#define ADDPS(x, y, t, u) VADDPS y, x, x
// func plusF32(dst, x, y unsafe.Pointer, n int)
TEXT ·plusF32(SB), NOSPLIT, $0-32
	TWO(ADDPS)

#define SUBPS(x, y, t, u) VSUBPS y, x, x
// func minusF32(dst, x, y unsafe.Pointer, n int)
TEXT ·minusF32(SB), NOSPLIT, $0-32
	TWO(SUBPS)

#define MULPS(x, y, t, u) VMULPS y, x, x
// func timesF32(dst, x, y unsafe.Pointer, n int)
TEXT ·timesF32(SB), NOSPLIT, $0-32
	TWO(MULPS)

#define DIVPS(x, y, t, u) VDIVPS y, x, x
// func overF32(dst, x, y unsafe.Pointer, n int)
TEXT ·overF32(SB), NOSPLIT, $0-32
	TWO(DIVPS)

// Both orders of the operands differ where both are zero, and where one is no number, which the sum of both is too.
#define MINPS(x, y, t, u) \
	VMINPS     x, y, t    \
	VMINPS     y, x, u    \
	VORPS t, u, t    \
	VCMPPS    $3, y, x, u \
	VADDPS    y, x, x    \
	VBLENDVPS u, x, t, x
// func leastF32(dst, x, y unsafe.Pointer, n int)
TEXT ·leastF32(SB), NOSPLIT, $0-32
	TWO(MINPS)

#define MAXPS(x, y, t, u) \
	VMAXPS     x, y, t    \
	VMAXPS     y, x, u    \
	VANDPS t, u, t    \
	VCMPPS    $3, y, x, u \
	VADDPS    y, x, x    \
	VBLENDVPS u, x, t, x
// func mostF32(dst, x, y unsafe.Pointer, n int)
TEXT ·mostF32(SB), NOSPLIT, $0-32
	TWO(MAXPS)

#define ADDPD(x, y, t, u) VADDPD y, x, x
// func plusF64(dst, x, y unsafe.Pointer, n int)
TEXT ·plusF64(SB), NOSPLIT, $0-32
	TWO(ADDPD)

#define SUBPD(x, y, t, u) VSUBPD y, x, x
// func minusF64(dst, x, y unsafe.Pointer, n int)
TEXT ·minusF64(SB), NOSPLIT, $0-32
	TWO(SUBPD)

#define MULPD(x, y, t, u) VMULPD y, x, x
// func timesF64(dst, x, y unsafe.Pointer, n int)
TEXT ·timesF64(SB), NOSPLIT, $0-32
	TWO(MULPD)

#define DIVPD(x, y, t, u) VDIVPD y, x, x
// func overF64(dst, x, y unsafe.Pointer, n int)
TEXT ·overF64(SB), NOSPLIT, $0-32
	TWO(DIVPD)

// Both orders of the operands differ where both are zero, and where one is no number, which the sum of both is too.
#define MINPD(x, y, t, u) \
	VMINPD     x, y, t    \
	VMINPD     y, x, u    \
	VORPD t, u, t    \
	VCMPPD    $3, y, x, u \
	VADDPD    y, x, x    \
	VBLENDVPD u, x, t, x
// func leastF64(dst, x, y unsafe.Pointer, n int)
TEXT ·leastF64(SB), NOSPLIT, $0-32
	TWO(MINPD)

#define MAXPD(x, y, t, u) \
	VMAXPD     x, y, t    \
	VMAXPD     y, x, u    \
	VANDPD t, u, t    \
	VCMPPD    $3, y, x, u \
	VADDPD    y, x, x    \
	VBLENDVPD u, x, t, x
// func mostF64(dst, x, y unsafe.Pointer, n int)
TEXT ·mostF64(SB), NOSPLIT, $0-32
	TWO(MAXPD)

#define WADDD(x, y, t, u) VPADDD y, x, x
// func plusI32(dst, x, y unsafe.Pointer, n int)
TEXT ·plusI32(SB), NOSPLIT, $0-32
	TWO(WADDD)

#define WADDQ(x, y, t, u) VPADDQ y, x, x
// func plusI64(dst, x, y unsafe.Pointer, n int)
TEXT ·plusI64(SB), NOSPLIT, $0-32
	TWO(WADDQ)

#define WSUBD(x, y, t, u) VPSUBD y, x, x
// func minusI32(dst, x, y unsafe.Pointer, n int)
TEXT ·minusI32(SB), NOSPLIT, $0-32
	TWO(WSUBD)

#define WSUBQ(x, y, t, u) VPSUBQ y, x, x
// func minusI64(dst, x, y unsafe.Pointer, n int)
TEXT ·minusI64(SB), NOSPLIT, $0-32
	TWO(WSUBQ)

#define WMULLD(x, y, t, u) VPMULLD y, x, x
// func timesI32(dst, x, y unsafe.Pointer, n int)
TEXT ·timesI32(SB), NOSPLIT, $0-32
	TWO(WMULLD)

#define WMINSD(x, y, t, u) VPMINSD y, x, x
// func leastI32(dst, x, y unsafe.Pointer, n int)
TEXT ·leastI32(SB), NOSPLIT, $0-32
	TWO(WMINSD)

#define WMAXSD(x, y, t, u) VPMAXSD y, x, x
// func mostI32(dst, x, y unsafe.Pointer, n int)
TEXT ·mostI32(SB), NOSPLIT, $0-32
	TWO(WMAXSD)

#define MASK(x)  VANDPS Y15, x, x
#define FLIP(x)  VXORPS Y15, x, x
#define ROOT32(x) VSQRTPS x, x
#define ROOT64(x) VSQRTPD x, x
#define ABSI32(x) VPABSD x, x
#define NEGI32(x) VPSUBD x, Y15, x
#define NEGI64(x) VPSUBQ x, Y15, x

// func absF32(dst, x unsafe.Pointer, n int)
TEXT ·absF32(SB), NOSPLIT, $0-24
	VBROADCASTSS ·absBits32<>(SB), Y15
	ONE(MASK)

// func absF64(dst, x unsafe.Pointer, n int)
TEXT ·absF64(SB), NOSPLIT, $0-24
	VBROADCASTSD ·absBits64<>(SB), Y15
	ONE(MASK)

// func negF32(dst, x unsafe.Pointer, n int)
TEXT ·negF32(SB), NOSPLIT, $0-24
	VBROADCASTSS ·signBit32<>(SB), Y15
	ONE(FLIP)

// func negF64(dst, x unsafe.Pointer, n int)
TEXT ·negF64(SB), NOSPLIT, $0-24
	VBROADCASTSD ·signBit64<>(SB), Y15
	ONE(FLIP)

// func sqrtF32(dst, x unsafe.Pointer, n int)
TEXT ·sqrtF32(SB), NOSPLIT, $0-24
	ONE(ROOT32)

// func sqrtF64(dst, x unsafe.Pointer, n int)
TEXT ·sqrtF64(SB), NOSPLIT, $0-24
	ONE(ROOT64)

// func absI32(dst, x unsafe.Pointer, n int)
TEXT ·absI32(SB), NOSPLIT, $0-24
	ONE(ABSI32)

// func negI32(dst, x unsafe.Pointer, n int)
TEXT ·negI32(SB), NOSPLIT, $0-24
	VPXOR Y15, Y15, Y15
	ONE(NEGI32)

// func negI64(dst, x unsafe.Pointer, n int)
TEXT ·negI64(SB), NOSPLIT, $0-24
	VPXOR Y15, Y15, Y15
	ONE(NEGI64)

#define AFFINE32(x) \
	VMULPS Y14, x, x \
	VADDPS Y15, x, x
#define AFFINE64(x) \
	VMULPD Y14, x, x \
	VADDPD Y15, x, x

// func affineF32(dst, x unsafe.Pointer, n int, a, b float32)
TEXT ·affineF32(SB), NOSPLIT, $0-32
	VBROADCASTSS a+24(FP), Y14
	VBROADCASTSS b+28(FP), Y15
	ONE(AFFINE32)

// func affineF64(dst, x unsafe.Pointer, n int, a, b float64)
TEXT ·affineF64(SB), NOSPLIT, $0-40
	VBROADCASTSD a+24(FP), Y14
	VBROADCASTSD b+32(FP), Y15
	ONE(AFFINE64)

// func fillAVX2(dst unsafe.Pointer, n int, pattern *[32]byte, past bool)
TEXT ·fillAVX2(SB), NOSPLIT, $0-25
	MOVQ    dst+0(FP), DI
	MOVQ    n+8(FP), CX
	MOVQ    pattern+16(FP), SI
	MOVBLZX past+24(FP), AX
	VMOVUPS (SI), Y0
	TESTL   AX, AX
	JNZ     past

loop:
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y0, 32(DI)
	VMOVUPS Y0, 64(DI)
	VMOVUPS Y0, 96(DI)
	ADDQ    $128, DI
	SUBQ    $128, CX
	JNZ     loop
	VZEROUPPER
	RET

past:
	VMOVNTPS Y0, 0(DI)
	VMOVNTPS Y0, 32(DI)
	VMOVNTPS Y0, 64(DI)
	VMOVNTPS Y0, 96(DI)
	ADDQ     $128, DI
	SUBQ     $128, CX
	JNZ      past
	SFENCE
	VZEROUPPER
	RET
