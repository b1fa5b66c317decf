#include "textflag.h"

// func finiteAVX2(x *float32, n int) bool
TEXT ·finiteAVX2(SB), NOSPLIT, $0-17
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVL         $0x7f800000, AX
	VMOVD        AX, X7
	VPBROADCASTD X7, Y7          // the exponent's bits
	VPXOR        Y6, Y6, Y6      // ones where one was found
	VPXOR        Y5, Y5, Y5

loop:
	VPAND    (SI), Y7, Y0
	VPAND    32(SI), Y7, Y1
	VPAND    64(SI), Y7, Y2
	VPAND    96(SI), Y7, Y3
	VPCMPEQD Y7, Y0, Y0
	VPCMPEQD Y7, Y1, Y1
	VPCMPEQD Y7, Y2, Y2
	VPCMPEQD Y7, Y3, Y3
	VPOR     Y0, Y1, Y1
	VPOR     Y2, Y3, Y3
	VPOR     Y1, Y6, Y6
	VPOR     Y3, Y5, Y5
	ADDQ     $128, SI
	SUBQ     $32, CX
	JNZ      loop
	VPOR     Y5, Y6, Y6
	VPTEST   Y6, Y6
	SETEQ    ret+16(FP)
	VZEROUPPER
	RET
