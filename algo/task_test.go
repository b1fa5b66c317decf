package algo

import (
	"slices"
	"testing"

	"thole.example/graph"
)

// What a recipe describes is known again as the recipe's, and what is none is not.
func TestNameOf(t *testing.T) {
	for _, a := range Algos() {
		m, err := a.Build(Conf{Dim: 7, Sparse: true, Rule: "ftrl"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := graph.ParseJSON(m.JSON())
		if err != nil {
			t.Fatal(err)
		}
		if got := NameOf(f); got != a.Name || TaskOf(f) != a.Task {
			t.Errorf("%s is taken for %q, %s", a.Name, got, TaskOf(f))
		}
		names, err := Growing(f)
		if err != nil || len(names) == 0 || !slices.Contains([]string{"input_weight", "embedding_embedding"}, names[0]) ||
			a.Network() != slices.Contains(names, "embedding_embedding") {
			t.Errorf("%s: matrices of features %v, %v", a.Name, names, err)
		}
	}
	for src, want := range map[string]string{
		`{"layers":[` + in + `},{"name":"out","type":"losslayer","inputlayer":"lin"}]}`:                              "lr",
		`{"layers":[` + in + `,"transfunc":"Sigmoid"},{"name":"out","type":"losslayer","inputlayer":"lin"}]}`:        "",
		`{"default_lossfunc":"HingeLoss","layers":[` + in + `},{"name":"o","type":"losslayer","inputlayer":"lin"}]}`: "svm",
	} {
		f, err := graph.ParseJSON([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if got := NameOf(f); got != want {
			t.Errorf("%s is taken for %q, want %q", src, got, want)
		}
	}
}
