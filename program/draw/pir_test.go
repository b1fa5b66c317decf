package draw

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"thole.example/program"
)

// pir makes a PIR text of operators; each is "name operands results attributes", with the numbers of values, and attributes
// as JSON.
func pir(t testing.TB, ops ...string) *program.Program {
	t.Helper()
	var list []string
	for _, op := range ops {
		words := strings.SplitN(op, " ", 4)
		values := func(text, typ string) string {
			var all []string
			for n := range strings.SplitSeq(strings.Trim(text, "-"), ",") {
				if n != "" {
					all = append(all, fmt.Sprintf(`{"%%":%s%s}`, n, typ))
				}
			}
			return strings.Join(all, ",")
		}
		typ := `,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,8],"NCHW",[],0]}`
		out := "[" + values(words[2], typ) + "]"
		if words[0] == "p" {
			out = values(words[2], typ)
		}
		list = append(list, fmt.Sprintf(`{"#":%q,"A":[%s],"I":[%s],"O":%s}`, words[0], words[3], values(words[1], ""), out))
	}
	p, err := program.Decode([]byte(`{"base_code":{"magic":"pir","version":1},"program":{"regions":[{"#":"r","blocks":[{"#":"b","args":[],"ops":[` +
		strings.Join(list, ",") + `]}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// texts are the boxes of a graph, each as its lines.
func texts(g *graph) (all []string) {
	for _, b := range g.boxes {
		var lines []string
		for _, l := range b.lines {
			lines = append(lines, l.text)
		}
		all = append(all, strings.Join(lines, " | "))
	}
	return all
}

const attr = `{"N":%q,"AT":{"#":%q,"D":%s}}`

// TestPIR draws a network of PIR: constants, parameters and lists are no boxes, and nothing bears the name of a dialect.
func TestPIR(t *testing.T) {
	p := pir(t,
		"p - 1 0,1,1,\"fc_0.w_0\"",
		"1.data - 2 "+fmt.Sprintf(attr, "name", "0.a_str", `"x"`),
		"1.matmul 2,1 3 "+fmt.Sprintf(attr, "transpose_x", "0.a_bool", "false")+","+fmt.Sprintf(attr, "transpose_y", "0.a_bool", "true"),
		"1.full_int_array - 4 "+fmt.Sprintf(attr, "value", "0.a_array", `[{"#":"0.a_i64","D":-1},{"#":"0.a_i64","D":10}]`),
		"1.reshape_ 3,4 5 ",
		"1.full - 6 "+fmt.Sprintf(attr, "value", "1.a_scalar", "0.5"),
		"1.scale 5,6 7 "+fmt.Sprintf(attr, "bias", "0.a_f32", "0.25"),
		"0.combine 5,7 8 ",
		"1.full - 9 "+fmt.Sprintf(attr, "value", "1.a_scalar", "1"),
		"1.concat 8,9 10 ",
		"1.split_with_num 10,9 11 "+fmt.Sprintf(attr, "num", "0.a_i32", "2"),
		"0.split 11 12,13 ",
		"1.add 12,13 14 ",
		"3.mine 14,9 15 "+fmt.Sprintf(attr, "secret", "0.a_i32", "7"),
		"1.fetch 15 16 ",
	)
	g := build(newScope(p), 0, maxBoxes)
	want := []string{"data | x float32[-1,8]", "matmul | transpose_y=true | y fc_0.w_0 float32[-1,8]", "reshape_ | shape=[-1,10]",
		"scale | scale=0.5 bias=0.25", "concat | axis=1", "split_with_num | axis=1 num=2", "add", "custom_op.mine | operand 1=1", "fetch"}
	if got := texts(g); !slices.Equal(got, want) {
		t.Errorf("boxes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var lines []string
	for _, v := range g.values {
		lines = append(lines, fmt.Sprint(v.label, " ", v.from, v.to))
	}
	wantLines := []string{"x float32[-1,8] 0 [1]", "%3 float32[-1,8] 1 [2]", "%5 float32[-1,8] 2 [3 4]", "%7 float32[-1,8] 3 [4]",
		"%10 float32[-1,8] 4 [5]", "%12 float32[-1,8] 5 [6]", "%13 float32[-1,8] 5 [6]", "%14 float32[-1,8] 6 [7]", "%15 float32[-1,8] 7 [8]"}
	if !slices.Equal(lines, wantLines) {
		t.Errorf("values\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(wantLines, "\n"))
	}
	if !strings.Contains(g.boxes[7].title, "secret=7") {
		t.Errorf("the hover text %q lacks a setting", g.boxes[7].title)
	}
	var out bytes.Buffer
	checkSheet(t, p)
	if err := SVG(&out, p); err != nil || regexp.MustCompile("<text[^>]*>[^<]*(pd_op|builtin)").Match(out.Bytes()) {
		t.Errorf("%v, labels with a dialect", err)
	}
}

// TestSettings says which settings stand in boxes.
func TestSettings(t *testing.T) {
	ints := func(v ...int64) any { return v }
	for _, c := range []struct {
		op    string
		attrs []program.Attr
		want  string
	}{
		{"conv2d", []program.Attr{{Name: "data_format", Value: "NCHW"}, {Name: "groups", Value: int64(2)}, {Name: "strides", Value: ints(1, 2)},
			{Name: "paddings", Value: ints(0, 0)}, {Name: "dilations", Value: ints(1, 1)}, {Name: "use_cudnn", Value: true},
			{Name: "padding_algorithm", Value: "SAME"}}, "strides=[1,2] paddings=[0,0] | dilations=[1,1] groups=2 | padding_algorithm=SAME"},
		{"pool2d", []program.Attr{{Name: "pooling_type", Value: "max"}, {Name: "ksize", Value: ints(2, 2)}, {Name: "strides", Value: ints(2, 2)},
			{Name: "global_pooling", Value: false}}, "pooling_type=max ksize=[2,2] | strides=[2,2]"},
		{"softmax", []program.Attr{{Name: "axis", Value: int64(-1)}, {Name: "data_format", Value: "AnyLayout"}}, "axis=-1"},
		{"scale", []program.Attr{{Name: "scale", Value: float64(float32(0.1))}, {Name: "bias", Value: 0.0}, {Name: "bias_after_scale", Value: true}},
			"scale=0.1 bias=0"},
		{"matmul_v2", []program.Attr{{Name: "trans_x", Value: false}, {Name: "trans_y", Value: true}}, "trans_y=true"},
		{"dropout", []program.Attr{{Name: "dropout_prob", Value: 0.5}, {Name: "is_test", Value: true}}, "dropout_prob=0.5"},
		{"leaky_relu", []program.Attr{{Name: "alpha", Value: 0.02}}, "alpha=0.02"},
		{"reshape2", []program.Attr{{Name: "shape", Value: ints(-1, 10)}}, "shape=[-1,10]"},
		{"lookup_table_v2", []program.Attr{{Name: "padding_idx", Value: int64(3)}, {Name: "is_sparse", Value: false}}, "padding_idx=3"},
		{"cast", []program.Attr{{Name: "in_dtype", Value: int64(5)}, {Name: "out_dtype", Value: int64(3)}}, "out_dtype=int64"},
		{"relu", []program.Attr{{Name: "op_role", Value: int64(0)}}, ""},
		{"unknown", []program.Attr{{Name: "axis", Value: int64(1)}}, ""},
		{"transpose2", []program.Attr{{Name: "axis", Value: make([]int64, 20)}}, "axis=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,… 4 more]"},
	} {
		if got := strings.Join(fold(chosen(&program.Op{Type: c.op, Attrs: c.attrs})), " | "); got != c.want {
			t.Errorf("%s shows %q, want %q", c.op, got, c.want)
		}
	}
}
