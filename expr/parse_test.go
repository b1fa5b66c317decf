package expr

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, want string
		rows       int
		columns    bool
		scalars    string
	}{
		{"2*x+1", "2 * x + 1", 1, false, ""},
		{"max(x,y)", "max(x, y)", 2, false, ""},
		{"-x^2", "-x ^ 2", 1, false, ""},
		{"(-x)^2", "(-x) ^ 2", 1, false, ""},
		{"2^3^2", "2 ^ 3 ^ 2", 0, false, ""},
		{"(2^3)^2", "(2 ^ 3) ^ 2", 0, false, ""},
		{"2^-x", "2 ^ -x", 1, false, ""},
		{"a-b-c", "a - b - c", 0, false, "a b c"},
		{"a-(b-c)", "a - (b - c)", 0, false, "a b c"},
		{"(a*b)/(c%d)", "a * b / (c % d)", 0, false, "a b c d"},
		{"x<y&&y<z||!x", "x < y && y < z || !x", 3, false, ""},
		{"(x||y)&&z", "(x || y) && z", 3, false, ""},
		{"x>0?1:y>0?2:3", "x > 0 ? 1 : y > 0 ? 2 : 3", 2, false, ""},
		{"(x>0?1:2)?3:4", "(x > 0 ? 1 : 2) ? 3 : 4", 1, false, ""},
		{"(x<y)==z", "(x < y) == z", 3, false, ""},
		{"+x - +3", "x - 3", 1, false, ""},
		{"pow(x+1, k)", "(x + 1) ^ k", 1, false, "k"},
		{"i*1e3 + .5 + 1. + 1E-3 + 1e300", "i * 1000 + 0.5 + 1 + 0.001 + 1e+300", 0, true, ""},
		{"clip(x, lo, hi)*sign(x)", "clip(x, lo, hi) * sign(x)", 1, false, "hi lo"},
		{"min(x)\n", "min(x)", 1, false, ""},
		{"x--y", "x - -y", 2, false, ""},
		{"e*e", "e * e", 0, false, "e"},
	} {
		e, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if e.String() != c.want || e.Rows() != c.rows || e.Columns() != c.columns || !slices.Equal(e.Scalars(), strings.Fields(c.scalars)) {
			t.Errorf("%s: %q with rows %d, columns %v, scalars %v, want %q, %d, %v, %v", c.text, e, e.Rows(), e.Columns(),
				e.Scalars(), c.want, c.rows, c.columns, c.scalars)
		}
	}
}

func TestParseSaysWhereAndWhat(t *testing.T) {
	for text, want := range map[string]string{
		"":                          `expr: column 1: found the end, want a number, a name, "-", "!" or "("`,
		"2*":                        `expr: column 3: found the end, want a number, a name, "-", "!" or "("`,
		"2*)":                       `expr: column 3: found ")", want a number, a name, "-", "!" or "("`,
		"(x + 1":                    `expr: column 7: found the end, want ")"`,
		"x + 1)":                    `expr: column 6: found ")", want an operator or the end`,
		"x = 1":                     `expr: column 3: found "=", want an operator or the end`,
		"2x":                        `expr: column 1: found "2x", want a decimal number that a float64 can hold`,
		"x y":                       `expr: column 3: found "y", want an operator or the end`,
		"1e999":                     `expr: column 1: found "1e999", want a decimal number that a float64 can hold`,
		"1e-":                       `expr: column 1: found "1e", want a decimal number that a float64 can hold`,
		"0x10":                      `expr: column 1: found "0x10", want a decimal number that a float64 can hold`,
		"a.b":                       `expr: column 1: found "a.b", want a name of letters, digits and _`,
		"x < y < z":                 `expr: column 7: found "<", want && between two comparisons: "a < b && b < c"`,
		"x ? 1":                     `expr: column 6: found the end, want ":"`,
		"max":                       `expr: column 4: found the end, want "(" after the function max`,
		"maxi(x)":                   `expr: column 1: found "maxi", want a function: one of ` + functionNames(),
		"x(1)":                      `expr: column 1: found "x", want a function: one of ` + functionNames(),
		"max()":                     `expr: column 5: 0 arguments of max, want at least 1`,
		"clip(x, 1)":                `expr: column 6: 2 arguments of clip, want 3`,
		"sqrt(x, y)":                `expr: column 6: 2 arguments of sqrt, want 1`,
		"x + ü":                     `expr: column 5: found "ü", want a number, a name, "-", "!" or "("`,
		"x + \xff":                  `expr: column 5: found "\xff", want a number, a name, "-", "!" or "("`,
		strings.Repeat("x", 5000):   `expr: 5000 bytes of text, want at most 4096`,
		strings.Repeat("(", 200):    `expr: column 101: more than 100 parentheses, calls, signs and choices inside each other`,
		strings.Repeat("-", 200):    `expr: column 101: more than 100 parentheses, calls, signs and choices inside each other`,
		strings.Repeat("x+", 500):   `expr: column 402: more than 400 operations, numbers and names`,
		strings.Repeat("x^", 1000):  `expr: column 802: more than 400 operations, numbers and names`,
		strings.Repeat("x?x:", 101): `expr: column 399: more than 100 parentheses, calls, signs and choices inside each other`,
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v\nwant %s", text, err, want)
		}
	}
}

// Whatever is given, Parse ends with an error or an expression that its text gives again, and that runs.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"2*x+1", "max(x, y)", "x > 0 ? -x^2 : !y && i % 3 != k", "clip(sigmoid(x), 1e-3, .5)", "((x", "1e309"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		if long := e.String(); len(long) <= TextLimit {
			again, err := Parse(long)
			if err != nil || again.String() != long {
				t.Fatalf("%q is written %q, which reads as %v, %v", text, long, again, err)
			}
		}
		scalars := map[string]float64{}
		for _, name := range e.Scalars() {
			scalars[name] = 1.5
		}
		fits[float64](t, e, scalars)
		fits[int32](t, e, scalars)
	})
}

func fits[T Elem](t *testing.T, e *Expr, scalars map[string]float64) {
	p, err := Bind[T](e, scalars)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]T, block+1)
	if err := p.Run(row, [][]T{row, row, row}, 0, nil); err != nil {
		t.Fatal(err)
	}
}
