// What the exact sums of AVX-512 share.
//
// An addition with RN_SAE leaves no flag in the control word. All others do if they round, and none of them may: so a chunk
// whose flags are clear was added exactly.

// CLEAR clears the flags, with the caller's control word kept at 0(SP); TELL stores them in the sums at DX.
#define CLEAR \
	STMXCSR 0(SP)          \
	MOVL    $0x1f80, 4(SP) \
	LDMXCSR 4(SP)
#define TELL \
	STMXCSR 104(DX) \
	LDMXCSR 0(SP)  \
	VZEROUPPER     \
	RET

// FOLD makes the lowest number of z the sum of its eight, and stores it as number i of what comes out.
#define FOLD(z, y, x, i) \
	VEXTRACTF64X4 $1, z, Y31 \
	VADDPD        Y31, y, y  \
	VEXTRACTF128  $1, y, X15 \
	VADDPD        X15, x, x  \
	VPERMILPD     $1, x, X15 \
	VADDSD        X15, x, x  \
	VMOVSD        x, (56+8*i)(DX)

// FIRST is a slice that is not the last: it adds x to up, and leaves in x what that rounds away. s and q are overwritten.
#define FIRST(x, up, s, q) \
	VADDPD.RN_SAE x, up, s \
	VSUBPD        up, s, q \
	VMOVAPD       s, up    \
	VSUBPD        q, x, x

// FILL copies v to four registers, ZERO clears four, LESS takes v off four.
#define FILL(v, a, b, c, d) \
	VMOVAPD v, a \
	VMOVAPD v, b \
	VMOVAPD v, c \
	VMOVAPD v, d
#define ZERO(a, b, c, d) \
	VPXORQ a, a, a \
	VPXORQ b, b, b \
	VPXORQ c, c, c \
	VPXORQ d, d, d
#define LESS(v, a, b, c, d) \
	VSUBPD v, a, a \
	VSUBPD v, b, b \
	VSUBPD v, c, c \
	VSUBPD v, d, d

// ADD4 adds four registers up in the first of them; c is overwritten.
#define ADD4(a, b, c, d) \
	VADDPD b, a, a \
	VADDPD d, c, c \
	VADDPD c, a, a

// PAIRS32 loads 32 float32 at SI, and 32 at DI, as float64 side by side: Z14 Z15, Z18 Z19, Z22 Z23, Z26 Z27.
#define PAIRS32 \
	VCVTPS2PD 0(SI), Z14  \
	VCVTPS2PD 0(DI), Z15  \
	VCVTPS2PD 32(SI), Z18 \
	VCVTPS2PD 32(DI), Z19 \
	VCVTPS2PD 64(SI), Z22 \
	VCVTPS2PD 64(DI), Z23 \
	VCVTPS2PD 96(SI), Z26 \
	VCVTPS2PD 96(DI), Z27
