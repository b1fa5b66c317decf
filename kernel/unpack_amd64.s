#include "textflag.h"

// FIRST makes K bits below n of all.
#define FIRST(n, K) \
	MOVL  $-1, AX    \
	BZHIL n, AX, AX  \
	KMOVW AX, K

// func unpack512(idx *int64, val *float32, field *int32, words, rest *uint32, n, more int) (done, used int)
//
// Sixteen words at a time: K1 those there are, Z7 the words, K2 those whose value is in the rest, Z4 the field before.
TEXT ·unpack512(SB), NOSPLIT, $0-72
	MOVQ         idx+0(FP), DI
	MOVQ         val+8(FP), SI
	MOVQ         field+16(FP), R8
	MOVQ         words+24(FP), R9
	MOVQ         rest+32(FP), R10
	MOVQ         n+40(FP), CX
	MOVQ         more+48(FP), R13
	XORQ         DX, DX
	XORQ         R11, R11              // used
	MOVL         $0x1fffffff, AX
	VPBROADCASTD AX, Z1
	MOVL         $0x3f800000, AX
	VPBROADCASTD AX, Z2
	VPXORD       Z3, Z3, Z3
	VPTERNLOGD   $0xff, Z4, Z4, Z4
	MOVL         $3, AX
	VPBROADCASTD AX, Z5
	MOVL         $15, AX
	VPBROADCASTD AX, Z6

sixteen:
	KXNORW K1, K1, K1
	CMPQ   CX, $16
	JGE    whole
	FIRST(CX, K1)

whole:
	VMOVDQU32.Z (R9), K1, Z7
	TESTQ       R8, R8
	JZ          columns
	VPSRLD      $29, Z7, Z8
	VPANDD      Z5, Z8, Z8
	VPCMPEQD    Z5, Z8, K2
	KORTESTW    K2, K2
	JNZ         end
	VALIGND     $15, Z3, Z8, Z9       // sums of the first 2, 4, 8 and 16 steps up to each
	VPADDD      Z9, Z8, Z8
	VALIGND     $14, Z3, Z8, Z9
	VPADDD      Z9, Z8, Z8
	VALIGND     $12, Z3, Z8, Z9
	VPADDD      Z9, Z8, Z8
	VALIGND     $8, Z3, Z8, Z9
	VPADDD      Z9, Z8, Z8
	VPADDD      Z4, Z8, Z8
	VMOVDQU32   Z8, K1, (R8)
	ADDQ        $64, R8
	VPERMD      Z8, Z6, Z4

columns:
	VPMOVD2M      Z7, K2
	KMOVW         K2, BX
	POPCNTL       BX, BX
	ADDQ          BX, R11
	CMPQ          R11, R13
	JGT           end
	FIRST(BX, K3)
	VMOVDQU32.Z   (R10), K3, Z8
	LEAQ          (R10)(BX*4), R10
	VMOVAPS       Z2, Z9
	VPEXPANDD     Z8, K2, Z9
	VMOVUPS       Z9, K1, (SI)
	VPANDD        Z1, Z7, Z7
	VPMOVZXDQ     Y7, Z8
	VMOVDQU64     Z8, K1, (DI)
	KSHIFTRW      $8, K1, K4
	VEXTRACTI64X4 $1, Z7, Y7
	VPMOVZXDQ     Y7, Z8
	VMOVDQU64     Z8, K4, 64(DI)
	ADDQ          $128, DI
	ADDQ          $64, SI
	ADDQ          $64, R9
	CMPQ          CX, $16
	JLE           last
	ADDQ          $16, DX
	SUBQ          $16, CX
	JMP           sixteen

last:
	ADDQ CX, DX

end:
	MOVQ DX, done+56(FP)
	MOVQ R11, used+64(FP)
	VZEROUPPER
	RET
