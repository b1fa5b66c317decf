package data_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"thole.example/data"
	"thole.example/feature"
)

func TestTableX(t *testing.T) {
	text := "age,job,when,clicked\n39,clerk,2026-01-05,yes\n50,boss,2026-02-06,no\n,clerk,2026-01-07,yes\n28,\"a \"\"b\"\"\nc\",,no\n28,?,2026-03-01,no\n"
	all, err := data.LoadAll(context.Background(), []data.Input{{Name: "x.csv", R: strings.NewReader(text), Size: int64(len(text))}}, data.Options{Labels: data.AutoTrans})
	if err != nil {
		t.Fatal(err)
	}
	b := all.Batch()
	for i := range b.Label {
		x := b.Rows()
		s := ""
		for p := x.Ptr[i]; p < x.Ptr[i+1]; p++ {
			s += all.Transform.Name(x.Idx[p]) + ":" + strings.TrimSpace(fmt.Sprint(x.Val[p])) + " "
		}
		t.Log(b.Label[i], s)
	}
	src, err := all.Transform.JSON()
	t.Log(string(src), err)
	again, err := feature.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	one, err := data.LoadAll(context.Background(), []data.Input{{Name: "x.csv", R: strings.NewReader(text), Size: int64(len(text))}}, data.Options{Labels: data.AutoTrans, Table: &data.Table{Transform: again}})
	if err != nil || one.Checksum() != all.Checksum() {
		t.Fatal(err)
	}
}
