#include "textflag.h"

// ENTER brings the arguments, which are the same for both functions: CX counts the rows, R9 those that went left; of R12 rows, if there
// are so many, one 64 further on is fetched.
#define ENTER \
	MOVQ rows+0(FP), SI    \
	MOVQ rest+8(FP), DI    \
	MOVQ n+16(FP), R10     \
	MOVQ bytes+24(FP), DX  \
	MOVQ stride+32(FP), R8 \
	MOVQ left+40(FP), R11  \
	XORQ CX, CX            \
	XORQ R9, R9            \
	MOVQ R10, R12          \
	SUBQ $64, R12          \
	CMPQ CX, R12

// FETCH fetches the code of the row 64 further on.
#define FETCH \
	MOVL       256(SI)(CX*4), BX \
	IMULQ      R8, BX            \
	PREFETCHT0 (DX)(BX*1)

// ROW writes the next row to both ends, of which the next one overwrites the wrong one.
#define ROW(LOAD) \
	MOVL    (SI)(CX*4), AX \
	MOVQ    CX, BX         \
	SUBQ    R9, BX         \
	MOVL    AX, (SI)(R9*4) \
	MOVL    AX, (DI)(BX*4) \
	IMULQ   R8, AX         \
	LOAD    (DX)(AX*1), AX \
	MOVBLZX (R11)(AX*1), AX \
	ADDQ    AX, R9         \
	INCQ    CX

// func divideNarrow(rows, rest *uint32, n int, bytes *byte, stride int, left *uint8) int
TEXT ·divideNarrow(SB), NOSPLIT, $0-56
	ENTER
	JGE tail

row:
	FETCH
	ROW(MOVBLZX)
	CMPQ CX, R12
	JLT  row

tail:
	ROW(MOVBLZX)
	CMPQ CX, R10
	JLT  tail
	MOVQ R9, ret+48(FP)
	RET

// func divideWide(rows, rest *uint32, n int, bytes *byte, stride int, left *uint8) int
TEXT ·divideWide(SB), NOSPLIT, $0-56
	ENTER
	JGE tail

row:
	FETCH
	ROW(MOVWLZX)
	CMPQ CX, R12
	JLT  row

tail:
	ROW(MOVWLZX)
	CMPQ CX, R10
	JLT  tail
	MOVQ R9, ret+48(FP)
	RET
