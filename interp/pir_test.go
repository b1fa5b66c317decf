package interp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"thole.example/program"
)

// pirText is a program of release 3: parameters, one input, then the operators, whose values begin at 10.
func pirText(ops string) string {
	tensor := func(elem, dims string) string {
		return `"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_` + elem + `"},` + dims + `,"NCHW",[],0]}`
	}
	return `{"base_code":{"magic":"pir","version":1},"program":{"regions":[{"blocks":[{"args":[],"ops":[
{"#":"p","A":[0,1,1,"w"],"O":{"%":1,` + tensor("f32", "[3,2]") + `}},
{"#":"1.data","A":[{"N":"name","AT":{"#":"0.a_str","D":"x"}}],"I":[],"O":[{"%":2,` + tensor("f32", "[-1,3]") + `}]},
{"#":"1.data","A":[{"N":"name","AT":{"#":"0.a_str","D":"ids"}}],"I":[],"O":[{"%":3,` + tensor("i64", "[-1]") + `}]},` + ops + `,
{"#":"1.fetch","A":[{"N":"name","AT":{"#":"0.a_str","D":"answer"}},{"N":"col","AT":{"#":"0.a_i32","D":0}}],"I":[{"%":99}],"O":[{"%":100}]}]}]}]}}`
}

// TestPIR runs operators of release 3 that take their settings as operands, and lists of values.
func TestPIR(t *testing.T) {
	const ints = `{"#":"1.full_int_array","A":[{"N":"value","AT":{"#":"0.a_array","D":[%s]}},{"N":"dtype","AT":{"#":"1.a_dtype","D":"int64"}}],"I":[],"O":[{"%%":10}]},`
	const full = `{"#":"1.full","A":[{"N":"shape","AT":{"#":"1.a_intarray","D":[1]}},{"N":"value","AT":{"#":"0.a_f64","D":%s}},{"N":"dtype","AT":{"#":"1.a_dtype","D":"%s"}}],"I":[],"O":[{"%%":10}]},`
	one := `{"#":"0.a_i64","D":1}`
	for _, c := range []struct{ ops, want string }{
		{`{"#":"1.matmul","A":[],"I":[{"%":2},{"%":1}],"O":[{"%":99}]}`, "[2 2] [10 13 28 40]"},
		{fmt.Sprintf(ints, one) + `{"#":"1.sum","A":[{"N":"keepdim","AT":{"#":"0.a_bool","D":true}}],"I":[{"%":2},{"%":10}],"O":[{"%":99}]}`, "[2 1] [3 12]"},
		{`{"#":"1.mean","A":[{"N":"axis","AT":{"#":"1.a_intarray","D":[]}}],"I":[{"%":2}],"O":[{"%":99}]}`, "[] [2.5]"},
		{fmt.Sprintf(ints, `{"#":"0.a_i64","D":3},{"#":"0.a_i64","D":-1}`) + `{"#":"1.reshape","A":[],"I":[{"%":2},{"%":10}],"O":[{"%":99}]}`, "[3 2] [0 1 2 3 4 5]"},
		{fmt.Sprintf(full, "2.0", "float32") + `{"#":"1.scale","A":[{"N":"bias","AT":{"#":"0.a_f32","D":1}},{"N":"bias_after_scale","AT":{"#":"0.a_bool","D":true}}],
"I":[{"%":2},{"%":10}],"O":[{"%":99}]}`, "[2 3] [1 3 5 7 9 11]"},
		{fmt.Sprintf(full, "1", "int32") + `{"#":"0.combine","A":[],"I":[{"%":2},{"%":2}],"O":[{"%":11}]},{"#":"1.concat","A":[],"I":[{"%":11},{"%":10}],"O":[{"%":99}]}`,
			"[2 6] [0 1 2 0 1 2 3 4 5 3 4 5]"},
		{`{"#":"1.embedding","A":[{"N":"padding_idx","AT":{"#":"0.a_i64","D":-1}},{"N":"sparse","AT":{"#":"0.a_bool","D":false}}],"I":[{"%":3},{"%":1}],"O":[{"%":99}]}`,
			"[2 2] [4 5 0 1]"},
		{`{"#":"1.transpose","A":[{"N":"perm","AT":{"#":"0.a_array","D":[{"#":"0.a_i32","D":1},{"#":"0.a_i32","D":0}]}}],"I":[{"%":2}],"O":[{"%":99}]}`,
			"[3 2] [0 3 1 4 2 5]"},
		{fmt.Sprintf(full, "0.25", "float32") + `{"#":"1.dropout","A":[{"N":"mode","AT":{"#":"0.a_str","D":"downgrade_in_infer"}},{"N":"is_test","AT":{"#":"0.a_bool","D":true}},
{"N":"struct_name","AT":{"#":"0.a_str","D":"/Dropout/"}}],"I":[{"%":2},{"%":0},{"%":10}],"O":[{"%":99},{"%":98}]}`, "[2 3] [0 0.75 1.5 2.25 3 3.75]"},
		{`{"#":"p","A":[0,1,1,"state"],"O":{"%":20,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_ui8"},[],"NCHW",[],0]}},"OA":[0,1,0]},{"#":"1.relu","A":[],"I":[{"%":2}],"O":[{"%":99}]}`,
			"[2 3] [0 1 2 3 4 5]"},
		{`{"#":"1.gather","A":[],"I":[{"%":1},{"%":3}],"O":[{"%":99}]}`, "[2 2] [4 5 0 1]"},
	} {
		p, err := program.Decode([]byte(pirText(c.ops)))
		if err != nil {
			t.Fatalf("%s: %v", c.ops, err)
		}
		m, err := New(p, map[string]*Tensor{"w": seq(3, 2)})
		if err != nil {
			t.Errorf("%s: %v", c.ops, err)
			continue
		}
		got, err := m.Run(context.Background(), map[string]*Tensor{"x": seq(2, 3), "ids": Ints([]int64{2, 0}, 2)})
		if err != nil || got[0].Name != "answer" || text(got[0].Tensor) != c.want {
			t.Errorf("%s gives %v, %v, want %s", c.ops, got, err, c.want)
		}
	}
	p, err := program.Decode([]byte(pirText(`{"#":"2.while","A":[],"I":[{"%":2}],"O":[{"%":99}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(p, nil); err == nil || !strings.Contains(err.Error(), "operator 3 (cf.while)") {
		t.Errorf("%v, want operator 3 (cf.while) to be named", err)
	}
}

// TestMachine checks what is refused before and while a program runs.
func TestMachine(t *testing.T) {
	m := load(t, savedDir, "tower")
	ctx := context.Background()
	for what, feeds := range map[string]map[string]*Tensor{
		"input \"x\" of shape [-1 4] (f32) is missing": {},
		"has none such, but x":                         {"x": seq(1, 4), "y": seq(1)},
		"want [-1 4]":                                  {"x": seq(4)},
		"has type i64, want f32":                       {"x": {Dims: []int{1, 4}, Type: 3, I: make([]int64, 4)}},
		"3 values of shape":                            {"x": Floats(make([]float32, 3), 1, 4)},
	} {
		if _, err := m.Run(ctx, feeds); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := m.Run(stopped, map[string]*Tensor{"x": seq(1, 4)}); err != context.Canceled {
		t.Errorf("%v, want the run to stop", err)
	}
	if got := run(t, m, seq(0, 4)); len(got) != 0 {
		t.Errorf("no example gives %v", got)
	}
	if err := Compare(ctx, m, m, 2); err != nil {
		t.Error(err)
	}
	other := load(t, savedDir, "norm.json")
	if err := Compare(ctx, m, other, 1); err == nil || !strings.Contains(err.Error(), "want") {
		t.Errorf("%v, want the outputs of two models to differ", err)
	}
}
