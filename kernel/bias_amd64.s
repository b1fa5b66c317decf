#include "textflag.h"

// func addRowAVX2(dst, row *float32, n, stride, rows int)
TEXT ·addRowAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ row+8(FP), SI
	MOVQ n+16(FP), R8
	MOVQ stride+24(FP), R9
	MOVQ rows+32(FP), CX

row:
	XORQ AX, AX

vector:
	VMOVUPS (SI)(AX*1), Y0
	VADDPS  (DI)(AX*1), Y0, Y0
	VMOVUPS Y0, (DI)(AX*1)
	ADDQ    $32, AX
	CMPQ    AX, R8
	JLT     vector
	ADDQ    R9, DI
	DECQ    CX
	JNZ     row
	VZEROUPPER
	RET

// func columnSumsAVX2(sum, a *float32, n, stride, rows int)
TEXT ·columnSumsAVX2(SB), NOSPLIT, $0-40
	MOVQ sum+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ n+16(FP), R8
	MOVQ stride+24(FP), R9

columns:
	MOVQ    SI, AX
	MOVQ    rows+32(FP), CX
	VMOVUPS 0(DI), Y0
	CMPQ    R8, $128
	JLT     row8
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3

row32:
	VADDPS  0(AX), Y0, Y0
	VADDPS  32(AX), Y1, Y1
	VADDPS  64(AX), Y2, Y2
	VADDPS  96(AX), Y3, Y3
	ADDQ    R9, AX
	DECQ    CX
	JNZ     row32
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $128, R8
	JNZ     columns
	VZEROUPPER
	RET

row8:
	VADDPS  (AX), Y0, Y0
	ADDQ    R9, AX
	DECQ    CX
	JNZ     row8
	VMOVUPS Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $32, R8
	JNZ     columns
	VZEROUPPER
	RET
