#include "textflag.h"
#include "passes_amd64.h"

#define RELU(x, y, t, u) \
	VXORPS t, t, t          \
	VCMPPS $0x16, t, x, t   \
	VANDPS t, x, x
// func reluAVX2(dst, x, y *float32, n int)
TEXT ·reluAVX2(SB), NOSPLIT, $0-32
	TWO(RELU)

#define RELUGRAD(x, y, t, u) \
	VXORPS t, t, t          \
	VCMPPS $0x1e, t, x, t   \
	VANDPS t, y, x
// func reluGradAVX2(dst, x, y *float32, n int)
TEXT ·reluGradAVX2(SB), NOSPLIT, $0-32
	TWO(RELUGRAD)

#define ONE15 \
	MOVL         $0x3f800000, AX \
	VMOVD        AX, X15         \
	VBROADCASTSS X15, Y15

#define SIGMOIDGRAD(x, y, t, u) \
	VSUBPS x, Y15, t \
	VMULPS x, y, x   \
	VMULPS t, x, x
// func sigmoidGradAVX2(dst, x, y *float32, n int)
TEXT ·sigmoidGradAVX2(SB), NOSPLIT, $0-32
	ONE15
	TWO(SIGMOIDGRAD)

#define TANHGRAD(x, y, t, u) \
	VSUBPS x, Y15, t \
	VADDPS x, Y15, u \
	VMULPS t, y, x   \
	VMULPS u, x, x
// func tanhGradAVX2(dst, x, y *float32, n int)
TEXT ·tanhGradAVX2(SB), NOSPLIT, $0-32
	ONE15
	TWO(TANHGRAD)

// func mulAddAVX2(dst, x, y *float32, n int)
TEXT ·mulAddAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX

loop:
	VMOVUPS 0(SI), Y0
	VMOVUPS 32(SI), Y1
	VMULPS  0(DX), Y0, Y0
	VMULPS  32(DX), Y1, Y1
	VADDPS  0(DI), Y0, Y0
	VADDPS  32(DI), Y1, Y1
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	ADDQ    $64, SI
	ADDQ    $64, DX
	ADDQ    $64, DI
	SUBQ    $64, CX
	JNZ     loop
	VZEROUPPER
	RET

// The curves compute in float64, as exp32 does: four numbers at a time, or eight.

DATA ·curve<>+0(SB)/8, $0x4070000000000000 // most
DATA ·curve<>+8(SB)/8, $0xc070000000000000 // least
DATA ·curve<>+16(SB)/8, $0x3ff71547652b82fe // log2e
DATA ·curve<>+24(SB)/8, $0x4338000000000000 // nearest
DATA ·curve<>+32(SB)/8, $0x3fe62e42fefa39ef // ln2
DATA ·curve<>+40(SB)/8, $0x3efa01a01a01a01a // c8
DATA ·curve<>+48(SB)/8, $0x3f2a01a01a01a01a // c7
DATA ·curve<>+56(SB)/8, $0x3f56c16c16c16c17 // c6
DATA ·curve<>+64(SB)/8, $0x3f81111111111111 // c5
DATA ·curve<>+72(SB)/8, $0x3fa5555555555555 // c4
DATA ·curve<>+80(SB)/8, $0x3fc5555555555555 // c3
DATA ·curve<>+88(SB)/8, $0x3fe0000000000000 // c2
DATA ·curve<>+96(SB)/8, $0x3ff0000000000000 // one
DATA ·curve<>+104(SB)/8, $0x4000000000000000 // two
GLOBL ·curve<>(SB), RODATA|NOPTR, $112


// SPREAD puts a constant on the stack, once for each lane of v, and CONST is where it stands.
#define SPREAD(i, bytes, v) \
	VBROADCASTSD ·curve<>+(8*i)(SB), v \
	VMOVUPS      v, (bytes*i)(SP)
#define CONST(i, bytes) (bytes*i)(SP)

// CURVE makes four numbers, or eight, of a pass at a time: first changes v0, for which EXP makes v0 2^k, and v1 what exp(v0) has
// more than it, as exp32 does; last makes the result v2. The cuts at v4 and v5 let a NaN pass.
#define CURVE(bytes, v0, v1, v2, v3, v4, v5, first, last) \
	MOVQ   dst+0(FP), DI    \
	MOVQ   x+8(FP), SI      \
	MOVQ   n+24(FP), CX     \
	SPREAD(2, bytes, v0)    \
	SPREAD(3, bytes, v0)    \
	SPREAD(4, bytes, v0)    \
	SPREAD(5, bytes, v0)    \
	SPREAD(6, bytes, v0)    \
	SPREAD(7, bytes, v0)    \
	SPREAD(8, bytes, v0)    \
	SPREAD(9, bytes, v0)    \
	SPREAD(10, bytes, v0)   \
	SPREAD(11, bytes, v0)   \
	SPREAD(12, bytes, v0)   \
	SPREAD(13, bytes, v0)   \
	VBROADCASTSD ·curve<>+0(SB), v4 \
	VBROADCASTSD ·curve<>+8(SB), v5 \
loop:                           \
	VCVTPS2PD (SI), v0      \
	first(v0, v1)           \
	VMINPD v0, v4, v0       \
	VMAXPD v0, v5, v0       \
	VMULPD CONST(2, bytes), v0, v2  \
	VADDPD CONST(3, bytes), v2, v2  \
	VSUBPD CONST(3, bytes), v2, v3  \
	VMULPD CONST(4, bytes), v3, v3  \
	VSUBPD v3, v0, v3       \
	VMULPD CONST(5, bytes), v3, v1  \
	VADDPD CONST(6, bytes), v1, v1  \
	VMULPD v3, v1, v1       \
	VADDPD CONST(7, bytes), v1, v1  \
	VMULPD v3, v1, v1       \
	VADDPD CONST(8, bytes), v1, v1  \
	VMULPD v3, v1, v1       \
	VADDPD CONST(9, bytes), v1, v1  \
	VMULPD v3, v1, v1       \
	VADDPD CONST(10, bytes), v1, v1 \
	VMULPD v3, v1, v1       \
	VADDPD CONST(11, bytes), v1, v1 \
	VMULPD v3, v1, v1       \
	VADDPD CONST(12, bytes), v1, v1 \
	VMULPD v3, v1, v1       \
	VPSLLQ $52, v2, v2      \
	VPADDQ CONST(12, bytes), v2, v0 \
	last(bytes, v0, v1, v2) \
	ADDQ   $(bytes/2), SI   \
	ADDQ   $(bytes/2), DI   \
	SUBQ   $(bytes/2), CX   \
	JNZ    loop             \
	VZEROUPPER              \
	RET

#define MINUS(v0, v1) \
	VXORPD v1, v1, v1 \
	VSUBPD v0, v1, v0
#define TWICE(v0, v1) VADDPD v0, v0, v0

// STEP is 1/(1 + (2^k + 2^k v1)), TANH is m/(m+2) with m = (2^k - 1) + 2^k v1.
#define STEP(bytes, v0, v1, v2) \
	VMULPD  v0, v1, v1 \
	VADDPD  v1, v0, v1 \
	VMOVUPD CONST(12, bytes), v2 \
	VADDPD  v2, v1, v1 \
	VDIVPD  v1, v2, v2
#define TANH(bytes, v0, v1, v2) \
	VMULPD v0, v1, v1 \
	VSUBPD CONST(12, bytes), v0, v0 \
	VADDPD v1, v0, v0 \
	VADDPD CONST(13, bytes), v0, v1 \
	VDIVPD v1, v0, v2

#define STEP256(bytes, v0, v1, v2) \
	STEP(bytes, v0, v1, v2) \
	VCVTPD2PSY v2, X2       \
	VMOVUPS    X2, (DI)
#define STEP512(bytes, v0, v1, v2) \
	STEP(bytes, v0, v1, v2) \
	VCVTPD2PS  v2, Y2       \
	VMOVUPS    Y2, (DI)
#define TANH256(bytes, v0, v1, v2) \
	TANH(bytes, v0, v1, v2) \
	VCVTPD2PSY v2, X2       \
	VMOVUPS    X2, (DI)
#define TANH512(bytes, v0, v1, v2) \
	TANH(bytes, v0, v1, v2) \
	VCVTPD2PS  v2, Y2       \
	VMOVUPS    Y2, (DI)

// func sigmoidAVX2(dst, x, y *float32, n int)
TEXT ·sigmoidAVX2(SB), NOSPLIT, $448-32
	CURVE(32, Y0, Y1, Y2, Y3, Y4, Y5, MINUS, STEP256)

// func sigmoid512(dst, x, y *float32, n int)
TEXT ·sigmoid512(SB), 0, $896-32
	CURVE(64, Z0, Z1, Z2, Z3, Z4, Z5, MINUS, STEP512)

// func tanhAVX2(dst, x, y *float32, n int)
TEXT ·tanhAVX2(SB), NOSPLIT, $448-32
	CURVE(32, Y0, Y1, Y2, Y3, Y4, Y5, TWICE, TANH256)

// func tanh512(dst, x, y *float32, n int)
TEXT ·tanh512(SB), 0, $896-32
	CURVE(64, Z0, Z1, Z2, Z3, Z4, Z5, TWICE, TANH512)
