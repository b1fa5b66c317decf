package graph

import (
	"reflect"
	"strings"
	"testing"

	"thole.example/data"
)

func TestFields(t *testing.T) {
	for src, want := range map[string]*data.Fields{
		"39": {Number: 39}, "[0,9,18]": {First: []int64{0, 9, 18}}, "[0]": {First: []int64{0}},
		"[[0,8],[9,17]]": {First: []int64{0, 9}, End: 18}, "[[0,0]]": {First: []int64{0}, End: 1},
		"[[0,8],[10,17]]": nil, "[[0,9],[9,17]]": nil, "[[1,8]]": nil, "[[0,8,9]]": nil, "[[0]]": nil, "[[8,0]]": nil, "[[0,8],[9,9223372036854775807]]": nil,
		"[[0,8],9]": nil, "[[]]": nil, "[[-1,8]]": nil,
		"0": nil, "-1": nil, "70000": nil, "1.5": nil, `"39"`: nil, "[]": nil, "[5,9]": nil, "[0,9,9]": nil, "[0.5]": nil, "{}": nil,
	} {
		f, err := ParseJSON([]byte(`{"data":{"fields":` + src + `},"layers":[{"name":"a","type":"simpleinputlayer"}]}`))
		switch {
		case want == nil:
			if err == nil || !strings.Contains(err.Error(), "graph.json:1: "+src+": ") {
				t.Errorf("%s: error %v, want one that has it", src, err)
			}
		case err != nil || !reflect.DeepEqual(f.Data.Fields.Fields, *want):
			t.Errorf("%s: %v, want %v", src, err, *want)
		default:
			again, err := ParseJSON(f.JSON())
			if text, err := data.ParseFields(f.Data.Fields.String()); src != "[0]" && (err != nil || !reflect.DeepEqual(text, *want)) {
				t.Errorf("%s: %v, %v as text", src, text, err)
			}
			if err != nil || !reflect.DeepEqual(again.Data.Fields, f.Data.Fields) {
				t.Errorf("%s: %v, back:\n%s", src, err, f.JSON())
			}
		}
	}
}
