package lightgbm

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/tree"
)

// models are the files of testdata/models, which testdata/make_models.py made.
func models(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/models/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d models, %v", len(files), err)
	}
	return files
}

func load(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// seen is a row and what LightGBM says of it.
type seen struct {
	row    []float64
	scores []float64
	parts  []float64 // contributions, the bias last
}

// knownRows reads the rows beside a model.
func knownRows(t testing.TB, file string, features, classes int) (all []seen) {
	t.Helper()
	for line := range strings.Lines(string(load(t, strings.TrimSuffix(file, ".txt")+".tsv"))) {
		var s seen
		for i, word := range strings.Split(strings.TrimSpace(line), "\t") {
			raw, err := hex.DecodeString(word)
			switch {
			case err != nil:
				t.Fatal(err)
			case i < features:
				s.row = append(s.row, float64(math.Float32frombits(binary.BigEndian.Uint32(raw))))
			case i < features+classes:
				s.scores = append(s.scores, math.Float64frombits(binary.BigEndian.Uint64(raw)))
			default:
				s.parts = append(s.parts, math.Float64frombits(binary.BigEndian.Uint64(raw)))
			}
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		t.Fatalf("no rows beside %s", file)
	}
	return all
}

// sameScores holds an ensemble to the scores that LightGBM gave, bit for bit.
func sameScores(t *testing.T, e *tree.Ensemble, file string) {
	t.Helper()
	scores := make([]float64, e.Classes)
	for i, s := range knownRows(t, file, e.Features.Width, e.Classes) {
		e.Score(s.row, scores)
		for c := range scores {
			want := s.scores[c]
			if e.Mean { // LightGBM divides only where it predicts
				want /= float64(e.Iterations())
			}
			if scores[c] != want {
				t.Errorf("row %d %v, class %d: score %v, want %v", i, s.row, c, scores[c], want)
			}
		}
	}
}

// TestModels reads models of LightGBM 2.3, 3.3, 4.0 and 4.7 of every kind: its scores, bit for bit. What is written of them is the same
// model again, and so are files with CR LF.
func TestModels(t *testing.T) {
	for _, file := range models(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := load(t, file)
			e, notes, err := parse(text)
			if err != nil || len(notes) > 0 {
				t.Fatalf("%q, %v", notes, err)
			}
			sameScores(t, e, file)
			again, notes, err := parse(printed(t, e))
			if err != nil || len(notes) > 0 {
				t.Fatalf("%q, %v", notes, err)
			}
			if !reflect.DeepEqual(e, again) {
				t.Errorf("read again\n%+v, want\n%+v", again, e)
			}
			if bytes.Contains(printed(t, e), []byte(ownKey)) {
				t.Errorf("a line %s in what LightGBM can say", ownKey)
			}
			crlf, notes, err := parse(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
			if err != nil || len(notes) > 0 || !reflect.DeepEqual(e, crlf) {
				t.Errorf("with CR LF: %q, %v", notes, err)
			}
		})
	}
}

func printed(t testing.TB, e *tree.Ensemble) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, e); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSaid checks what the models say beside their trees.
func TestSaid(t *testing.T) {
	for _, c := range []struct {
		file string
		want tree.Objective
		mean bool
		is   func(e *tree.Ensemble) bool
	}{
		{"2.3.1_binary", tree.Objective{Name: "binary", Link: tree.Logistic}, false, func(e *tree.Ensemble) bool {
			return e.Origin == "LightGBM v3" && e.Features.At(3).Categorical && e.Features.At(4).Most > 2 && e.Features.At(0).Least < -1
		}},
		{"4.7.0_sigmoid", tree.Objective{Name: "binary", Link: tree.Logistic, Sigmoid: 0.7}, false, func(e *tree.Ensemble) bool {
			return e.Origin == "LightGBM v4"
		}},
		{"4.7.0_none", tree.Objective{Name: "l2", Link: tree.Identity}, false, func(e *tree.Ensemble) bool {
			return e.Features.At(0).Monotone == 1 && e.Features.At(1).Monotone == -1
		}},
		{"4.7.0_sqrt", tree.Objective{Name: "l2", Link: tree.Square}, false, nil},
		{"4.7.0_multiclass", tree.Objective{Name: "multiclass", Link: tree.Softmax}, false, func(e *tree.Ensemble) bool {
			return e.Classes == 3 && e.Group == 3 && len(e.Trees) == 12 && e.Trees[4].Class == 1
		}},
		{"4.7.0_ova", tree.Objective{Name: "multiclassova", Link: tree.Each, Sigmoid: 0.8}, false, nil},
		{"4.7.0_poisson", tree.Objective{Name: "poisson", Link: tree.Exp}, false, nil},
		{"4.7.0_quantile", tree.Objective{Name: "quantile", Link: tree.Identity, Set: map[string]float64{"alpha": 0.8}}, false, nil},
		{"4.7.0_tweedie", tree.Objective{Name: "tweedie", Link: tree.Exp, Set: map[string]float64{"tweedie_variance_power": 1.3}}, false, nil},
		{"4.7.0_xentropy", tree.Objective{Name: "cross_entropy", Link: tree.Logistic}, false, nil},
		{"4.7.0_xentlambda", tree.Objective{Name: "cross_entropy_lambda", Link: tree.SoftPlus}, false, nil},
		{"4.7.0_lambdarank", tree.Objective{Name: "lambdarank", Link: tree.Identity}, false, nil},
		{"4.7.0_forest", tree.Objective{Name: "binary", Link: tree.Logistic}, true, nil},
		{"4.7.0_leaf", tree.Objective{Name: "l2", Link: tree.Identity}, false, func(e *tree.Ensemble) bool { return e.Trees[0].Leaves() == 1 }},
		{"4.7.0_pandas", tree.Objective{Name: "binary", Link: tree.Logistic}, false, func(e *tree.Ensemble) bool {
			return e.Features.At(0).Name == "first_number" && strings.Join(e.Features.At(3).Levels, ";") == "red;green;blue;grey, dark" &&
				len(e.Features.At(4).Levels) == 90 && e.Features.At(4).Levels[89] == "89"
		}},
	} {
		e, _, err := parse(load(t, "testdata/models/"+c.file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e.Objective, c.want) || e.Mean != c.mean || c.is != nil && !c.is(e) {
			t.Errorf("%s: %+v, want %+v; %+v", c.file, e.Objective, c.want, e.Features)
		}
	}
}

// TestPandasLine writes levels as pandas had them, numbers as numbers.
func TestPandasLine(t *testing.T) {
	text := load(t, "testdata/models/4.7.0_pandas.txt")
	e, _, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := bytes.Cut(text, []byte(pandasKey))
	_, got, _ := bytes.Cut(printed(t, e), []byte(pandasKey))
	if spaceless(got) != spaceless(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func spaceless(b []byte) string { return strings.Join(strings.Fields(string(b)), "") }

// save writes an ensemble by the codec and gives what is read again, and what was said to be lost.
func save(t *testing.T, e *tree.Ensemble, o format.Options) (again *tree.Ensemble, lost []string, err error) {
	t.Helper()
	ctx, b := context.Background(), &blob.Mem{}
	text, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	o.Files = map[string][]byte{tree.FileName: text}
	o.Lost = func(what string) { lost = append(lost, what) }
	metas, blocks := e.Matrices()
	w, err := format.Create(ctx, Codec, b, "m.txt", metas, o)
	if err != nil {
		return nil, lost, err
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for i := range blocks {
		p, err := w.Put(ctx, metas[i].Name, blocks[i])
		if err != nil {
			return nil, lost, err
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		return nil, lost, err
	}
	r, err := format.Open(ctx, Codec, b, "m.txt", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	again, err = trees.Read(ctx, r)
	return again, lost, err
}

// TestDocument holds the example of the page to what explain prints.
func TestDocument(t *testing.T) {
	_, model, _ := bytes.Cut(load(t, "testdata/golden/sets.txtar"), []byte("-- model.txt --\n"))
	_, example, _ := bytes.Cut(load(t, "../../docs/format/lightgbm.md"), []byte("```dump\n"))
	example, _, _ = bytes.Cut(example, []byte("```"))
	var out bytes.Buffer
	explain(model, dump.New(&out))
	if len(example) == 0 || !bytes.HasPrefix(out.Bytes(), example) {
		t.Errorf("docs/format/lightgbm.md does not have the beginning of\n%s", out.String())
	}
}

// encode writes a file of what can be said without a loss.
func encode(w io.Writer, e *tree.Ensemble) error {
	e, err := fit(e, &format.Options{})
	if err != nil {
		return err
	}
	return write(w, e)
}
