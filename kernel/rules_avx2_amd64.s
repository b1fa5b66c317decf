#include "textflag.h"

// The rules with vectors of eight numbers. A mask is a vector, of which the sign bits count; the settings are in the frame.

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

#define LANES 8
#define BYTES 32

#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define ZERO Y10
#define SCALE Y11

// Y12 is the mask of rows of less than eight.
#define M0 Y13
#define M1 Y14
#define M2 Y15

#define S0 0(SP)
#define S1 32(SP)
#define S2 64(SP)
#define S3 96(SP)
#define S4 128(SP)
#define S5 160(SP)
#define S6 192(SP)
#define S7 224(SP)
#define T0 256(SP)
#define T1 288(SP)
#define T2 320(SP)
#define T3 352(SP)
#define T4 384(SP)
#define MORE 416(SP)
#define SIGNS ·signBits<>(SB)

#define SPREAD(i, s) \
	VBROADCASTSS (4*i)(R13), V0 \
	VMOVUPS      V0, s

#define READY \
	MOVQ    R10, AX \
	ANDQ    $7, AX  \
	SHLQ    $2, AX  \
	LEAQ    ·lastLanes<>+32(SB), BX \
	SUBQ    AX, BX  \
	VMOVUPS (BX), Y12

#define READSHORT(a, v, t) VMASKMOVPS a, Y12, v
#define WRITESHORT(v, a) VMASKMOVPS v, Y12, a
#define SHORT(load, body, store) \
	JGE  long         \
	load(READSHORT)   \
	body              \
	store(WRITESHORT) \
	JMP  end          \
long:

#define EARLY(a, v, t) \
	VMOVUPS a, v \
	VMOVUPS v, t
#define TAKE(a, v, t) VMOVUPS t, v

#define CMP(is, a, b, m) VCMPPS is, a, b, m
#define MASKAND(a, m) VANDPS a, m, m
#define MASKED(m, v, dst) VANDPS v, m, dst
#define BLEND(m, a, b, dst) VBLENDVPS m, a, b, dst

#include "rules_amd64.h"

// func addAVX2(b *Batch[float32], k *settings[float32])
TEXT ·addAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD0, ADD, STORE0)

// func sgdAVX2(b *Batch[float32], k *settings[float32])
TEXT ·sgdAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD0, SGD, STORE0)

// func sgdL1AVX2(b *Batch[float32], k *settings[float32])
TEXT ·sgdL1AVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD0, SGDL1, STORE0)

// func momentumAVX2(b *Batch[float32], k *settings[float32])
TEXT ·momentumAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD1, MOMENTUM, STORE1)

// func nesterovAVX2(b *Batch[float32], k *settings[float32])
TEXT ·nesterovAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD1, NESTEROV, STORE1)

// func adagradAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adagradAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD1, ADAGRAD, STORE1)

// func adagradL1AVX2(b *Batch[float32], k *settings[float32])
TEXT ·adagradL1AVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD1, ADAGRADL1, STORE1)

// func rmspropAVX2(b *Batch[float32], k *settings[float32])
TEXT ·rmspropAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD1, RMSPROP, STORE1)

// func adadeltaAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adadeltaAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD2, ADADELTA, STORE2)

// func adamAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adamAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD2, ADAM, STORE2)

// func adamwAVX2(b *Batch[float32], k *settings[float32])
TEXT ·adamwAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD2, ADAMW, STORE2)

// func amsgradAVX2(b *Batch[float32], k *settings[float32])
TEXT ·amsgradAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD3, AMSGRAD, STORE3)

// func ftrlTakenAVX2(b *Batch[float32], k *settings[float32])
TEXT ·ftrlTakenAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD2, FTRLTAKEN, STORE2)

// func ftrlFixedAVX2(b *Batch[float32], k *settings[float32])
TEXT ·ftrlFixedAVX2(SB), NOSPLIT, $424-16
	LOOP(LOAD2, FTRLFIXED, STORE2)
