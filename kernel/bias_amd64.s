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

// func columnSumsAVX2(sum *float64, a *float32, n, stride, rows int)
TEXT ·columnSumsAVX2(SB), NOSPLIT, $0-40
	MOVQ sum+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ n+16(FP), R8
	MOVQ stride+24(FP), R9

columns:
	MOVQ SI, AX
	MOVQ rows+32(FP), CX
	CMPQ R8, $64
	JLT  four
	VMOVUPD 0(DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3

row16:
	VCVTPS2PD 0(AX), Y4
	VCVTPS2PD 16(AX), Y5
	VCVTPS2PD 32(AX), Y6
	VCVTPS2PD 48(AX), Y7
	VADDPD    Y4, Y0, Y0
	VADDPD    Y5, Y1, Y1
	VADDPD    Y6, Y2, Y2
	VADDPD    Y7, Y3, Y3
	ADDQ      R9, AX
	DECQ      CX
	JNZ       row16
	VMOVUPD   Y0, 0(DI)
	VMOVUPD   Y1, 32(DI)
	VMOVUPD   Y2, 64(DI)
	VMOVUPD   Y3, 96(DI)
	ADDQ      $64, SI
	ADDQ      $128, DI
	SUBQ      $64, R8
	JNZ       columns
	VZEROUPPER
	RET

four:
	VMOVUPD (DI), Y0

row4:
	VCVTPS2PD (AX), Y4
	VADDPD    Y4, Y0, Y0
	ADDQ      R9, AX
	DECQ      CX
	JNZ       row4
	VMOVUPD   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	SUBQ      $16, R8
	JNZ       columns
	VZEROUPPER
	RET
