package all_test

import (
	"context"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/all"
	"thole.example/matrix"
)

// saveModel writes two matrices and a small file to the path.
func saveModel(t *testing.T, b blob.Bucket, codec, path string) {
	t.Helper()
	ctx := context.Background()
	c, err := all.Codecs().Lookup(codec)
	if err != nil {
		t.Fatal(err)
	}
	ms := []matrix.Meta{{Name: "v", Rows: 1, Cols: 2, DType: matrix.F32}, {Name: "w", Rows: 1, Cols: 2, DType: matrix.F32}}
	w, err := format.Create(ctx, c, b, path, ms, format.Options{Files: map[string][]byte{"graph.json": []byte("{}")}, Lossy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, m := range ms {
		p, err := w.Put(ctx, m.Name, matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: []float32{1, 2}}})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
}

// TestReplaceableFolder: a model replaces the folder of another model, but no folder that has anything else in it.
func TestReplaceableFolder(t *testing.T) {
	ctx := context.Background()
	for _, codec := range []string{"angel", "daphne", "npy", "safetensors", "mtx", "csv", "parquet", "arrow"} {
		for _, c := range []struct {
			name, model string
			files       map[string]string
			want        string // of the error; "" if it may be replaced
		}{
			{"model", "m", nil, ""},
			{"model and a small file", "m", map[string]string{"m/README": "about it"}, ""},
			{"model and a folder", "m", map[string]string{"m/notes/monday.txt": "x"}, "notes/monday.txt"},
			{"model and a long file", "m", map[string]string{"m/rows.libsvm": strings.Repeat("1 1:1\n", 3<<20)}, "rows.libsvm"},
			{"model in a folder", "m/first", nil, ""},
			{"model in a folder of a folder", "m/a/first", map[string]string{"m/report.html": "x"}, ""},
			{"tables to train on", "", map[string]string{"m/a.csv": "y,city\n1,Bonn\n", "m/b.csv": "y,city\n0,Ulm\n"}, " "},
		} {
			t.Run(codec+"/"+c.name, func(t *testing.T) {
				b := &blob.Mem{}
				if c.model != "" {
					saveModel(t, b, codec, c.model)
				}
				if infos, err := b.List(ctx, "m"); err != nil || len(infos) == 1 && infos[0].Name == "m" && len(c.files) > 0 {
					return // a file has nothing in it
				}
				for name, text := range c.files {
					if err := blob.WriteAll(ctx, b, name, []byte(text)); err != nil {
						t.Fatal(err)
					}
				}
				err := all.Codecs().Replaceable(ctx, b, "m", true)
				switch {
				case c.model == "m" && c.want == "":
					if err != nil {
						t.Errorf("%v: want it replaceable", err)
					}
				case err == nil || !strings.Contains(err.Error(), c.want):
					t.Errorf("%v, want an error that names %q", err, c.want)
				}
			})
		}
	}
}
