package psf_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/psf"
)

// sample is a right value of every kind of parameter.
var sample = map[psf.Kind]any{
	psf.Row: 1, psf.RowList: []int{1, 0}, psf.Columns: []int{3, 5}, psf.Number: 2, psf.Numbers: []float64{0, 1}, psf.Count: 5,
	psf.Text: "x", psf.Flag: true, psf.Scalars: map[string]float64{},
}

// wrong is texts of what a kind does not take.
var wrong = map[psf.Kind][]string{
	psf.Row:     {`"1"`, `1.5`, `[1]`, `-1`, `2`, `1e30`, `null`, `true`, `{}`},
	psf.RowList: {`"1"`, `1.5`, `[1.5]`, `[-1]`, `[0,2]`, `[null]`, `[1,null]`, `[[1]]`, `[]`, `null`, `9223372036854775808`},
	psf.Columns: {`"1"`, `[3,3]`, `[3,-1]`, `[3,10]`, `[null,3]`, `null`, `[3.5,4]`},
	psf.Number:  {`"1"`, `1e999`, `NaN`, `[1]`, `null`, `true`},
	psf.Numbers: {`"1"`, `[1,"2"]`, `[1e999,1]`, `[null,1]`, `null`, `[[1],1]`},
	psf.Count:   {`"1"`, `-1`, `1.5`, `null`, `1e30`, `[1]`, `99999999999`},
	psf.Text:    {`1`, `["x"]`, `null`, `"no such thing("`},
	psf.Flag:    {`1`, `"true"`, `null`},
	psf.Scalars: {`1`, `[]`, `{"k":null}`, `{"k":"1"}`, `{"k":1,"k":2}`, `{"k":1}`, `null`},
}

func meta(dtype matrix.DType, layout matrix.Layout) *matrix.Meta {
	return &matrix.Meta{Name: "m", Rows: 2, Cols: 10, DType: dtype, Layout: layout}
}

// rightArgs is an argument of a function with all parameters that it takes.
func rightArgs(f *psf.Func) map[string]any {
	a := map[string]any{}
	for _, p := range f.Params {
		a[p.Name] = sample[p.Kind]
	}
	for name, v := range map[string]any{"low": -1, "min": -1, "q": []float64{0.5}} {
		if _, ok := a[name]; ok {
			a[name] = v
		}
	}
	return a
}

func textOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryArgument: every function takes right arguments, and refuses each parameter that is wrong, lacking, there twice or
// unknown with an error that names it.
func TestEveryArgument(t *testing.T) {
	for _, f := range psf.Funcs() {
		right := rightArgs(&f)
		if _, err := functions.Bind(f.Name, []byte(textOf(t, right)), meta(matrix.F64, matrix.RowDense)); err != nil {
			t.Errorf("%s %v: %v", f.Name, right, err)
			continue
		}
		refused := func(text, name string) {
			t.Helper()
			_, err := functions.Bind(f.Name, []byte(text), meta(matrix.F64, matrix.RowDense))
			if err == nil || !strings.HasPrefix(err.Error(), f.Name+": ") || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %s: %v, want an error about %q", f.Name, text, err, name)
			}
		}
		for _, p := range f.Params {
			for _, text := range wrong[p.Kind] {
				a := maps.Clone(right)
				a[p.Name] = json.RawMessage(text)
				text, whole := strings.TrimSpace(text), ""
				for _, name := range slices.Sorted(maps.Keys(a)) {
					value, isRaw := a[name].(json.RawMessage)
					if !isRaw {
						value = json.RawMessage(textOf(t, a[name]))
					}
					whole += fmt.Sprintf(",%q:%s", name, value)
				}
				if p.Name == "seed" && text == "99999999999" {
					continue // any whole number
				}
				refused("{"+whole[1:]+"}", "")
			}
			if a := maps.Clone(right); p.Default == "" && !p.Optional {
				delete(a, p.Name)
				refused(textOf(t, a), p.Name)
			}
			all := textOf(t, right)
			refused(strings.Replace(all, "{", fmt.Sprintf("{%q:%s,", p.Name, textOf(t, right[p.Name])), 1), p.Name)
		}
		a := maps.Clone(right)
		a["nosuch"] = 1
		refused(textOf(t, a), "nosuch")
		for _, text := range []string{`[1]`, `1`, `"x"`, `{`, `{}{}`, `null`, strings.Repeat(`{"a":`, 20_000)} {
			refused(text, "")
		}
	}
}

// TestArguments: what is wrong in single functions.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name, arg string
		dtype     matrix.DType
		layout    matrix.Layout
		want      string // "": it is right
	}{
		{"divs", `{"from":0,"s":0}`, matrix.F64, 0, "s is 0"},
		{"softthreshold", `{"t":-1}`, matrix.F64, 0, "t is -1"},
		{"fill", `{"value":0.5}`, matrix.I32, 0, "value is 0.5, want a number of i32"},
		{"fill", `{"value":3e9}`, matrix.I32, 0, "value is 3e+09, want a number of i32"},
		{"fill", `{"value":9007199254740993}`, matrix.I64, 0, "value is 9007199254740993"},
		{"fill", `{"value":9007199254740993}`, matrix.F64, 0, ""},
		{"fill", `{"value":1e300}`, matrix.F32, 0, "want a finite number of f32"},
		{"map", `{"from":0,"f":"k*x","with":{"k":1e300}}`, matrix.F32, 0, "want a finite number of f32"},
		{"map", `{"from":0,"f":"x+y"}`, matrix.F64, 0, "2 rows, want at most 1"},
		{"map", `{"from":0,"f":"x+i"}`, matrix.F64, 1, "depends on the column"},
		{"map", `{"from":0,"f":"x+i","stored":true}`, matrix.F64, 1, ""},
		{"map", `{"from":0,"f":"k"}`, matrix.F64, 0, `no value for "k"`},
		{"mapinplace", `{"f":"x","with":{"k":1}}`, matrix.F64, 0, `a value for "k"`},
		{"put", `{"row":0,"values":[1,2],"cols":[1]}`, matrix.F64, 0, "2 values for 1 columns"},
		{"put", `{"row":0,"values":[1,2,3,4,5,6,7,8,9,10,11]}`, matrix.F64, 0, "11 values, want at most 10"},
		{"put", `{"row":0,"values":[1,2.5]}`, matrix.I64, 0, "value 1 is 2.5"},
		{"put", `{"row":0,"values":[9223372036854775807]}`, matrix.I64, 0, ""},
		{"put", `{"row":0,"values":[9223372036854775808]}`, matrix.I64, 0, "want a number of i64"},
		{"put", `{"row":0,"values":[3.5e38]}`, matrix.F32, 0, "want a finite number of f32"},
		{"diag", `{"values":[1]}`, matrix.F64, 0, "1 values, want 2"},
		{"diag", `{"values":[1,2147483648]}`, matrix.I32, 0, "want a number of i32"},
		{"compress", `{"limit":-1}`, matrix.F64, 0, "limit is -1"},
		{"equal", `{"row1":0,"row2":1,"tolerance":-1}`, matrix.F64, 0, "tolerance is -1"},
		{"equal", `{"row1":0,"row2":1,"tolerance":1e19}`, matrix.I64, 0, "tolerance is 1e+19"},
		{"topk", `{"k":1048577}`, matrix.F64, 0, "want at most 1048576"},
		{"histogram", `{"min":0,"max":1,"bins":1048577}`, matrix.F64, 0, "1048577 bins, want 1 to 1048576"},
		{"histogram", `{"min":1,"max":1}`, matrix.F64, 0, "range of finite width"},
		{"histogram", `{"min":-1e308,"max":1e308}`, matrix.F64, 0, "range of finite width"},
		{"quantiles", `{"q":[0.5,1.5]}`, matrix.F64, 0, "rank 1.5"},
		{"quantiles", `{"bits":3}`, matrix.F64, 0, "3 bits, want 4 to 16"},
		{"random", `{"low":1,"high":0}`, matrix.F64, 0, "range of finite width"},
		{"random", `{"low":0.1,"high":0.9}`, matrix.I32, 0, "no number of i32 in [0.1,0.9)"},
		{"random", `{"low":0,"high":1e10}`, matrix.I32, 0, "want numbers of i32"},
		{"random", `{"low":0.7,"high":0.7000000001}`, matrix.F32, 0, "no number of f32"},
		{"random", `{"low":0,"high":1e39}`, matrix.F32, 0, "want numbers of f32"},
		{"random", `{"low":0,"high":1}`, matrix.F64, 1, "have one value"},
		{"randomnormal", `{"std":-1}`, matrix.F64, 0, "std is -1"},
		{"xaviernormal", `{"fanin":0,"fanout":1}`, matrix.F64, 0, "fanin 0"},
		{"kaiminguniform", `{"fanin":1,"gain":-2}`, matrix.F64, 0, "gain is -2"},
		{"reset", `{"rows":[]}`, matrix.F64, 0, "rows is an empty list"},
		{"nosuch", ``, matrix.F64, 0, `no function "nosuch"`},
		{"RandomNormal", ``, matrix.F64, 0, ""}, // as Angel spells it
	} {
		_, err := functions.Bind(c.name, []byte(c.arg), meta(c.dtype, c.layout))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s of %v %v: %v, want %q", c.name, c.arg, c.layout, c.dtype, err, c.want)
		}
	}
}

// FuzzBind: no argument makes a panic, or work that is not bounded by its length; what is bound touches rows of the matrix alone.
func FuzzBind(f *testing.F) {
	all := psf.Funcs()
	for i := range all {
		f.Add(uint8(i), textOf(f, rightArgs(&all[i])))
	}
	f.Fuzz(func(t *testing.T, which uint8, arg string) {
		fn := &all[int(which)%len(all)]
		for _, m := range []*matrix.Meta{meta(matrix.F64, 0), meta(matrix.F32, 1), meta(matrix.I64, 1), meta(matrix.I32, 0)} {
			call, err := functions.Bind(fn.Name, []byte(arg), m)
			if err != nil {
				continue
			}
			for _, r := range append(slices.Clone(call.Reads.Of), call.Writes.Of...) {
				if r < 0 || r >= m.Rows {
					t.Fatalf("%s %s: row %d", fn.Name, arg, r)
				}
			}
			if !call.Touches(m.Rect().Rows) {
				t.Fatalf("%s %s touches nothing", fn.Name, arg)
			}
			views := views(t, m)
			if _, err := call.Part(views); err != nil && len(arg) == 0 {
				t.Fatal(err)
			}
		}
	})
}
