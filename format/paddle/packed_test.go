package paddle

import (
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/pack"
	"thole.example/program"
)

// TestPacked reads a model that is packed into a folder and into a file as the model itself, and verifies it.
func TestPacked(t *testing.T) {
	ctx := t.Context()
	b := fill(t, map[string][]byte{"m/w": typed(codeF32, []int64{2, 3}, 24)})
	vars := []program.Var{{Name: "w", Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_FP32, Dims: []int64{2, 3}, Persistable: true}}
	p, err := program.Declare(vars, release)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := blob.WriteAll(ctx, b, "m/__model__", data); err != nil {
		t.Fatal(err)
	}
	m, err := program.Load(ctx, b, "m")
	if err != nil {
		t.Fatal(err)
	}
	want := describe(t, openPath(t, b, "m"))
	said := Describe(m)
	said.Metadata = map[string]string{"author": "nobody"}
	from := []pack.Source{{Name: "w", Object: "m/w"}, {Name: "__model__", Object: "m/__model__"}}
	for to, oneFile := range map[string]bool{"folder": false, "file": true} {
		for _, lie := range []bool{false, true} {
			manifest := said
			if lie {
				manifest.Parameters = []pack.Tensor{{Name: "w", Type: "f32", Shape: []int64{3, 2}}}
			}
			if _, err := pack.Write(ctx, b, from, manifest, b, to, blob.Anything, oneFile); err != nil {
				t.Fatal(err)
			}
			r, err := Codec.Open(ctx, b, to, format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(t, r); got != want || r.Files()[pack.Name] != nil {
				t.Errorf("%s holds %s, %d files, want %s", to, got, len(r.Files()), want)
			}
			if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, "SHA-256 of 2 files") || !strings.Contains(notes, `author: "nobody"`) {
				t.Errorf("%s: notes %q", to, notes)
			}
			problems, err := r.(format.Verifier).Verify(ctx)
			if err != nil || len(problems) > 0 != lie {
				t.Errorf("%s: problems %q, %v, want some: %v", to, problems, err, lie)
			}
			r.Close()
		}
		dialect, err := Codec.Sniff(ctx, b, to)
		if strings.HasPrefix(dialect, "packed in one file: model folder: ") != oneFile || dialect == "" || err != nil {
			t.Errorf("%s: %q, %v", to, dialect, err)
		}
	}
	file, err := blob.ReadAll(ctx, b, "file", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(t, "cut", file[:len(file)-1]); err == nil {
		t.Error("a packed file that was cut was opened")
	}
}
