package paddle

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// layoutKinds are the layouts that are only read, by the kind that the list of golden files names.
var layoutKinds = map[string]string{
	"pr4602": "pr4602", "v011": "v011", "selectedrows": "selectedrows", "tnum": "tnum", "v2tar": "v2tar", "v2param": "v2",
	"pdparams": "pickle",
}

// goldenTensor is what the list says of one tensor.
type goldenTensor struct {
	Dims   []int64
	DType  string
	Values []float64
	LoD    [][]int64
	Rows   []int64
	Height int64
}

type goldenLayout struct {
	File, Kind, Error string
	Tensors           map[string]goldenTensor
}

// layoutFiles are the golden files of the layouts, and what each holds but for those of this package.
func layoutFiles(t *testing.T) (files []goldenLayout) {
	t.Helper()
	for file, kind := range ownKinds {
		files = append(files, goldenLayout{File: file, Kind: kind})
	}
	data, err := os.ReadFile(filepath.Join(goldenDir, "manifest.json"))
	if err != nil {
		return files
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, raw := range list {
		var g goldenLayout
		if err := json.Unmarshal(raw, &g); err != nil {
			t.Fatal(err)
		}
		if layoutKinds[g.Kind] == "" {
			continue
		}
		if g.Tensors == nil { // one without a name
			var one goldenTensor
			if err := json.Unmarshal(raw, &one); err != nil {
				t.Fatal(err)
			}
			g.Tensors = map[string]goldenTensor{path.Base(g.File): one}
		}
		files = append(files, g)
	}
	return files
}

// TestGoldenLayouts checks that every golden file of the layouts is found to be of its own, and holds what the list says.
func TestGoldenLayouts(t *testing.T) {
	ctx, b := context.Background(), goldens(t)
	seen := map[string]bool{}
	for _, g := range layoutFiles(t) {
		if strings.HasPrefix(g.File, "bad/") {
			continue
		}
		seen[g.Kind] = true
		t.Run(g.File, func(t *testing.T) {
			for _, p := range profiles() {
				dialect, err := p.Sniff(ctx, b, g.File)
				own := p.Name() == layoutKinds[g.Kind]
				if err != nil || own != (dialect != "") || own && !strings.HasPrefix(dialect, p.Name()+", ") {
					t.Errorf("%s says %q, %v", p.Name(), dialect, err)
				}
			}
			r, err := Codec.Open(ctx, b, g.File, format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if len(r.Matrices()) != len(g.Tensors) && g.Tensors != nil {
				t.Errorf("%d matrices, want %d", len(r.Matrices()), len(g.Tensors))
			}
			for _, m := range r.Matrices() {
				if g.Tensors != nil {
					compareGolden(t, r, m, g.Tensors[m.Name])
				}
			}
			var out bytes.Buffer
			if err := Codec.Explain(ctx, b, g.File, dump.New(&out)); err != nil || out.Len() == 0 {
				t.Errorf("%d bytes of explanation, %v", out.Len(), err)
			}
		})
	}
	for _, kind := range []string{"pr4602", "v011", "selectedrows", "tnum", "v2tar", "pdparams"} {
		if !seen[kind] {
			t.Errorf("the list names no file of kind %s", kind)
		}
	}
}

func compareGolden(t *testing.T, r format.Reader, m matrix.Meta, want goldenTensor) {
	t.Helper()
	dims := want.Dims
	if want.Rows != nil {
		dims = append([]int64{want.Height}, dims[1:]...)
		var saved []int64
		for _, s := range m.SavedRows() {
			for i := s.Lo; i < s.Hi; i++ {
				saved = append(saved, i)
			}
		}
		if !slices.Equal(saved, want.Rows) {
			t.Errorf("rows %v, want %v", saved, want.Rows)
		}
	}
	if !slices.Equal(m.Dims, dims) || !slices.EqualFunc(m.LoD, want.LoD, slices.Equal) {
		t.Errorf("%q: dimensions %v, LoD %v, want %v, %v", m.Name, m.Dims, m.LoD, dims, want.LoD)
	}
	if d := (map[string]string{"float32": "f32", "": "f32"})[want.DType]; m.DType.String() != d {
		t.Errorf("%q: element type %v, want %s", m.Name, m.DType, want.DType)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	got := floats(t, r, m)
	if n := int64(len(got)); want.Rows == nil && n != m.Rows*m.Cols {
		t.Errorf("%q: %d values, want %d", m.Name, n, m.Rows*m.Cols)
	}
	if want.Values != nil && !slices.Equal(got, want.Values) && len(got)+len(want.Values) > 0 {
		t.Errorf("%q: values %v, want %v", m.Name, got, want.Values)
	}
}

// TestGoldenPickles checks that the three protocols hold the same, with the names of the variables.
func TestGoldenPickles(t *testing.T) {
	shared(t, goldenDir)
	var all []string
	for _, g := range layoutFiles(t) {
		if g.Kind != "pdparams" || g.Tensors == nil {
			continue
		}
		r, err := Codec.Open(context.Background(), blob.NewDir(goldenDir), g.File, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, m := range r.Matrices() {
			text += fmt.Sprintln(m.Name, m.Dims, m.DType, m.Attrs, floats(t, r, m))
		}
		r.Close()
		all = append(all, text)
	}
	if len(all) < 2 {
		t.Fatalf("%d pickles, want several", len(all))
	}
	want := "fc.weight [13 1] f32 map[paddle.parameter:linear_0.w_0] [-0.75 -0.625 -0.5 -0.375 -0.25 -0.125 0 0.125 0.25 0.375 0.5 0.625 0.75]\n" +
		"fc.bias [1] f32 map[paddle.parameter:linear_0.b_0] [22.5]\n"
	for i, text := range all {
		if text != want {
			t.Errorf("pickle %d holds\n%s, want\n%s", i, text, want)
		}
	}
}

// TestGoldenLayoutsBad checks that every damaged golden file is refused with a place, whatever it looks like.
func TestGoldenLayoutsBad(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldenDir, "bad", "*"))
	if err != nil || len(files) == 0 {
		t.Skip("no golden files")
	}
	ctx, b := context.Background(), blob.NewDir(goldenDir)
	own := map[string]layout{"r_": selectedRows.layout, "v2": v2Param}
	for _, file := range files {
		file = "bad/" + filepath.Base(file)
		y, ok := own[filepath.Base(file)[:2]]
		if !ok || strings.Contains(file, "valuesize8") { // which is sound where values may have 8 bytes
			continue
		}
		t.Run(file, func(t *testing.T) {
			for _, open := range []func() (format.Reader, error){
				func() (format.Reader, error) { return Codec.Open(ctx, b, file, format.Options{}) },
				func() (format.Reader, error) {
					r, err := y.Open(ctx, b, file, format.Options{})
					return r, format.Wrap(name, file, err)
				},
			} {
				r, err := open()
				if err == nil {
					r.Close()
					t.Fatal("no error")
				}
				var where *format.Error
				if !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) || !errors.As(err, &where) || where.Off < 0 {
					t.Errorf("%v, want damage at a byte", err)
				}
			}
			for _, p := range profiles() {
				if dialect, err := p.Sniff(ctx, b, file); dialect != "" || err != nil {
					t.Errorf("%s says %q, %v", p.Name(), dialect, err)
				}
			}
			_ = Codec.Explain(ctx, b, file, dump.New(&bytes.Buffer{}))
		})
	}
}

// TestForeignFiles checks that no layout claims a file of another kind.
func TestForeignFiles(t *testing.T) {
	ctx, b := context.Background(), goldens(t)
	own := map[string]bool{}
	for _, g := range layoutFiles(t) {
		own[g.File] = true
	}
	all, err := b.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if own[i.Name] || strings.Contains(i.Name, "valuesize8") {
			continue
		}
		for _, p := range profiles() {
			if _, ok := p.(layout); !ok {
				continue
			}
			if dialect, err := p.Sniff(ctx, b, i.Name); dialect != "" || err != nil {
				t.Errorf("%s: %s says %q, %v", i.Name, p.Name(), dialect, err)
			}
		}
	}
}

// put stores one file and opens it.
func put(t *testing.T, file string, data []byte) (format.Reader, error) {
	t.Helper()
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, file, data); err != nil {
		t.Fatal(err)
	}
	r, err := Codec.Open(ctx, b, file, format.Options{})
	if err == nil {
		t.Cleanup(func() { r.Close() })
	}
	if len(data) < 1<<14 {
		explained := Codec.Explain(ctx, b, file, dump.New(&bytes.Buffer{}))
		if (err == nil) != (explained == nil) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("opened with %v, explained with %v", err, explained)
		}
	}
	return r, err
}

// describe is everything that a reader holds, as text.
func describe(t *testing.T, r format.Reader) string {
	t.Helper()
	var text strings.Builder
	for _, m := range r.Matrices() {
		fmt.Fprintf(&text, "%s %v %v", m.Name, m.Dims, m.DType)
		if m.LoD != nil {
			fmt.Fprintf(&text, " lod %v", m.LoD)
		}
		if m.Saved != nil {
			fmt.Fprintf(&text, " rows %v", m.Saved)
		}
		for _, key := range slices.Sorted(maps.Keys(m.Attrs)) {
			fmt.Fprintf(&text, " %s=%s", key, m.Attrs[key])
		}
		fmt.Fprintf(&text, " %v\n", floats(t, r, m))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// TestLayoutsCut cuts every golden file of the layouts at every byte, and adds one: an error with a place.
func TestLayoutsCut(t *testing.T) {
	b := goldens(t)
	for _, g := range layoutFiles(t) {
		data, err := blob.ReadAll(t.Context(), b, g.File, 1<<20)
		if err != nil || strings.HasPrefix(g.File, "bad/") {
			continue
		}
		t.Run(g.File, func(t *testing.T) {
			var changed [][]byte
			step := 1 + len(data)/500
			for n := 0; n < len(data); n += step {
				changed = append(changed, data[:n])
			}
			changed = append(changed, append(slices.Clone(data), 'x'), append(slices.Clone(data), data...))
			for _, c := range changed {
				r, err := put(t, path.Base(g.File), c)
				var where *format.Error
				if err == nil {
					if g.Kind == "pr4602" && len(c) == 2*len(data) || g.Kind == "v2tar" && trimmed(c) == trimmed(data) && len(c)%512 == 0 {
						continue // two tensors; zeros behind the end
					}
					t.Errorf("%d of %d bytes: no error, %s", len(c), len(data), describe(t, r))
				} else if !errors.As(err, &where) || where.Off < 0 {
					t.Errorf("%d of %d bytes: %v, want a place", len(c), len(data), err)
				}
			}
		})
	}
}

func trimmed(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// TestLayoutsAreRead checks that the layouts are not written, and say so.
func TestLayoutsAreRead(t *testing.T) {
	ms := []matrix.Meta{{Name: "m", Rows: 1, Cols: 1, DType: matrix.F32}}
	for _, name := range []string{"pickle", "v2", "v2tar", "v2tar.gz", "v011", "pr4602", "tnum", "no such"} {
		_, err := Codec.Create(context.Background(), &blob.Mem{}, "w", ms, format.Options{Set: map[string]string{"layout": name}})
		if !errors.Is(err, format.ErrOption) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want ErrOption", name, err)
		}
	}
}

// TestLayoutExamples checks the worked examples of the layouts on the format's page: their bytes are explained as there.
func TestLayoutExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/paddle.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## Other layouts")
	blocks := strings.Split(rest, "```dump\n")[1:]
	if len(blocks) < 4 {
		t.Fatalf("%d examples, want one for each layout without names", len(blocks))
	}
	for _, block := range blocks {
		want, _, _ := strings.Cut(block, "```")
		var data []byte
		for line := range strings.Lines(want) {
			if len(line) > 10 && line[0] != '#' {
				one, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(line[10:min(33, len(line))]), " ", ""))
				if err != nil {
					t.Fatal(err)
				}
				data = append(data, one...)
			}
		}
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, "w", data); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Codec.Explain(ctx, b, "w", dump.New(&out)); err != nil || out.String() != want {
			t.Errorf("explained as\n%s, %v, want\n%s", out.String(), err, want)
		}
		if r, err := Codec.Open(ctx, b, "w", format.Options{}); err != nil {
			t.Error(err)
		} else {
			r.Close()
		}
	}
}
