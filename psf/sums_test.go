package psf_test

import (
	"testing"

	"thole.example/matrix"
)

// TestSumsOfTypes: what a sum is written as follows from its matrix, whatever the function was used for before.
func TestSumsOfTypes(t *testing.T) {
	for _, c := range []struct {
		dtype matrix.DType
		want  string
	}{{matrix.I64, "1000000000000000004"}, {matrix.F64, "1e+18"}, {matrix.I64, "1000000000000000004"}} {
		m := meta(c.dtype, matrix.RowDense)
		v := views(t, m) // with 3, -1, 0 and 2
		for _, name := range []string{"put", "sum"} {
			arg := ""
			if name == "put" {
				arg = `{"row":0,"values":[1e18]}`
			}
			call, err := functions.Bind(name, []byte(arg), m)
			if err != nil {
				t.Fatal(err)
			}
			part, err := call.Part(v)
			if err != nil {
				t.Fatal(err)
			}
			if name == "sum" {
				if got, err := call.Merge([][]byte{part}); err != nil || got.String() != c.want {
					t.Errorf("sum of %v is %s, %v, want %s", c.dtype, got, err, c.want)
				}
			}
		}
	}
}
