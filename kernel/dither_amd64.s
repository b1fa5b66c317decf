#include "textflag.h"

// Every function is a loop over rows, and in each over vectors of eight numbers.
//
//	DI slab      AX numbers of the row     R10 bytes of its float32s that are to be done
//	SI float32s  BX bytes of those done    R11 rows
//	R8 step      R9 bytes from row to row of the float32s
//	CX rows left                           R12 their seeds

DATA ·ditherLanes<>+0(SB)/4, $0
DATA ·ditherLanes<>+4(SB)/4, $1
DATA ·ditherLanes<>+8(SB)/4, $2
DATA ·ditherLanes<>+12(SB)/4, $3
DATA ·ditherLanes<>+16(SB)/4, $4
DATA ·ditherLanes<>+20(SB)/4, $5
DATA ·ditherLanes<>+24(SB)/4, $6
DATA ·ditherLanes<>+28(SB)/4, $7
GLOBL ·ditherLanes<>(SB), RODATA|NOPTR, $32

DATA ·ditherBits<>+0(SB)/4, $0x9e3779b9  // of noise
DATA ·ditherBits<>+4(SB)/4, $0x7feb352d
DATA ·ditherBits<>+8(SB)/4, $0x846ca68b
DATA ·ditherBits<>+12(SB)/4, $0x7fffffff // all but the sign
DATA ·ditherBits<>+16(SB)/4, $0x7f800000 // infinity
DATA ·ditherBits<>+20(SB)/4, $0x7f7fffff // the largest float32
DATA ·ditherBits<>+24(SB)/4, $0x7fc00000 // no number
DATA ·ditherBits<>+28(SB)/4, $0x477fdfff // before 65504
DATA ·ditherBits<>+32(SB)/4, $0x38800000 // 2^-14
DATA ·ditherBits<>+36(SB)/4, $0x38000000 // 112<<23
DATA ·ditherBits<>+40(SB)/4, $0x4b800000 // 2^24
DATA ·ditherBits<>+44(SB)/4, $0x33800000 // 2^-24
DATA ·ditherBits<>+48(SB)/4, $0x7bff     // halves: the largest float16,
DATA ·ditherBits<>+52(SB)/4, $0x7c00     // its infinity
DATA ·ditherBits<>+56(SB)/4, $0x7e00     // and no number
DATA ·ditherBits<>+60(SB)/4, $0x7f80     // the same of bfloat16
DATA ·ditherBits<>+64(SB)/4, $0x7fc0
DATA ·ditherBits<>+68(SB)/4, $0x42fe0000 // 127
DATA ·ditherBits<>+72(SB)/4, $0xffffff80 // -128
DATA ·ditherBits<>+76(SB)/4, $0xf1bbcdc8 // eight times the first
GLOBL ·ditherBits<>(SB), RODATA|NOPTR, $80

#define BITS(at, y) VBROADCASTSS ·ditherBits<>+at(SB), y

#define WIDENENTER \
	MOVQ dst+0(FP), SI    \
	MOVQ slab+8(FP), DI   \
	MOVQ step+16(FP), R8  \
	MOVQ width+24(FP), R9 \
	SHLQ $2, R9           \
	MOVQ n+32(FP), R10    \
	SHLQ $2, R10          \
	MOVQ rows+40(FP), R11 \
	MOVQ count+48(FP), CX

#define ROW \
	MOVL  (R11), AX \
	IMULQ R8, AX    \
	ADDQ  DI, AX    \
	XORQ  BX, BX

#define NEXT(row) \
	ADDQ R9, SI  \
	ADDQ $4, R11 \
	DECQ CX      \
	JNZ  row     \
	VZEROUPPER   \
	RET

// DITHERENTER leaves in Y6 the noise's beginnings for seed 0, in Y7 by how much they differ from those of the next vector.
#define DITHERENTER \
	MOVQ slab+0(FP), DI    \
	MOVQ step+8(FP), R8    \
	MOVQ src+16(FP), SI    \
	MOVQ width+24(FP), R9  \
	SHLQ $2, R9            \
	MOVQ n+32(FP), R10     \
	SHLQ $2, R10           \
	MOVQ rows+40(FP), R11  \
	MOVQ seeds+48(FP), R12 \
	MOVQ count+56(FP), CX  \
	BITS(0, Y5)            \
	BITS(4, Y8)            \
	BITS(8, Y9)            \
	BITS(12, Y10)          \
	BITS(76, Y7)           \
	VPBROADCASTD first+64(FP), Y6           \
	VPADDD       ·ditherLanes<>(SB), Y6, Y6 \
	VPMULLD      Y5, Y6, Y6

// SEED begins the noise of a row, in Y5.
#define SEED \
	VPBROADCASTD (R12), Y5    \
	VPADDD       Y6, Y5, Y5   \
	ADDQ         $4, R12

// NOISE is the noise of a vector, in Y2; Y3 is overwritten.
#define NOISE \
	VPSRLD  $16, Y5, Y3 \
	VPXOR   Y3, Y5, Y2  \
	VPADDD  Y7, Y5, Y5  \
	VPMULLD Y8, Y2, Y2  \
	VPSRLD  $15, Y2, Y3 \
	VPXOR   Y3, Y2, Y2  \
	VPMULLD Y9, Y2, Y2  \
	VPSRLD  $16, Y2, Y3 \
	VPXOR   Y3, Y2, Y2

// WHOLE rounds the numbers in Y4 to whole ones by the noise in Y2; Y3, Y13 are overwritten, Y15 is 2^-24.
#define WHOLE \
	VPSRLD     $8, Y2, Y3     \
	VCVTDQ2PS  Y3, Y3         \
	VMULPS     Y15, Y3, Y3    \
	VCVTTPS2DQ Y4, Y13        \
	VCVTDQ2PS  Y13, Y2        \
	VSUBPS     Y2, Y4, Y4     \
	VCMPPS     $1, Y4, Y3, Y3 \
	VPSUBD     Y3, Y13, Y4

// HALVES stores the halves in Y4 with the signs of Y0, whose magnitudes are in Y1.
#define HALVES \
	VPXOR        Y1, Y0, Y0     \
	VPSRLD       $16, Y0, Y0    \
	VPOR         Y0, Y4, Y4     \
	VEXTRACTI128 $1, Y4, X3     \
	VPACKUSDW    X3, X4, X4     \
	VMOVDQU      X4, (AX)       \
	ADDQ         $16, AX        \
	ADDQ         $32, BX        \
	CMPQ         BX, R10

// SPECIAL puts a constant into Y4 where the magnitude is beyond another.
#define SPECIAL(above, constant) \
	BITS(above, Y3)               \
	VPCMPGTD  Y3, Y1, Y3          \
	BITS(constant, Y13)           \
	VPBLENDVB Y3, Y13, Y4, Y4

// func widenRowsF16(dst *float32, slab *byte, step, width, n int, rows *uint32, count int)
TEXT ·widenRowsF16(SB), NOSPLIT, $0-56
	WIDENENTER

row:
	ROW

vector:
	VCVTPH2PS (AX), Y0
	VMOVUPS   Y0, (SI)(BX*1)
	ADDQ      $16, AX
	ADDQ      $32, BX
	CMPQ      BX, R10
	JLT       vector
	NEXT(row)

// func widenRowsBF16(dst *float32, slab *byte, step, width, n int, rows *uint32, count int)
TEXT ·widenRowsBF16(SB), NOSPLIT, $0-56
	WIDENENTER

row:
	ROW

vector:
	VPMOVZXWD (AX), Y0
	VPSLLD    $16, Y0, Y0
	VMOVUPS   Y0, (SI)(BX*1)
	ADDQ      $16, AX
	ADDQ      $32, BX
	CMPQ      BX, R10
	JLT       vector
	NEXT(row)

// func widenRowsInt8(dst *float32, slab *byte, step, width, n int, rows *uint32, count, exponent int)
TEXT ·widenRowsInt8(SB), NOSPLIT, $0-64
	WIDENENTER
	MOVQ exponent+56(FP), R13
	BITS(24, Y14)
	BITS(72, Y15)

row:
	ROW
	MOVBLSX (AX)(R13*1), DX
	CMPL    DX, $-126
	JGE     above
	MOVL    $-126, DX

above:
	CMPL         DX, $121
	JLE          below
	MOVL         $121, DX

below:
	ADDL         $127, DX
	SHLL         $23, DX
	VMOVD        DX, X2
	VPBROADCASTD X2, Y2

vector:
	VPMOVSXBD (AX), Y0
	VPCMPEQD  Y15, Y0, Y1
	VCVTDQ2PS Y0, Y0
	VMULPS    Y2, Y0, Y0
	VBLENDVPS Y1, Y14, Y0, Y0
	VMOVUPS   Y0, (SI)(BX*1)
	ADDQ      $8, AX
	ADDQ      $32, BX
	CMPQ      BX, R10
	JLT       vector
	NEXT(row)

// func ditherRowsF16(slab *byte, step int, src *float32, width, n int, rows, seeds *uint32, count int, first uint32)
TEXT ·ditherRowsF16(SB), NOSPLIT, $0-68
	DITHERENTER
	BITS(32, Y11)
	BITS(36, Y12)
	BITS(40, Y14)
	BITS(44, Y15)

row:
	ROW
	SEED

vector:
	VMOVUPS   (SI)(BX*1), Y0
	VPAND     Y10, Y0, Y1
	NOISE
	VPCMPEQD  Y3, Y3, Y3
	VPXOR     Y2, Y3, Y3
	VPSRLD    $19, Y3, Y3
	VPSUBD    Y12, Y1, Y4
	VPADDD    Y3, Y4, Y4
	VPSRLD    $13, Y4, Y4
	VPCMPGTD  Y1, Y11, Y13     // below 2^-14
	VPTEST    Y13, Y13
	JEQ       normal
	VMOVDQA   Y4, Y12
	VMULPS    Y14, Y1, Y4
	WHOLE
	VPCMPGTD  Y1, Y11, Y13
	VPBLENDVB Y13, Y4, Y12, Y4
	BITS(36, Y12)

normal:
	BITS(28, Y3)
	VPCMPGTD Y3, Y1, Y3
	VPTEST   Y3, Y3
	JEQ      finite
	SPECIAL(28, 48)
	SPECIAL(20, 52)
	SPECIAL(16, 56)

finite:
	HALVES
	JLT vector
	NEXT(row)

// func ditherRowsBF16(slab *byte, step int, src *float32, width, n int, rows, seeds *uint32, count int, first uint32)
TEXT ·ditherRowsBF16(SB), NOSPLIT, $0-68
	DITHERENTER
	BITS(20, Y11)
	VPCMPEQD Y12, Y12, Y12

row:
	ROW
	SEED

vector:
	VMOVUPS  (SI)(BX*1), Y0
	VPAND    Y10, Y0, Y1
	NOISE
	VPXOR    Y12, Y2, Y2
	VPSRLD   $16, Y2, Y2
	VPADDD   Y2, Y1, Y4
	VPMINUD  Y11, Y4, Y4
	VPSRLD   $16, Y4, Y4
	VPCMPGTD Y11, Y1, Y3
	VPTEST   Y3, Y3
	JEQ      finite
	SPECIAL(20, 60)
	SPECIAL(16, 64)

finite:
	HALVES
	JLT vector
	NEXT(row)

// func ditherRowsInt8(slab *byte, step int, src *float32, width, n int, rows, seeds *uint32, count int, first uint32)
TEXT ·ditherRowsInt8(SB), NOSPLIT, $0-68
	DITHERENTER
	BITS(20, Y11)
	BITS(68, Y12)
	BITS(72, Y14)
	BITS(44, Y15)

row:
	ROW
	SEED
	VPXOR Y4, Y4, Y4

most:
	VPAND     (SI)(BX*1), Y10, Y1
	VPCMPGTD  Y11, Y1, Y3
	VPANDN    Y1, Y3, Y1
	VPMAXUD   Y1, Y4, Y4
	ADDQ      $32, BX
	CMPQ      BX, R10
	JLT       most
	VEXTRACTI128 $1, Y4, X3
	VPMAXUD   X3, X4, X4
	VPSHUFD   $0x4e, X4, X3
	VPMAXUD   X3, X4, X4
	VPSHUFD   $0xb1, X4, X3
	VPMAXUD   X3, X4, X4
	VMOVD     X4, DX
	XORL      R13, R13
	TESTL     DX, DX
	JEQ       scaled
	MOVL      DX, R13
	SHRL      $23, R13
	SUBL      $133, R13
	ANDL      $0x7fffff, DX
	CMPL      DX, $0x7e0000
	JLS       enough
	INCL      R13

enough:
	CMPL R13, $-126
	JGE  above
	MOVL $-126, R13

above:
	CMPL R13, $121
	JLE  scaled
	MOVL $121, R13

scaled:
	MOVQ         R10, BX
	SHRQ         $2, BX
	MOVB         R13, (AX)(BX*1)
	MOVL         $127, DX
	SUBL         R13, DX
	SHLL         $23, DX
	VMOVD        DX, X1
	VPBROADCASTD X1, Y1
	XORQ         BX, BX

vector:
	VMOVUPS   (SI)(BX*1), Y0
	NOISE
	VPAND     Y10, Y0, Y4
	VMULPS    Y1, Y4, Y4
	VMINPS    Y12, Y4, Y4
	WHOLE
	VPSIGND   Y0, Y4, Y4
	VPAND     Y10, Y0, Y0
	VPCMPGTD  Y11, Y0, Y3
	VPBLENDVB Y3, Y14, Y4, Y4
	VEXTRACTI128 $1, Y4, X3
	VPACKSSDW X3, X4, X4
	VPACKSSWB X4, X4, X4
	VMOVQ     X4, (AX)
	ADDQ      $8, AX
	ADDQ      $32, BX
	CMPQ      BX, R10
	JLT       vector
	NEXT(row)
