#include "textflag.h"

// func gatherAVX2(dst, slab *byte, stride, size int, rows *uint32, n int)
TEXT ·gatherAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DX
	MOVQ slab+8(FP), DI
	MOVQ stride+16(FP), R8
	MOVQ size+24(FP), R9
	MOVQ rows+32(FP), SI
	MOVQ n+40(FP), CX
	CMPQ R9, $64
	JEQ  rows64
	CMPQ R9, $4
	JEQ  rows4
	CMPQ R9, $32
	JGE  rows32

small: // fewer than 32 bytes, a multiple of 4
	MOVL  (SI), AX
	IMULQ R8, AX
	ADDQ  DI, AX
	XORQ  BX, BX

word:
	MOVL (AX)(BX*1), R11
	MOVL R11, (DX)(BX*1)
	ADDQ $4, BX
	CMPQ BX, R9
	JLT  word
	ADDQ R9, DX
	ADDQ $4, SI
	DECQ CX
	JNZ  small
	RET

rows4:
	MOVL  (SI), AX
	IMULQ R8, AX
	MOVL  (DI)(AX*1), R11
	MOVL  R11, (DX)
	ADDQ  $4, DX
	ADDQ  $4, SI
	DECQ  CX
	JNZ   rows4
	RET

rows64:
	MOVL    (SI), AX
	IMULQ   R8, AX
	VMOVUPS (DI)(AX*1), Y0
	VMOVUPS 32(DI)(AX*1), Y1
	VMOVUPS Y0, (DX)
	VMOVUPS Y1, 32(DX)
	ADDQ    $64, DX
	ADDQ    $4, SI
	DECQ    CX
	JNZ     rows64
	VZEROUPPER
	RET

rows32: // 32 bytes at a time, the last of them again where they do not come out even
	MOVQ R9, R10
	SUBQ $32, R10

row:
	MOVL  (SI), AX
	IMULQ R8, AX
	ADDQ  DI, AX
	XORQ  BX, BX
	JMP   test

some:
	VMOVUPS (AX)(BX*1), Y0
	VMOVUPS Y0, (DX)(BX*1)
	ADDQ    $32, BX

test:
	CMPQ    BX, R10
	JLT     some
	VMOVUPS (AX)(R10*1), Y0
	VMOVUPS Y0, (DX)(R10*1)
	ADDQ    R9, DX
	ADDQ    $4, SI
	DECQ    CX
	JNZ     row
	VZEROUPPER
	RET
