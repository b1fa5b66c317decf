// Passes over n bytes, a multiple of 128 and at least that. dst may be x or y.

// TWO makes a pass of op(x, y, t, u), which leaves its result in x and may overwrite t and u.
#define TWO(op) \
	MOVQ    dst+0(FP), DI  \
	MOVQ    x+8(FP), SI    \
	MOVQ    y+16(FP), DX   \
	MOVQ    n+24(FP), CX   \
loop:                      \
	VMOVUPS 0(SI), Y0      \
	VMOVUPS 32(SI), Y1     \
	VMOVUPS 64(SI), Y2     \
	VMOVUPS 96(SI), Y3     \
	VMOVUPS 0(DX), Y4      \
	VMOVUPS 32(DX), Y5     \
	VMOVUPS 64(DX), Y6     \
	VMOVUPS 96(DX), Y7     \
	op(Y0, Y4, Y8, Y9)     \
	op(Y1, Y5, Y10, Y11)   \
	op(Y2, Y6, Y12, Y13)   \
	op(Y3, Y7, Y8, Y9)     \
	VMOVUPS Y0, 0(DI)      \
	VMOVUPS Y1, 32(DI)     \
	VMOVUPS Y2, 64(DI)     \
	VMOVUPS Y3, 96(DI)     \
	ADDQ    $128, SI       \
	ADDQ    $128, DX       \
	ADDQ    $128, DI       \
	SUBQ    $128, CX       \
	JNZ     loop           \
	VZEROUPPER             \
	RET
