// What the kernels over sparse rows in assembly share.
//
//	AX row of the value         R8  bytes of a row of n       DX, CX pointers of rows, values left in the row
//	BX matrix that AX is in     R9  x of the value            DI what goes from row to row: outputs, or their gradient
//	SI at of the value          R10 bytes from x to x, or 0   R11 bytes of the columns that are done
//	R15 bytes from at to at     R14 bytes from row to row of the matrix where there is no at; 0 where there is
//	K1 lanes of the last vector of a row                      K2 lanes of this vector
//
// So values without x point at a 1 from which they do not move, those without at at a 0, and their matrix moves instead.

DATA ·sparseOne<>+0(SB)/4, $0x3f800000
GLOBL ·sparseOne<>(SB), RODATA|NOPTR, $4
DATA ·sparseZero<>+0(SB)/4, $0
GLOBL ·sparseZero<>(SB), RODATA|NOPTR, $4

#define PTR 0
#define ROWS 8
#define AT 24
#define X 48
#define N 72
#define SRC 80
#define DST 104
#define SUMS 128
#define GRAD 152
#define VALUES 176
#define FROM 184

// ENTER loads the fields of the call, which stays in AX, and the address of a matrix. It overwrites CX and DX.
#define ENTER(matrix) \
	MOVQ    c+0(FP), AX      \
	MOVQ    N(AX), R8        \
	SHLQ    $2, R8           \
	MOVQ    matrix(AX), BX   \
	MOVQ    X(AX), R9        \
	MOVQ    $4, R10          \
	LEAQ    ·sparseOne<>(SB), CX \
	XORQ    DX, DX           \
	TESTQ   R9, R9           \
	CMOVQEQ CX, R9           \
	CMOVQEQ DX, R10          \
	MOVQ    AT(AX), SI       \
	MOVQ    $4, R15          \
	XORQ    R14, R14         \
	LEAQ    ·sparseZero<>(SB), CX \
	TESTQ   SI, SI           \
	CMOVQEQ CX, SI           \
	CMOVQEQ DX, R15          \
	CMOVQEQ R8, R14

// What stands at the beginning or the end of a row or a value: the next one of what is in DI.
#define NOTHING
#define NEXT ADDQ R8, DI

// LANES makes K1 for vectors of lanes numbers.
#define LANES(lanes) \
	MOVQ  N(AX), CX         \
	DECQ  CX                \
	ANDQ  $(lanes-1), CX    \
	MOVL  $2, DX            \
	SHLL  CX, DX            \
	DECL  DX                \
	KMOVW DX, K1

// VALUE makes AX the row of the value, spreads its x over v, and goes on to the next.
#define VALUE(v) \
	MOVL         (SI), AX \
	IMULQ        R8, AX   \
	ADDQ         BX, AX   \
	VBROADCASTSS (R9), v  \
	ADDQ         R15, SI  \
	ADDQ         R10, R9  \
	ADDQ         R14, BX

// What masks AVX-512 has and AVX2 has not: LOAD, STORE, TIMES, v = x*a, and SOME, which makes K2 for what is left of a row.
#define LOADK(k, a, v) VMOVUPS.Z a, k, v
#define STOREK(k, v, a) VMOVUPS v, k, a
#define TIMESK(k, a, x, v) VMULPS.Z a, x, k, v
#define SOMEK(bytes) \
	LEAQ   bytes(R11), AX \
	KXNORW K2, K2, K2 \
	CMPQ   AX, R8    \
	JLT    full      \
	KMOVW  K1, K2    \
full:
#define LOADY(k, a, v) VMOVUPS a, v
#define STOREY(k, v, a) VMOVUPS v, a
#define TIMESY(k, a, x, v) VMULPS a, x, v
#define SOMEY(bytes)

// EACHVALUE runs, for each value, begin, then for each vector of its row body, for the last one last; and end.
#define EACHVALUE(bytes, v, begin, body, last, end) \
	MOVQ VALUES(AX), CX  \
	LEAQ -4(R8), R12     \
	ANDQ $-bytes, R12    \
value:                       \
	VALUE(v)             \
	begin                \
	XORQ R11, R11        \
	CMPQ R11, R12        \
	JEQ  rest            \
vector:                      \
	body                 \
	ADDQ $bytes, R11     \
	CMPQ R11, R12        \
	JLT  vector          \
rest:                        \
	last                 \
	end                  \
	DECQ CX              \
	JNZ  value           \
	VZEROUPPER           \
	RET

// EACHROW runs, for each row, begin, then for each of its vectors first, body for each value, with its x in v, and last; and end,
// which goes on to the next row. SOME is one of those above. There are 32 bytes at SP.
#define EACHROW(bytes, SOME, v, begin, first, body, last, end) \
	MOVQ PTR(AX), DX   \
	MOVQ ROWS(AX), CX  \
	DECQ CX            \
	MOVQ CX, 0(SP)     \
row:                       \
	MOVQ SI, 8(SP)     \
	MOVQ R9, 16(SP)    \
	MOVQ BX, 24(SP)    \
	XORQ R11, R11      \
	begin              \
vector:                    \
	MOVQ 8(SP), SI     \
	MOVQ 16(SP), R9    \
	MOVQ 24(SP), BX    \
	ADDQ R11, BX       \
	SOME(bytes)        \
	MOVQ 8(DX), CX     \
	SUBQ (DX), CX      \
	first              \
	TESTQ CX, CX       \
	JZ   done          \
value:                     \
	VALUE(v)           \
	body               \
	DECQ CX            \
	JNZ  value         \
done:                      \
	last               \
	SUBQ R11, BX       \
	ADDQ $bytes, R11   \
	CMPQ R11, R8       \
	JLT  vector        \
	end                \
	ADDQ $8, DX        \
	DECQ 0(SP)         \
	JNZ  row           \
	VZEROUPPER         \
	RET
