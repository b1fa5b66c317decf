package export_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/interp"
	"thole.example/matrix"
	"thole.example/program/export"
)

// scores runs a network on examples and gives its first output.
func scores(t *testing.T, s *saved, layers string, o export.Options) []float32 {
	t.Helper()
	model, err := export.New(context.Background(), parse(t, layers), s, o)
	if err != nil {
		t.Fatal(err)
	}
	m := machine(t, model)
	got, err := m.Run(context.Background(), feeds(m, examples(fields), false))
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Tensor.F
}

// TestOrder checks that weights by outputs give what the same weights by inputs give, said or told by the spelling of the
// loss layer, and that a guess is told.
func TestOrder(t *testing.T) {
	layers := strings.Join([]string{`{"name":"input","type":"simpleinputlayer","outputdim":6,"transfunc":"relu"}`,
		fmt.Sprintf(fc, "input"), fmt.Sprintf(end, "fclayer", "l2loss")}, ",")
	save := func() *saved {
		s := &saved{}
		saveFC(6)(s)
		s.metas = s.metas[3:]
		s.add("input_weight", 6, features)
		s.add("input_bias", 1, 6)
		return s
	}
	byInputs, byOutputs := save(), save()
	for name, dims := range map[string][2]int{"fclayer_0_weight": {6, 5}, "fclayer_1_weight": {5, 4}} {
		from, to := byInputs.val[name], byOutputs.val[name]
		for i := range dims[0] {
			for o := range dims[1] {
				to[o*dims[0]+i] = from[i*dims[1]+o]
			}
		}
	}
	want := scores(t, byInputs, layers, export.Options{Order: export.OrderInOut})
	library := strings.Replace(layers, "SimpleLossLayer", "LossLayer", 1)
	for what, got := range map[string][]float32{
		"auto, Angel":   scores(t, byInputs, layers, export.Options{}),
		"out-in":        scores(t, byOutputs, layers, export.Options{Order: export.OrderOutIn}),
		"auto, library": scores(t, byOutputs, library, export.Options{}),
	} {
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", what, got, want)
				break
			}
		}
	}
	m, err := export.New(context.Background(), parse(t, library), byOutputs, export.Options{})
	if err != nil || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "out-in") {
		t.Errorf("notes %v, %v, want one on out-in", m.Notes, err)
	}
}

// TestFlattened checks weights of dense examples, which lie feature by feature in one row, with state behind it.
func TestFlattened(t *testing.T) {
	layers := `{"name":"input","type":"simpleinputlayer","outputdim":3}, ` + fmt.Sprintf(end, "input", "softmaxloss")
	rows, flat := &saved{}, &saved{}
	for _, s := range []*saved{rows, flat} {
		s.add("input_weight", 3, features)
		s.add("input_bias", 1, 3)
	}
	values := make([]float64, 4*3*features)
	for f := range features {
		for o := range 3 {
			values[f*3+o] = rows.at("input_weight", o, f)
		}
	}
	flat.val["input_weight"] = values
	flat.metas[0].Rows, flat.metas[0].Cols = 4, 3*features
	want, got := scores(t, rows, layers, export.Options{}), scores(t, flat, layers, export.Options{})
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestAbsent checks that cells which a sparse matrix does not store are zero, and features beyond its columns too.
func TestAbsent(t *testing.T) {
	layers := wide + "," + fmt.Sprintf(end, "input", "l2loss")
	s := &saved{}
	saveWide(s)
	s.metas[0].Layout, s.metas[0].Cols = matrix.RowSparse, features-3
	var want []float64
	for _, x := range examples(fields) {
		sum := s.at("input_bias", 0, 0)
		for i, id := range x.ids {
			if id%2 == 0 && id < features-3 {
				sum += s.at("input_weight", 0, id) * x.vals[i]
			}
		}
		want = append(want, sum)
	}
	near(t, "sparse", scores(t, s, layers, export.Options{}), want)
}

// TestDoubles checks that digits beyond float32 are refused or lost as the user says.
func TestDoubles(t *testing.T) {
	layers := wide + "," + fmt.Sprintf(end, "input", "l2loss")
	s := &saved{}
	saveWide(s)
	s.metas[0].DType = matrix.F64
	want := scores(t, s, layers, export.Options{}) // float32 values need no leave
	s.val["input_weight"][3] += 1e-12
	model, err := export.New(context.Background(), parse(t, layers), s, export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := model.Reader("x.pdmodel")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := interp.Params(context.Background(), r, model.Program); !errors.Is(err, format.ErrLossy) {
		t.Errorf("%v, want ErrLossy", err)
	}
	var lost []string
	got := scores(t, s, layers, export.Options{Lossy: true, Lost: func(what string) { lost = append(lost, what) }})
	if len(lost) != 1 || got[0] != want[0] {
		t.Errorf("%v instead of %v, told %v", got, want, lost)
	}
}

// TestNumbered checks tables whose rows are the stored columns, for keys that are no rows of any table.
func TestNumbered(t *testing.T) {
	layers := strings.Join([]string{wide, emb, `{"name":"c","type":"BiInnerSumCross","inputlayer":"embedding"}`, pool("input", "c"), fmt.Sprintf(end, "sumPooling", "l2loss")}, ",")
	plain := &saved{}
	saveFC(1)(plain)
	hashed := &saved{val: plain.val, keys: func(col int64) int64 { return (col-2)*1e15 + col }}
	for _, m := range plain.metas {
		if m.Cols == features {
			m.ColLo, m.Cols, m.Layout = -1<<62, 1<<62+1<<61, matrix.RowSparse
		}
		hashed.metas = append(hashed.metas, m)
	}
	for i := range plain.metas {
		if plain.metas[i].Cols == features {
			plain.metas[i].Layout = matrix.RowSparse
		}
	}
	want := scores(t, plain, layers, export.Options{})
	model, err := export.New(context.Background(), parse(t, layers), hashed, export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(model.Notes) != 1 || !strings.Contains(model.Notes[0], "keys.txt") {
		t.Errorf("notes %v", model.Notes)
	}
	r, err := model.Reader("__model__")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(r.Files()[export.KeysFile]))
	if len(lines) != features/2 || lines[0] != "-2000000000000000" || lines[1] != "2" || lines[2] != "2000000000000004" {
		t.Errorf("keys %v, want those of the even columns", lines)
	}
	m := machine(t, model)
	in := feeds(m, examples(fields), false)
	for i, id := range in["ids"].I {
		if in["ids"].I[i] = id / 2; id%2 == 1 { // not stored
			in["ids"].I[i] = int64(len(lines))
		}
	}
	got, err := m.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got[0].Tensor.F {
		if v != want[i] {
			t.Fatalf("%v, want %v", got[0].Tensor.F, want)
		}
	}
}

// TestRefused lists networks and matrices that are not as they must be.
func TestRefused(t *testing.T) {
	loss := fmt.Sprintf(end, "input", "logloss")
	deep := strings.Join([]string{wide, emb, fmt.Sprintf(fc, "embedding"), pool("input", "fclayer"), fmt.Sprintf(end, "sumPooling", "logloss")}, ",")
	for _, c := range []struct {
		layers string
		change func(s *saved)
		o      export.Options
		want   string
	}{
		{wide, nil, export.Options{}, "no layer of type simplelosslayer"},
		{wide + "," + loss + "," + strings.Replace(loss, "loss", "other", 1), nil, export.Options{}, `two loss layers, "loss" and "other"`},
		{wide + "," + wide + "," + loss, nil, export.Options{}, `layer 1 is called "input"`},
		{loss, nil, export.Options{}, `layer "loss" reads "input", want the name of a layer`},
		{wide + "," + fmt.Sprintf(end, "input", "kmeansloss"), nil, export.Options{}, `loss function "kmeansloss"`},
		{strings.Replace(wide, "Identity", "Cosine", 1) + "," + loss, nil, export.Options{}, `layer "input": transfer function "Cosine"`},
		{strings.Replace(wide, `"outputdim":1`, `"outputdim":2`, 1) + "," + loss, nil, export.Options{}, `matrix "input_bias" has rows of 1 values, want 2`},
		{strings.Replace(wide, `"outputdim":1`, `"outputdim":9`, 1) + "," + loss, nil, export.Options{}, `matrix "input_weight" has 3 rows, want at least 9`},
		{wide + "," + loss, func(s *saved) { s.metas[0].Saved = []matrix.Range{{Lo: 1, Hi: 3}} }, export.Options{}, `holds rows [[1,3)], want [0,1)`},
		{wide + "," + loss, func(s *saved) { s.metas[0].ColLo = -5 }, export.Options{IDs: export.IDsColumns}, "columns below 0, which are no rows of a table"},
		{wide + "," + loss, func(s *saved) { s.metas[0].Cols = 1 << 40 }, export.Options{IDs: export.IDsColumns}, "beyond the limit"},
		{wide + "," + loss, nil, export.Options{Feed: "both"}, `feed "both"`},
		{wide + "," + loss, nil, export.Options{IDs: "names"}, `ids "names"`},
		{wide + "," + loss, nil, export.Options{Form: "onnx"}, `form "onnx", want ProgramDesc or PIR`},
		{wide + "," + loss, nil, export.Options{IDs: export.IDsNumbered, Feed: export.FeedDense}, "a dense feed of numbered columns"},
		{wide + "," + loss, nil, export.Options{Order: "down"}, `order of weights "down"`},
		{wide + `,{"name":"far","type":"SimpleInputLayer","outputdim":1},` + loss, func(s *saved) { s.add("far_weight", 1, features); s.add("far_bias", 1, 1) },
			export.Options{}, `layer "far" does not lead to the loss layer`},
		{`{"name":"a","type":"SumPooling","inputlayers":["b"]},{"name":"b","type":"SumPooling","inputlayers":["a"]},` + fmt.Sprintf(end, "a", "logloss"), nil,
			export.Options{}, `layer "a" reads itself by way of "b"`},
		{deep, nil, export.Options{Feed: export.FeedDense}, "a dense feed for a network with an embedding"},
		{strings.Replace(deep, `"outputdim":12`, `"outputdim":13`, 1), nil, export.Options{}, `outputdim 13, want numfactors (3) x fields`},
		{strings.Replace(deep, `"outputdim":12`, `"outputdim":15`, 1), nil, export.Options{}, `matrix "fclayer_0_weight" has rows of 60 values, want 75 for [15 5]`},
		{strings.Replace(deep, `,{"type":"Identity"}]`, `]`, 1), nil, export.Options{}, `layer "fclayer": 2 transfuncs for 3 outputdims`},
		{strings.Replace(deep, `,"transfuncs":[{"type":"Relu"},{"type":"tanh"},{"type":"Identity"}]`, ``, 1), nil, export.Options{},
			`layer "fclayer": no transfuncs and no default_transfunc, want one for each of 3 outputdims`},
		{strings.Replace(deep, `"inputlayer":"embedding"`, `"inputlayers":["embedding","input"]`, 1), nil, export.Options{}, `layer "fclayer" reads 2 layers, want one`},
		{strings.Replace(deep, `"FCLayer"`, `"BiOutterCross"`, 1), nil, export.Options{}, `layer "fclayer" has type "BiOutterCross"`},
		{wide + `,{"name":"c","type":"BiInnerSumCross","inputlayer":"input"},` + fmt.Sprintf(end, "c", "logloss"), nil, export.Options{}, `layer "c": reads "input", want an embedding`},
		{wide + "," + doubled(40) + "," + fmt.Sprintf(end, "c39", "softmaxloss"), nil, export.Options{}, `layer "c32": more than 4294967296 values side by side`},
	} {
		s := &saved{}
		saveFC(fields * factors)(s)
		if c.change != nil {
			c.change(s)
		}
		if _, err := export.New(context.Background(), parse(t, c.layers), s, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v, want %q", c.layers, err, c.want)
		}
	}
}

// doubled is n layers that each put the one before beside itself.
func doubled(n int) string {
	list := make([]string, n)
	for i, last := 0, "input"; i < n; i++ {
		list[i] = fmt.Sprintf(`{"name":"c%d","type":"ConcatLayer","inputlayers":[%q,%q]}`, i, last, last)
		last = fmt.Sprintf("c%d", i)
	}
	return strings.Join(list, ",")
}
