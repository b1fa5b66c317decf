// The map a*x + b, as a function for Thole in C without a library. The argument is {"a": 2, "b": 1}; what is left out is 1 and 0.
//
//   clang --target=wasm32 -O3 -msimd128 -nostdlib -Wl,--no-entry -Wl,--strip-all -o affine.wasm affine.c
//
// See docs/functions.md for what each exported function is.

#define EXPORT(name) __attribute__((export_name(name)))

typedef long long i64;
typedef unsigned long long u64;

enum { F64 = 1, F32 = 2, I64 = 3, I32 = 4 };

static double buffer[3 * 16384 + 16384]; // three rows of one chunk, and the numbers of their columns
static double a = 1, b = 0;
static const char *problem = "";

static u64 text(const char *s) {
    u64 n = 0;
    while (s[n]) n++;
    return (u64)(unsigned long)s << 32 | n;
}

EXPORT("thole_abi") int abi(void) { return 1; }

EXPORT("thole_buffer") void *room(int size) { return size <= (int)sizeof buffer ? buffer : 0; }

EXPORT("thole_error") u64 error(void) { return text(problem); }

EXPORT("thole_describe") u64 describe(void) {
    return text("{\"name\":\"affine\",\"help\":\"a*x + b\",\"kind\":\"map\",\"rows\":1}");
}

// number reads a decimal number such as -12.5 and stops behind it.
static const char *number(const char *s, double *out) {
    double sign = 1, unit = 1, v = 0;
    if (*s == '-') sign = -1, s++;
    for (; *s >= '0' && *s <= '9'; s++) v = v * 10 + (*s - '0');
    if (*s == '.')
        for (s++; *s >= '0' && *s <= '9'; s++) v = v * 10 + (*s - '0'), unit *= 10;
    *out = sign * v / unit;
    return s;
}

// begin reads {"a": number, "b": number}.
EXPORT("thole_begin") int begin(int size) {
    char *s = (char *)buffer;
    if (size >= (int)sizeof buffer) return 1;
    s[size] = 0;
    for (const char *p = s; *p;) {
        double *to = p[0] == '"' && p[1] == 'a' && p[2] == '"' ? &a : p[0] == '"' && p[1] == 'b' && p[2] == '"' ? &b : 0;
        if (!to) {
            if (*p == '"') {
                problem = "the argument has another name than a and b";
                return 1;
            }
            p++;
            continue;
        }
        for (p += 3; *p == ' ' || *p == ':';) p++;
        const char *end = number(p, to);
        if (end == p) {
            problem = "the argument has something else than a number";
            return 1;
        }
        p = end;
    }
    return 0;
}

// The pragmas make the loops do many cells in each turn: Thole's meter costs some instructions in every turn of a loop.
EXPORT("thole_map") int map(int type, int cells, int rows, i64 first, int cols) {
    switch (type) {
    case F64: {
        double *x = buffer;
        #pragma clang loop vectorize(enable) interleave_count(8) unroll_count(2)
        for (int i = 0; i < cells; i++) x[i] = a * x[i] + b;
        return 0;
    }
    case F32: {
        float *x = (float *)buffer, p = (float)a, q = (float)b;
        #pragma clang loop vectorize(enable) interleave_count(8) unroll_count(2)
        for (int i = 0; i < cells; i++) x[i] = p * x[i] + q;
        return 0;
    }
    case I64: {
        i64 *x = (i64 *)buffer, p = (i64)a, q = (i64)b;
        #pragma clang loop vectorize(enable) interleave_count(8) unroll_count(2)
        for (int i = 0; i < cells; i++) x[i] = p * x[i] + q;
        return 0;
    }
    case I32: {
        int *x = (int *)buffer, p = (int)a, q = (int)b;
        #pragma clang loop vectorize(enable) interleave_count(8) unroll_count(2)
        for (int i = 0; i < cells; i++) x[i] = p * x[i] + q;
        return 0;
    }
    }
    problem = "a type of cells that is not known";
    return 1;
}
