package matrix

import (
	"fmt"
	"strings"
	"testing"
)

// TestRowTypes holds the table to the rule by which Angel numbers its types: base of the element type plus storage.
func TestRowTypes(t *testing.T) {
	storages := []struct {
		name   string
		layout Layout
		long   bool
	}{
		{"DENSE", RowDense, false}, {"DENSE_COMPONENT", RowDense, false}, {"DENSE_LONGKEY_COMPONENT", RowDense, true},
		{"SPARSE", RowSparse, false}, {"SPARSE_COMPONENT", RowSparse, false}, {"SPARSE_LONGKEY", RowSparse, true},
		{"SPARSE_LONGKEY_COMPONENT", RowSparse, true},
	}
	names := []string{"DOUBLE", "FLOAT", "LONG", "INT"}
	for i, d := range []DType{F64, F32, I64, I32} {
		for k, s := range storages {
			r, want := RowType(7*i+k), fmt.Sprintf("T_%s_%s", names[i], s.name)
			if r.String() != want || r.DType() != d || r.Layout() != s.layout || r.LongKeys() != s.long || r.Object() || !r.Known() {
				t.Errorf("%d is %v of %v, %v, long keys %v; want %s", int(r), r, r.DType(), r.Layout(), r.LongKeys(), want)
			}
		}
	}
	all := RowTypes()
	if len(all) != 34 || all[33] != IntArbitrary {
		t.Errorf("%d types, the last is %v, want 34 and T_INT_ARBITRARY", len(all), all[len(all)-1])
	}
	for _, r := range all {
		if got, err := ParseRowType(strings.ToLower(r.String())); err != nil || got != r {
			t.Errorf("%v is read as %v, %v", r, got, err)
		}
		if r.Object() != strings.HasPrefix(r.String(), "T_ANY_") {
			t.Errorf("%v: object %v", r, r.Object())
		}
	}
	if _, err := ParseRowType("T_DOUBLE_DENS"); err == nil || RowType(77).Known() || RowType(77).String() != "row type 77" {
		t.Errorf("unknown types: %v, %v", err, RowType(77))
	}
}

// TestFirstRowTypes: the numbers of 1.x are others, none is given twice, and all are there.
func TestFirstRowTypes(t *testing.T) {
	for number, want := range []string{1: "T_DOUBLE_SPARSE", 2: "T_DOUBLE_DENSE", 3: "T_INT_SPARSE", 4: "T_INT_DENSE", 5: "T_INT_ARBITRARY",
		6: "T_FLOAT_DENSE", 7: "T_FLOAT_SPARSE", 8: "T_DOUBLE_SPARSE_LONGKEY", 9: "T_DOUBLE_SPARSE_COMPONENT",
		10: "T_FLOAT_SPARSE_COMPONENT", 11: "T_INT_SPARSE_COMPONENT", 12: "T_DOUBLE_SPARSE_LONGKEY_COMPONENT", 13: "T_FLOAT_SPARSE_LONGKEY"} {
		got, ok := FirstRowType(number)
		if ok != (number > 0) || ok && got.String() != want {
			t.Errorf("number %d is %v, %v, want %s", number, got, ok, want)
		}
	}
	if _, ok := FirstRowType(FirstRowTypes + 1); ok {
		t.Error("a number beyond the last is known")
	}
}
