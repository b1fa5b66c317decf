#include "textflag.h"

// Rows of float32 are brought up to date eight numbers at a time, and the last of a row one by one.
//
//	DI where rows go   R8 bytes from row to row there   R11 numbers of the rows there   AX row there
//	SI slab            R9 bytes from row to row         R12 numbers of the rows         BX row
//	R13 drifts         R10 numbers of a row             CX rows left                    DX numbers left

#define ENTER \
	MOVQ dst+0(FP), DI        \
	MOVQ slab+8(FP), SI       \
	MOVQ dstStride+16(FP), R8 \
	MOVQ stride+24(FP), R9    \
	MOVQ n+32(FP), R10        \
	MOVQ at+40(FP), R11       \
	MOVQ rows+48(FP), R12     \
	MOVQ drifts+56(FP), R13   \
	MOVQ count+64(FP), CX

#define BEGIN \
	MOVL  (R11), AX \
	IMULQ R8, AX    \
	ADDQ  DI, AX    \
	MOVL  (R12), BX \
	IMULQ R9, BX    \
	ADDQ  SI, BX    \
	MOVQ  R10, DX

// COEFFICIENT is the i-th number of the drift in all lanes.
#define COEFFICIENT(i, x, y) \
	VXORPS       x, x, x          \
	VCVTSD2SS    (8*i)(R13), x, x \
	VBROADCASTSS x, y

// Of a row EIGHTS begins what is done with eight numbers, ONES what with one of the rest. END goes on to the next row.
#define EIGHTS \
	SUBQ $8, DX; \
	JLT  rest;   \
full:

#define ONES \
	ADDQ $32, AX; \
	ADDQ $32, BX; \
	SUBQ $8, DX;  \
	JGE  full;    \
rest:           \
	ADDQ $8, DX;  \
	JZ   end;     \
one:

#define END \
	ADDQ $4, AX;  \
	ADDQ $4, BX;  \
	DECQ DX;      \
	JNZ  one;     \
end:            \
	ADDQ $4, R11; \
	ADDQ $4, R12; \
	ADDQ $40, R13; \
	DECQ CX;      \
	JNZ  row;     \
	VZEROUPPER;   \
	RET

// func scaleRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count int)
TEXT ·scaleRowsAVX2(SB), NOSPLIT, $0-72
	ENTER

row:
	BEGIN
	COEFFICIENT(0, X1, Y1)
	EIGHTS
	VMULPS  (BX), Y1, Y0
	VMOVUPS Y0, (AX)
	ONES
	VMULSS (BX), X1, X0
	VMOVSS X0, (AX)
	END

// func sumRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count, slot int)
TEXT ·sumRowsAVX2(SB), NOSPLIT, $0-80
	ENTER
	MOVQ slot+72(FP), R14

row:
	BEGIN
	COEFFICIENT(0, X1, Y1)
	COEFFICIENT(1, X2, Y2)
	EIGHTS
	VMULPS  (BX), Y1, Y0
	VMULPS  (BX)(R14*1), Y2, Y3
	VADDPS  Y3, Y0, Y0
	VMOVUPS Y0, (AX)
	ONES
	VMULSS (BX), X1, X0
	VMULSS (BX)(R14*1), X2, X3
	VADDSS X3, X0, X0
	VMOVSS X0, (AX)
	END

// func coupleRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count, slot int)
TEXT ·coupleRowsAVX2(SB), NOSPLIT, $0-80
	ENTER
	MOVQ slot+72(FP), R14

row:
	BEGIN
	COEFFICIENT(0, X1, Y1)
	COEFFICIENT(1, X2, Y2)
	COEFFICIENT(2, X3, Y3)
	COEFFICIENT(3, X4, Y4)
	EIGHTS
	VMOVUPS (BX), Y5
	VMOVUPS (BX)(R14*1), Y6
	VMULPS  Y5, Y1, Y0
	VMULPS  Y6, Y2, Y7
	VADDPS  Y7, Y0, Y0
	VMULPS  Y5, Y3, Y5
	VMULPS  Y6, Y4, Y6
	VADDPS  Y6, Y5, Y5
	VMOVUPS Y0, (AX)
	VMOVUPS Y5, (AX)(R14*1)
	ONES
	VMOVSS (BX), X5
	VMOVSS (BX)(R14*1), X6
	VMULSS X5, X1, X0
	VMULSS X6, X2, X7
	VADDSS X7, X0, X0
	VMULSS X5, X3, X5
	VMULSS X6, X4, X6
	VADDSS X6, X5, X5
	VMOVSS X0, (AX)
	VMOVSS X5, (AX)(R14*1)
	END

// SHRINK moves v towards zero by by; t, u, x and y are overwritten, zero is zero.
#define SHRINK(v, by, zero, t, u, x, y) \
	VCMPPS    $30, by, v, t \
	VSUBPS    by, zero, u   \
	VCMPPS    $17, u, v, u  \
	VADDPS    by, v, x      \
	VANDPS    u, x, x       \
	VSUBPS    by, v, y      \
	VBLENDVPS t, y, x, x    \
	VCMPPS    $3, v, v, t   \
	VBLENDVPS t, v, x, v

// func shrinkRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count int)
TEXT ·shrinkRowsAVX2(SB), NOSPLIT, $0-72
	ENTER
	VXORPS Y13, Y13, Y13

row:
	BEGIN
	COEFFICIENT(0, X1, Y1)
	COEFFICIENT(4, X2, Y2)
	EIGHTS
	VMULPS  (BX), Y1, Y0
	SHRINK(Y0, Y2, Y13, Y4, Y5, Y6, Y7)
	VMOVUPS Y0, (AX)
	ONES
	VMULSS (BX), X1, X0
	SHRINK(X0, X2, X13, X4, X5, X6, X7)
	VMOVSS X0, (AX)
	END

// func divideRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count, slot int, eps float32)
TEXT ·divideRowsAVX2(SB), NOSPLIT, $0-84
	ENTER
	MOVQ         slot+72(FP), R14
	VBROADCASTSS eps+80(FP), Y8
	VXORPS       Y13, Y13, Y13

row:
	BEGIN
	COEFFICIENT(4, X2, Y2)
	EIGHTS
	VMOVUPS   (BX), Y0
	VMOVUPS   (BX)(R14*1), Y3
	VMOVAPS   Y0, Y10
	VSQRTPS   Y3, Y9
	VADDPS    Y8, Y9, Y9
	VDIVPS    Y9, Y2, Y9
	SHRINK(Y0, Y9, Y13, Y4, Y5, Y6, Y7)
	VCMPPS    $4, Y13, Y3, Y3
	VBLENDVPS Y3, Y0, Y10, Y0
	VMOVUPS   Y0, (AX)
	ONES
	VMOVSS    (BX), X0
	VMOVSS    (BX)(R14*1), X3
	VMOVAPS   X0, X10
	VSQRTSS   X3, X3, X9
	VADDSS    X8, X9, X9
	VDIVSS    X9, X2, X9
	SHRINK(X0, X9, X13, X4, X5, X6, X7)
	VCMPPS    $4, X13, X3, X3
	VBLENDVPS X3, X0, X10, X0
	VMOVSS    X0, (AX)
	END
