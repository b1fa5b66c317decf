#include "textflag.h"

// func scatterInputsAVX2(dst, src *byte, size int, inputs *Input, n int, first uint32, rows, places int) int
TEXT ·scatterInputsAVX2(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ size+16(FP), R8
	MOVQ inputs+24(FP), R9
	MOVQ n+32(FP), CX
	MOVL first+40(FP), R10
	MOVQ rows+48(FP), R11
	MOVQ places+56(FP), R12
	XORQ R13, R13            // inputs done

next:
	MOVL  8(R9), AX          // input
	MOVL  12(R9), BX
	ANDL  $0x7fffffff, BX
	SUBL  R10, BX            // place
	CMPQ  AX, R11
	JCC   done
	CMPQ  BX, R12
	JCC   done
	IMULQ R8, AX
	IMULQ R8, BX
	ADDQ  DI, AX
	ADDQ  SI, BX
	CMPQ  R8, $64
	JNE   any
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1
	VMOVUPS Y0, (AX)
	VMOVUPS Y1, 32(AX)

more:
	ADDQ $16, R9
	INCQ R13
	CMPQ R13, CX
	JLT  next

done:
	VZEROUPPER
	MOVQ R13, ret+64(FP)
	RET

any:
	XORQ DX, DX

word:
	VMOVUPS (BX)(DX*1), Y0
	VMOVUPS Y0, (AX)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, R8
	JLT     word
	JMP     more

// func sumInputsAVX2(dst, src *float32, size int, inputs *Input, n int, first uint32, rows, places int) int
TEXT ·sumInputsAVX2(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ size+16(FP), R8
	MOVQ inputs+24(FP), R9
	MOVQ n+32(FP), CX
	MOVL first+40(FP), R10
	MOVQ rows+48(FP), R11
	MOVQ places+56(FP), R12
	XORQ R13, R13

next:
	MOVL  8(R9), AX
	MOVL  12(R9), R14
	MOVL  R14, BX
	ANDL  $0x7fffffff, BX
	SUBL  R10, BX
	CMPQ  AX, R11
	JCC   done
	CMPQ  BX, R12
	JCC   done
	IMULQ R8, AX
	IMULQ R8, BX
	ADDQ  SI, AX             // the input's row
	ADDQ  DI, BX             // its place
	XORQ  DX, DX
	TESTL R14, R14
	JMI   add

word:
	VMOVUPS (AX)(DX*1), Y0
	VMOVUPS Y0, (BX)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, R8
	JLT     word

more:
	ADDQ $16, R9
	INCQ R13
	CMPQ R13, CX
	JLT  next

done:
	VZEROUPPER
	MOVQ R13, ret+64(FP)
	RET

add:
	VMOVUPS (BX)(DX*1), Y0
	VADDPS  (AX)(DX*1), Y0, Y0
	VMOVUPS Y0, (BX)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, R8
	JLT     add
	JMP     more
