#include "textflag.h"

DATA ·halfBits<>+0(SB)/4, $0x7fffffff // all but the sign
DATA ·halfBits<>+4(SB)/4, $0x7f800000 // infinity
DATA ·halfBits<>+8(SB)/4, $0x7f7fffff // the largest float32
DATA ·halfBits<>+12(SB)/4, $0xff7fffff
DATA ·halfBits<>+16(SB)/4, $0x477fe000 // the largest binary16
DATA ·halfBits<>+20(SB)/4, $0xc77fe000
DATA ·halfBits<>+24(SB)/4, $0x7f7f0000 // the largest bfloat16
DATA ·halfBits<>+28(SB)/4, $0xff7f0000
DATA ·halfBits<>+32(SB)/4, $1
DATA ·halfBits<>+36(SB)/4, $0x7fff
DATA ·halfBits<>+40(SB)/4, $0x40 // of a quiet NaN
DATA ·halfBits<>+44(SB)/4, $0x7fff7fff
DATA ·halfBits<>+48(SB)/4, $0x7c007c00
DATA ·halfBits<>+52(SB)/4, $0x7f807f80
DATA ·halfBits<>+56(SB)/4, $0xffff0000
DATA ·halfBits<>+60(SB)/4, $0x42fe0000 // 127
DATA ·halfBits<>+64(SB)/4, $0xc2fe0000
GLOBL ·halfBits<>(SB), RODATA|NOPTR, $68

// NARROW rounds 8 numbers at a time by op, Y0 to X1, until one becomes the infinity at inf.
#define NARROW(inf, op) \
	MOVQ         dst+0(FP), DI               \
	MOVQ         src+8(FP), SI               \
	MOVQ         n+16(FP), CX                \
	XORQ         AX, AX                      \
	VBROADCASTSS ·halfBits<>+32(SB), Y9      \
	VBROADCASTSS ·halfBits<>+36(SB), Y8      \
	VBROADCASTSS ·halfBits<>+40(SB), Y7      \
	VBROADCASTSS ·halfBits<>+44(SB), X15     \
	VBROADCASTSS ·halfBits<>+inf(SB), X14    \
loop:                                        \
	VMOVUPS  (SI)(AX*4), Y0                  \
	op                                       \
	VPAND    X15, X1, X2                     \
	VPCMPEQW X14, X2, X2                     \
	VPTEST   X2, X2                          \
	JNE      done                            \
	VMOVUPS  X1, (DI)(AX*2)                  \
	ADDQ     $8, AX                          \
	CMPQ     AX, CX                          \
	JLT      loop                            \
done:                                        \
	VZEROUPPER                               \
	MOVQ AX, done+24(FP)                      \
	RET

// WIDEN widens 8 numbers at a time by op, from memory to Y0.
#define WIDEN(op) \
	MOVQ dst+0(FP), DI        \
	MOVQ src+8(FP), SI        \
	MOVQ n+16(FP), CX         \
	XORQ AX, AX               \
loop:                         \
	op((SI)(AX*2))            \
	VMOVUPS Y0, (DI)(AX*4)    \
	ADDQ    $8, AX            \
	CMPQ    AX, CX            \
	JLT     loop              \
	VZEROUPPER                \
	RET

// INPUTS widens rows of n numbers by op to the inputs that have their places.
#define INPUTS(op) \
	MOVQ dst+0(FP), DI        \
	MOVQ src+8(FP), SI        \
	MOVQ n+16(FP), R8         \
	MOVQ inputs+24(FP), R9    \
	MOVQ count+32(FP), CX     \
	MOVL first+40(FP), R10    \
	MOVQ rows+48(FP), R11     \
	MOVQ places+56(FP), R12   \
	XORQ R13, R13             \
next:                         \
	MOVL  8(R9), AX           \
	MOVL  12(R9), BX          \
	ANDL  $0x7fffffff, BX     \
	SUBL  R10, BX             \
	CMPQ  AX, R11             \
	JCC   done                \
	CMPQ  BX, R12             \
	JCC   done                \
	IMULQ R8, AX              \
	IMULQ R8, BX              \
	LEAQ  (DI)(AX*4), AX      \
	LEAQ  (SI)(BX*2), BX      \
	XORQ  DX, DX              \
lanes:                        \
	op((BX)(DX*2))            \
	VMOVUPS Y0, (AX)(DX*4)    \
	ADDQ    $8, DX            \
	CMPQ    DX, R8            \
	JLT     lanes             \
	ADDQ    $16, R9           \
	INCQ    R13               \
	CMPQ    R13, CX           \
	JLT     next              \
done:                         \
	VZEROUPPER                \
	MOVQ R13, done+64(FP)      \
	RET

// ROUND rounds count rows of n numbers by op, Y2 to Y4, at most to the numbers at largest and least.
#define ROUND(largest, least, op) \
	MOVQ         vals+0(FP), SI                \
	MOVQ         rest+8(FP), R8                \
	MOVQ         n+16(FP), CX                  \
	MOVQ         rows+24(FP), R9               \
	MOVQ         count+32(FP), R10             \
	BOUNDS                                     \
	VBROADCASTSS ·halfBits<>+largest(SB), Y11  \
	VBROADCASTSS ·halfBits<>+least(SB), Y10    \
	VBROADCASTSS ·halfBits<>+32(SB), Y9        \
	VBROADCASTSS ·halfBits<>+36(SB), Y8        \
	VBROADCASTSS ·halfBits<>+56(SB), Y7        \
row:                                           \
	ROW                                        \
loop:                                          \
	TAKEUP                                     \
	op                                         \
	VMINPS Y11, Y4, Y4                         \
	VMAXPS Y10, Y4, Y4                         \
	SETTLE                                     \
	ADDQ $8, AX                                \
	CMPQ AX, CX                                \
	JLT  loop                                  \
	LEAQ (SI)(CX*4), SI                        \
	DECQ R10                                   \
	JNZ  row                                   \
	VZEROUPPER                                 \
	RET

// ROW goes to the beginning of the next row of rest.
#define ROW \
	MOVL  (R9), DI       \
	ADDQ  $4, R9         \
	IMULQ CX, DI         \
	LEAQ  (R8)(DI*4), DI \
	XORQ  AX, AX

#define TO16 VCVTPS2PH $0, Y0, X1
#define TOB16 \
	VPSRLD       $16, Y0, Y1     \
	VPOR         Y7, Y1, Y3      \
	VPAND        Y9, Y1, Y1      \
	VPADDD       Y0, Y1, Y1      \
	VPADDD       Y8, Y1, Y1      \
	VPSRLD       $16, Y1, Y1     \
	VCMPPS       $3, Y0, Y0, Y2  \
	VBLENDVPS    Y2, Y3, Y1, Y1  \
	VEXTRACTI128 $1, Y1, X2      \
	VPACKUSDW    X2, X1, X1

// func narrowF16(dst, src unsafe.Pointer, n int) (done int)
TEXT ·narrowF16(SB), NOSPLIT, $0-32
	NARROW(48, TO16)

// func narrowBF16(dst, src unsafe.Pointer, n int) (done int)
TEXT ·narrowBF16(SB), NOSPLIT, $0-32
	NARROW(52, TOB16)

#define FROM16(at) VCVTPH2PS at, Y0
#define FROMB16(at) \
	VPMOVZXWD at, Y0      \
	VPSLLD    $16, Y0, Y0

// func widenF16(dst, src unsafe.Pointer, n int)
TEXT ·widenF16(SB), NOSPLIT, $0-24
	WIDEN(FROM16)

// func widenBF16(dst, src unsafe.Pointer, n int)
TEXT ·widenBF16(SB), NOSPLIT, $0-24
	WIDEN(FROMB16)

// func widenInputsF16(dst, src unsafe.Pointer, n int, inputs *Input, count int, first uint32, rows, places int) (done int)
TEXT ·widenInputsF16(SB), NOSPLIT, $0-72
	INPUTS(FROM16)

// func widenInputsBF16(dst, src unsafe.Pointer, n int, inputs *Input, count int, first uint32, rows, places int) (done int)
TEXT ·widenInputsBF16(SB), NOSPLIT, $0-72
	INPUTS(FROMB16)

// TAKEUP loads what rounding knows, and adds 8 values and what is left of them to Y2; what waits of the latter is Y1.
#define BOUNDS \
	VBROADCASTSS ·halfBits<>+0(SB), Y15   \
	VBROADCASTSS ·halfBits<>+4(SB), Y14   \
	VBROADCASTSS ·halfBits<>+8(SB), Y13   \
	VBROADCASTSS ·halfBits<>+12(SB), Y12
#define TAKEUP \
	VMOVUPS   (SI)(AX*4), Y0  \
	VMOVUPS   (DI)(AX*4), Y1  \
	VADDPS    Y1, Y0, Y2      \
	VPAND     Y15, Y2, Y3     \
	VPCMPEQD  Y14, Y3, Y3     \
	VBLENDVPS Y3, Y0, Y2, Y2  \
	VPAND     Y3, Y1, Y1

// SETTLE stores the rounded values Y4, and what is left of Y2 beside Y1.
#define SETTLE \
	VSUBPS  Y4, Y2, Y5       \
	VADDPS  Y5, Y1, Y1       \
	VMINPS  Y13, Y1, Y1      \
	VMAXPS  Y12, Y1, Y1      \
	VMOVUPS Y4, (SI)(AX*4)   \
	VMOVUPS Y1, (DI)(AX*4)

#define ROUND16 \
	VCVTPS2PH $0, Y2, X4 \
	VCVTPH2PS X4, Y4
#define ROUNDB16 \
	VPSRLD $16, Y2, Y4 \
	VPAND  Y9, Y4, Y4  \
	VPADDD Y2, Y4, Y4  \
	VPADDD Y8, Y4, Y4  \
	VPAND  Y7, Y4, Y4

// func roundF16(vals, rest unsafe.Pointer, n int, rows *uint32, count int)
TEXT ·roundF16(SB), NOSPLIT, $0-40
	ROUND(16, 20, ROUND16)

// func roundBF16(vals, rest unsafe.Pointer, n int, rows *uint32, count int)
TEXT ·roundBF16(SB), NOSPLIT, $0-40
	ROUND(24, 28, ROUNDB16)

// SCALE makes of the greatest of 8 magnitudes Y6, whose bits are compared, the bits of the scale in DX, and broadcasts it to Y8 and
// its inverse to Y9.
#define SCALE \
	VEXTRACTI128 $1, Y6, X7       \
	VPMAXUD      X7, X6, X6       \
	VPSHUFD      $0x4e, X6, X7    \
	VPMAXUD      X7, X6, X6       \
	VPSHUFD      $0xb1, X6, X7    \
	VPMAXUD      X7, X6, X6       \
	VMOVD        X6, DX           \
	MOVL         $127, BX         \
	TESTL        DX, DX           \
	JEQ          scaled           \
	ADDL         $0x1ffff, DX     \
	SHRL         $23, DX          \
	SUBL         $6, DX           \
	MOVL         $1, BX           \
	CMPL         DX, BX           \
	CMOVLGT      DX, BX           \
	MOVL         $247, DX         \
	CMPL         BX, DX           \
	CMOVLGT      DX, BX           \
scaled:                           \
	MOVL         $254, DX         \
	SUBL         BX, DX           \
	SHLL         $23, DX          \
	VMOVD        DX, X9           \
	VBROADCASTSS X9, Y9           \
	MOVL         BX, DX           \
	SHLL         $23, DX          \
	VMOVD        DX, X8           \
	VBROADCASTSS X8, Y8

// MULTIPLE makes of Y2 how often it has the scale, in Y4.
#define MULTIPLE \
	VMULPS   Y9, Y2, Y4  \
	VROUNDPS $8, Y4, Y4  \
	VMINPS   Y11, Y4, Y4 \
	VMAXPS   Y10, Y4, Y4

// func roundRunsAVX2(vals, rest unsafe.Pointer, n int, rows *uint32, count int)
TEXT ·roundRunsAVX2(SB), NOSPLIT, $0-40
	MOVQ         vals+0(FP), SI
	MOVQ         rest+8(FP), R8
	MOVQ         n+16(FP), CX
	MOVQ         rows+24(FP), R9
	MOVQ         count+32(FP), R10
	BOUNDS
	VBROADCASTSS ·halfBits<>+60(SB), Y11
	VBROADCASTSS ·halfBits<>+64(SB), Y10

row:
	ROW
	VPXOR Y6, Y6, Y6

sums:
	TAKEUP
	VMOVUPS Y2, (SI)(AX*4)
	VMOVUPS Y1, (DI)(AX*4)
	VPAND   Y15, Y2, Y3
	VPMAXUD Y3, Y6, Y6
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     sums
	SCALE
	XORQ    AX, AX

values:
	VMOVUPS (SI)(AX*4), Y2
	VMOVUPS (DI)(AX*4), Y1
	MULTIPLE
	VMULPS  Y8, Y4, Y4
	SETTLE
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     values
	LEAQ    (SI)(CX*4), SI
	DECQ    R10
	JNZ     row
	VZEROUPPER
	RET

// func narrowRunsAVX2(dst, vals unsafe.Pointer, n, count int)
TEXT ·narrowRunsAVX2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         vals+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVQ         count+24(FP), R10
	VBROADCASTSS ·halfBits<>+0(SB), Y15
	VBROADCASTSS ·halfBits<>+60(SB), Y11
	VBROADCASTSS ·halfBits<>+64(SB), Y10

run:
	XORQ  AX, AX
	VPXOR Y6, Y6, Y6

most:
	VPAND   (SI)(AX*4), Y15, Y3
	VPMAXUD Y3, Y6, Y6
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     most
	SCALE
	XORQ    AX, AX
	VMOVUPS (SI), Y2 // before the scale may lie there
	MOVL    DX, (DI)
	JMP     first

values:
	VMOVUPS (SI)(AX*4), Y2

first:
	MULTIPLE
	VCVTPS2DQ    Y4, Y4
	VEXTRACTI128 $1, Y4, X5
	VPACKSSDW    X5, X4, X4
	VPACKSSWB    X4, X4, X4
	VMOVQ        X4, 4(DI)(AX*1)
	ADDQ         $8, AX
	CMPQ         AX, CX
	JLT          values
	LEAQ         (SI)(CX*4), SI
	LEAQ         4(DI)(CX*1), DI
	DECQ         R10
	JNZ          run
	VZEROUPPER
	RET

// func widenRunsAVX2(dst, runs unsafe.Pointer, n, count int) (done int)
TEXT ·widenRunsAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ runs+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ count+24(FP), R10
	XORQ R11, R11

run:
	CMPL         (SI), $0x7bffffff // 2^121 less a bit, as an unsigned number
	JHI          done
	VBROADCASTSS (SI), Y8
	XORQ         AX, AX

loop:
	VPMOVSXBD 4(SI)(AX*1), Y0
	VCVTDQ2PS Y0, Y0
	VMULPS    Y8, Y0, Y0
	VMOVUPS   Y0, (DI)(AX*4)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       loop
	LEAQ      (DI)(CX*4), DI
	LEAQ      4(SI)(CX*1), SI
	INCQ      R11
	CMPQ      R11, R10
	JLT       run

done:
	VZEROUPPER
	MOVQ R11, done+32(FP)
	RET
