package paddle

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// realDir holds files that Paddle wrote.
const realDir = "../../../shared/paddle-real"

// shared is the bucket of a folder of shared files; the test skips where it is not there.
func shared(t testing.TB, dir string) blob.Bucket {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no shared files: ", err)
	}
	return blob.NewDir(dir)
}

func openPath(t testing.TB, b blob.Bucket, path string) format.Reader {
	t.Helper()
	r, err := Codec.Open(context.Background(), b, path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func namesOf(r format.Reader) (all []string) {
	for _, m := range r.Matrices() {
		all = append(all, m.Name)
	}
	return all
}

// TestModelFolders opens models by their folder, their combined file and one of their separate files.
func TestModelFolders(t *testing.T) {
	gap := []string{"conv2d_0.b_0", "conv2d_0.w_0", "conv2d_1.b_0", "conv2d_1.w_0", "linear_0.b_0", "linear_0.w_0"}
	fc := []string{"fc_0.b_0", "fc_0.w_0"}
	for _, c := range []struct {
		dir, path, dialect string
		names              []string
	}{
		{"", "own/separate/model", "model folder: ProgramDesc, version 1008005 (release 1.8.5); stream, 2 tensors, a file for each variable", fc},
		{"", "own/separate/model/fc_0.b_0", "stream, 1 tensor", fc[:1]},
		{"", "own/combined/model", "model folder: ProgramDesc, version 2004002 (release 2.4.2); stream, 2 tensors, combined in net.pdiparams",
			[]string{"emb.w", "ids"}},
		{"", "own/combined/model/net.pdiparams", "stream, 2 tensors", []string{"emb.w", "ids"}},
		{realDir, "custom_gap", "model folder: ProgramDesc, version 0 (a development build); stream, 6 tensors, combined in custom_gap.pdiparams", gap},
		{realDir, "custom_gap/custom_gap.pdiparams", "stream, 6 tensors", gap},
		{realDir, "uci_housing_model", "model folder: ProgramDesc, version 1007000 (release 1.7.0); stream, 2 tensors, a file for each variable", fc},
		{realDir, "uci_housing_model/fc_0.b_0", "stream, 1 tensor", fc[:1]},
		{goldenDir, "model_linear", "model folder: ProgramDesc, version 1008005 (release 1.8.5); stream, 2 tensors, a file for each variable", fc},
		{goldenDir, "model_linear/__params__", "stream, 2 tensors", fc},
		{goldenDir, "model_mlp/mlp.pdiparams", "stream, 4 tensors", []string{"linear_0.b_0", "linear_0.w_0", "linear_1.b_0", "linear_1.w_0"}},
	} {
		var b blob.Bucket = goldens(t)
		if _, err := os.Stat(c.dir); c.dir != "" && err != nil {
			continue
		} else if c.dir != "" {
			b = blob.NewDir(c.dir)
		}
		dialect, err := Codec.Sniff(context.Background(), b, c.path)
		if dialect != c.dialect || err != nil {
			t.Errorf("%s: sniffed %q, %v, want %q", c.path, dialect, err, c.dialect)
		}
		r := openPath(t, b, c.path)
		if got := namesOf(r); !slices.Equal(got, c.names) {
			t.Errorf("%s: %v, want %v", c.path, got, c.names)
		}
		for _, m := range r.Matrices() {
			if n := len(floats(t, r, m)); int64(n) != m.Rows*m.Cols {
				t.Errorf("%s: %d values of %s, want %d x %d", c.path, n, m.Name, m.Rows, m.Cols)
			}
		}
	}
	if _, err := os.Stat(realDir); err != nil {
		return
	}
	uci := openPath(t, blob.NewDir(realDir), "uci_housing_model")
	m, _ := format.Find(uci, "fc_0.b_0")
	if got := floats(t, uci, m); got[0] != 22.738298416137695 {
		t.Errorf("bias %v, want 22.738298416137695", got)
	}
	if m, _ = format.Find(uci, "fc_0.w_0"); !slices.Equal(m.Dims, []int64{13, 1}) || uci.Files()["__model__"] == nil {
		t.Errorf("weights %v, files %d", m.Dims, len(uci.Files()))
	}
}

// TestBadStreams checks that damaged streams are refused, also where only the topology tells.
func TestBadStreams(t *testing.T) {
	ctx, b := context.Background(), shared(t, goldenDir)
	found := 0
	for _, g := range manifest(t) {
		if !strings.HasPrefix(g.File, "bad/s_") {
			continue
		}
		found++
		r, err := streams{}.Open(ctx, b, g.File, format.Options{})
		if err == nil {
			r.Close()
			t.Errorf("%s: no error", g.File)
		}
		if err = format.Wrap(name, g.File, err); !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("%s: %v, want damage", g.File, err)
		}
	}
	m, err := program.Load(ctx, b, "model_linear/__model__")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"bad/c_missing_tensor.bin": "input ends too early", "bad/c_swapped_order.bin": "has shape [13 1], want [1]"} {
		found++
		m.Params, m.Of = file, nil
		r, err := OpenParams(ctx, b, m)
		if err == nil {
			r.Close()
			t.Errorf("%s: no error", file)
		} else if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want damage: %s", file, err, want)
		}
	}
	if found < 10 {
		t.Errorf("%d damaged files, want more", found)
	}
}

// TestSameStreams writes what it read: the bytes of Paddle's own files.
func TestSameStreams(t *testing.T) {
	ctx, b := context.Background(), shared(t, realDir)
	for _, c := range []struct{ path, layout, file, same string }{
		{"custom_gap", "combined", "custom_gap.pdiparams", "custom_gap/custom_gap.pdiparams"},
		{"custom_gap", "combined", "custom_gap.pdmodel", "custom_gap/custom_gap.pdmodel"},
		{"custom_gap", "separate", "custom_gap.pdmodel", "custom_gap/custom_gap.pdmodel"},
		{"custom_gap/custom_gap.pdmodel", "combined", "custom_gap.pdmodel", "custom_gap/custom_gap.pdmodel"},
		{"uci_housing_model", "combined", "__model__", "uci_housing_model/__model__"},
		{"uci_housing_model", "separate", "fc_0.w_0", "uci_housing_model/fc_0.w_0"},
		{"uci_housing_model", "separate", "__model__", "uci_housing_model/__model__"},
		{"uci_housing_model/fc_0.b_0", "stream", "", "uci_housing_model/fc_0.b_0"},
	} {
		out := &blob.Mem{}
		o := format.Options{Set: map[string]string{"layout": c.layout}}
		to := "to/fc_0.b_0"
		if err := format.Convert(ctx, openPath(t, b, c.path), Codec, out, to, o, nil, nil); err != nil {
			t.Errorf("%s as %s: %v", c.path, c.layout, err)
			continue
		}
		if c.file != "" {
			c.file = "/" + c.file
		}
		got, err := blob.ReadAll(ctx, out, to+c.file, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := blob.ReadAll(ctx, b, c.same, 1<<20)
		if !slices.Equal(got, want) {
			t.Errorf("%s as %s: %d bytes that differ from the %d of %s", c.path, c.layout, len(got), len(want), c.same)
		}
		back := openPath(t, out, to)
		if got, want := namesOf(back), namesOf(openPath(t, b, c.path)); !slices.Equal(got, want) {
			t.Errorf("%s as %s: %v, want %v", c.path, c.layout, got, want)
		}
	}
}

// TestStreamNames checks what happens to names that no layout, or not this one, can keep.
func TestStreamNames(t *testing.T) {
	ctx := context.Background()
	two := []matrix.Meta{{Name: "a", Rows: 1, Cols: 1, DType: matrix.F32}, {Name: "b", Rows: 1, Cols: 1, DType: matrix.F32}}
	for _, c := range []struct {
		layout string
		rename string
		files  map[string][]byte
		want   error
	}{
		{"stream", "a", nil, format.ErrLossy},
		{"separate", "../a", nil, nil},
		{"separate", "_tmp.a", nil, nil},
		{"separate", "x/.hidden", nil, nil},
		{"separate", "graph.json", map[string][]byte{"graph.json": nil}, nil},
		{"combined", "b", nil, nil},
		{"combined", "a", map[string][]byte{"__model__": []byte("none")}, nil},
		{"nothing", "a", nil, format.ErrOption},
	} {
		ms := slices.Clone(two)
		ms[0].Name = c.rename
		o := format.Options{Set: map[string]string{"layout": c.layout}, Files: c.files}
		b := &blob.Mem{}
		w, err := Codec.Create(ctx, b, "to", ms, o)
		if err == nil {
			w.Abort(ctx)
			t.Errorf("%s, matrix %q: no error", c.layout, c.rename)
		} else if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s, matrix %q: %v, want %v", c.layout, c.rename, err, c.want)
		}
		if infos, _ := b.List(ctx, ""); len(infos) > 0 {
			t.Errorf("%s, matrix %q: %s is left over", c.layout, c.rename, infos[0].Name)
		}
	}
}

// pageStream is the stream that the page about topologies shows.
const pageStream = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x08\x05\x10\x02\x00\x00\x80\x3f\x00\x00\x00\xc0"

// TestStreamPage holds the example of the page to what explain prints.
func TestStreamPage(t *testing.T) {
	b := &blob.Mem{}
	if err := blob.WriteAll(context.Background(), b, "fc_0.b_0", []byte(pageStream)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Codec.Explain(context.Background(), b, "fc_0.b_0", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/format/paddle-program.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```dump\n"+out.String()+"```") {
		t.Errorf("docs/format/paddle-program.md does not have\n%s", out.String())
	}
}

// FuzzStreams reads any bytes as a file of streams, without and with a topology that names two of them.
func FuzzStreams(f *testing.F) {
	f.Add([]byte(pageStream))
	f.Add([]byte(pageStream + pageStream))
	addOwn(f)
	for _, pattern := range []string{"stream/*", "bad/s_*", "bad/c_*", "model_linear/__params__"} {
		files, _ := filepath.Glob(filepath.Join(goldenDir, pattern))
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil {
				f.Add(data)
			}
		}
	}
	vars := []program.Var{{Name: "a", Persistable: true, Kind: program.VarType_DENSE_TENSOR}, {Name: "b", Persistable: true, Kind: program.VarType_DENSE_TENSOR}}
	p, err := program.Declare(vars, release)
	if err != nil {
		f.Fatal(err)
	}
	topology, err := p.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, b := context.Background(), &blob.Mem{}
		for file, content := range map[string][]byte{"alone/x": data, "model/__params__": data, "model/__model__": topology} {
			if err := blob.WriteAll(ctx, b, file, content); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"alone/x", "model", "model/__params__", "alone"} {
			var out bytes.Buffer
			_ = streams{}.Explain(ctx, b, path, dump.New(&out))
			dialect, _ := streams{}.Sniff(ctx, b, path)
			r, err := streams{}.Open(ctx, b, path, format.Options{})
			if dialect != "" && err != nil && !errors.Is(err, format.ErrVersion) {
				t.Fatalf("%s: sniffed as %q, but %v", path, dialect, err)
			}
			if err != nil {
				continue
			}
			sound(t, r)
			r.Close()
		}
	})
}
