package export_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/graph"
	"thole.example/interp"
	"thole.example/matrix"
	"thole.example/program"
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
	r, err := model.Reader("__model__")
	if err != nil {
		t.Fatal(err)
	}
	if notes := r.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "keys.txt") {
		t.Errorf("notes %v", notes)
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
		{strings.Replace(wide, `"input"`, `"in"`, 1) + "," + loss, func(s *saved) { s.metas = s.metas[:1] }, export.Options{}, `matrix "in_weight": no such matrix, the model has input_weight`},
		{strings.Replace(wide, `"input"`, `"in"`, 1) + "," + loss, func(s *saved) { s.add("l", 1, 1); s.add("m", 1, 1); s.add("n", 1, 1); s.add("o", 1, 1) }, export.Options{},
			"fclayer_weight fclayer_bias l m n and others"},
		{wide + "," + strings.Replace(wide, `"input",`, `"in","inputlayer":"input",`, 1) + "," + fmt.Sprintf(end, "in", "l2loss"), func(s *saved) { s.add("in_weight", 1, features); s.add("in_bias", 1, 1) },
			export.Options{}, `layer "in" reads 1 layers, want none`},
		{wide + "," + pool() + "," + fmt.Sprintf(end, "sumPooling", "l2loss"), nil, export.Options{}, `layer "sumPooling" reads 0 layers, want at least one`},
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
		{strings.Replace(deep, `"FCLayer"`, `"KmeansInputLayer"`, 1), nil, export.Options{}, `layer "fclayer" has type "KmeansInputLayer"`},
		{wide + `,{"name":"c","type":"BiInnerSumCross","inputlayer":"input"},` + fmt.Sprintf(end, "c", "logloss"), nil, export.Options{}, `layer "c": reads "input", want an embedding`},
		{wide + "," + doubled(40) + "," + fmt.Sprintf(end, "c39", "softmaxloss"), nil, export.Options{}, `layer "c32": more than 4294967296 values side by side`},
		{wide + "," + strings.Replace(loss, `"input"`, `"input","inputlayers":["input"]`, 1), nil, export.Options{}, `loss layer "loss" reads 2 layers, want one`},
		{strings.Replace(wide, `"outputdim":1,`, ``, 1) + "," + loss, nil, export.Options{}, `layer "input": outputdim 0, want at least 1`},
		{strings.Replace(wide, `"outputdim":1`, `"outputdim":16777217`, 1) + "," + loss, nil, export.Options{}, `more than 4294967296 values, or 16777216 in a row`},
		{strings.Replace(wide, `"outputdim":1`, `"outputdim":4096`, 1) + "," + loss, func(s *saved) { s.metas[0].Cols = 1<<20 + 1 }, export.Options{}, `more than 4294967296 values`},
		{strings.Replace(wide, `"outputdim":1`, `"outputdim":4096`, 1) + "," + loss, func(s *saved) { s.metas[0].Rows, s.metas[0].Cols = 4096, 1<<20 }, export.Options{}, `matrix "input_bias" has rows`},
		{wide + "," + loss, func(s *saved) { s.metas[0].Cols = 1<<24 + 1 }, export.Options{IDs: export.IDsNumbered}, "more than 16777216 columns to number"},
		{strings.Replace(wide, `"outputdim":1`, `"outputdim":3`, 1) + "," + loss, func(s *saved) { s.metas[0].Rows, s.metas[0].Cols = 1, 3*features },
			export.Options{IDs: export.IDsNumbered}, `matrix "input_weight" is of dense examples, whose columns are not numbered`},
		{strings.Replace(wide, `"outputdim":1`, `"outputdim":3`, 1) + "," + loss, func(s *saved) { s.metas[1].Cols = 3 }, export.Options{}, `layer "input" has 3 outputs, want 1 for the loss`},
		{strings.Replace(deep, `"numfactors":3,`, ``, 1), nil, export.Options{}, `layer "embedding": numfactors 0, want at least 1`},
		{strings.Replace(deep, `"outputdim":12`, `"outputdim":0`, 1), nil, export.Options{}, `outputdim 0, want numfactors (3) x fields`},
		{strings.Replace(deep, `"outputdims":[5,4,1]`, `"outputdims":[5,0,1]`, 1), nil, export.Options{}, `outputdims [5 0 1], want all at least 1`},
		{strings.Replace(deep, `"outputdims":[5,4,1],`, ``, 1), nil, export.Options{}, `layer "fclayer": no outputdims`},
		{strings.Replace(deep, `"outputdims":[5,4,1]`, `"outputdim":-1`, 1), nil, export.Options{}, `layer "fclayer": no outputdims`},
		{strings.Replace(deep, `"tanh"`, `"sine"`, 1), nil, export.Options{}, `layer "fclayer": transfer function "sine"`},
		{crossed("BiInnerCross", `"outputdim":7`), nil, export.Options{}, `layer "c": outputdim 7, want 6 for the pairs of 4 fields`},
		{crossed("BiInteractionCross", `"outputdim":4`), nil, export.Options{}, `layer "c": outputdim 4, want the 3 factors of "embedding"`},
		{strings.Replace(crossed("BiInnerCross", `"outputdim":0`), `"outputdim":12`, `"outputdim":3`, 1), nil, export.Options{}, `layer "c": 1 fields, want 2 to 4096`},
		{strings.Replace(crossed("BiInnerCross", `"outputdim":7`), `"outputdim":12`, `"outputdim":6`, 1), nil, export.Options{}, `layer "c": outputdim 7, want 1 for the pairs of 2 fields`},
		{strings.Replace(crossed("BiInnerCross", `"outputdim":7`), `"outputdim":12`, `"outputdim":12288`, 1), nil, export.Options{}, `outputdim 7, want 8386560 for the pairs of 4096 fields`},
		{strings.Replace(crossed("BiInnerCross", `"outputdim":0`), `"outputdim":12`, `"outputdim":12291`, 1), nil, export.Options{}, `layer "c": 4097 fields, want 2 to 4096`},
		{strings.Replace(crossed("BiInnerCross", `"outputdim":0`), `"embedding"}`, `"input"}`, 1), nil, export.Options{}, `layer "c": reads "input", want an embedding`},
		{strings.Replace(crossed("BiInteractionCross", `"outputdim":0`), `"embedding"}`, `"input"}`, 1), nil, export.Options{}, `layer "c": reads "input", want an embedding`},
		{wide + "," + emb + `,{"name":"c","type":"ConcatLayer","outputdim":14,"inputlayers":["input","embedding"]},` + fmt.Sprintf(end, "c", "softmaxloss"), nil,
			export.Options{}, `layer "c": outputdim 14, want 13, the sum of what it reads`},
		{wide + "," + emb + "," + pool("input", "embedding") + "," + fmt.Sprintf(end, "sumPooling", "softmaxloss"), nil, export.Options{},
			`layer "sumPooling": reads "input" of width 1 and "embedding" of width 12, want one width`},
		{twoEmbeddings(fields), nil, export.Options{}, `layer "other": matrix "other_embedding": no such matrix`},
		{twoEmbeddings(fields - 1), func(s *saved) { s.add("other_embedding", factors, features) }, export.Options{}, `layer "other": 3 fields, want the 4 of another embedding`},
		{twoEmbeddings(1), func(s *saved) { s.add("other_embedding", factors, features) }, export.Options{}, `layer "other": 1 fields, want the 4 of another embedding`},
		{wide + strings.Repeat(","+wide, 10000), nil, export.Options{}, "10001 layers, want at most 10000"},
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

// TestMissing takes each matrix of each network away: the error names it and lists those that are left.
func TestMissing(t *testing.T) {
	for _, n := range networks() {
		whole := &saved{}
		n.save(whole)
		model, err := export.New(context.Background(), parse(t, n.layers), whole, export.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range model.Program.Params() {
			if v.Elem == program.VarType_INT64 {
				continue // made up
			}
			s := &saved{val: whole.val}
			for _, m := range whole.metas {
				if m.Name != v.Name {
					s.metas = append(s.metas, m)
				}
			}
			_, err := export.New(context.Background(), parse(t, n.layers), s, export.Options{})
			if want := fmt.Sprintf("matrix %q: no such matrix, the model has %s", v.Name, s.metas[0].Name); !errors.Is(err, format.ErrMatrix) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", n.name, err, want)
			}
		}
	}
}

// TestSpellings holds settings that mean the same to the same program.
func TestSpellings(t *testing.T) {
	input := `{"name":"input","type":"simpleinputlayer","outputdim":6,"transfunc":"relu"},`
	encode := func(settings, layers string) string {
		f, err := graph.ParseJSON([]byte(`{` + settings + `"data":{"indexrange":12},"layers":[` + input + layers + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		s := &saved{}
		s.add("input_weight", 6, features)
		s.add("input_bias", 1, 6)
		s.add("fclayer_0_weight", 1, 6*5)
		s.add("fclayer_0_bias", 1, 5)
		s.add("fclayer_weight", 1, 6) // of one layer
		s.add("fclayer_bias", 1, 1)
		if strings.Contains(layers, "[5,1]") {
			s.metas[4].Cols = 5
		}
		m, err := export.New(context.Background(), f, s, export.Options{Order: export.OrderInOut})
		if err != nil {
			t.Fatalf("%s%s: %v", settings, layers, err)
		}
		data, err := m.Program.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	layer := func(settings string) string {
		return `{"name":"fclayer","type":"FCLayer","inputlayer":"input",` + settings + `},`
	}
	loss := fmt.Sprintf(end, "fclayer", "logloss")
	for _, same := range [][][2]string{
		{{"", layer(`"outputdims":[1],"transfuncs":["tanh"]`) + loss}, {"", layer(`"outputdim":1,"transfuncs":["tanh"]`) + loss},
			{"", layer(`"outputdim":1,"transfunc":"tanh"`) + loss}, {`"default_transfunc":"tanh",`, layer(`"outputdim":1`) + loss},
			{`"default_transfunc":"relu",`, layer(`"outputdim":1,"transfunc":"tanh"`) + loss}},
		{{"", layer(`"outputdims":[5,1],"transfuncs":["tanh","tanh"]`) + loss}, {"", layer(`"outputdims":[5,1],"transfunc":"tanh"`) + loss},
			{`"default_transfunc":"tanh",`, layer(`"outputdims":[5,1]`) + loss}},
		{{"", layer(`"outputdim":1,"transfunc":"identity"`) + loss}, {`"default_lossfunc":"logloss",`, layer(`"outputdim":1,"transfunc":"identity"`) +
			strings.Replace(loss, `,"lossfunc":{"type":"logloss"}`, ``, 1)},
			{"", layer(`"outputdim":1,"transfunc":"dropout"`) + strings.Replace(loss, `,"lossfunc":{"type":"logloss"}`, ``, 1)}},
	} {
		want := encode(same[0][0], same[0][1])
		for _, other := range same[1:] {
			if encode(other[0], other[1]) != want {
				t.Errorf("%s%s: another program than of %s%s", other[0], other[1], same[0][0], same[0][1])
			}
		}
	}
}

// crossed is a network with a layer that reads pairs of an embedding.
func crossed(kind, settings string) string {
	return strings.Join([]string{wide, emb, fmt.Sprintf(`{"name":"c","type":%q,%s,"inputlayer":"embedding"}`, kind, settings),
		`{"name":"cat","type":"ConcatLayer","inputlayers":["input","embedding","c"]}`, fmt.Sprintf(end, "cat", "softmaxloss")}, ",")
}

// twoEmbeddings is a network with a second embedding, of n fields.
func twoEmbeddings(n int) string {
	other := strings.Replace(strings.Replace(emb, `"embedding"`, `"other"`, 1), `"outputdim":12`, fmt.Sprintf(`"outputdim":%d`, n*factors), 1)
	return strings.Join([]string{emb, other, `{"name":"cat","type":"ConcatLayer","inputlayers":["embedding","other"]}`, fmt.Sprintf(end, "cat", "softmaxloss")}, ",")
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
