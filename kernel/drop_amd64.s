#include "textflag.h"

// The multiples of golden that eight numbers are ahead of a state.
DATA ·ahead<>+0(SB)/8, $0x9e3779b97f4a7c15
DATA ·ahead<>+8(SB)/8, $0x3c6ef372fe94f82a
DATA ·ahead<>+16(SB)/8, $0xdaa66d2c7ddf743f
DATA ·ahead<>+24(SB)/8, $0x78dde6e5fd29f054
DATA ·ahead<>+32(SB)/8, $0x1715609f7c746c69
DATA ·ahead<>+40(SB)/8, $0xb54cda58fbbee87e
DATA ·ahead<>+48(SB)/8, $0x538454127b096493
DATA ·ahead<>+56(SB)/8, $0xf1bbcdcbfa53e0a8
GLOBL ·ahead<>(SB), RODATA|NOPTR, $64

// func drop512(v *float32, n int, state SplitMix, limit uint32, scale float32)
TEXT ·drop512(SB), NOSPLIT, $0-32
	MOVQ         v+0(FP), DI
	MOVQ         n+8(FP), CX
	VPBROADCASTQ state+16(FP), Z0
	VPADDQ       ·ahead<>(SB), Z0, Z0
	VPBROADCASTQ ·ahead<>+56(SB), Z1
	MOVQ         $0xbf58476d1ce4e5b9, AX
	VPBROADCASTQ AX, Z2
	MOVQ         $0x94d049bb133111eb, AX
	VPBROADCASTQ AX, Z3
	MOVL         limit+24(FP), AX
	VPBROADCASTD AX, Y4
	VBROADCASTSS scale+28(FP), Y5

eight:
	VPSRLQ   $30, Z0, Z6
	VPXORQ   Z0, Z6, Z6
	VPMULLQ  Z2, Z6, Z6
	VPSRLQ   $27, Z6, Z7
	VPXORQ   Z7, Z6, Z6
	VPMULLQ  Z3, Z6, Z6
	VPSRLQ   $31, Z6, Z7
	VPXORQ   Z7, Z6, Z6
	VPSRLQ   $32, Z6, Z6
	VPMOVQD  Z6, Y6
	VPCMPUD  $5, Y4, Y6, K1          // not below the limit
	VMULPS.Z (DI), Y5, K1, Y7
	VMOVUPS  Y7, (DI)
	VPADDQ   Z1, Z0, Z0
	ADDQ     $32, DI
	SUBQ     $8, CX
	JNZ      eight
	VZEROUPPER
	RET
