#include "textflag.h"

// Each rule is a loop over the rows of a Batch, and in each row over vectors of eight weights; the last vector of a row
// is loaded and stored under a mask if the row does not come out even.
//
//	DI slab         AX weights of the vector       Y0 weights
//	SI rows         BX their gradients             Y1 gradients
//	DX gradients    R8 bytes from row to row       Y2, Y3, Y11 slots
//	CX rows left    R9 bytes from slot to slot     Y12 mask of the last vector
//	R10 weights     R11 weights left in the row    Y13 zero
//	R14 rows ahead  R12 rows ahead left
//	SP settings of the rule, 32 bytes each         Y14 scale
//	R13 first slot of a rule with three
//
// The settings are numbered as in rules.go.

DATA ·lastLanes<>+0(SB)/8, $0xffffffffffffffff
DATA ·lastLanes<>+8(SB)/8, $0xffffffffffffffff
DATA ·lastLanes<>+16(SB)/8, $0xffffffffffffffff
DATA ·lastLanes<>+24(SB)/8, $0xffffffffffffffff
DATA ·lastLanes<>+32(SB)/8, $0
DATA ·lastLanes<>+40(SB)/8, $0
DATA ·lastLanes<>+48(SB)/8, $0
DATA ·lastLanes<>+56(SB)/8, $0
GLOBL ·lastLanes<>(SB), RODATA|NOPTR, $64

DATA ·signBits<>+0(SB)/8, $0x8000000080000000
DATA ·signBits<>+8(SB)/8, $0x8000000080000000
DATA ·signBits<>+16(SB)/8, $0x8000000080000000
DATA ·signBits<>+24(SB)/8, $0x8000000080000000
GLOBL ·signBits<>(SB), RODATA|NOPTR, $32

#define NUMBER(i) (32*i)(SP)
#define MORE 256(SP)

#define SPREAD(i) \
	VBROADCASTSS (4*i)(R13), Y0 \
	VMOVUPS      Y0, (32*i)(SP)

// ENTER loads the fields of the Batch and makes a vector of each setting.
#define ENTER \
	MOVQ         b+0(FP), R12 \
	MOVQ         k+8(FP), R13 \
	MOVQ         0(R12), DI   \
	MOVQ         24(R12), R8  \
	SHLQ         $2, R8       \
	MOVQ         32(R12), R10 \
	MOVQ         40(R12), R9  \
	SHLQ         $2, R9       \
	MOVQ         48(R12), SI  \
	MOVQ         56(R12), CX  \
	MOVQ         72(R12), DX  \
	VBROADCASTSS 96(R12), Y14 \
	MOVQ         104(R12), R14 \
	MOVQ         112(R12), R12 \
	MOVQ         R8, AX        \
	SHRQ         $6, AX        \
	SUBQ         $2, AX        \
	MOVQ         $0, BX        \
	CMOVQLT      BX, AX        \
	MOVQ         $10, BX       \
	CMPQ         AX, BX        \
	CMOVQGT      BX, AX        \
	MOVQ         AX, MORE      \
	SPREAD(0) \
	SPREAD(1) \
	SPREAD(2) \
	SPREAD(3) \
	SPREAD(4) \
	SPREAD(5) \
	SPREAD(6) \
	SPREAD(7) \
	VXORPS       Y13, Y13, Y13 \
	MOVQ         R10, AX      \
	ANDQ         $7, AX       \
	SHLQ         $2, AX       \
	LEAQ         ·lastLanes<>+32(SB), BX \
	SUBQ         AX, BX       \
	VMOVUPS      (BX), Y12

// BEGIN begins a row, and fetches the beginning of one that comes later; label rest is for its last vector.
#define BEGIN(rest) \
	SUBQ  $1, R12   \
	JLT   none      \
	MOVL  (R14), AX \
	IMULQ R8, AX    \
	PREFETCHT1 (DI)(AX*1) \
	PREFETCHT1 64(DI)(AX*1) \
	ADDQ  $4, R14   \
	ADDQ  DI, AX    \
	MOVQ  MORE, BX  \
	JMP   test      \
line:                   \
	PREFETCHT1 128(AX) \
	ADDQ  $64, AX   \
	DECQ  BX        \
test:                   \
	TESTQ BX, BX    \
	JNZ   line      \
none:                   \
	MOVL  (SI), AX  \
	IMULQ R8, AX    \
	ADDQ  DI, AX    \
	MOVQ  (DX), BX  \
	MOVQ  R10, R11  \
	SUBQ  $8, R11   \
	JLT   rest

// AHEAD goes to the next vector of the row.
#define AHEAD(full) \
	ADDQ $32, AX  \
	ADDQ $32, BX  \
	SUBQ $8, R11  \
	JGE  full

// END goes to the next row.
#define END(row) \
	ADDQ $4, SI \
	ADDQ $8, DX \
	DECQ CX     \
	JNZ  row    \
	VZEROUPPER  \
	RET

// MEAN makes the sum in Y1 the mean gradient.
#define MEAN \
	VADDPS Y13, Y1, Y1 \
	VMULPS Y14, Y1, Y1

// SHRINK moves v towards zero by by; t, u are overwritten, the result is in v.
#define SHRINK(v, by, t, u, x, y) \
	VCMPPS    $30, by, v, t \
	VSUBPS    by, Y13, u    \
	VCMPPS    $17, u, v, u  \
	VADDPS    by, v, x      \
	VANDPS    u, x, x       \
	VSUBPS    by, v, y      \
	VBLENDVPS t, y, x, x    \
	VCMPPS    $3, v, v, t   \
	VBLENDVPS t, v, x, v

#define LOAD0 \
	VMOVUPS (AX), Y0 \
	VMOVUPS (BX), Y1
#define STORE0 \
	VMOVUPS Y0, (AX)
#define LOADLAST0 \
	VMASKMOVPS (AX), Y12, Y0 \
	VMASKMOVPS (BX), Y12, Y1
#define STORELAST0 \
	VMASKMOVPS Y0, Y12, (AX)

#define LOAD1 \
	LOAD0 \
	VMOVUPS (AX)(R9*1), Y2
#define STORE1 \
	STORE0 \
	VMOVUPS Y2, (AX)(R9*1)
#define LOADLAST1 \
	LOADLAST0 \
	VMASKMOVPS (AX)(R9*1), Y12, Y2
#define STORELAST1 \
	STORELAST0 \
	VMASKMOVPS Y2, Y12, (AX)(R9*1)

#define LOAD2 \
	LOAD1 \
	VMOVUPS (AX)(R9*2), Y3
#define STORE2 \
	STORE1 \
	VMOVUPS Y3, (AX)(R9*2)
#define LOADLAST2 \
	LOADLAST1 \
	VMASKMOVPS (AX)(R9*2), Y12, Y3
#define STORELAST2 \
	STORELAST1 \
	VMASKMOVPS Y3, Y12, (AX)(R9*2)

// The third slot is in Y11; R13 is where the first one is.
#define LOAD3 \
	LOAD2 \
	LEAQ    (AX)(R9*1), R13 \
	VMOVUPS (R13)(R9*2), Y11
#define STORE3 \
	STORE2 \
	VMOVUPS Y11, (R13)(R9*2)
#define LOADLAST3 \
	LOADLAST2 \
	LEAQ       (AX)(R9*1), R13 \
	VMASKMOVPS (R13)(R9*2), Y12, Y11
#define STORELAST3 \
	STORELAST2 \
	VMASKMOVPS Y11, Y12, (R13)(R9*2)

// LOOP runs a rule over all rows.
#define LOOP(load, body, store, loadlast, storelast) \
	ENTER       \
row:            \
	BEGIN(rest) \
full:           \
	load        \
	body        \
	store       \
	AHEAD(full) \
rest:           \
	ADDQ $8, R11 \
	JZ   end    \
	loadlast    \
	body        \
	storelast   \
end:            \
	END(row)

#define ADD \
	VADDPS Y1, Y0, Y0

// func addAVX2(b *Batch[float32], k *settings[float32])
TEXT ·addAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD0, ADD, STORE0, LOADLAST0, STORELAST0)

#define SGD \
	MEAN                        \
	VMULPS NUMBER(0), Y1, Y1    \
	VSUBPS Y1, Y0, Y0           \
	VMULPS NUMBER(2), Y0, Y0

// func sgdAVX2(b *Batch[float32], k *settings[float32])
TEXT ·sgdAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD0, SGD, STORE0, LOADLAST0, STORELAST0)

#define SGDL1 \
	MEAN                        \
	VMULPS  NUMBER(0), Y1, Y1   \
	VSUBPS  Y1, Y0, Y0          \
	VMOVUPS NUMBER(1), Y4       \
	SHRINK(Y0, Y4, Y5, Y6, Y7, Y8) \
	VMULPS  NUMBER(2), Y0, Y0

// func sgdL1AVX2(b *Batch[float32], k *settings[float32])
TEXT ·sgdL1AVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD0, SGDL1, STORE0, LOADLAST0, STORELAST0)

#define MOMENTUM \
	MEAN                     \
	VMULPS NUMBER(2), Y0, Y4 \
	VADDPS Y4, Y1, Y1        \
	VMULPS NUMBER(1), Y2, Y2 \
	VADDPS Y1, Y2, Y2        \
	VMULPS NUMBER(0), Y2, Y4 \
	VSUBPS Y4, Y0, Y0

// func momentumAVX2(b *Batch[float32], k *settings[float32])
TEXT ·momentumAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD1, MOMENTUM, STORE1, LOADLAST1, STORELAST1)

#define NESTEROV \
	MEAN \
	VMULPS NUMBER(2), Y0, Y4 \
	VADDPS Y4, Y1, Y1 \
	VMULPS NUMBER(1), Y2, Y2 \
	VADDPS Y1, Y2, Y2 \
	VMULPS NUMBER(1), Y2, Y4 \
	VADDPS Y4, Y1, Y4 \
	VMULPS NUMBER(0), Y4, Y4 \
	VSUBPS Y4, Y0, Y0

// func nesterovAVX2(b *Batch[float32], k *settings[float32])
TEXT ·nesterovAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD1, NESTEROV, STORE1, LOADLAST1, STORELAST1)

// ADAGRADSTEP makes Y5 the weights before l1, Y4 their rates.
#define ADAGRADSTEP \
	MEAN                       \
	VMULPS    NUMBER(3), Y0, Y4 \
	VADDPS    Y4, Y1, Y1       \
	VMULPS    Y1, Y1, Y4       \
	VADDPS    Y4, Y2, Y2       \
	VSQRTPS   Y2, Y4           \
	VADDPS    NUMBER(1), Y4, Y4 \
	VMOVUPS   NUMBER(0), Y5    \
	VDIVPS    Y4, Y5, Y4       \
	VMULPS    Y1, Y4, Y5       \
	VSUBPS    Y5, Y0, Y5

#define ADAGRADEND \
	VCMPPS    $4, Y13, Y2, Y6  \
	VBLENDVPS Y6, Y5, Y0, Y0

#define ADAGRAD \
	ADAGRADSTEP                \
	VADDPS    Y13, Y5, Y5      \
	ADAGRADEND

// func adagradAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adagradAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD1, ADAGRAD, STORE1, LOADLAST1, STORELAST1)

#define ADAGRADL1 \
	ADAGRADSTEP                \
	VMULPS    NUMBER(2), Y4, Y4 \
	SHRINK(Y5, Y4, Y6, Y7, Y8, Y9) \
	ADAGRADEND

// func adagradL1AVX2(b *Batch[float32], k *settings[float32])
TEXT ·adagradL1AVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD1, ADAGRADL1, STORE1, LOADLAST1, STORELAST1)

// MEANSQUARE takes l2 into the gradients in Y1 and makes Y2 the running mean of their squares.
#define MEANSQUARE \
	MEAN                        \
	VMULPS    NUMBER(4), Y0, Y4 \
	VADDPS    Y4, Y1, Y1        \
	VMULPS    Y1, Y1, Y4        \
	VMULPS    NUMBER(2), Y4, Y4 \
	VMULPS    NUMBER(1), Y2, Y2 \
	VADDPS    Y4, Y2, Y2

#define RMSPROP \
	MEANSQUARE                   \
	VSQRTPS   Y2, Y4             \
	VADDPS    NUMBER(3), Y4, Y4  \
	VMULPS    NUMBER(0), Y1, Y5  \
	VDIVPS    Y4, Y5, Y5         \
	VSUBPS    Y5, Y0, Y5         \
	VCMPPS    $4, Y13, Y2, Y6    \
	VBLENDVPS Y6, Y5, Y0, Y0

// func rmspropAVX2(b *Batch[float32], k *settings[float32])
TEXT ·rmspropAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD1, RMSPROP, STORE1, LOADLAST1, STORELAST1)

#define ADADELTA \
	MEANSQUARE                   \
	VADDPS    NUMBER(3), Y3, Y4  \
	VSQRTPS   Y4, Y4             \
	VADDPS    NUMBER(3), Y2, Y5  \
	VSQRTPS   Y5, Y5             \
	VDIVPS    Y5, Y4, Y4         \
	VMULPS    Y1, Y4, Y4         \
	VCMPPS    $4, Y13, Y2, Y6    \
	VANDPS    Y6, Y4, Y4         \
	VMULPS    Y4, Y4, Y5         \
	VMULPS    NUMBER(2), Y5, Y5  \
	VMULPS    NUMBER(1), Y3, Y3  \
	VADDPS    Y5, Y3, Y3         \
	VMULPS    NUMBER(0), Y4, Y4  \
	VSUBPS    Y4, Y0, Y0

// func adadeltaAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adadeltaAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD2, ADADELTA, STORE2, LOADLAST2, STORELAST2)

// DECAYED takes l2 into the gradients.
#define DECAYED \
	VMULPS    NUMBER(7), Y0, Y4 \
	VADDPS    Y4, Y1, Y1

// MOMENTS makes Y2 and Y3 the running means of the gradients and of their squares.
#define MOMENTS \
	VMULPS    NUMBER(0), Y2, Y2 \
	VMULPS    NUMBER(2), Y1, Y4 \
	VADDPS    Y4, Y2, Y2        \
	VMULPS    Y1, Y1, Y4        \
	VMULPS    NUMBER(3), Y4, Y4 \
	VMULPS    NUMBER(1), Y3, Y3 \
	VADDPS    Y4, Y3, Y3

// ADAMSTEP makes the step by the squares in square.
#define ADAMSTEP(square) \
	VSQRTPS   square, Y4        \
	VMULPS    NUMBER(5), Y4, Y4 \
	VADDPS    NUMBER(6), Y4, Y4 \
	VMULPS    NUMBER(4), Y2, Y5 \
	VDIVPS    Y4, Y5, Y5        \
	VSUBPS    Y5, Y0, Y5        \
	VCMPPS    $4, Y13, Y2, Y6   \
	VBLENDVPS Y6, Y5, Y0, Y0

#define ADAM \
	MEAN    \
	DECAYED \
	MOMENTS \
	ADAMSTEP(Y3)

// func adamAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adamAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD2, ADAM, STORE2, LOADLAST2, STORELAST2)

#define ADAMW \
	MEAN    \
	VMULPS NUMBER(7), Y0, Y0  \
	MOMENTS  \
	ADAMSTEP(Y3)

// func adamwAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adamwAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD2, ADAMW, STORE2, LOADLAST2, STORELAST2)

#define AMSGRAD \
	MEAN     \
	DECAYED  \
	MOMENTS  \
	VMAXPS Y11, Y3, Y11  \
	ADAMSTEP(Y11)

// func amsgradAVX2(b *Batch[float32], k *settings[float32])
TEXT ·amsgradAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD3, AMSGRAD, STORE3, LOADLAST3, STORELAST3)

// FTRLEND: from z in Y5, pull in Y8, n in Y9 and the mask of what moves in Y10 to weights and slots.
#define FTRLEND \
	VBLENDVPS Y10, Y5, Y2, Y2    \
	VMOVUPS   NUMBER(1), Y4      \
	SHRINK(Y5, Y4, Y6, Y7, Y1, Y11) \
	VXORPS    ·signBits<>(SB), Y5, Y5 \
	VDIVPS    Y8, Y5, Y5         \
	VBLENDVPS Y10, Y5, Y0, Y0    \
	VBLENDVPS Y10, Y9, Y3, Y3

#define FTRLTAKEN \
	MEAN                         \
	VCMPPS    $4, Y13, Y1, Y10   \
	VMULPS    Y1, Y1, Y9         \
	VADDPS    Y9, Y3, Y9         \
	VSQRTPS   Y9, Y8             \
	VDIVPS    NUMBER(0), Y8, Y8  \
	VADDPS    NUMBER(2), Y8, Y8  \
	VCMPPS    $17, Y13, Y0, Y4   \
	VANDPS    ·signBits<>(SB), Y4, Y4 \
	VXORPS    NUMBER(1), Y4, Y4  \
	VSUBPS    Y4, Y1, Y5         \
	VMULPS    Y0, Y8, Y4         \
	VSUBPS    Y4, Y5, Y5         \
	VADDPS    Y1, Y2, Y4         \
	VCMPPS    $0, Y13, Y0, Y6    \
	VBLENDVPS Y6, Y4, Y5, Y5     \
	FTRLEND

// func ftrlTakenAVX2(b *Batch[float32], k *settings[float32])
TEXT ·ftrlTakenAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD2, FTRLTAKEN, STORE2, LOADLAST2, STORELAST2)

#define FTRLFIXED \
	MEAN                         \
	VCMPPS    $4, Y13, Y1, Y10   \
	VCMPPS    $4, NUMBER(3), Y13, Y4 \
	VCMPPS    $4, Y13, Y0, Y5    \
	VANDPS    Y5, Y4, Y4         \
	VCMPPS    $0, Y13, Y3, Y6    \
	VANDPS    Y6, Y4, Y4         \
	VCMPPS    $0, Y13, Y2, Y6    \
	VANDPS    Y6, Y4, Y4         \
	VXORPS    ·signBits<>(SB), Y0, Y6 \
	VMULPS    NUMBER(2), Y6, Y6  \
	VCMPPS    $17, Y13, Y0, Y7   \
	VANDPS    ·signBits<>(SB), Y7, Y7 \
	VXORPS    NUMBER(1), Y7, Y7  \
	VSUBPS    Y7, Y6, Y6         \
	VBLENDVPS Y4, Y6, Y2, Y6     \
	VADDPS    Y1, Y6, Y6         \
	VMULPS    Y1, Y1, Y4         \
	VADDPS    Y4, Y3, Y9         \
	VSQRTPS   Y9, Y8             \
	VSQRTPS   Y3, Y7             \
	VADDPS    Y7, Y8, Y7         \
	VMULPS    NUMBER(0), Y7, Y7  \
	VDIVPS    Y7, Y4, Y4         \
	VMULPS    Y0, Y4, Y4         \
	VSUBPS    Y4, Y6, Y4         \
	VCMPPS    $30, Y13, Y8, Y7   \
	VANDPS    Y5, Y7, Y7         \
	VBLENDVPS Y7, Y4, Y6, Y5     \
	VDIVPS    NUMBER(0), Y8, Y8  \
	VADDPS    NUMBER(2), Y8, Y8  \
	FTRLEND

// func ftrlFixedAVX2(b *Batch[float32], k *settings[float32])
TEXT ·ftrlFixedAVX2(SB), NOSPLIT, $264-16
	LOOP(LOAD2, FTRLFIXED, STORE2, LOADLAST2, STORELAST2)
