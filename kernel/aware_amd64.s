#include "textflag.h"

// PAIR finds the vectors of values i (R9) and j (R12): AX is v_i[f_j], R13 is v_j[f_i]; R10 is row i, R11 field i of the first row.
#define PAIR \
	MOVQ (BX)(R12*8), AX   \
	LEAQ (R10)(AX*4), AX   \
	MOVQ (SI)(R12*8), R13  \
	LEAQ (R11)(R13*4), R13 \
	MOVQ R8, R14

// FIRST finds row and field of value i.
#define FIRST \
	MOVQ (SI)(R9*8), R10   \
	LEAQ (DI)(R10*4), R10  \
	MOVQ (BX)(R9*8), R11   \
	LEAQ (DI)(R11*4), R11  \
	LEAQ 1(R9), R12

// func awareDotsAVX(v *float32, row, field *int, x *float32, values, n int, s *[4]float32)
TEXT ·awareDotsAVX(SB), NOSPLIT, $0-56
	MOVQ   v+0(FP), DI
	MOVQ   row+8(FP), SI
	MOVQ   field+16(FP), BX
	MOVQ   x+24(FP), DX
	MOVQ   values+32(FP), CX
	MOVQ   n+40(FP), R8
	VXORPS X0, X0, X0
	XORQ   R9, R9

i:
	FIRST
	CMPQ         R12, CX
	JGE          done
	VBROADCASTSS (DX)(R9*4), X4

j:
	PAIR
	VBROADCASTSS (DX)(R12*4), X5
	VMULPS       X4, X5, X5

numbers:
	VMOVUPS (AX), X1
	VMULPS  (R13), X1, X1
	VMULPS  X5, X1, X1
	VADDPS  X1, X0, X0
	ADDQ    $16, AX
	ADDQ    $16, R13
	SUBQ    $4, R14
	JG      numbers
	INCQ    R12
	CMPQ    R12, CX
	JLT     j
	INCQ    R9
	JMP     i

done:
	MOVQ    s+48(FP), AX
	VMOVUPS X0, (AX)
	RET

// func awareDotsGradAVX(dv, v *float32, row, field *int, x *float32, values, n int, slope float32)
//
// R15 is how far dv is from v.
TEXT ·awareDotsGradAVX(SB), NOSPLIT, $0-60
	MOVQ dv+0(FP), R15
	MOVQ v+8(FP), DI
	SUBQ DI, R15
	MOVQ row+16(FP), SI
	MOVQ field+24(FP), BX
	MOVQ x+32(FP), DX
	MOVQ values+40(FP), CX
	MOVQ n+48(FP), R8
	XORQ R9, R9

i:
	FIRST
	CMPQ         R12, CX
	JGE          done
	VBROADCASTSS slope+56(FP), X4
	VBROADCASTSS (DX)(R9*4), X5
	VMULPS       X5, X4, X4

j:
	PAIR
	VBROADCASTSS (DX)(R12*4), X5
	VMULPS       X4, X5, X5

numbers:
	VMOVUPS (AX), X1
	VMOVUPS (R13), X2
	VMULPS  X5, X2, X2
	VADDPS  (AX)(R15*1), X2, X2
	VMOVUPS X2, (AX)(R15*1)
	VMULPS  X5, X1, X1
	VADDPS  (R13)(R15*1), X1, X1
	VMOVUPS X1, (R13)(R15*1)
	ADDQ    $16, AX
	ADDQ    $16, R13
	SUBQ    $4, R14
	JG      numbers
	INCQ    R12
	CMPQ    R12, CX
	JLT     j
	INCQ    R9
	JMP     i

done:
	RET
