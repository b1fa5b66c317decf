#include "textflag.h"

#include "exact_sums_amd64.h"

// FUSED is FIRST on the units for products, which have less to do: one is in Z31.
#define FUSED(x, up, s, q) \
	VMOVAPD            up, s     \
	VFMADD231PD.RN_SAE x, Z31, s \
	VSUBPD             up, s, q  \
	VMOVAPD            s, up     \
	VFNMADD231PD       q, Z31, x

// SLICE adds x in three slices.
#define SLICE(x, up, mid, low, s, q) \
	FIRST(x, up, s, q)  \
	FUSED(x, mid, s, q) \
	VADDPD x, low, low

DATA ·one<>+0(SB)/8, $1.0
GLOBL ·one<>(SB), RODATA|NOPTR, $8

// func sum64AVX512(x *float64, n int, s *sums)
TEXT ·sum64AVX512(SB), NOSPLIT, $16-24
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         s+16(FP), DX
	CLEAR
	VBROADCASTSD 0(DX), Z12
	VBROADCASTSD 8(DX), Z13
	VPBROADCASTQ 48(DX), Z14
	VBROADCASTSD ·one<>(SB), Z31
	FILL(Z12, Z0, Z1, Z2, Z3)
	FILL(Z13, Z4, Z5, Z6, Z7)
	ZERO(Z8, Z9, Z10, Z11)

loop:
	VPANDQ 0(SI), Z14, Z16
	VPANDQ 64(SI), Z14, Z19
	VPANDQ 128(SI), Z14, Z22
	VPANDQ 192(SI), Z14, Z25
	SLICE(Z16, Z0, Z4, Z8, Z17, Z18)
	SLICE(Z19, Z1, Z5, Z9, Z20, Z21)
	SLICE(Z22, Z2, Z6, Z10, Z23, Z24)
	SLICE(Z25, Z3, Z7, Z11, Z26, Z27)
	ADDQ   $256, SI
	SUBQ   $32, CX
	JNZ    loop

	LESS(Z12, Z0, Z1, Z2, Z3)
	LESS(Z13, Z4, Z5, Z6, Z7)
	ADD4(Z0, Z1, Z2, Z3)
	ADD4(Z4, Z5, Z6, Z7)
	ADD4(Z8, Z9, Z10, Z11)
	FOLD(Z0, Y0, X0, 0)
	FOLD(Z4, Y4, X4, 1)
	FOLD(Z8, Y8, X8, 2)
	TELL

// func sum32AVX512(x *float32, n int, s *sums)
TEXT ·sum32AVX512(SB), NOSPLIT, $16-24
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         s+16(FP), DX
	CLEAR
	VPBROADCASTQ 48(DX), Z14
	ZERO(Z0, Z1, Z2, Z3)

	CMPQ         48(DX), $-1
	JEQ          bare

loop:
	VCVTPS2PD 0(SI), Z16
	VCVTPS2PD 32(SI), Z17
	VCVTPS2PD 64(SI), Z18
	VCVTPS2PD 96(SI), Z19
	VPANDQ    Z16, Z14, Z16
	VPANDQ    Z17, Z14, Z17
	VPANDQ    Z18, Z14, Z18
	VPANDQ    Z19, Z14, Z19
	VADDPD    Z16, Z0, Z0
	VADDPD    Z17, Z1, Z1
	VADDPD    Z18, Z2, Z2
	VADDPD    Z19, Z3, Z3
	ADDQ      $128, SI
	SUBQ      $32, CX
	JNZ       loop
	JMP       fold

bare:
	VCVTPS2PD 0(SI), Z16
	VCVTPS2PD 32(SI), Z17
	VCVTPS2PD 64(SI), Z18
	VCVTPS2PD 96(SI), Z19
	VADDPD    Z16, Z0, Z0
	VADDPD    Z17, Z1, Z1
	VADDPD    Z18, Z2, Z2
	VADDPD    Z19, Z3, Z3
	ADDQ      $128, SI
	SUBQ      $32, CX
	JNZ       bare

fold:
	ADD4(Z0, Z1, Z2, Z3)
	FOLD(Z0, Y0, X0, 0)
	TELL

// PRODUCT32 adds a product of two numbers of 24 bits, which float64 holds, in three slices.
#define PRODUCT32(x, y, up, mid, low, s, q) \
	VMOVAPD            up, s      \
	VFMADD231PD.RN_SAE x, y, s    \
	VSUBPD             up, s, q   \
	VMOVAPD            s, up      \
	VFMSUB213PD        q, y, x    \
	FUSED(x, mid, s, q)           \
	VADDPD             x, low, low

// func products32AVX512(x, y *float32, n int, s *sums)
TEXT ·products32AVX512(SB), NOSPLIT, $16-32
	MOVQ         x+0(FP), SI
	MOVQ         y+8(FP), DI
	MOVQ         n+16(FP), CX
	MOVQ         s+24(FP), DX
	CLEAR
	VBROADCASTSD 0(DX), Z12
	VBROADCASTSD 8(DX), Z13
	VBROADCASTSD ·one<>(SB), Z31
	FILL(Z12, Z0, Z1, Z2, Z3)
	FILL(Z13, Z4, Z5, Z6, Z7)
	ZERO(Z8, Z9, Z10, Z11)

loop:
	PAIRS32
	PRODUCT32(Z14, Z15, Z0, Z4, Z8, Z16, Z17)
	PRODUCT32(Z18, Z19, Z1, Z5, Z9, Z20, Z21)
	PRODUCT32(Z22, Z23, Z2, Z6, Z10, Z24, Z25)
	PRODUCT32(Z26, Z27, Z3, Z7, Z11, Z28, Z29)
	ADDQ      $128, SI
	ADDQ      $128, DI
	SUBQ      $32, CX
	JNZ       loop

	LESS(Z12, Z0, Z1, Z2, Z3)
	LESS(Z13, Z4, Z5, Z6, Z7)
	ADD4(Z0, Z1, Z2, Z3)
	ADD4(Z4, Z5, Z6, Z7)
	ADD4(Z8, Z9, Z10, Z11)
	FOLD(Z0, Y0, X0, 0)
	FOLD(Z4, Y4, X4, 1)
	FOLD(Z8, Y8, X8, 2)
	TELL

// func products64AVX512(x, y *float64, n int, s *sums)
TEXT ·products64AVX512(SB), NOSPLIT, $16-32
	MOVQ         x+0(FP), SI
	MOVQ         y+8(FP), DI
	MOVQ         n+16(FP), CX
	MOVQ         s+24(FP), DX
	CLEAR
	VBROADCASTSD 0(DX), Z12
	VBROADCASTSD 8(DX), Z13
	VBROADCASTSD 24(DX), Z14
	VBROADCASTSD 32(DX), Z30
	VBROADCASTSD ·one<>(SB), Z31
	VMOVAPD      Z12, Z0
	VMOVAPD      Z12, Z1
	VMOVAPD      Z13, Z2
	VMOVAPD      Z13, Z3
	VMOVAPD      Z14, Z6
	VMOVAPD      Z14, Z7
	VMOVAPD      Z30, Z8
	VMOVAPD      Z30, Z9
	ZERO(Z4, Z5, Z10, Z11)

loop:
	VMOVUPD       0(SI), Z16
	VMOVUPD       0(DI), Z17
	VMOVUPD       64(SI), Z18
	VMOVUPD       64(DI), Z19
	VMULPD.RN_SAE Z16, Z17, Z20
	VMULPD.RN_SAE Z18, Z19, Z21
	VFMSUB213PD   Z20, Z17, Z16     // what the rounding lost
	VFMSUB213PD   Z21, Z19, Z18
	SLICE(Z20, Z0, Z2, Z4, Z22, Z23)
	SLICE(Z21, Z1, Z3, Z5, Z24, Z25)
	SLICE(Z16, Z6, Z8, Z10, Z26, Z27)
	SLICE(Z18, Z7, Z9, Z11, Z28, Z29)
	ADDQ          $128, SI
	ADDQ          $128, DI
	SUBQ          $16, CX
	JNZ           loop

	VSUBPD Z12, Z0, Z0
	VSUBPD Z12, Z1, Z1
	VSUBPD Z13, Z2, Z2
	VSUBPD Z13, Z3, Z3
	VSUBPD Z14, Z6, Z6
	VSUBPD Z14, Z7, Z7
	VSUBPD Z30, Z8, Z8
	VSUBPD Z30, Z9, Z9
	VADDPD Z1, Z0, Z0
	VADDPD Z3, Z2, Z2
	VADDPD Z5, Z4, Z4
	VADDPD Z7, Z6, Z6
	VADDPD Z9, Z8, Z8
	VADDPD Z11, Z10, Z10
	FOLD(Z0, Y0, X0, 0)
	FOLD(Z2, Y2, X2, 1)
	FOLD(Z4, Y4, X4, 2)
	FOLD(Z6, Y6, X6, 3)
	FOLD(Z8, Y8, X8, 4)
	FOLD(Z10, Y10, X10, 5)
	TELL

// func deep64AVX512(x *float64, n int, s *sums)
TEXT ·deep64AVX512(SB), NOSPLIT, $16-24
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         s+16(FP), DX
	CLEAR
	VBROADCASTSD 0(DX), Z10
	VBROADCASTSD 8(DX), Z11
	VBROADCASTSD 16(DX), Z12
	VBROADCASTSD 24(DX), Z13
	VPBROADCASTQ 48(DX), Z14
	VBROADCASTSD ·one<>(SB), Z31
	VMOVAPD      Z10, Z0
	VMOVAPD      Z11, Z1
	VMOVAPD      Z12, Z2
	VMOVAPD      Z13, Z3
	VPXORQ       Z4, Z4, Z4

loop:
	VPANDQ 0(SI), Z14, Z16
	FIRST(Z16, Z0, Z17, Z18)
	FUSED(Z16, Z1, Z19, Z20)
	FIRST(Z16, Z2, Z21, Z22)
	FUSED(Z16, Z3, Z23, Z24)
	VADDPD Z16, Z4, Z4
	ADDQ   $64, SI
	SUBQ   $8, CX
	JNZ    loop

	VSUBPD Z10, Z0, Z0
	VSUBPD Z11, Z1, Z1
	VSUBPD Z12, Z2, Z2
	VSUBPD Z13, Z3, Z3
	FOLD(Z0, Y0, X0, 0)
	FOLD(Z1, Y1, X1, 1)
	FOLD(Z2, Y2, X2, 2)
	FOLD(Z3, Y3, X3, 3)
	FOLD(Z4, Y4, X4, 4)
	TELL
