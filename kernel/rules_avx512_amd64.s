#include "textflag.h"

// The rules with vectors of sixteen numbers, for rows of at least as many. The settings are in registers that AVX2 has not: in a frame,
// which Go does not align, each would lie across two lines of the cache, and Adam takes more than twice as long.

DATA ·signBit<>+0(SB)/4, $0x80000000
GLOBL ·signBit<>(SB), RODATA|NOPTR, $4

#define LANES 16
#define BYTES 64

#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define ZERO Z10
#define SCALE Z11

#define M0 K1
#define M1 K2
#define M2 K3

#define S0 Z16
#define S1 Z17
#define S2 Z18
#define S3 Z19
#define S4 Z20
#define S5 Z21
#define S6 Z22
#define S7 Z23
#define MORE 0(SP)
#define SIGNS Z24
#define T0 Z25
#define T1 Z26
#define T2 Z27
#define T3 Z28
#define T4 Z29

#define SPREAD(i, s) VBROADCASTSS (4*i)(R13), s

#define READY VBROADCASTSS ·signBit<>(SB), SIGNS

// The table has no rows of less than sixteen done here.
#define SHORT(load, body, store)

#define EARLY(a, v, t) VMOVUPS a, t
#define TAKE(a, v, t) VMOVAPS t, v

#define CMP(is, a, b, m) VCMPPS is, a, b, m
#define MASKAND(a, m) KANDW a, m, m
#define MASKED(m, v, dst) VMOVUPS.Z v, m, dst
#define BLEND(m, a, b, dst) VBLENDMPS a, b, m, dst

#include "rules_amd64.h"

// func addAVX512(b *Batch[float32], k *settings[float32])
TEXT ·addAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD0, ADD, STORE0)

// func sgdAVX512(b *Batch[float32], k *settings[float32])
TEXT ·sgdAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD0, SGD, STORE0)

// func sgdL1AVX512(b *Batch[float32], k *settings[float32])
TEXT ·sgdL1AVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD0, SGDL1, STORE0)

// func momentumAVX512(b *Batch[float32], k *settings[float32])
TEXT ·momentumAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD1, MOMENTUM, STORE1)

// func nesterovAVX512(b *Batch[float32], k *settings[float32])
TEXT ·nesterovAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD1, NESTEROV, STORE1)

// func adagradAVX512(b *Batch[float32], k *settings[float32])
TEXT ·adagradAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD1, ADAGRAD, STORE1)

// func adagradL1AVX512(b *Batch[float32], k *settings[float32])
TEXT ·adagradL1AVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD1, ADAGRADL1, STORE1)

// func rmspropAVX512(b *Batch[float32], k *settings[float32])
TEXT ·rmspropAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD1, RMSPROP, STORE1)

// func adadeltaAVX512(b *Batch[float32], k *settings[float32])
TEXT ·adadeltaAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD2, ADADELTA, STORE2)

// func adamAVX512(b *Batch[float32], k *settings[float32])
TEXT ·adamAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD2, ADAM, STORE2)

// func adamwAVX512(b *Batch[float32], k *settings[float32])
TEXT ·adamwAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD2, ADAMW, STORE2)

// func amsgradAVX512(b *Batch[float32], k *settings[float32])
TEXT ·amsgradAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD3, AMSGRAD, STORE3)

// func ftrlTakenAVX512(b *Batch[float32], k *settings[float32])
TEXT ·ftrlTakenAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD2, FTRLTAKEN, STORE2)

// func ftrlFixedAVX512(b *Batch[float32], k *settings[float32])
TEXT ·ftrlFixedAVX512(SB), NOSPLIT, $8-16
	LOOP(LOAD2, FTRLFIXED, STORE2)
