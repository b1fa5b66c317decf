#include "textflag.h"

// FOLD moves the 512 bits of Z by the distance whose constants are in Z5, and adds what is there.
#define FOLD(there, Z) \
	VPCLMULQDQ $0x00, Z5, Z, Z6; \
	VPCLMULQDQ $0x11, Z5, Z, Z; \
	VPTERNLOGQ $0x96, there, Z6, Z

// LANE moves the 128 bits of X0 by 128 and adds those of lane n of Z7.
#define LANE(n) \
	VPCLMULQDQ $0x00, X5, X0, X6; \
	VPCLMULQDQ $0x11, X5, X0, X0; \
	VEXTRACTI32X4 n, Z7, X1; \
	VPXOR X6, X0, X0; \
	VPXOR X1, X0, X0

// func crc512(state uint32, b *byte, n int, k *[6]uint64) uint32
TEXT ·crc512(SB), NOSPLIT, $0-36
	MOVL            state+0(FP), AX
	MOVQ            b+8(FP), SI
	MOVQ            n+16(FP), CX
	MOVQ            k+24(FP), DI
	VMOVDQU64       (SI), Z0
	VMOVDQU64       64(SI), Z1
	VMOVDQU64       128(SI), Z2
	VMOVDQU64       192(SI), Z3
	VMOVD           AX, X4
	VPXORQ          Z4, Z0, Z0
	VBROADCASTI32X4 (DI), Z5
	JMP             next

loop:
	FOLD((SI), Z0)
	FOLD(64(SI), Z1)
	FOLD(128(SI), Z2)
	FOLD(192(SI), Z3)

next:
	ADDQ $256, SI
	SUBQ $256, CX
	JNZ  loop

	VBROADCASTI32X4 16(DI), Z5
	FOLD(Z1, Z0)
	FOLD(Z2, Z0)
	FOLD(Z3, Z0)

	VMOVDQA64     Z0, Z7
	VEXTRACTI32X4 $0, Z7, X0
	VMOVDQU       32(DI), X5
	LANE($1)
	LANE($2)
	LANE($3)

	XORL    AX, AX
	MOVQ    X0, BX
	CRC32Q  BX, AX
	VPEXTRQ $1, X0, BX
	CRC32Q  BX, AX
	VZEROUPPER
	MOVL    AX, ret+32(FP)
	RET
