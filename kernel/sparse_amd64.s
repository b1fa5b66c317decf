#include "textflag.h"
#include "sparse_amd64.h"

// Each kernel is there three times: for rows of more than eight numbers and of fewer, with the masks of AVX-512, and for rows of
// multiples of eight with AVX2.

// Embed: x times a vector of the value's row.
#define EMBED(TIMES, STORE, k, v0, v1) \
	TIMES(k, (AX)(R11*1), v1, v0) \
	STORE(k, v0, (DI)(R11*1))

// func embed512(c *sparseCall)
TEXT ·embed512(SB), NOSPLIT, $0-8
	ENTER(SRC)
	LANES(16)
	MOVQ DST(AX), DI
	EACHVALUE(64, Z1, EMBED(TIMESY, STOREY, K1, Z0, Z1), EMBED(TIMESK, STOREK, K1, Z0, Z1))

// func embed512Short(c *sparseCall)
TEXT ·embed512Short(SB), NOSPLIT, $0-8
	ENTER(SRC)
	LANES(8)
	MOVQ DST(AX), DI
	EACHVALUE(32, Y1, EMBED(TIMESY, STOREY, K1, Y0, Y1), EMBED(TIMESK, STOREK, K1, Y0, Y1))

// func embedAVX2(c *sparseCall)
TEXT ·embedAVX2(SB), NOSPLIT, $0-8
	ENTER(SRC)
	MOVQ DST(AX), DI
	EACHVALUE(32, Y1, EMBED(TIMESY, STOREY, K1, Y0, Y1), EMBED(TIMESY, STOREY, K1, Y0, Y1))

// EmbedGrad: x times a vector of the gradient, added to that of the value's row.
#define EMBEDGRAD(LOAD, TIMES, STORE, k, v0, v1, v2) \
	TIMES(k, (DI)(R11*1), v1, v0) \
	LOAD(k, (AX)(R11*1), v2)      \
	VADDPS v0, v2, v2             \
	STORE(k, v2, (AX)(R11*1))

// func embedGrad512(c *sparseCall)
TEXT ·embedGrad512(SB), NOSPLIT, $0-8
	ENTER(DST)
	LANES(16)
	MOVQ GRAD(AX), DI
	EACHVALUE(64, Z1, EMBEDGRAD(LOADY, TIMESY, STOREY, K1, Z0, Z1, Z2), EMBEDGRAD(LOADK, TIMESK, STOREK, K1, Z0, Z1, Z2))

// func embedGrad512Short(c *sparseCall)
TEXT ·embedGrad512Short(SB), NOSPLIT, $0-8
	ENTER(DST)
	LANES(8)
	MOVQ GRAD(AX), DI
	EACHVALUE(32, Y1, EMBEDGRAD(LOADY, TIMESY, STOREY, K1, Y0, Y1, Y2), EMBEDGRAD(LOADK, TIMESK, STOREK, K1, Y0, Y1, Y2))

// func embedGradAVX2(c *sparseCall)
TEXT ·embedGradAVX2(SB), NOSPLIT, $0-8
	ENTER(DST)
	MOVQ GRAD(AX), DI
	EACHVALUE(32, Y1, EMBEDGRAD(LOADY, TIMESY, STOREY, K1, Y0, Y1, Y2), EMBEDGRAD(LOADY, TIMESY, STOREY, K1, Y0, Y1, Y2))

// Linear: v0 is what comes out.
#define NOTHING
#define NEXT ADDQ R8, DI
#define LINEAR(TIMES, k, v0, v1, v2) \
	TIMES(k, (AX), v1, v2) \
	VADDPS v2, v0, v0

// func linear512(c *sparseCall)
TEXT ·linear512(SB), NOSPLIT, $32-8
	ENTER(SRC)
	LANES(16)
	MOVQ DST(AX), DI
	EACHROW(64, SOMEK, Z1, NOTHING, LOADK(K2, (DI)(R11*1), Z0), LINEAR(TIMESK, K2, Z0, Z1, Z2), STOREK(K2, Z0, (DI)(R11*1)), NEXT)

// func linear512Short(c *sparseCall)
TEXT ·linear512Short(SB), NOSPLIT, $32-8
	ENTER(SRC)
	LANES(8)
	MOVQ DST(AX), DI
	EACHROW(32, SOMEK, Y1, NOTHING, LOADK(K2, (DI)(R11*1), Y0), LINEAR(TIMESK, K2, Y0, Y1, Y2), STOREK(K2, Y0, (DI)(R11*1)), NEXT)

// func linearAVX2(c *sparseCall)
TEXT ·linearAVX2(SB), NOSPLIT, $32-8
	ENTER(SRC)
	MOVQ DST(AX), DI
	EACHROW(32, SOMEY, Y1, NOTHING, LOADY(K2, (DI)(R11*1), Y0), LINEAR(TIMESY, K2, Y0, Y1, Y2), STOREY(K2, Y0, (DI)(R11*1)), NEXT)

// LinearGrad: v0 is the gradient of the row.
#define LINEARGRAD(LOAD, STORE, k, v0, v1, v2) \
	LOAD(k, (AX), v2)  \
	VMULPS v0, v1, v1  \
	VADDPS v1, v2, v2  \
	STORE(k, v2, (AX))

// func linearGrad512(c *sparseCall)
TEXT ·linearGrad512(SB), NOSPLIT, $32-8
	ENTER(DST)
	LANES(16)
	MOVQ GRAD(AX), DI
	EACHROW(64, SOMEK, Z1, NOTHING, LOADK(K2, (DI)(R11*1), Z0), LINEARGRAD(LOADK, STOREK, K2, Z0, Z1, Z2), NOTHING, NEXT)

// func linearGrad512Short(c *sparseCall)
TEXT ·linearGrad512Short(SB), NOSPLIT, $32-8
	ENTER(DST)
	LANES(8)
	MOVQ GRAD(AX), DI
	EACHROW(32, SOMEK, Y1, NOTHING, LOADK(K2, (DI)(R11*1), Y0), LINEARGRAD(LOADK, STOREK, K2, Y0, Y1, Y2), NOTHING, NEXT)

// func linearGradAVX2(c *sparseCall)
TEXT ·linearGradAVX2(SB), NOSPLIT, $32-8
	ENTER(DST)
	MOVQ GRAD(AX), DI
	EACHROW(32, SOMEY, Y1, NOTHING, LOADY(K2, (DI)(R11*1), Y0), LINEARGRAD(LOADY, STOREY, K2, Y0, Y1, Y2), NOTHING, NEXT)

// Interact: v0 is S, v3 is Q; HALF makes v3 (S*S - Q)/2, with 1/2 in v5.
#define NEXTBOTH \
	ADDQ R8, DI \
	ADDQ R8, R13
#define NEXTONE \
	ADDQ $4, DI \
	ADDQ R8, R13
#define ZERO(v0, v3) \
	VXORPS v0, v0, v0 \
	VXORPS v3, v3, v3
#define SQUARES(TIMES, v0, v1, v2, v3) \
	TIMES(K2, (AX), v1, v2) \
	VADDPS v2, v0, v0       \
	VMULPS v2, v2, v2       \
	VADDPS v2, v3, v3
#define HALF(STORE, v0, v3, v5) \
	STORE(K2, v0, (R13)(R11*1)) \
	VMULPS v0, v0, v0 \
	VSUBPS v3, v0, v3 \
	VMULPS v5, v3, v3
#define WHOLE(STORE, v0, v3, v5) \
	HALF(STORE, v0, v3, v5) \
	STORE(K2, v3, (DI)(R11*1))

// func interact512(c *sparseCall)
TEXT ·interact512(SB), NOSPLIT, $32-8
	ENTER(SRC)
	LANES(16)
	MOVQ SUMS(AX), R13
	MOVQ DST(AX), DI
	MOVL $0x3f000000, CX
	VMOVD CX, X5
	VBROADCASTSS X5, Z5
	EACHROW(64, SOMEK, Z1, NOTHING, ZERO(Z0, Z3), SQUARES(TIMESK, Z0, Z1, Z2, Z3), WHOLE(STOREK, Z0, Z3, Z5), NEXTBOTH)

// func interact512Short(c *sparseCall)
TEXT ·interact512Short(SB), NOSPLIT, $32-8
	ENTER(SRC)
	LANES(8)
	MOVQ SUMS(AX), R13
	MOVQ DST(AX), DI
	MOVL $0x3f000000, CX
	VMOVD CX, X5
	VBROADCASTSS X5, Y5
	EACHROW(32, SOMEK, Y1, NOTHING, ZERO(Y0, Y3), SQUARES(TIMESK, Y0, Y1, Y2, Y3), WHOLE(STOREK, Y0, Y3, Y5), NEXTBOTH)

// func interactAVX2(c *sparseCall)
TEXT ·interactAVX2(SB), NOSPLIT, $32-8
	ENTER(SRC)
	MOVQ SUMS(AX), R13
	MOVQ DST(AX), DI
	MOVL $0x3f000000, CX
	VMOVD CX, X5
	VBROADCASTSS X5, Y5
	EACHROW(32, SOMEY, Y1, NOTHING, ZERO(Y0, Y3), SQUARES(TIMESY, Y0, Y1, Y2, Y3), WHOLE(STOREY, Y0, Y3, Y5), NEXTBOTH)

// InteractSum: Y4 is the sum of the row's vectors.
#define BEGINSUM VXORPS Y4, Y4, Y4
#define WIDER(STORE, v0, v3, v5) \
	HALF(STORE, v0, v3, v5)  \
	VADDPS        Y3, Y4, Y4 \
	VEXTRACTF32X8 $1, v3, Y3 \
	VADDPS        Y3, Y4, Y4
#define NARROW(STORE, v0, v3, v5) \
	HALF(STORE, v0, v3, v5) \
	VADDPS Y3, Y4, Y4
#define FOLD \
	VEXTRACTF128 $1, Y4, X3  \
	VADDPS       X3, X4, X4  \
	VPERMILPD    $1, X4, X3  \
	VADDPS       X3, X4, X4  \
	VMOVSHDUP    X4, X3      \
	VADDSS       X3, X4, X4  \
	VMOVSS       X4, (DI)

// func interactSum512(c *sparseCall)
TEXT ·interactSum512(SB), NOSPLIT, $32-8
	ENTER(SRC)
	LANES(16)
	MOVQ SUMS(AX), R13
	MOVQ DST(AX), DI
	MOVL $0x3f000000, CX
	VMOVD CX, X5
	VBROADCASTSS X5, Z5
	EACHROW(64, SOMEK, Z1, BEGINSUM, ZERO(Z0, Z3), SQUARES(TIMESK, Z0, Z1, Z2, Z3), WIDER(STOREK, Z0, Z3, Z5), FOLD; NEXTONE)

// func interactSum512Short(c *sparseCall)
TEXT ·interactSum512Short(SB), NOSPLIT, $32-8
	ENTER(SRC)
	LANES(8)
	MOVQ SUMS(AX), R13
	MOVQ DST(AX), DI
	MOVL $0x3f000000, CX
	VMOVD CX, X5
	VBROADCASTSS X5, Y5
	EACHROW(32, SOMEK, Y1, BEGINSUM, ZERO(Y0, Y3), SQUARES(TIMESK, Y0, Y1, Y2, Y3), NARROW(STOREK, Y0, Y3, Y5), FOLD; NEXTONE)

// func interactSumAVX2(c *sparseCall)
TEXT ·interactSumAVX2(SB), NOSPLIT, $32-8
	ENTER(SRC)
	MOVQ SUMS(AX), R13
	MOVQ DST(AX), DI
	MOVL $0x3f000000, CX
	VMOVD CX, X5
	VBROADCASTSS X5, Y5
	EACHROW(32, SOMEY, Y1, BEGINSUM, ZERO(Y0, Y3), SQUARES(TIMESY, Y0, Y1, Y2, Y3), NARROW(STOREY, Y0, Y3, Y5), FOLD; NEXTONE)

// InteractGrad: v0 is S, v4 the gradient; R12 leads from dsrc to src.
#define SAME(v) VBROADCASTSS (DI), v
#define INTERACTGRAD(LOAD, TIMES, STORE, v0, v1, v2, v3, v4) \
	TIMES(K2, (AX)(R12*1), v1, v2) \
	VSUBPS v2, v0, v2      \
	VMULPS v4, v1, v1      \
	VMULPS v2, v1, v1      \
	LOAD(K2, (AX), v3)     \
	VADDPS v1, v3, v3      \
	STORE(K2, v3, (AX))

// func interactGrad512(c *sparseCall)
TEXT ·interactGrad512(SB), NOSPLIT, $32-8
	ENTER(DST)
	LANES(16)
	MOVQ SRC(AX), R12
	SUBQ BX, R12
	MOVQ SUMS(AX), R13
	MOVQ GRAD(AX), DI
	EACHROW(64, SOMEK, Z1, NOTHING, LOADK(K2, (R13)(R11*1), Z0); LOADK(K2, (DI)(R11*1), Z4), INTERACTGRAD(LOADK, TIMESK, STOREK, Z0, Z1, Z2, Z3, Z4), NOTHING, NEXTBOTH)

// func interactGrad512Short(c *sparseCall)
TEXT ·interactGrad512Short(SB), NOSPLIT, $32-8
	ENTER(DST)
	LANES(8)
	MOVQ SRC(AX), R12
	SUBQ BX, R12
	MOVQ SUMS(AX), R13
	MOVQ GRAD(AX), DI
	EACHROW(32, SOMEK, Y1, NOTHING, LOADK(K2, (R13)(R11*1), Y0); LOADK(K2, (DI)(R11*1), Y4), INTERACTGRAD(LOADK, TIMESK, STOREK, Y0, Y1, Y2, Y3, Y4), NOTHING, NEXTBOTH)

// func interactGradAVX2(c *sparseCall)
TEXT ·interactGradAVX2(SB), NOSPLIT, $32-8
	ENTER(DST)
	MOVQ SRC(AX), R12
	SUBQ BX, R12
	MOVQ SUMS(AX), R13
	MOVQ GRAD(AX), DI
	EACHROW(32, SOMEY, Y1, NOTHING, LOADY(K2, (R13)(R11*1), Y0); LOADY(K2, (DI)(R11*1), Y4), INTERACTGRAD(LOADY, TIMESY, STOREY, Y0, Y1, Y2, Y3, Y4), NOTHING, NEXTBOTH)

// func interactSumGrad512(c *sparseCall)
TEXT ·interactSumGrad512(SB), NOSPLIT, $32-8
	ENTER(DST)
	LANES(16)
	MOVQ SRC(AX), R12
	SUBQ BX, R12
	MOVQ SUMS(AX), R13
	MOVQ GRAD(AX), DI
	EACHROW(64, SOMEK, Z1, NOTHING, LOADK(K2, (R13)(R11*1), Z0); SAME(Z4), INTERACTGRAD(LOADK, TIMESK, STOREK, Z0, Z1, Z2, Z3, Z4), NOTHING, NEXTONE)

// func interactSumGrad512Short(c *sparseCall)
TEXT ·interactSumGrad512Short(SB), NOSPLIT, $32-8
	ENTER(DST)
	LANES(8)
	MOVQ SRC(AX), R12
	SUBQ BX, R12
	MOVQ SUMS(AX), R13
	MOVQ GRAD(AX), DI
	EACHROW(32, SOMEK, Y1, NOTHING, LOADK(K2, (R13)(R11*1), Y0); SAME(Y4), INTERACTGRAD(LOADK, TIMESK, STOREK, Y0, Y1, Y2, Y3, Y4), NOTHING, NEXTONE)

// func interactSumGradAVX2(c *sparseCall)
TEXT ·interactSumGradAVX2(SB), NOSPLIT, $32-8
	ENTER(DST)
	MOVQ SRC(AX), R12
	SUBQ BX, R12
	MOVQ SUMS(AX), R13
	MOVQ GRAD(AX), DI
	EACHROW(32, SOMEY, Y1, NOTHING, LOADY(K2, (R13)(R11*1), Y0); SAME(Y4), INTERACTGRAD(LOADY, TIMESY, STOREY, Y0, Y1, Y2, Y3, Y4), NOTHING, NEXTONE)
