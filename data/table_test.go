package data_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"thole.example/data"
	"thole.example/feature"
)

// named is the examples with the names of their features.
func named(all *data.Examples) (rows []string) {
	b := all.Batch()
	x := b.Rows()
	for i, y := range b.Label {
		row := fmt.Sprint(y)
		for p := x.Ptr[i]; p < x.Ptr[i+1]; p++ {
			row += fmt.Sprintf(" %s:%.4g", all.Transform.Name(x.Idx[p]), x.Val[p])
		}
		rows = append(rows, row)
	}
	return rows
}

func load(text string, o data.Options) (*data.Examples, error) {
	in := data.Input{Name: "t.csv", R: strings.NewReader(text), Size: int64(len(text))}
	return data.LoadAll(context.Background(), []data.Input{in}, o)
}

// A table is read, its transformation kept as text, and the same rows read by that are the same examples.
func TestTable(t *testing.T) {
	text := "age,job,when,tags,clicked\n39,clerk,2026-01-05,a|b,yes\n50,boss,2026-02-06,b,no\n,clerk,2026-01-07,a|a,yes\n" +
		"28,\"a \"\"b\"\"\nc\",,,no\r\n\n28, ? ,2026-03-01,b|z,no\n"
	o := data.Options{Labels: data.AutoTrans, Table: &data.Table{}}
	if err := o.Table.Spec.Set("tags", feature.Column{Kind: feature.Multi}); err != nil {
		t.Fatal(err)
	}
	all, err := load(text, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"1 age:0.3015 job=clerk:1 when.weekday=Monday:1 when.day=5:1 when.month=January:1 when.days:-0.9774 tags=b:0.5 tags=a:0.5",
		"-1 age:1.508 job other:1 when.weekday=Friday:1 when.day=6:1 when.month=February:1 when.days:0.4283 tags=b:1",
		"1 age missing:1 job=clerk:1 when.weekday=Wednesday:1 when.day=7:1 when.month=January:1 when.days:-0.8896 tags=a:1",
		"-1 age:-0.9045 job other:1 when.weekday missing:1 when.day missing:1 when.month missing:1 when.days missing:1 tags other:1",
		"-1 age:-0.9045 job other:1 when.weekday=Sunday:1 when.day=1:1 when.month=March:1 when.days:1.439 tags other:0.5 tags=b:0.5",
	} {
		if got := named(all)[i]; got != want {
			t.Errorf("row %d: %s\nwant   %s", i, got, want)
		}
	}
	src, err := all.Transform.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := feature.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	one, err := load(text, data.Options{Labels: data.AutoTrans, Table: &data.Table{Transform: again}})
	if err != nil || one.Checksum() != all.Checksum() || one.Dim() != all.Dim() || one.Fields != all.Fields {
		t.Fatalf("%v: by the saved transformation the examples are others: %q", err, named(one))
	}
}
