#include "textflag.h"

// func leaves512(leaf *[LeafRows]uint8, all *Split, n int, columns *int32, reach *Reach)
//
//	SI node  CX nodes  DI columns  R8 reach  R9 number of the node
TEXT ·leaves512(SB), NOSPLIT, $0-40
	MOVQ all+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ columns+24(FP), DI
	MOVQ reach+32(FP), R8
	XORQ R9, R9

node:
	MOVL         4(SI), AX
	SHLQ         $8, AX
	VPBROADCASTD (SI), Z0
	VPCMPD       $5, (DI)(AX*1), Z0, K1    // not below the key of the row
	VPCMPD       $5, 64(DI)(AX*1), Z0, K2
	VPCMPD       $5, 128(DI)(AX*1), Z0, K3
	VPCMPD       $5, 192(DI)(AX*1), Z0, K4
	KUNPCKWD     K1, K2, K2
	KUNPCKWD     K3, K4, K4
	KUNPCKDQ     K2, K4, K4
	KMOVQ        K4, BX
	MOVQ         (R8)(R9*8), DX
	MOVL         8(SI), R11
	MOVL         12(SI), R12
	ANDNQ        DX, BX, R10
	ANDQ         DX, BX
	MOVQ         BX, (R8)(R11*8)
	MOVQ         R10, (R8)(R12*8)
	ADDQ         $16, SI
	INCQ         R9
	CMPQ         R9, CX
	JLT          node

	VPXORD       Z1, Z1, Z1    // leaves
	VPXORD       Z2, Z2, Z2    // number of the leaf, which for the first one stands there already
	MOVL         $0x01010101, AX
	VPBROADCASTD AX, Z3

leaf:
	INCQ      R9
	VPADDB    Z3, Z2, Z2
	KMOVQ     (R8)(R9*8), K1
	VMOVDQU8  Z2, K1, Z1
	DECQ      CX
	JNZ       leaf
	MOVQ      leaf+0(FP), DI
	VMOVDQU64 Z1, (DI)
	VZEROUPPER
	RET
