#include "textflag.h"

// FIND searches for n keys; MATCH makes BX the slots of the line at AX that have the key, SPREAD puts a key into a vector, NAME
// stamps slot BX of that line.
#define FIND(SPREAD, MATCH, NAME) \
	MOVQ lines+0(FP), DI   \
	MOVQ keys+8(FP), SI    \
	MOVQ at+16(FP), DX     \
	MOVQ rows+24(FP), R8   \
	MOVQ n+32(FP), CX      \
	MOVQ s+40(FP), R12     \
	XORQ R9, R9            \
	XORQ R10, R10          \
key:                           \
	MOVL (DX)(R9*4), AX    \
	SHLQ $6, AX            \
	ADDQ DI, AX            \
	SPREAD                 \
line:                          \
	MATCH                  \
	JZ   next              \
	BSFL BX, BX            \
	NAME                   \
	MOVL 40(AX)(BX*4), BX  \
found:                         \
	MOVL BX, (R8)(R9*4)    \
	CMPL BX, $1            \
	ADCQ $0, R10           \
	INCQ R9                \
	CMPQ R9, CX            \
	JLT  key               \
	MOVQ R10, missing+48(FP) \
	VZEROUPPER             \
	RET                    \
next:                          \
	ADDQ $64, AX           \
	CMPL -8(AX), $0        \
	JNE  line              \
	XORL BX, BX            \
	JMP  found

// func locateOne(s *Spread, lines *Line, keys *int64, at *uint32, n int)
TEXT ·locateOne(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), AX
	MOVQ 0(AX), CX   // bits
	MOVQ 8(AX), R8   // lines
	MOVQ 16(AX), R9  // wide
	MOVQ 24(AX), R10 // from
	MOVQ lines+8(FP), DI
	MOVQ keys+16(FP), SI
	MOVQ at+24(FP), DX
	MOVQ n+32(FP), BX
	MOVQ $0xd6e8feb86659fd93, R11

scalar:
	MOVQ    (SI), AX
	MOVQ    AX, R12
	SHRQ    $32, R12
	XORQ    R12, AX
	IMULQ   R11, AX
	MOVQ    AX, R12
	SHRQ    $32, R12
	XORQ    R12, AX
	IMULQ   R11, AX
	MOVQ    AX, R12
	SHRQ    $32, R12
	XORQ    R12, AX
	SHLQ    CX, AX
	SHRQ    $32, AX
	MOVQ    R8, R13
	CMPQ    AX, R10
	CMOVQCC R9, R13
	IMULQ   R13, AX
	SHRQ    $32, AX
	MOVL    AX, (DX)
	SHLQ    $6, AX
	PREFETCHT0 (DI)(AX*1)
	ADDQ    $8, SI
	ADDQ    $4, DX
	DECQ    BX
	JNZ     scalar
	RET

// func locate512(s *Spread, lines *Line, keys *int64, at *uint32, n int)
// n is a multiple of 8 and not 0.
TEXT ·locate512(SB), NOSPLIT, $0-40
	MOVQ         s+0(FP), AX
	VMOVQ        0(AX), X10         // bits
	VPBROADCASTQ 8(AX), Z11         // lines
	VPBROADCASTQ 16(AX), Z12        // wide
	VPBROADCASTQ 24(AX), Z13        // from
	MOVQ         $0xd6e8feb86659fd93, AX
	VPBROADCASTQ AX, Z14
	MOVQ         keys+16(FP), SI
	MOVQ         at+24(FP), DX
	MOVQ         n+32(FP), BX

wide:
	VMOVDQU64 (SI), Z0
	VPSRLQ    $32, Z0, Z1
	VPXORQ    Z1, Z0, Z0
	VPMULLQ   Z14, Z0, Z0
	VPSRLQ    $32, Z0, Z1
	VPXORQ    Z1, Z0, Z0
	VPMULLQ   Z14, Z0, Z0
	VPSRLQ    $32, Z0, Z1
	VPXORQ    Z1, Z0, Z0
	VPSLLQ    X10, Z0, Z0
	VPSRLQ    $32, Z0, Z0
	VPCMPUQ   $5, Z13, Z0, K1       // not below from
	VMOVDQA64 Z11, Z2
	VMOVDQA64 Z12, K1, Z2
	VPMULUDQ  Z2, Z0, Z0
	VPSRLQ    $32, Z0, Z0
	VPMOVQD   Z0, (DX)
	ADDQ      $64, SI
	ADDQ      $32, DX
	SUBQ      $8, BX
	JNZ       wide

	VZEROUPPER
	MOVQ lines+8(FP), DI
	MOVQ at+24(FP), DX
	MOVQ n+32(FP), BX

ahead:
	MOVL       (DX), AX
	MOVL       4(DX), CX
	SHLQ       $6, AX
	SHLQ       $6, CX
	PREFETCHT0 (DI)(AX*1)
	PREFETCHT0 (DI)(CX*1)
	ADDQ       $8, DX
	SUBQ       $2, BX
	JNZ        ahead
	RET

#define SPREAD2 \
	VPBROADCASTQ (SI)(R9*8), Y0
#define MATCH2 \
	VPCMPEQQ  (AX), Y0, Y1   \
	VPCMPEQQ  32(AX), Y0, Y2 \
	VMOVMSKPD Y1, BX         \
	VMOVMSKPD Y2, R11        \
	SHLL      $4, R11        \
	ORL       R11, BX        \
	ANDL      $31, BX

#define NOSTAMP
#define STAMP \
	MOVL 60(AX), R11        \
	ANDL (R12)(BX*4), R11   \
	ORL  32(R12)(BX*4), R11 \
	MOVL R11, 60(AX)

// func findAVX2(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)
TEXT ·findAVX2(SB), NOSPLIT, $0-56
	FIND(SPREAD2, MATCH2, NOSTAMP)

// func stampAVX2(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)
TEXT ·stampAVX2(SB), NOSPLIT, $0-56
	FIND(SPREAD2, MATCH2, STAMP)

#define SPREAD5 \
	VPBROADCASTQ (SI)(R9*8), Z0
#define MATCH5 \
	VPCMPEQQ (AX), Z0, K1 \
	KMOVB    K1, BX       \
	ANDL     $31, BX

// func find512(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)
TEXT ·find512(SB), NOSPLIT, $0-56
	FIND(SPREAD5, MATCH5, NOSTAMP)

// func stamp512(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)
TEXT ·stamp512(SB), NOSPLIT, $0-56
	FIND(SPREAD5, MATCH5, STAMP)

// func findNext512(lo, n int64, keys *int64, rows *uint32, some int)
TEXT ·findNext512(SB), NOSPLIT, $0-40
	VPBROADCASTQ lo+0(FP), Z0
	VPBROADCASTQ n+8(FP), Z1
	MOVQ         $1, AX
	VPBROADCASTQ AX, Z2
	MOVQ         keys+16(FP), SI
	MOVQ         rows+24(FP), DX
	MOVQ         some+32(FP), CX

eight:
	VMOVDQU64 (SI), Z3
	VPSUBQ    Z0, Z3, Z3
	VPCMPUQ   $1, Z1, Z3, K1 // below n
	VPADDQ.Z  Z2, Z3, K1, Z3
	VPMOVQD   Z3, (DX)
	ADDQ      $64, SI
	ADDQ      $32, DX
	SUBQ      $8, CX
	JNZ       eight
	VZEROUPPER
	RET

// func fetchRows(slab *byte, stride, lines int, rows *uint32, n int)
TEXT ·fetchRows(SB), NOSPLIT, $0-40
	MOVQ slab+0(FP), DI
	MOVQ stride+8(FP), R8
	MOVQ lines+16(FP), R9
	MOVQ rows+24(FP), SI
	MOVQ n+32(FP), CX
	CMPQ R9, $2
	JEQ  two
	JGT  many

one:
	MOVL       (SI), AX
	IMULQ      R8, AX
	PREFETCHT1 (DI)(AX*1)
	ADDQ       $4, SI
	DECQ       CX
	JNZ        one
	RET

two:
	MOVL       (SI), AX
	IMULQ      R8, AX
	PREFETCHT1 (DI)(AX*1)
	PREFETCHT1 64(DI)(AX*1)
	ADDQ       $4, SI
	DECQ       CX
	JNZ        two
	RET

many:
	MOVL  (SI), AX
	IMULQ R8, AX
	ADDQ  DI, AX
	MOVQ  R9, BX

each:
	PREFETCHT1 (AX)
	ADDQ       $64, AX
	DECQ       BX
	JNZ        each
	ADDQ       $4, SI
	DECQ       CX
	JNZ        many
	RET
