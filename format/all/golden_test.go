package all

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/formattest"
)

// goldenFiles are those of every codec.
const goldenFiles = "../*/testdata/golden/*.txtar"

// TestGoldens finds every golden file to be of its format, reads what it holds, and explains it. Every format has one.
func TestGoldens(t *testing.T) {
	ctx, seen := context.Background(), map[string]bool{}
	for _, g := range formattest.Goldens(t, goldenFiles) {
		seen[g.Format] = true
		t.Run(g.Name, func(t *testing.T) {
			b := empty(t)
			g.Put(t, b)
			r, found, err := Codecs().Open(ctx, b, g.Path, "", format.Options{Set: g.Options})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for _, c := range Codecs() {
				if dialect, err := c.Sniff(ctx, b, g.Path); err == nil && (dialect != "") != (c.Info().Name == g.Format) {
					t.Errorf("%s says %q, want %s", c.Info().Name, dialect, g.Format)
				}
			}
			if err := g.Compare(ctx, r); err != nil {
				t.Error(err)
			}
			var out bytes.Buffer
			err = found.Explain(ctx, b, g.Path, dump.New(&out))
			if err != nil && g.Options == nil || out.Len() == 0 { // which knows no options
				t.Errorf("%d bytes of explanation, %v", out.Len(), err)
			}
		})
	}
	for _, c := range Codecs() {
		if !seen[c.Info().Name] {
			t.Errorf("no golden file of %s at %s", c.Info().Name, goldenFiles)
		}
	}
}

// TestGoldensWritten writes the cells of golden files where our writer is to give the same bytes.
func TestGoldensWritten(t *testing.T) {
	for _, g := range formattest.Goldens(t, goldenFiles) {
		if g.Write == nil {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			c, err := Codecs().Lookup(g.Format)
			if err != nil {
				t.Fatal(err)
			}
			b := empty(t)
			if err := format.Convert(context.Background(), g.Reader(), c, b, g.Path, format.Options{Set: g.Write}, nil, nil); err != nil {
				t.Fatal(err)
			}
			got := snapshot(t, b)
			for name, data := range g.Files {
				if got[name] != string(data) {
					t.Errorf("%s is written\n%q, want\n%q", name, got[name], data)
				}
				delete(got, name)
			}
			for name := range got {
				t.Errorf("%s is written too", name)
			}
		})
	}
}

// shorter says which beginnings of files may be read as something else, by codec or golden file, and why.
var shorter = map[string]func(name, data string, n int) bool{
	// any line may be the last
	"csv":    func(string, string, int) bool { return true },
	"libsvm": func(string, string, int) bool { return true },
	// the last number may be a shorter one
	"mtx": func(_, data string, n int) bool { return n > strings.LastIndexAny(strings.TrimSpace(data), " \n") },
	// what lies beside matrices is kept, not read
	"angel/release_3_1": func(name, _ string, _ int) bool { return name == "model/graph.json" },
	// a whole file of the document's i32, whose code DAPHNE has for f64
	"daphne/dense_daphne": func(_, _ string, n int) bool { return n == 69 },
	// a topology without its version, as old releases wrote it
	"paddle/separate": func(name, data string, n int) bool { return name == "model/__model__" && n == len(data)-6 },
	"paddle/combined": func(name, data string, n int) bool { return name == "model/net.pdmodel" && n == len(data)-6 },
}

// TestGoldensCut cuts every golden file at every byte, the longest at every few: an error of package format, or the same cells.
func TestGoldensCut(t *testing.T) {
	for _, g := range formattest.Goldens(t, goldenFiles) {
		t.Run(g.Name, func(t *testing.T) {
			b := &blob.Mem{} // thousands of files
			g.Put(t, b)
			for name, data := range g.Files {
				for n := 0; n < len(data); n += 1 + len(data)/2000 {
					put(t, b, name, data[:n])
					err := compare(t, g, b)
					other := shorter[g.Name]
					if other == nil {
						other = shorter[g.Format]
					}
					if err != nil && !sentinel(err) && (other == nil || !other(name, string(data), n)) {
						t.Fatalf("%s cut at byte %d of %d: %v", name, n, len(data), err)
					}
				}
				put(t, b, name, data)
			}
		})
	}
}

func put(t *testing.T, b blob.Bucket, name string, data []byte) {
	t.Helper()
	if err := blob.WriteAll(t.Context(), b, name, data); err != nil {
		t.Fatal(err)
	}
}

// compare opens what the bucket holds as the golden file's format and compares it; detecting it must not panic.
func compare(t *testing.T, g *formattest.Golden, b blob.Bucket) error {
	t.Helper()
	_, _, _ = Codecs().Detect(t.Context(), b, g.Path)
	r, _, err := Codecs().Open(t.Context(), b, g.Path, g.Format, format.Options{Set: g.Options})
	if err != nil {
		return err
	}
	defer r.Close()
	return g.Compare(t.Context(), r)
}
