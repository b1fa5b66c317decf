package program

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"thole.example/format"
)

// linearPIR is y = x w + b as release 3 writes it, with a training attribute on the product.
const linearPIR = `{"base_code":{"magic":"pir","trainable":true,"version":1},"program":{"regions":[{"#":"region_0","blocks":[{
"#":"block_0","args":[],"ops":[
{"#":"p","A":[0,1,1,"fc_0.w_0"],"DA":[],"I":[],"O":{"%":1,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[13,1],"NCHW",[],0]}},"OA":[1,0,1],"QA":[]},
{"#":"p","A":[0,1,1,"fc_0.b_0"],"I":[],"O":{"%":2,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[1],"NCHW",[],0]}},"OA":[1,0,1]},
{"#":"1.data","A":[{"AT":{"#":"0.a_str","D":"x"},"N":"name"},{"AT":{"#":"1.a_intarray","D":[-1,13]},"N":"shape"},
 {"AT":{"#":"1.a_dtype","D":"float32"},"N":"dtype"},{"AT":{"#":"1.a_place","D":[0,0,""]},"N":"place"}],
 "I":[],"O":[{"%":3,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,13],"NCHW",[],0]}}]},
{"#":"1.matmul","A":[{"AT":{"#":"0.a_bool","D":false},"N":"transpose_x"},{"AT":{"#":"0.a_bool","D":false},"N":"transpose_y"},
 {"AT":{"#":"0.a_array","D":[{"#":"0.a_str","D":"train.py"}]},"N":"op_callstack"}],
 "I":[{"%":3},{"%":1}],"O":[{"%":4,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1],"NCHW",[],0]}}]},
{"#":"1.add","A":[],"I":[{"%":4},{"%":2}],"O":[{"%":5,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1],"NCHW",[],0]}}]},
{"#":"1.fetch","A":[{"AT":{"#":"0.a_str","D":"fetch_name_0"},"N":"name"},{"AT":{"#":"0.a_i32","D":0},"N":"col"}],
 "I":[{"%":5}],"O":[{"%":6,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1],"NCHW",[],0]}}]}
]}]}]}}`

// TestPIRPersistable checks that state which is said not to persist is no parameter of files.
func TestPIRPersistable(t *testing.T) {
	for attrs, want := range map[string]int{`[1,0,1]`: 2, `[0,1,0]`: 1, `[]`: 2, `[{"N":"persistable"}]`: 2} {
		text := strings.Replace(linearPIR, `"OA":[1,0,1],"QA"`, `"OA":`+attrs+`,"QA"`, 1)
		p, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(p.Params()); got != want {
			t.Errorf("with %s: %d parameters, want %d", attrs, got, want)
		}
	}
}

func TestPIR(t *testing.T) {
	p, err := Decode([]byte(linearPIR))
	if err != nil {
		t.Fatal(err)
	}
	if p.Form != FormPIR || p.Version != 1 || p.VersionText() != "PIR version 1 (release 3.x)" {
		t.Errorf("%s, %s", p.Form, p.VersionText())
	}
	var params []string
	for _, v := range p.Params() {
		params = append(params, fmt.Sprint(v.Name, v.Dims, v.Elem))
	}
	if want := []string{"fc_0.b_0[1] FP32", "fc_0.w_0[13 1] FP32"}; !slices.Equal(params, want) {
		t.Errorf("parameters %v, want %v", params, want)
	}
	var ops []string
	for _, o := range p.Blocks[0].Ops {
		ops = append(ops, fmt.Sprint(o.Type, o.In, o.Out))
	}
	want := []string{"builtin.parameter[] [{0 [fc_0.w_0]}]", "builtin.parameter[] [{0 [fc_0.b_0]}]", "pd_op.data[] [{0 [x]}]",
		"pd_op.matmul[{0 [x]} {1 [fc_0.w_0]}] [{0 [%4]}]", "pd_op.add[{0 [%4]} {1 [fc_0.b_0]}] [{0 [%5]}]", "pd_op.fetch[{0 [%5]}] [{0 [%6]}]"}
	if !slices.Equal(ops, want) {
		t.Errorf("operators\n%s\nwant\n%s", strings.Join(ops, "\n"), strings.Join(want, "\n"))
	}
	if data, _ := p.Encode(); string(data) != linearPIR {
		t.Error("the text is not written as it was read")
	}
	clean, err := p.Scrub()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := clean.Encode()
	if bytes.Contains(data, []byte("callstack")) || SameGraph(p, clean) != nil {
		t.Errorf("scrubbed to %s, %v", data, SameGraph(p, clean))
	}
	again, _ := clean.Scrub()
	if twice, _ := again.Encode(); !bytes.Equal(twice, data) {
		t.Error("a second scrubbing changes the text")
	}
}

// TestPIRAttributes reads values of all kinds.
func TestPIRAttributes(t *testing.T) {
	for text, want := range map[string]string{
		`{"#":"0.a_bool","D":true}`:      "BOOLEAN true",
		`{"#":"0.a_f32","D":0.5}`:        "FLOAT 0.5",
		`{"#":"0.a_f32","VD":"NaN"}`:     "FLOAT NaN",
		`{"#":"0.a_f64","VD":"-inf"}`:    "FLOAT64 -Inf",
		`{"#":"0.a_i64","D":-7}`:         "LONG -7",
		`{"#":"0.a_str","D":"a"}`:        `STRING "a"`,
		`{"#":"1.a_intarray","D":[1,2]}`: "LONGS [1 2]",
		`{"#":"1.a_scalar","D":2.5}`:     "FLOAT64 2.5",
		`{"#":"0.a_array","D":[{"#":"0.a_i32","D":3},{"#":"0.a_i32","D":4}]}`:       "INTS [3 4]",
		`{"#":"0.a_array","D":[{"#":"0.a_f32","D":3.5}]}`:                           "FLOAT64S [3.5]",
		`{"#":"0.a_array","D":[{"#":"0.a_bool","D":true},{"#":"0.a_str","D":"b"}]}`: "STRING", // mixed: as text
		`{"#":"1.a_place","D":[1,0,""]}`:                                            `STRING "[1,0,\"\"]"`,
	} {
		attrs, err := pirAttrs([]byte(`[{"N":"a","AT":` + text + `}]`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := attrs[0].Type.String() + " " + attrs[0].Text(); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestBadPIR changes one thing each.
func TestBadPIR(t *testing.T) {
	deep := strings.Repeat(`{"#":"0.a_array","D":[`, 20) + strings.Repeat(`]}`, 20)
	for _, c := range []struct{ old, new, want string }{
		{`"I":[{"%":4},{"%":2}]`, `"I":[{"%":4},{"%":9}]`, "operator 4 (1.add): operand 1: value 9 was not made before"},
		{`[{"%":5,`, `[{"%":4,`, "value 4 is made twice"},
		{`"fc_0.b_0"`, `"fc_0.w_0"`, "a name that no other has"},
		{`[0,1,1,"fc_0.b_0"]`, `[0,1,1,7]`, "attributes \"[0,1,1,7]\""},
		{`"0.t_f32"}`, `"0.t_f31"}`, `element type "0.t_f31"`},
		{`[13,1]`, `"13"`, "dimensions"},
		{`"args":[],`, `"args":[{"#":7}],`, "argument of number 7, want one below 0"},
		{`"D":false`, `"D":7`, "attribute transpose_x"},
		{`"magic":"pir"`, `"magic":"pie"`, "want a ProgramDesc or a PIR text"},
		{`"program":`, `"progran":`, "0 regions"},
		{`{"#":"0.a_array","D":[{"#":"0.a_str","D":"train.py"}]}`, deep, "deep"},
		{`]}]}]}}`, `]}]}]}`, "input ends too early"},
		{`"A":[],`, `"A":[,`, "invalid character"},
		{`"args":[]`, `"args":7`, `arguments "7"`},
	} {
		if !strings.Contains(linearPIR, c.old) {
			t.Fatalf("%q is not in the text", c.old)
		}
		_, err := Decode([]byte(strings.Replace(linearPIR, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %q", c.new, c.old, err, c.want)
		}
		if w := format.Wrap(name, "x", err); !errors.Is(w, format.ErrCorrupt) && !errors.Is(w, format.ErrLimit) && !errors.Is(w, format.ErrVersion) {
			t.Errorf("%s for %s: %v wraps no error of package format", c.new, c.old, err)
		}
	}
}

// TestScrubClasses removes the names of classes from a model that Paddle saved, and says which names stay.
func TestScrubClasses(t *testing.T) {
	const secret = "SecretFraudTower"
	p, data := saved(t, "tower.json")
	leaks, whole, err := p.Leaks()
	if err != nil || len(leaks) != 1 || leaks[0].Attr != "struct_name" || leaks[0].Ops != bytes.Count(data, []byte("struct_name")) ||
		!strings.Contains(leaks[0].Shown, secret) {
		t.Fatalf("%+v, %v, want names of classes", leaks, err)
	}
	clean, err := p.Scrub()
	if err != nil {
		t.Fatal(err)
	}
	text, err := clean.Encode()
	if err != nil || bytes.Contains(text, []byte(secret)) || SameGraph(p, clean) != nil {
		t.Errorf("%v, scrubbed: %s", err, text)
	}
	if left, lean, _ := clean.Leaks(); len(left) != 0 || whole-lean < leaks[0].Bytes-leaks[0].Ops || whole-lean > leaks[0].Bytes {
		t.Errorf("%d of %d bytes remain, with %+v, want about %d less", lean, whole, left, leaks[0].Bytes)
	}
	for _, c := range []struct{ file, want string }{
		{"tower.json", "[linear_2 secret_fraud_tower_0 x]"},
		{"tower.pdmodel", "[linear_0 linear_2 relu_0 save_infer_model/scale_0 secret_fraud_tower_0 sigmoid_0 tmp_0 x]"},
	} {
		p, _ := saved(t, c.file)
		if got := fmt.Sprint(p.Stems()); got != c.want {
			t.Errorf("%s: names begin with %s, want %s", c.file, got, c.want)
		}
	}
	on := strings.Replace(linearPIR, `[0,1,1,"fc_0.w_0"]`, `[{"N":"struct_name","AT":{"#":"0.a_str","D":"/A/"}},{"N":"name","AT":{"#":"0.a_str","D":"fc_0.w_0"}}]`, 1)
	if p, err = Decode([]byte(on)); err != nil {
		t.Fatal(err)
	}
	if leaks, _, err := p.Leaks(); err != nil || len(leaks) != 2 {
		t.Errorf("%+v, %v, want that of the parameter too", leaks, err)
	}
}

// TestPIRBlocks reads blocks within operators, with arguments in both ways.
func TestPIRBlocks(t *testing.T) {
	const typ = `"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_i64"},[],"NCHW",[],0]}`
	inner := `"regions":[{"#":"r","blocks":[{"#":"b","args":[{"%":-1,` + typ + `}],"kwargs":{"n":{"%":-2,` + typ + `}},
"ops":[{"#":"2.yield","A":[],"I":[{"%":-1},{"%":-2},{"%":0}],"O":[]}]}]}]`
	text := strings.Replace(linearPIR, `{"#":"1.fetch",`, `{"#":"1.while","A":[],"I":[{"%":5}],"O":[{"%":0}],`+inner+`},{"#":"1.fetch",`, 1)
	p, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Blocks) != 2 || p.Blocks[1].Parent != 0 || fmt.Sprint(p.Blocks[1].Ops[0].In) != "[{0 [%-1]} {1 [%-2]} {2 []}]" ||
		fmt.Sprint(p.Blocks[1].Args) != "[%-1 %-2]" {
		t.Errorf("%d blocks: %+v", len(p.Blocks), p.Blocks[1:])
	}
	twice := strings.Replace(text, inner, inner[:len(inner)-1]+","+inner[len(`"regions":[`):], 1)
	if p, err = Decode([]byte(twice)); err != nil {
		t.Fatal(err)
	}
	if len(p.Blocks) != 3 || fmt.Sprint(p.Blocks[2].Args, p.Blocks[2].Ops[0].In[0].Args) != "[%-1 of block 2 %-2 of block 2] [%-1 of block 2]" {
		t.Errorf("%d blocks: %+v", len(p.Blocks), p.Blocks[2:])
	}
}
