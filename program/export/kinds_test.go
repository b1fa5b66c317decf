package export_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/layer"
	"thole.example/matrix"
	"thole.example/program"
	"thole.example/program/export"
)

// others are networks with the kinds of layers that recipes do not have, which read an embedding, emb, and others.
func others() map[string]string {
	out := func(from string) string {
		return fmt.Sprintf(`,{"name":"out","type":"fclayer","inputlayer":%q,"outputdims":[1],"transfuncs":["identity"]},`, from) + fmt.Sprintf(end, "out", "logloss")
	}
	deep := func(kind, settings string) string {
		return emb + fmt.Sprintf(`,{"name":"x","type":%q,"inputlayer":"embedding"%s}`, kind, settings) + out("x")
	}
	sum := `,{"name":"s","type":"biinnersumcross","inputlayer":"x"},` + fmt.Sprintf(end, "s", "logloss")
	two := `{"name":"a","type":"simpleinputlayer","outputdim":3,"transfunc":"sigmoid"},{"name":"b","type":"simpleinputlayer","outputdim":3,"transfunc":"softmax"}`
	all := map[string]string{
		"outer":               deep("bioutercross", ""),
		"cross":               deep("crosslayer", ""),
		"cross depth":         deep("crosslayer", `,"depth":3`),
		"cross rank":          deep("crosslayer", `,"depth":2,"rank":2`),
		"cross stacked":       deep("crosslayer", `,"outputdims":[12,12]`),
		"batch norm":          deep("batchnormlayer", ""),
		"batch norm of pairs": strings.Split(deep("batchnormlayer", ""), `,{"name":"out"`)[0] + sum,
		"dropout":             deep("dropoutlayer", `,"proba":0.3`),
		"dropout of pairs":    strings.Split(deep("dropoutlayer", ""), `,{"name":"out"`)[0] + sum,
		"mul pooling":         two + `,{"name":"x","type":"mulpooling","inputlayers":["a","b"]}` + out("x"),
		"dot pooling":         two + `,{"name":"x","type":"dotpooling","inputlayers":["a","b"]},` + fmt.Sprintf(end, "x", "l2loss"),
		"two cross inputs":    two + `,{"name":"x","type":"crosslayer","inputlayers":["a","b"]}` + out("x"),
	}
	for _, f := range layer.Transfers() {
		all["transfer "+f.Name] = fmt.Sprintf(`{"name":"input","type":"simpleinputlayer","outputdim":3,"transfunc":%q}`, f.Name) + out("input")
	}
	return all
}

// trained are the networks of all recipes, and others.
func trained(t *testing.T) map[string]*graph.Model {
	t.Helper()
	all := map[string]*graph.Model{}
	for _, a := range algo.Algos() {
		for rank, name := range []string{a.Name, a.Name + ", low rank"} {
			if rank > 0 && a.Sizes.Depth == 0 {
				continue
			}
			size := algo.Size{Fields: fields, Rank: 2 * rank}
			if a.Sizes.Hidden != nil {
				size.Hidden = []int{7, 5}
			}
			m, err := a.Build(algo.Conf{Dim: features, Size: size, Classes: 3})
			if err != nil {
				t.Fatal(err)
			}
			all[name] = m
		}
	}
	for name, layers := range others() {
		m, err := algo.Compose(parse(t, layers), algo.Conf{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = m
	}
	return all
}

// TestKinds wants every kind of layer in one of the networks that are compared, and every spelling of it known.
func TestKinds(t *testing.T) {
	var have []string
	for _, m := range trained(t) {
		for _, e := range m.File.Layers {
			have = append(have, strings.ToLower(e.Type))
		}
	}
	for _, k := range layer.Kinds() {
		if !slices.Contains(have, k.Name) {
			t.Errorf("no network has a %s", k.Name)
		}
		for _, name := range append(k.Also, k.Name) {
			f := parse(t, fmt.Sprintf(`{"name":"x","type":%q}`, name))
			if _, err := export.New(context.Background(), f, &saved{}, export.Options{}); err == nil || !strings.Contains(err.Error(), "no layer of type simplelosslayer") {
				t.Errorf("%s: %v, want only that there is no loss", name, err)
			}
		}
	}
}

// whole gives matrices as they were saved. All are small enough to be pulled whole.
type whole struct{ *saved }

func (w whole) Pull(_ context.Context, lookups []graph.Lookup) (blocks []matrix.Block, err error) {
	for _, l := range lookups {
		for i, v := range w.val[l.Matrix] {
			l.Into[i] = float32(v)
		}
		blocks = append(blocks, matrix.Block{Data: &matrix.Dense[float32]{Val: l.Into}})
	}
	return blocks, nil
}
func (w whole) Plan([]int64, []string) ([]matrix.Plan, error)    { return nil, errors.ErrUnsupported }
func (w whole) Push(string, matrix.Block) error                  { return errors.ErrUnsupported }
func (w whole) PushPlanned(string, matrix.Plan, []float32) error { return errors.ErrUnsupported }
func (w whole) Clock(context.Context, float64, float64) error    { return errors.ErrUnsupported }

// TestModels wants programs, in both forms, to give the scores of the network that they are of.
func TestModels(t *testing.T) {
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{X: matrix.Block{Data: x}}
	all := examples(fields)
	for _, e := range all {
		for i, id := range e.ids {
			x.Idx, x.Val = append(x.Idx, int64(id)), append(x.Val, float32(e.vals[i]))
		}
		x.Ptr, b.Label = append(x.Ptr, len(x.Idx)), append(b.Label, 0)
	}
	for name, m := range trained(t) {
		s := &saved{}
		for _, meta := range m.Metas() {
			s.add(meta.Name, meta.Rows, meta.Cols)
			if strings.HasSuffix(meta.Name, "_var") {
				for i, v := range s.val[meta.Name] {
					s.val[meta.Name][i] = float64(float32(v*v + 0.1))
				}
			}
		}
		run, err := graph.NewRun(m)
		if err != nil {
			t.Fatal(err)
		}
		want, err := run.Predict(t.Context(), whole{s}, b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, err := graph.ParseJSON(m.JSON())
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []program.Form{program.FormDesc, program.FormPIR} {
			model, err := export.New(t.Context(), f, s, export.Options{Form: form})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			p := machine(t, model)
			got, err := p.Run(t.Context(), feeds(p, all, false))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			scores := got[len(got)-1].Tensor.F // the prediction, unless they are beside it
			if len(scores) != len(want.Val) {
				t.Fatalf("%s: %d scores, want %d", name, len(scores), len(want.Val))
			}
			for i, v := range want.Val {
				if !(math.Abs(float64(scores[i]-v)) <= 1e-5*max(1, math.Abs(float64(v)))) {
					t.Errorf("%s, %s: score %d is %v, want %v", name, form, i, scores[i], v)
				}
			}
		}
	}
}
