package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/graph"
)

// TestSavedJobs: the job that is saved with a model trains the same model again, files and all, and says how large the network is and
// what its rule works with, whatever later versions choose by themselves. So does the job of a training that goes on from a model, whose
// rules go on with it, also where its algorithm is named.
func TestSavedJobs(t *testing.T) {
	dir := t.TempDir()
	few, many := filepath.Join(dir, "few.libffm"), filepath.Join(dir, "many.libffm")
	thole(t, "data", "clicks", "--rows", "300", "--out", few)
	thole(t, "data", "clicks", "--preset", "criteo", "--rows", "300", "--out", many)
	for _, a := range algo.Algos() {
		for _, examples := range []string{few, many} {
			if examples == many && !slices.Contains([]string{"lr", "poisson", "deepfm"}, a.Name) {
				continue // the other ones have the defaults of these
			}
			one, again := filepath.Join(dir, a.Name), filepath.Join(dir, a.Name+"-again")
			trains := func(args ...string) {
				if args = append([]string{"train", "--data", examples, "--force", "--epochs", "1"}, args...); a.Task == algo.Regression {
					args = append(args, "--labels", "ZeroOneTrans")
				}
				thole(t, args...)
			}
			trains("--algo", a.Name, "--model", one)
			thole(t, "train", "--job", filepath.Join(one, "job.yaml"), "--model", again, "--force")
			for _, name := range []string{"job.yaml", "graph.json", "input_weight/0", "embedding_embedding/0", "fclayer_weight/0"} {
				was, err := os.ReadFile(filepath.Join(one, name))
				if err != nil {
					continue // networks without such a layer
				}
				is, err := os.ReadFile(filepath.Join(again, name))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(was, is) {
					t.Errorf("%s on %s: %s differs:\n%.800s\nwant\n%.800s", a.Name, filepath.Base(examples), name, is, was)
				}
			}
			more, same := filepath.Join(dir, a.Name+"-more"), filepath.Join(dir, a.Name+"-same")
			trains("--load", one, "--model", more)
			trains("--load", one, "--algo", a.Name, "--model", again)
			thole(t, "train", "--job", filepath.Join(more, "job.yaml"), "--model", same, "--force")
			for _, other := range []string{again, same} {
				if code := Main([]string{"diff", more, other}, &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}); code != 0 {
					t.Errorf("%s on %s: %s is another model than %s", a.Name, filepath.Base(examples), other, more)
				}
			}
			said, err := os.ReadFile(filepath.Join(one, "job.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for key, has := range map[string]bool{"\nfactors: ": a.Sizes.Factors > 0, "\nhidden: ": a.Sizes.Hidden != nil,
				"\ncross-layers: ": a.Sizes.Depth > 0, "\nhyper:": a.Network() && examples == few || a.Defaults.Hyper["l2"] > 0} {
				if has && !bytes.Contains(said, []byte(key)) {
					t.Errorf("%s on %s: the job has no %q:\n%s", a.Name, filepath.Base(examples), key, said)
				}
			}
		}
	}
}

// TestSavedModelsSayTheirFields: what a network of one's own was trained on is read again as it was.
func TestSavedModelsSayTheirFields(t *testing.T) {
	for _, c := range []struct {
		layers string
		want   int
	}{
		{`{"name": "e", "type": "embedding", "numfactors": 2, "outputdim": 6}`, 3},
		{`{"name": "e", "type": "embedding", "numfactors": 2}`, 0}, // any number of values
		{`{"name": "e", "type": "fieldawareembedding", "numfactors": 2}`, 3},
		{`{"name": "e", "type": "simpleinputlayer", "outputdim": 2}`, 0},
	} {
		f, err := graph.Parse("net.json", []byte(`{"data": {"numfield": 3}, "layers": [`+c.layers+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := fieldsOf(f); got.Number != c.want || got.Sorted != (c.want > 0) {
			t.Errorf("%s: %+v, want %d fields", c.layers, got, c.want)
		}
	}
}
