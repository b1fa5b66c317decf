package export_test

import (
	"context"
	"strings"
	"testing"

	"thole.example/graph"
	"thole.example/interp"
	"thole.example/program"
	"thole.example/program/export"
)

// FuzzNew gives descriptions of networks to a set of matrices. What is accepted must be a program that the interpreter
// takes.
func FuzzNew(f *testing.F) {
	for _, n := range networks() {
		f.Add([]byte(`{"layers":[` + n.layers + `]}`))
	}
	f.Add([]byte(`{"layers":[` + wide + "," + strings.ReplaceAll(doubled(40), "ConcatLayer", "MulPooling") + `]}`))
	s := &saved{}
	saveFC(fields * factors)(s)
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := graph.ParseJSON(src)
		if err != nil {
			return
		}
		ctx := context.Background()
		model, err := export.New(ctx, file, s, export.Options{})
		if err != nil {
			return
		}
		r, err := model.Reader("__model__")
		if err != nil {
			t.Fatal(err)
		}
		p, err := program.Decode(r.Files()["__model__"])
		if err != nil {
			t.Fatal(err)
		}
		params, err := interp.Params(ctx, r, p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := interp.New(p, params); err != nil {
			t.Fatal(err)
		}
	})
}
