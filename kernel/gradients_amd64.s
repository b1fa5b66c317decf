#include "textflag.h"

// CELL adds X0 to the cell of the code of two or one bytes that LOAD brings from place at of the row in SI; k is the
// group's first cell.
#define CELL(LOAD, at, k) \
	LOAD    at, AX          \
	MOVL    k, BX           \
	ADDQ    BX, AX          \
	SHLQ    $4, AX          \
	VPADDQ  (DI)(AX*1), X0, X1 \
	VMOVDQU X1, (DI)(AX*1)

// ROW brings the next row: X0 its derivatives in 64 bits, SI its codes. Those of the row 16 further on are fetched, if there is one.
#define ROW \
	MOVL        (R9), AX     \
	LEAQ        64(R9), BX   \
	CMPQ        BX, R10      \
	CMOVQGT     R10, BX      \
	MOVL        (BX), BX     \
	PREFETCHT0  (R11)(BX*8)  \
	IMULQ       R8, BX       \
	PREFETCHT0  (DX)(BX*1)   \
	VPMOVSXDQ   (R11)(AX*8), X0 \
	IMULQ       R8, AX       \
	LEAQ        (DX)(AX*1), SI

// ENTER brings the arguments, which are the same for both functions, and makes R10 the last row.
#define ENTER \
	MOVQ sums+0(FP), DI     \
	MOVQ bytes+8(FP), DX    \
	MOVQ stride+16(FP), R8  \
	MOVQ rows+24(FP), R9    \
	MOVQ n+32(FP), R10      \
	MOVQ grads+40(FP), R11  \
	MOVQ cells+48(FP), R12  \
	MOVQ groups+56(FP), R13 \
	LEAQ -4(R9)(R10*4), R10

// func gradientsNarrow(sums *GradientSum, bytes *byte, stride int, rows *uint32, n int, grads *Gradient, cells *uint32, groups int)
TEXT ·gradientsNarrow(SB), NOSPLIT, $0-64
	ENTER

row:
	ROW
	XORQ CX, CX
	MOVQ R13, BX
	ANDQ $~3, BX
	MOVQ BX, R15
	JZ   ones

fours:
	CELL(MOVBLZX, 0(SI)(CX*1), 0(R12)(CX*4))
	CELL(MOVBLZX, 1(SI)(CX*1), 4(R12)(CX*4))
	CELL(MOVBLZX, 2(SI)(CX*1), 8(R12)(CX*4))
	CELL(MOVBLZX, 3(SI)(CX*1), 12(R12)(CX*4))
	ADDQ $4, CX
	CMPQ CX, R15
	JLT  fours

ones:
	CMPQ CX, R13
	JGE  next
	CELL(MOVBLZX, 0(SI)(CX*1), 0(R12)(CX*4))
	INCQ CX
	JMP  ones

next:
	ADDQ $4, R9
	CMPQ R9, R10
	JLE  row
	RET

// func gradientsWide(sums *GradientSum, bytes *byte, stride int, rows *uint32, n int, grads *Gradient, cells *uint32, groups int)
TEXT ·gradientsWide(SB), NOSPLIT, $0-64
	ENTER

row:
	ROW
	XORQ CX, CX

ones:
	CELL(MOVWLZX, 0(SI)(CX*2), 0(R12)(CX*4))
	INCQ CX
	CMPQ CX, R13
	JLT  ones
	ADDQ $4, R9
	CMPQ R9, R10
	JLE  row
	RET
