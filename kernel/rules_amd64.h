// The rules of AVX2 and of AVX-512, which differ in the width of their vectors and in what a mask is.
//
// Each rule is a loop over the rows of a Batch, and in each row over vectors of LANES weights. If a row does not come out even its
// last vector overlaps the one before, and is loaded before anything is stored: what it stores in place of the one before is the same.
// Under a mask it would reach into the slots behind the weights, and loads that meet a store that is still under way wait for it,
// masked or not: 12 ns a row.
//
//	DI slab         AX weights of the vector       V0 weights
//	SI rows         BX their gradients             V1 gradients
//	DX gradients    R8 bytes from row to row       V2, V3, V9 slots
//	CX rows left    R9 bytes from slot to slot     V4 to V8, and V9 where there is no third slot, are free
//	R10 weights     R11 weights left in the row    ZERO, SCALE
//	R14 rows ahead  R12 rows ahead left            M0, M1, M2 masks
//	MORE lines of a row ahead after the first two  S0 to S7 settings of the rule
//	R13 where a vector is stored, and more         T0 to T4 weights, gradients, slots of the last vector
//	R15 bytes from the slab to where rows are put
//
// The settings are numbered as in rules.go. The file that includes this one defines, beside those names:
//
//	LANES, BYTES               numbers of a vector, and their bytes
//	SPREAD(i, s)               makes vector s of setting i, which is at R13
//	READY                      makes what else its macros need; AX and BX are free
//	SHORT(load, body, store)   does rows of less than LANES weights, for which R11 is negative, and goes on to end
//	EARLY(a, v, t)             loads t from a; v is free. TAKE(a, v, t) makes it v
//	SIGNS                      a vector of sign bits
//	CMP(is, a, b, m)           makes the mask of where b is so to a
//	MASKAND(a, m)              takes from m what is not in a
//	MASKED(m, v, dst)          v where m is, else zero
//	BLEND(m, a, b, dst)        a where m is, else b

// What b is to a. A number that is none is UNORDERED and UNEQUAL to all, and nothing else.
#define EQUAL $0
#define UNORDERED $3
#define UNEQUAL $4
#define LESS $17
#define GREATER $30

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
	VBROADCASTSS 96(R12), SCALE \
	MOVQ         104(R12), R14 \
	MOVQ         128(R12), R15 \
	TESTQ        R15, R15      \
	CMOVQEQ      DI, R15       \
	SUBQ         DI, R15       \
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
	SPREAD(0, S0) \
	SPREAD(1, S1) \
	SPREAD(2, S2) \
	SPREAD(3, S3) \
	SPREAD(4, S4) \
	SPREAD(5, S5) \
	SPREAD(6, S6) \
	SPREAD(7, S7) \
	VXORPS       ZERO, ZERO, ZERO \
	READY

// BEGIN begins a row, and fetches the beginning of one that comes later.
#define BEGIN \
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
	SUBQ  $LANES, R11

// AHEAD goes to the next vector of the row.
#define AHEAD(full) \
	ADDQ $BYTES, AX \
	ADDQ $BYTES, BX \
	SUBQ $LANES, R11 \
	JGE  full

// END goes to the next row.
#define END(row) \
	ADDQ $4, SI \
	ADDQ $8, DX \
	DECQ CX     \
	JNZ  row    \
	VZEROUPPER  \
	RET

// MEAN makes the sum in V1 the mean gradient.
#define MEAN \
	VADDPS ZERO, V1, V1 \
	VMULPS SCALE, V1, V1

// SHRINK moves v towards zero by by; x, y and the masks M1 and M2 are overwritten, the result is in v.
#define SHRINK(v, by, x, y) \
	CMP(GREATER, by, v, M1) \
	VSUBPS by, ZERO, y      \
	CMP(LESS, y, v, M2)     \
	VADDPS by, v, x         \
	MASKED(M2, x, x)        \
	VSUBPS by, v, y         \
	BLEND(M1, y, x, x)      \
	CMP(UNORDERED, v, v, M1) \
	BLEND(M1, v, x, v)

// What a rule with so many slots loads, by READ, EARLY or TAKE, and stores, by WRITE.
#define READ(a, v, t) VMOVUPS a, v
#define WRITE(v, a) VMOVUPS v, a
#define WRITEPAST(v, a) VMOVNTPS v, a

#define LOAD0(read) \
	read((AX), V0, T0) \
	read((BX), V1, T1)
#define STORE0(write) \
	LEAQ (AX)(R15*1), R13 \
	write(V0, (R13))

#define LOAD1(read) \
	LOAD0(read) \
	read((AX)(R9*1), V2, T2)
#define STORE1(write) \
	STORE0(write) \
	write(V2, (R13)(R9*1))

#define LOAD2(read) \
	LOAD1(read) \
	read((AX)(R9*2), V3, T3)
#define STORE2(write) \
	STORE1(write) \
	write(V3, (R13)(R9*2))

// Of the first of three slots the third is two away.
#define LOAD3(read) \
	LOAD2(read) \
	LEAQ (AX)(R9*1), R13 \
	read((R13)(R9*2), V9, T4)
#define STORE3(write) \
	STORE2(write) \
	LEAQ (R13)(R9*1), R13 \
	write(V9, (R13)(R9*2))

// LOOP runs a rule over all rows. R11 becomes what lies behind the last whole vector, less LANES. What is put elsewhere than it was goes past
// the caches if it is whole lines: what lies there needs not be fetched then.
#define LOOP(load, body, store) \
	ENTER                     \
row:                              \
	BEGIN                     \
	SHORT(load, body, store)  \
	TESTQ $(LANES-1), R10     \
	JZ    whole               \
	LEAQ  (AX)(R11*4), AX     \
	LEAQ  (BX)(R11*4), BX     \
	load(EARLY)               \
	MOVL  (SI), AX            \
	IMULQ R8, AX              \
	ADDQ  DI, AX              \
	MOVQ  (DX), BX            \
	JMP   full                \
past:                             \
	load(READ)                \
	body                      \
	store(WRITEPAST)          \
	AHEAD(past)               \
	SFENCE                    \
	JMP   end                 \
whole:                            \
	TESTQ R15, R15            \
	JZ    full                \
	LEAQ  (AX)(R15*1), R13    \
	ORQ   R9, R13             \
	TESTQ $63, R13            \
	JZ    past                \
full:                             \
	load(READ)                \
	body                      \
	store(WRITE)              \
	AHEAD(full)               \
	TESTQ $(LANES-1), R10     \
	JZ    end                 \
	LEAQ  (AX)(R11*4), AX     \
	load(TAKE)                \
	body                      \
	store(WRITE)              \
end:                              \
	END(row)

#define ADD \
	VADDPS V1, V0, V0

#define SGD \
	MEAN              \
	VMULPS S0, V1, V1 \
	VSUBPS V1, V0, V0 \
	VMULPS S2, V0, V0

#define SGDL1 \
	MEAN               \
	VMULPS  S0, V1, V1 \
	VSUBPS  V1, V0, V0 \
	VMOVUPS S1, V4     \
	SHRINK(V0, V4, V5, V6) \
	VMULPS  S2, V0, V0

#define MOMENTUM \
	MEAN              \
	VMULPS S2, V0, V4 \
	VADDPS V4, V1, V1 \
	VMULPS S1, V2, V2 \
	VADDPS V1, V2, V2 \
	VMULPS S0, V2, V4 \
	VSUBPS V4, V0, V0

#define NESTEROV \
	MEAN              \
	VMULPS S2, V0, V4 \
	VADDPS V4, V1, V1 \
	VMULPS S1, V2, V2 \
	VADDPS V1, V2, V2 \
	VMULPS S1, V2, V4 \
	VADDPS V4, V1, V4 \
	VMULPS S0, V4, V4 \
	VSUBPS V4, V0, V0

// ADAGRADSTEP makes V5 the weights before l1, V4 their rates.
#define ADAGRADSTEP \
	MEAN               \
	VMULPS  S3, V0, V4 \
	VADDPS  V4, V1, V1 \
	VMULPS  V1, V1, V4 \
	VADDPS  V4, V2, V2 \
	VSQRTPS V2, V4     \
	VADDPS  S1, V4, V4 \
	VMOVUPS S0, V5     \
	VDIVPS  V4, V5, V4 \
	VMULPS  V1, V4, V5 \
	VSUBPS  V5, V0, V5

#define ADAGRADEND \
	CMP(UNEQUAL, ZERO, V2, M1) \
	BLEND(M1, V5, V0, V0)

#define ADAGRAD \
	ADAGRADSTEP         \
	VADDPS ZERO, V5, V5 \
	ADAGRADEND

#define ADAGRADL1 \
	ADAGRADSTEP       \
	VMULPS S2, V4, V4 \
	SHRINK(V5, V4, V6, V7) \
	ADAGRADEND

// MEANSQUARE takes l2 into the gradients in V1 and makes V2 the running mean of their squares.
#define MEANSQUARE \
	MEAN              \
	VMULPS S4, V0, V4 \
	VADDPS V4, V1, V1 \
	VMULPS V1, V1, V4 \
	VMULPS S2, V4, V4 \
	VMULPS S1, V2, V2 \
	VADDPS V4, V2, V2

#define RMSPROP \
	MEANSQUARE         \
	VSQRTPS V2, V4     \
	VADDPS  S3, V4, V4 \
	VMULPS  S0, V1, V5 \
	VDIVPS  V4, V5, V5 \
	VSUBPS  V5, V0, V5 \
	CMP(UNEQUAL, ZERO, V2, M1) \
	BLEND(M1, V5, V0, V0)

#define ADADELTA \
	MEANSQUARE         \
	VADDPS  S3, V3, V4 \
	VSQRTPS V4, V4     \
	VADDPS  S3, V2, V5 \
	VSQRTPS V5, V5     \
	VDIVPS  V5, V4, V4 \
	VMULPS  V1, V4, V4 \
	CMP(UNEQUAL, ZERO, V2, M1) \
	MASKED(M1, V4, V4) \
	VMULPS  V4, V4, V5 \
	VMULPS  S6, V5, V5 \
	VMULPS  S5, V3, V3 \
	VADDPS  V5, V3, V3 \
	VMULPS  S0, V4, V4 \
	VSUBPS  V4, V0, V0

// DECAYED takes l2 into the gradients.
#define DECAYED \
	VMULPS S7, V0, V4 \
	VADDPS V4, V1, V1

// MOMENTS makes V2 and V3 the running means of the gradients and of their squares.
#define MOMENTS \
	VMULPS S0, V2, V2 \
	VMULPS S2, V1, V4 \
	VADDPS V4, V2, V2 \
	VMULPS V1, V1, V4 \
	VMULPS S3, V4, V4 \
	VMULPS S1, V3, V3 \
	VADDPS V4, V3, V3

// ADAMSTEP makes the step by the squares in square.
#define ADAMSTEP(square) \
	VSQRTPS square, V4 \
	VMULPS  S5, V4, V4 \
	VADDPS  S6, V4, V4 \
	VMULPS  S4, V2, V5 \
	VDIVPS  V4, V5, V5 \
	VSUBPS  V5, V0, V5 \
	CMP(UNEQUAL, ZERO, V2, M1) \
	BLEND(M1, V5, V0, V0)

#define ADAM \
	MEAN    \
	DECAYED \
	MOMENTS \
	ADAMSTEP(V3)

#define ADAMW \
	MEAN              \
	VMULPS S7, V0, V0 \
	MOMENTS           \
	ADAMSTEP(V3)

#define AMSGRAD \
	MEAN              \
	DECAYED           \
	MOMENTS           \
	VMAXPS V9, V3, V9 \
	ADAMSTEP(V9)

// FTRLEND: from z in V5, pull in V8, n in V9 and the mask of what moves in M0 to weights and slots.
#define FTRLEND \
	BLEND(M0, V5, V2, V2) \
	VMOVUPS S1, V4        \
	SHRINK(V5, V4, V6, V7) \
	VXORPS  SIGNS, V5, V5 \
	VDIVPS  V8, V5, V5    \
	BLEND(M0, V5, V0, V0) \
	BLEND(M0, V9, V3, V3)

#define FTRLTAKEN \
	MEAN                     \
	CMP(UNEQUAL, ZERO, V1, M0) \
	VMULPS  V1, V1, V9       \
	VADDPS  V9, V3, V9       \
	VSQRTPS V9, V8           \
	VDIVPS  S0, V8, V8       \
	VADDPS  S2, V8, V8       \
	CMP(LESS, ZERO, V0, M1)  \
	MASKED(M1, SIGNS, V4)    \
	VXORPS  S1, V4, V4       \
	VSUBPS  V4, V1, V5       \
	VMULPS  V0, V8, V4       \
	VSUBPS  V4, V5, V5       \
	VADDPS  V1, V2, V4       \
	CMP(EQUAL, ZERO, V0, M1) \
	BLEND(M1, V4, V5, V5)    \
	FTRLEND

// M1 is the mask of weights that are not zero, M2 that of those that begin warm, and later of those with roots to subtract.
#define FTRLFIXED \
	MEAN                       \
	CMP(UNEQUAL, ZERO, V0, M1) \
	CMP(UNEQUAL, S3, ZERO, M2) \
	MASKAND(M1, M2)            \
	CMP(EQUAL, ZERO, V3, M0)   \
	MASKAND(M0, M2)            \
	CMP(EQUAL, ZERO, V2, M0)   \
	MASKAND(M0, M2)            \
	VXORPS  SIGNS, V0, V6      \
	VMULPS  S2, V6, V6         \
	CMP(LESS, ZERO, V0, M0)    \
	MASKED(M0, SIGNS, V7)      \
	VXORPS  S1, V7, V7         \
	VSUBPS  V7, V6, V6         \
	BLEND(M2, V6, V2, V6)      \
	VADDPS  V1, V6, V6         \
	VMULPS  V1, V1, V4         \
	VADDPS  V4, V3, V9         \
	VSQRTPS V9, V8             \
	VSQRTPS V3, V7             \
	VADDPS  V7, V8, V7         \
	VMULPS  S0, V7, V7         \
	VDIVPS  V7, V4, V4         \
	VMULPS  V0, V4, V4         \
	VSUBPS  V4, V6, V4         \
	CMP(GREATER, ZERO, V8, M2) \
	MASKAND(M1, M2)            \
	BLEND(M2, V4, V6, V5)      \
	VDIVPS  S0, V8, V8         \
	VADDPS  S2, V8, V8         \
	CMP(UNEQUAL, ZERO, V1, M0) \
	FTRLEND
