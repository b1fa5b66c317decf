package data

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"thole.example/feature"
)

// Numbers with decimal commas are the numbers that they are with points, in every kind of column, and the model reads them so, too.
func TestDecimal(t *testing.T) {
	points := "label;n;w;c;d\n1.5;-2068.95;1;1.5;31.12.2020\n-0.25;1234.5;0.5;b;01.02.2020\n2;1234567;2;2.50;15.03.2020\n3;+.5e1;1;NA;15.03.2021\n"
	commas := "label;n;w;c;d\n1,5;-2.068,95;1;1,5;31.12.2020\n-0,25; 1234,5 ;0,5;b;01.02.2020\n2;1.234.567;2;2,50;15.03.2020\n3;+,5e1;1;NA;15.03.2021\n"
	spec := func(decimal byte) feature.Spec {
		s := feature.Spec{Decimal: decimal}
		for name, kind := range map[string]feature.Kind{"w": feature.Weight, "c": feature.Categorical} {
			if err := s.Set(name, feature.Column{Kind: kind, Min: 1}); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	load := func(text string, table *Table) (*Batch, *feature.Transform, error) {
		opt := Options{Format: "csv", Labels: NoTrans, Table: table}
		var fit *feature.Fit
		if table.Transform == nil {
			table.Found = func(f *feature.Fit) { fit = f }
		}
		b, err := Load(context.Background(), Input{Name: "t.csv", R: strings.NewReader(text), Size: int64(len(text))}, opt)
		if err != nil || fit == nil {
			return b, table.Transform, err
		}
		tr, _, err := fit.Transform()
		return b, tr, err
	}
	want, _, err := load(points, &Table{Spec: spec(0)})
	if err != nil {
		t.Fatal(err)
	}
	got, tr, err := load(commas, &Table{Spec: spec(',')})
	if err != nil {
		t.Fatal(err)
	}
	if !same(got, want) {
		t.Errorf("commas: %+v\nwant %+v", got, want)
	}
	saved, err := tr.JSON()
	if err != nil || !bytes.Contains(saved, []byte(`"decimal": ","`)) {
		t.Fatalf("saved %s, %v", saved, err)
	}
	again, err := feature.Parse(saved)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err = load(commas, &Table{Transform: again}); err != nil || !same(got, want) {
		t.Errorf("by the model: %+v, %v, want %+v", got, err, want)
	}
	if got, _, err = load(points, &Table{Transform: again, Spec: feature.Spec{Decimal: '.'}}); err != nil || !same(got, want) {
		t.Errorf("by the model, of points: %+v, %v, want %+v", got, err, want)
	}
	for text, wrong := range map[string]string{
		"label;n\n1;1,5\n2;1.234\n": `t.csv:3: column "n": "1.234" may be 1234 or have a decimal point`,
		"label;n\n1;1,5\n2;1.5\n":   `t.csv:3: column "n": "1.5" has a decimal point, and --decimal is a comma`,
		"label;n\n1,5;1\n2.5;1\n":   `t.csv:3: column "label": "2.5" has a decimal point`,
		"label,n\n1,5\n":            "t.csv:1: a comma separates cells and is the decimal separator",
	} {
		if _, _, err := load(text, &Table{Spec: feature.Spec{Decimal: ','}}); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v, want %s", text, err, wrong)
		}
	}
	lines := Options{Format: "libsvm", Table: &Table{Spec: feature.Spec{Decimal: ','}}}
	if _, err := Load(context.Background(), Input{Name: "t", R: strings.NewReader("1 1:2\n"), Size: 6}, lines); !errors.Is(err, ErrOption) {
		t.Errorf("lines: %v, want ErrOption", err)
	}
}

// A cell is a number with a decimal comma, or none.
func TestPoint(t *testing.T) {
	for cell, want := range map[string]string{
		"1,5": "1.5", "-1,5": "-1.5", "+0,25e-3": "+0.25e-3", ",5": ".5", "1.234,56": "1234.56", " 12.345.678,9 ": "12345678.9", "1E,5": "",
		"1.5": "", "1,": "", "1,2,3": "", "1.23,4": "", "1234.567,8": "", "a,5": "", "1,5a": "", "1,5e": "", ",": "", "": "", "--1,5": "",
		"1,234.5": "", "12": "", "1.234.567": "whole 1234567", "1.234": "", "1.2.3": "", ".234.567": "",
	} {
		for _, whole := range []bool{false, true} {
			want, of := strings.CutPrefix(want, "whole ")
			if of && !whole {
				want = ""
			}
			got, ok := point(nil, []byte(cell), whole)
			if string(got) != want || ok != (want != "") {
				t.Errorf("%q: %q %v, want %q", cell, got, ok, want)
			}
		}
	}
}
