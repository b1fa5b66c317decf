#include "textflag.h"

// The functions of exact_sums_amd64.s with one slice less, for values whose sizes are similar.

#include "exact_sums_amd64.h"

// TWO adds x in two slices.
#define TWO(x, up, low, s, q) \
	FIRST(x, up, s, q) \
	VADDPD x, low, low

// func light64AVX512(x *float64, n int, s *sums)
TEXT ·light64AVX512(SB), NOSPLIT, $16-24
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         s+16(FP), DX
	CLEAR
	VBROADCASTSD 0(DX), Z12
	VPBROADCASTQ 48(DX), Z14
	FILL(Z12, Z0, Z1, Z2, Z3)
	ZERO(Z4, Z5, Z6, Z7)

loop:
	VPANDQ 0(SI), Z14, Z16
	VPANDQ 64(SI), Z14, Z19
	VPANDQ 128(SI), Z14, Z22
	VPANDQ 192(SI), Z14, Z25
	TWO(Z16, Z0, Z4, Z17, Z18)
	TWO(Z19, Z1, Z5, Z20, Z21)
	TWO(Z22, Z2, Z6, Z23, Z24)
	TWO(Z25, Z3, Z7, Z26, Z27)
	ADDQ   $256, SI
	SUBQ   $32, CX
	JNZ    loop

	LESS(Z12, Z0, Z1, Z2, Z3)
	ADD4(Z0, Z1, Z2, Z3)
	ADD4(Z4, Z5, Z6, Z7)
	FOLD(Z0, Y0, X0, 0)
	FOLD(Z4, Y4, X4, 1)
	TELL

// PRODUCT32 adds a product of two numbers of 24 bits, which float64 holds, in two slices.
#define PRODUCT32(x, y, up, low, s, q) \
	VMOVAPD            up, s      \
	VFMADD231PD.RN_SAE x, y, s    \
	VSUBPD             up, s, q   \
	VMOVAPD            s, up      \
	VFMSUB213PD        q, y, x    \
	VADDPD             x, low, low

// func lightProducts32AVX512(x, y *float32, n int, s *sums)
TEXT ·lightProducts32AVX512(SB), NOSPLIT, $16-32
	MOVQ         x+0(FP), SI
	MOVQ         y+8(FP), DI
	MOVQ         n+16(FP), CX
	MOVQ         s+24(FP), DX
	CLEAR
	VBROADCASTSD 0(DX), Z12
	FILL(Z12, Z0, Z1, Z2, Z3)
	ZERO(Z4, Z5, Z6, Z7)

loop:
	PAIRS32
	PRODUCT32(Z14, Z15, Z0, Z4, Z16, Z17)
	PRODUCT32(Z18, Z19, Z1, Z5, Z20, Z21)
	PRODUCT32(Z22, Z23, Z2, Z6, Z24, Z25)
	PRODUCT32(Z26, Z27, Z3, Z7, Z28, Z29)
	ADDQ      $128, SI
	ADDQ      $128, DI
	SUBQ      $32, CX
	JNZ       loop

	LESS(Z12, Z0, Z1, Z2, Z3)
	ADD4(Z0, Z1, Z2, Z3)
	ADD4(Z4, Z5, Z6, Z7)
	FOLD(Z0, Y0, X0, 0)
	FOLD(Z4, Y4, X4, 1)
	TELL

// func lightProducts64AVX512(x, y *float64, n int, s *sums)
TEXT ·lightProducts64AVX512(SB), NOSPLIT, $16-32
	MOVQ         x+0(FP), SI
	MOVQ         y+8(FP), DI
	MOVQ         n+16(FP), CX
	MOVQ         s+24(FP), DX
	CLEAR
	VBROADCASTSD 0(DX), Z12
	VBROADCASTSD 24(DX), Z13
	VMOVAPD      Z12, Z0
	VMOVAPD      Z12, Z1
	VMOVAPD      Z13, Z2
	VMOVAPD      Z13, Z3
	ZERO(Z4, Z5, Z6, Z7)

loop:
	VMOVUPD       0(SI), Z16
	VMOVUPD       0(DI), Z17
	VMOVUPD       64(SI), Z18
	VMOVUPD       64(DI), Z19
	VMULPD.RN_SAE Z16, Z17, Z20
	VMULPD.RN_SAE Z18, Z19, Z21
	VFMSUB213PD   Z20, Z17, Z16     // what the rounding lost
	VFMSUB213PD   Z21, Z19, Z18
	TWO(Z20, Z0, Z4, Z22, Z23)
	TWO(Z21, Z1, Z5, Z24, Z25)
	TWO(Z16, Z2, Z6, Z26, Z27)
	TWO(Z18, Z3, Z7, Z28, Z29)
	ADDQ          $128, SI
	ADDQ          $128, DI
	SUBQ          $16, CX
	JNZ           loop

	VSUBPD Z12, Z0, Z0
	VSUBPD Z12, Z1, Z1
	VSUBPD Z13, Z2, Z2
	VSUBPD Z13, Z3, Z3
	VADDPD Z1, Z0, Z0
	VADDPD Z3, Z2, Z2
	VADDPD Z5, Z4, Z4
	VADDPD Z7, Z6, Z6
	FOLD(Z0, Y0, X0, 0)
	FOLD(Z2, Y2, X2, 1)
	FOLD(Z4, Y4, X4, 2)
	FOLD(Z6, Y6, X6, 3)
	TELL
