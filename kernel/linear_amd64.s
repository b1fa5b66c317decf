#include "textflag.h"
#include "sparse_amd64.h"

// ONE is a value of a row with one column, whose product goes to sum.
#define ONE(sum) \
	MOVL   (SI), AX              \
	VMOVSS (R9), X4              \
	VMULSS (BX)(AX*4), X4, X4    \
	VADDSS X4, sum, sum          \
	ADDQ   R15, SI               \
	ADDQ   R10, R9               \
	ADDQ   R14, BX               \
	DECQ   CX

// func dotFast(c *sparseCall)
// The four sums are in X0, and values go to them by fours as long as places and x stand one after the other; then each sum is in a
// register.
TEXT ·dotFast(SB), NOSPLIT, $0-8
	ENTER(SRC)
	MOVQ    DST(AX), DI
	MOVQ    PTR(AX), DX
	MOVQ    ROWS(AX), R11
	DECQ    R11
	MOVQ    $4, R8 // values, at the least, to take four
	MOVQ    $0x7fffffffffffffff, CX
	CMPQ    R15, R10
	CMOVQNE CX, R8
	TESTQ   R15, R15
	CMOVQEQ CX, R8

row:
	MOVQ   8(DX), CX
	SUBQ   (DX), CX
	VXORPS X0, X0, X0
	CMPQ   CX, R8
	JLT    rest

four:
	MOVL      (SI), AX
	MOVL      4(SI), R12
	MOVL      8(SI), R13
	MOVL      12(SI), R14
	VMOVSS    (BX)(AX*4), X4
	VINSERTPS $0x10, (BX)(R12*4), X4, X4
	VINSERTPS $0x20, (BX)(R13*4), X4, X4
	VINSERTPS $0x30, (BX)(R14*4), X4, X4
	VMULPS    (R9), X4, X4
	VADDPS    X4, X0, X0
	ADDQ      $16, SI
	ADDQ      $16, R9
	SUBQ      $4, CX
	CMPQ      CX, R8
	JGE       four
	XORQ      R14, R14

rest:
	VMOVSHDUP X0, X1
	VMOVHLPS  X0, X0, X2
	VPERMILPS $0xff, X0, X3
	TESTQ     CX, CX
	JZ        done

value:
	ONE(X0)
	JZ done
	ONE(X1)
	JZ done
	ONE(X2)
	JZ done
	ONE(X3)
	JNZ value

done:
	VADDSS X2, X0, X0
	VADDSS X3, X1, X1
	VADDSS X1, X0, X0
	VADDSS (DI), X0, X0
	VMOVSS X0, (DI)
	ADDQ   $4, DI
	ADDQ   $8, DX
	DECQ   R11
	JNZ    row
	RET

// func dotGradFast(c *sparseCall)
TEXT ·dotGradFast(SB), NOSPLIT, $0-8
	ENTER(DST)
	MOVQ GRAD(AX), DI
	MOVQ PTR(AX), DX
	MOVQ ROWS(AX), R11
	DECQ R11

row:
	MOVQ   8(DX), CX
	SUBQ   (DX), CX
	VMOVSS (DI), X0
	TESTQ  CX, CX
	JZ     done

value:
	MOVL   (SI), AX
	VMULSS (R9), X0, X1
	VADDSS (BX)(AX*4), X1, X1
	VMOVSS X1, (BX)(AX*4)
	ADDQ   R15, SI
	ADDQ   R10, R9
	ADDQ   R14, BX
	DECQ   CX
	JNZ    value

done:
	ADDQ $4, DI
	ADDQ $8, DX
	DECQ R11
	JNZ  row
	RET

// func largestAVX2(at *uint32, n int) uint32
TEXT ·largestAVX2(SB), NOSPLIT, $0-20
	MOVQ  at+0(FP), SI
	MOVQ  n+8(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

loop:
	VPMAXUD (SI), Y0, Y0
	VPMAXUD 32(SI), Y1, Y1
	VPMAXUD 64(SI), Y2, Y2
	VPMAXUD 96(SI), Y3, Y3
	ADDQ    $128, SI
	SUBQ    $32, CX
	JNZ     loop
	VPMAXUD Y1, Y0, Y0
	VPMAXUD Y3, Y2, Y2
	VPMAXUD Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0x4e, X0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VPMAXUD X1, X0, X0
	VMOVD   X0, AX
	MOVL    AX, ret+16(FP)
	VZEROUPPER
	RET
