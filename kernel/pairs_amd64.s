#include "textflag.h"
#include "sparse_amd64.h"

// ROW loads a row of the vectors, the last one again where there is none.
#define ROW(z) \
	VMOVUPS.Z (AX), K2, z \
	DECQ      CX          \
	CMOVQEQ   R13, R9     \
	ADDQ      R9, AX

// The steps of turning 16 rows of 16 into columns: pairs of rows, rows by four, and the four lanes of vectors.
#define PAIR(a, b, lo, hi) \
	VUNPCKLPS b, a, lo \
	VUNPCKHPS b, a, hi
#define FOUR(a, b, c, d, w, x, y, z) \
	VUNPCKLPD c, a, w \
	VUNPCKHPD c, a, x \
	VUNPCKLPD d, b, y \
	VUNPCKHPD d, b, z
#define CROSS(a, b, even, odd) \
	VSHUFF32X4 $0x88, b, a, even \
	VSHUFF32X4 $0xdd, b, a, odd

// PRODUCTS adds those of four columns of vector i with the columns of the group.
#define PRODUCTS(c, w, x, y, z) \
	VMULPS.BCST (4*c)(SI), w, Z17    \
	VMULPS.BCST (4*c+4)(SI), x, Z18  \
	VMULPS.BCST (4*c+8)(SI), y, Z19  \
	VMULPS.BCST (4*c+12)(SI), z, Z20 \
	VADDPS Z17, Z16, Z16 \
	VADDPS Z18, Z16, Z16 \
	VADDPS Z19, Z16, Z16 \
	VADDPS Z20, Z16, Z16

// GRADIENTS adds, vector by vector of columns, for each i the products of g with the e of all others. R14 is g of (j, i) and moves by R13
// to that of (j+1, i), then g of (i, j).
#define GRADIENTS(bytes, SOME, LOAD, STORE, v0, v1, v2) \
	MOVQ de+0(FP), DI     \
	MOVQ f+24(FP), R9     \
	MOVQ n+32(FP), R8     \
	SHLQ $2, R8           \
	XORQ R10, R10         \
eachvector:                   \
	XORQ R11, R11         \
columns:                      \
	SOME(bytes)           \
	LOAD(K2, (DI)(R11*1), v0) \
	MOVQ e+16(FP), SI     \
	ADDQ R11, SI          \
	MOVQ pairs+8(FP), AX      \
	LEAQ -4(AX)(R10*4), R14 \
	XORQ DX, DX           \
	LEAQ -8(DX)(R9*4), R13 \
	MOVQ R10, CX          \
	TESTQ CX, CX          \
	JZ   above            \
below:                        \
	VBROADCASTSS (R14), v1 \
	LOAD(K2, (SI), v2)    \
	VMULPS v1, v2, v2     \
	VADDPS v2, v0, v0     \
	ADDQ R13, R14         \
	SUBQ $4, R13          \
	ADDQ R8, SI           \
	DECQ CX               \
	JNZ  below            \
above:                        \
	MOVQ R9, CX           \
	SUBQ R10, CX          \
	DECQ CX               \
	JZ   stored           \
after:                        \
	ADDQ R8, SI           \
	ADDQ $4, R14          \
	VBROADCASTSS (R14), v1 \
	LOAD(K2, (SI), v2)    \
	VMULPS v1, v2, v2     \
	VADDPS v2, v0, v0     \
	DECQ CX               \
	JNZ  after            \
stored:                       \
	STORE(K2, v0, (DI)(R11*1)) \
	ADDQ $bytes, R11      \
	CMPQ R11, R8          \
	JLT  columns          \
	ADDQ R8, DI           \
	INCQ R10              \
	CMPQ R10, R9          \
	JLT  eachvector       \
	VZEROUPPER            \
	RET

#define COLUMNS(lanes) \
	MOVQ  n+32(FP), CX   \
	DECQ  CX             \
	ANDQ  $(lanes-1), CX \
	MOVL  $2, DX         \
	SHLL  CX, DX         \
	DECL  DX             \
	KMOVW DX, K1

// func pairDots512(out, e *float32, f, n, j, cols, more int)
//
// Lanes are vectors j to j+15, Z0 to Z15 the columns of them. DI is where the product of vectors i and j goes, R10 how far it is to
// that of i+1 and j.
TEXT ·pairDots512(SB), NOSPLIT, $0-56
	MOVQ  out+0(FP), DI
	MOVQ  e+8(FP), SI
	MOVQ  f+16(FP), R8
	MOVQ  n+24(FP), R11
	SHLQ  $2, R11            // bytes of a vector
	MOVQ  j+32(FP), R12
	MOVQ  cols+40(FP), DX
	XORQ  R13, R13
	KXNORW K3, K3, K3
	CMPQ  more+48(FP), $0
	JNE   enter
	KXORW K3, K3, K3         // sums begin with 0

enter:
	MOVQ  DX, CX
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K2             // columns that there are
	MOVQ  R12, AX
	IMULQ R11, AX
	ADDQ  SI, AX             // vector j
	MOVQ  R11, R9
	MOVQ  R8, CX
	SUBQ  R12, CX            // vectors left
	MOVL  $0xffff, BX
	CMPQ  CX, $16
	JGE   load
	MOVL  $1, BX
	SHLL  CX, BX
	DECL  BX

load:
	KMOVW BX, K1             // vectors that there are
	ROW(Z0)
	ROW(Z1)
	ROW(Z2)
	ROW(Z3)
	ROW(Z4)
	ROW(Z5)
	ROW(Z6)
	ROW(Z7)
	ROW(Z8)
	ROW(Z9)
	ROW(Z10)
	ROW(Z11)
	ROW(Z12)
	ROW(Z13)
	ROW(Z14)
	ROW(Z15)
	PAIR(Z0, Z1, Z16, Z17)
	PAIR(Z2, Z3, Z18, Z19)
	PAIR(Z4, Z5, Z20, Z21)
	PAIR(Z6, Z7, Z22, Z23)
	PAIR(Z8, Z9, Z24, Z25)
	PAIR(Z10, Z11, Z26, Z27)
	PAIR(Z12, Z13, Z28, Z29)
	PAIR(Z14, Z15, Z30, Z31)
	FOUR(Z16, Z17, Z18, Z19, Z0, Z1, Z2, Z3)
	FOUR(Z20, Z21, Z22, Z23, Z4, Z5, Z6, Z7)
	FOUR(Z24, Z25, Z26, Z27, Z8, Z9, Z10, Z11)
	FOUR(Z28, Z29, Z30, Z31, Z12, Z13, Z14, Z15)
	CROSS(Z0, Z4, Z16, Z20)
	CROSS(Z1, Z5, Z17, Z21)
	CROSS(Z2, Z6, Z18, Z22)
	CROSS(Z3, Z7, Z19, Z23)
	CROSS(Z8, Z12, Z24, Z28)
	CROSS(Z9, Z13, Z25, Z29)
	CROSS(Z10, Z14, Z26, Z30)
	CROSS(Z11, Z15, Z27, Z31)
	CROSS(Z16, Z24, Z0, Z8)
	CROSS(Z17, Z25, Z1, Z9)
	CROSS(Z18, Z26, Z2, Z10)
	CROSS(Z19, Z27, Z3, Z11)
	CROSS(Z20, Z28, Z4, Z12)
	CROSS(Z21, Z29, Z5, Z13)
	CROSS(Z22, Z30, Z6, Z14)
	CROSS(Z23, Z31, Z7, Z15)
	LEAQ  -4(DI)(R12*4), DI
	LEAQ  -8(R13)(R8*4), R10
	MOVQ  R12, CX            // vectors before the group
	MOVL  BX, R9
	TESTQ CX, CX
	JZ    inside

vector:
	KANDW     K3, K1, K4
	VMOVUPS.Z (DI), K4, Z16
	PRODUCTS(0, Z0, Z1, Z2, Z3)
	CMPQ      DX, $8
	JLT       done
	PRODUCTS(4, Z4, Z5, Z6, Z7)
	CMPQ      DX, $12
	JLT       done
	PRODUCTS(8, Z8, Z9, Z10, Z11)
	CMPQ      DX, $16
	JLT       done
	PRODUCTS(12, Z12, Z13, Z14, Z15)

done:
	VMOVUPS Z16, K1, (DI)
	ADDQ    R11, SI
	ADDQ    R10, DI
	SUBQ    $4, R10
	DECQ    CX
	JG      vector

inside: // vectors of the group itself have products with those after them
	ADDL  R9, R9
	ANDL  BX, R9
	KMOVW R9, K1
	TESTL R9, R9
	JNZ   vector
	VZEROUPPER
	RET

// func pairDotsGrad512(de, pairs, e *float32, f, n int)
TEXT ·pairDotsGrad512(SB), NOSPLIT, $0-40
	COLUMNS(16)
	GRADIENTS(64, SOMEK, LOADK, STOREK, Z0, Z1, Z2)

// func pairDotsGrad512Short(de, pairs, e *float32, f, n int)
TEXT ·pairDotsGrad512Short(SB), NOSPLIT, $0-40
	COLUMNS(8)
	GRADIENTS(32, SOMEK, LOADK, STOREK, Y0, Y1, Y2)

// func pairDotsGradAVX2(de, pairs, e *float32, f, n int)
TEXT ·pairDotsGradAVX2(SB), NOSPLIT, $0-40
	GRADIENTS(32, SOMEY, LOADY, STOREY, Y0, Y1, Y2)
