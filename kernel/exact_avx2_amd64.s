#include "textflag.h"

// Without additions that leave no flags, what is left of the values after two slices is gathered in Y10, where only zeros may
// be, and the largest value in Y11, which must be below the limit: then all is exact. Y15 has all bits but the sign.

// CUT adds x in two slices; Y8 and Y9 are overwritten.
#define CUT(x, up, low) \
	VADDPD  x, up, Y8  \
	VSUBPD  up, Y8, Y9 \
	VMOVAPD Y8, up     \
	VSUBPD  Y9, x, x   \
	VADDPD  x, low, Y8 \
	VSUBPD  low, Y8, Y9 \
	VMOVAPD Y8, low    \
	VSUBPD  Y9, x, x   \
	VORPD   x, Y10, Y10

// CUT3 adds x in three slices.
#define CUT3(x, up, mid, low) \
	VADDPD  x, up, Y8  \
	VSUBPD  up, Y8, Y9 \
	VMOVAPD Y8, up     \
	VSUBPD  Y9, x, x   \
	CUT(x, mid, low)

#define LARGEST(x) \
	VANDPD x, Y15, Y8   \
	VMAXPD Y11, Y8, Y11

// START loads the constants of the slices to Y0 to Y3 and the bits that count to Y14.
#define START \
	VBROADCASTSD 0(DX), Y0   \
	VMOVAPD      Y0, Y1      \
	VBROADCASTSD 8(DX), Y2   \
	VMOVAPD      Y2, Y3      \
	VPBROADCASTQ 48(DX), Y14 \
	VXORPD       Y10, Y10, Y10 \
	VXORPD       Y11, Y11, Y11 \
	VPCMPEQQ     Y15, Y15, Y15 \
	VPSRLQ       $1, Y15, Y15

// FOLD1 takes constant i away from y, and stores the sum of its numbers as number i of what comes out; FOLD2 does so with the
// numbers of y and z, from each of which it is taken away.
#define FOLD2(i, y, z, x) \
	VBROADCASTSD (8*i)(DX), Y8 \
	VSUBPD       Y8, z, z      \
	VSUBPD       Y8, y, y      \
	VADDPD       z, y, y       \
	FOLDED(i, y, x)
#define FOLD1(i, y, x) \
	VBROADCASTSD (8*i)(DX), Y8 \
	VSUBPD       Y8, y, y      \
	FOLDED(i, y, x)
#define FOLDED(i, y, x) \
	VEXTRACTF128 $1, y, X8     \
	VADDPD       X8, x, x      \
	VPERMILPD    $1, x, X8     \
	VADDSD       X8, x, x      \
	VMOVSD       x, (56+8*i)(DX)

// JUDGE leaves 1 in AX if something was left over or too large.
#define JUDGE \
	VBROADCASTSD 112(DX), Y8     \
	VCMPPD       $5, Y8, Y11, Y9 \
	VANDPD       Y15, Y10, Y10  \
	VORPD        Y9, Y10, Y10   \
	XORL         AX, AX         \
	VPTEST       Y10, Y10       \
	SETNE        AX

// func sum64AVX2(x *float64, n int, s *sums)
TEXT ·sum64AVX2(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ s+16(FP), DX
	START

loop:
	VANDPD 0(SI), Y14, Y12
	VANDPD 32(SI), Y14, Y13
	LARGEST(Y12)
	LARGEST(Y13)
	CUT(Y12, Y0, Y2)
	CUT(Y13, Y1, Y3)
	ADDQ   $64, SI
	SUBQ   $8, CX
	JNZ    loop
	FOLD2(0, Y0, Y1, X0)
	FOLD2(1, Y2, Y3, X2)
	JUDGE
	MOVL   AX, 104(DX)
	VZEROUPPER
	RET

// func sum32AVX2(x *float32, n int, s *sums)
TEXT ·sum32AVX2(SB), NOSPLIT, $16-24
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         s+16(FP), DX
	STMXCSR      0(SP)
	MOVL         $0x1f80, 4(SP)
	LDMXCSR      4(SP)          // no flags; an addition that rounds leaves one
	VPBROADCASTQ 48(DX), Y14
	VXORPD       Y0, Y0, Y0
	VXORPD       Y1, Y1, Y1
	VXORPD       Y2, Y2, Y2
	VXORPD       Y3, Y3, Y3

loop:
	VCVTPS2PD 0(SI), Y4
	VCVTPS2PD 16(SI), Y5
	VCVTPS2PD 32(SI), Y6
	VCVTPS2PD 48(SI), Y7
	VANDPD    Y4, Y14, Y4
	VANDPD    Y5, Y14, Y5
	VANDPD    Y6, Y14, Y6
	VANDPD    Y7, Y14, Y7
	VADDPD    Y4, Y0, Y0
	VADDPD    Y5, Y1, Y1
	VADDPD    Y6, Y2, Y2
	VADDPD    Y7, Y3, Y3
	ADDQ      $64, SI
	SUBQ      $16, CX
	JNZ       loop

	VADDPD       Y1, Y0, Y0
	VADDPD       Y3, Y2, Y2
	VADDPD       Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X8
	VADDPD       X8, X0, X0
	VPERMILPD    $1, X0, X8
	VADDSD       X8, X0, X0
	VMOVSD       X0, 56(DX)
	STMXCSR      104(DX)
	LDMXCSR      0(SP)
	VZEROUPPER
	RET

// func products32AVX2(x, y *float32, n int, s *sums)
TEXT ·products32AVX2(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), DX
	START

loop:
	VCVTPS2PD 0(SI), Y12
	VCVTPS2PD 0(DI), Y13
	VMULPD    Y13, Y12, Y12 // exact
	VCVTPS2PD 16(SI), Y13
	VCVTPS2PD 16(DI), Y9
	VMULPD    Y9, Y13, Y13
	LARGEST(Y12)
	LARGEST(Y13)
	CUT(Y12, Y0, Y2)
	CUT(Y13, Y1, Y3)
	ADDQ      $32, SI
	ADDQ      $32, DI
	SUBQ      $8, CX
	JNZ       loop
	FOLD2(0, Y0, Y1, X0)
	FOLD2(1, Y2, Y3, X2)
	JUDGE
	MOVL      AX, 104(DX)
	VZEROUPPER
	RET

// func products64AVX2(x, y *float64, n int, s *sums)
TEXT ·products64AVX2(SB), NOSPLIT, $16-32
	MOVQ         x+0(FP), SI
	MOVQ         y+8(FP), DI
	MOVQ         n+16(FP), CX
	MOVQ         s+24(FP), DX
	STMXCSR      0(SP)
	MOVL         $0x1f80, 4(SP)
	LDMXCSR      4(SP)          // no flags; a product of which something is below all float64 leaves one
	START
	VBROADCASTSD 8(DX), Y1
	VBROADCASTSD 16(DX), Y2
	VBROADCASTSD 24(DX), Y3
	VBROADCASTSD 32(DX), Y4
	VBROADCASTSD 40(DX), Y5

loop:
	VMOVUPD     0(SI), Y13
	VMOVUPD     0(DI), Y14
	VMULPD      Y14, Y13, Y12
	VFMSUB213PD Y12, Y14, Y13 // what the rounding lost
	LARGEST(Y12)
	CUT3(Y12, Y0, Y1, Y2)
	CUT3(Y13, Y3, Y4, Y5)
	ADDQ        $32, SI
	ADDQ        $32, DI
	SUBQ        $4, CX
	JNZ         loop
	FOLD1(0, Y0, X0)
	FOLD1(1, Y1, X1)
	FOLD1(2, Y2, X2)
	FOLD1(3, Y3, X3)
	FOLD1(4, Y4, X4)
	FOLD1(5, Y5, X5)
	JUDGE
	STMXCSR     4(SP)
	LDMXCSR     0(SP)
	MOVL        4(SP), BX
	ANDL        $16, BX
	ORL         BX, AX
	MOVL        AX, 104(DX)
	VZEROUPPER
	RET
