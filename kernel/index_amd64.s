#include "textflag.h"

// FIND searches for n keys; MATCH makes BX the slots of the line at AX that have the key, SPREAD puts a key into a vector, NAME
// stamps slot BX of that line, FETCH fetches row BX. Before it searches for a key it fetches the line of another one, into the second cache:
// the first has too few buffers for these lines and the rows together. The loop is as short as can be: many searches must be under way
// in the processor at a time.
//
//	SI keys   DI lines  DX at    R13 lines to fetch  R8 rows   R9 key  CX keys in all  R10 missing
//	R12 stamp R11 scratch R14 slab  R15 stride
#define FIND(SPREAD, MATCH, NAME, FETCH) \
	MOVQ f+0(FP), AX       \
	MOVQ 0(AX), R12        \
	MOVQ 8(AX), R14        \
	MOVQ 16(AX), R15       \
	MOVQ lines+8(FP), DI   \
	MOVQ keys+16(FP), SI   \
	MOVQ at+24(FP), DX     \
	MOVQ rows+32(FP), R8   \
	MOVQ next+40(FP), R13  \
	MOVQ n+48(FP), CX      \
	XORQ R9, R9            \
	XORQ R10, R10          \
key:                           \
	MOVL (R13)(R9*4), AX   \
	SHLQ $6, AX            \
	PREFETCHT1 (DI)(AX*1)  \
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
	FETCH                  \
	INCQ R9                \
	CMPQ R9, CX            \
	JLT  key               \
	MOVQ R10, missing+56(FP) \
	VZEROUPPER             \
	RET                    \
next:                          \
	ADDQ $64, AX           \
	CMPL -8(AX), $0        \
	JNE  line              \
	XORL BX, BX            \
	JMP  found

#define NOFETCH
#define FETCHNEAR \
	IMULQ R15, BX          \
	PREFETCHT0 (R14)(BX*1)
#define FETCHLONG(HINT, more) \
	IMULQ R15, BX          \
	ADDQ  R14, BX          \
	MOVQ  f+0(FP), AX      \
	MOVQ  24(AX), AX       \
more:                          \
	HINT (BX)              \
	ADDQ  $64, BX          \
	DECQ  AX               \
	JNZ   more

// func locateOne(s *Spread, keys *int64, at *uint32, n int)
TEXT ·locateOne(SB), NOSPLIT, $0-32
	MOVQ s+0(FP), AX
	MOVQ 0(AX), CX   // bits
	MOVQ 8(AX), R8   // lines
	MOVQ 16(AX), R9  // wide
	MOVQ 24(AX), R10 // from
	MOVQ keys+8(FP), SI
	MOVQ at+16(FP), DX
	MOVQ n+24(FP), BX
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
	ADDQ    $8, SI
	ADDQ    $4, DX
	DECQ    BX
	JNZ     scalar
	RET

// HASH8 makes hashes of the keys in Z0; Z14 is the constant.
#define HASH8 \
	VPSRLQ  $32, Z0, Z1   \
	VPXORQ  Z1, Z0, Z0    \
	VPMULLQ Z14, Z0, Z0   \
	VPSRLQ  $32, Z0, Z1   \
	VPXORQ  Z1, Z0, Z0    \
	VPMULLQ Z14, Z0, Z0   \
	VPSRLQ  $32, Z0, Z1   \
	VPXORQ  Z1, Z0, Z0

// func locate512(s *Spread, keys *int64, at *uint32, n int)
// n is a multiple of 8 and not 0.
TEXT ·locate512(SB), NOSPLIT, $0-32
	MOVQ         s+0(FP), AX
	VMOVQ        0(AX), X10         // bits
	VPBROADCASTQ 8(AX), Z11         // lines
	VPBROADCASTQ 16(AX), Z12        // wide
	VPBROADCASTQ 24(AX), Z13        // from
	MOVQ         $0xd6e8feb86659fd93, AX
	VPBROADCASTQ AX, Z14
	MOVQ         keys+8(FP), SI
	MOVQ         at+16(FP), DX
	MOVQ         n+24(FP), BX

eight:
	VMOVDQU64 (SI), Z0
	HASH8
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
	JNZ       eight
	VZEROUPPER
	RET

// func hash512(dst *uint64, keys *int64, n int)
// n is a multiple of 8 and not 0.
TEXT ·hash512(SB), NOSPLIT, $0-24
	MOVQ         $0xd6e8feb86659fd93, AX
	VPBROADCASTQ AX, Z14
	MOVQ         dst+0(FP), DI
	MOVQ         keys+8(FP), SI
	MOVQ         n+16(FP), BX

eight:
	VMOVDQU64 (SI), Z0
	HASH8
	VMOVDQU64 Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $64, DI
	SUBQ      $8, BX
	JNZ       eight
	VZEROUPPER
	RET

// func within512(keys *int64, n int, lo, width, bits, top uint64) (some int)
// n is a multiple of 8 and not 0; some is how many keys stand before the first eight of which one is not within.
TEXT ·within512(SB), NOSPLIT, $0-56
	MOVQ         $0xd6e8feb86659fd93, AX
	VPBROADCASTQ AX, Z14
	MOVQ         keys+0(FP), SI
	MOVQ         n+8(FP), CX
	VPBROADCASTQ lo+16(FP), Z10
	VPBROADCASTQ width+24(FP), Z11
	MOVQ         $64, AX
	SUBQ         bits+32(FP), AX
	VMOVQ        AX, X12              // shift; 64: nothing is left
	VPBROADCASTQ top+40(FP), Z13
	XORQ         R9, R9

eight:
	VMOVDQU64 (SI)(R9*8), Z0
	VPSUBQ    Z10, Z0, Z2
	VPCMPUQ   $1, Z11, Z2, K1         // below width
	HASH8
	VPSRLQ    X12, Z0, Z0
	VPCMPUQ   $0, Z13, Z0, K1, K1
	KORTESTB  K1, K1
	JCC       out                     // not all ones
	ADDQ      $8, R9
	CMPQ      R9, CX
	JLT       eight

out:
	MOVQ R9, some+48(FP)
	VZEROUPPER
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

#define SPREAD5 \
	VPBROADCASTQ (SI)(R9*8), Z0
#define MATCH5 \
	VPCMPEQQ (AX), Z0, K1 \
	KMOVB    K1, BX       \
	ANDL     $31, BX

// func findAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·findAVX2(SB), NOSPLIT, $0-64
	FIND(SPREAD2, MATCH2, NOSTAMP, NOFETCH)

// func findNearAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·findNearAVX2(SB), NOSPLIT, $0-64
	FIND(SPREAD2, MATCH2, NOSTAMP, FETCHNEAR)

// func findLongAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·findLongAVX2(SB), NOSPLIT, $0-64
	FIND(SPREAD2, MATCH2, NOSTAMP, FETCHLONG(PREFETCHT0, more))

// func findFarAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·findFarAVX2(SB), NOSPLIT, $0-64
	FIND(SPREAD2, MATCH2, NOSTAMP, FETCHLONG(PREFETCHT1, more))

// func stampAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·stampAVX2(SB), NOSPLIT, $0-64
	FIND(SPREAD2, MATCH2, STAMP, NOFETCH)

// func find512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·find512(SB), NOSPLIT, $0-64
	FIND(SPREAD5, MATCH5, NOSTAMP, NOFETCH)

// func findNear512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·findNear512(SB), NOSPLIT, $0-64
	FIND(SPREAD5, MATCH5, NOSTAMP, FETCHNEAR)

// func findLong512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·findLong512(SB), NOSPLIT, $0-64
	FIND(SPREAD5, MATCH5, NOSTAMP, FETCHLONG(PREFETCHT0, more))

// func findFar512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·findFar512(SB), NOSPLIT, $0-64
	FIND(SPREAD5, MATCH5, NOSTAMP, FETCHLONG(PREFETCHT1, more))

// func stamp512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)
TEXT ·stamp512(SB), NOSPLIT, $0-64
	FIND(SPREAD5, MATCH5, STAMP, NOFETCH)

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

// FETCH fetches the first lines of rows; one, two, many and each are labels.
#define FETCH(HINT, one, two, many, each) \
	CMPQ R9, $2     \
	JEQ  two        \
	JGT  many       \
one:                    \
	MOVL  (SI), AX  \
	IMULQ R8, AX    \
	HINT (DI)(AX*1) \
	ADDQ  $4, SI    \
	DECQ  CX        \
	JNZ   one       \
	RET             \
two:                    \
	MOVL  (SI), AX  \
	IMULQ R8, AX    \
	HINT (DI)(AX*1) \
	HINT 64(DI)(AX*1) \
	ADDQ  $4, SI    \
	DECQ  CX        \
	JNZ   two       \
	RET             \
many:                   \
	MOVL  (SI), AX  \
	IMULQ R8, AX    \
	ADDQ  DI, AX    \
	MOVQ  R9, BX    \
each:                   \
	HINT (AX)       \
	ADDQ $64, AX    \
	DECQ BX         \
	JNZ  each       \
	ADDQ $4, SI     \
	DECQ CX         \
	JNZ  many       \
	RET

// func fetchRows(slab *byte, stride, lines int, rows *uint32, n int)
TEXT ·fetchRows(SB), NOSPLIT, $0-40
	MOVQ slab+0(FP), DI
	MOVQ stride+8(FP), R8
	MOVQ lines+16(FP), R9
	MOVQ rows+24(FP), SI
	MOVQ n+32(FP), CX
	CMPB ·fetchFar(SB), $0
	JNE  far
	FETCH(PREFETCHT0, one, two, many, each)

far:
	FETCH(PREFETCHT1, oneFar, twoFar, manyFar, eachFar)

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET
