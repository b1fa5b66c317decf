package paddle

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// pirText is the topology of y = relu(w) as release 3 writes it.
const pirText = `{"base_code":{"magic":"pir","trainable":true,"version":1},"program":{"regions":[{"#":"region_0","blocks":[{
"#":"block_0","args":[],"ops":[
{"#":"p","A":[0,1,1,"w"],"DA":[],"I":[],"O":{"%":1,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[2],"NCHW",[],0]}},"OA":[1,0,1],"QA":[]},
{"#":"1.relu","A":[],"I":[{"%":1}],"O":[{"%":2,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[2],"NCHW",[],0]}}]},
{"#":"1.fetch","A":[{"AT":{"#":"0.a_str","D":"y"},"N":"name"},{"AT":{"#":"0.a_i32","D":0},"N":"col"}],
 "I":[{"%":2}],"O":[{"%":3,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[2],"NCHW",[],0]}}]}
]}]}]}}`

// networkOf is a topology with an operator on the first of the parameters.
func networkOf(t *testing.T, params ...program.Var) []byte {
	t.Helper()
	vars := append(slices.Clone(params), program.Var{Name: "y", Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: 5, Dims: []int64{2}})
	relu := program.Op{Type: "relu", In: []program.Slot{{Name: "X", Args: []string{params[0].Name}}}, Out: []program.Slot{{Name: "Out", Args: []string{"y"}}}}
	p, err := program.New([]program.Block{{Parent: -1, Vars: vars, Ops: []program.Op{relu}}}, release)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// param is a parameter of floats.
func param(name string, dims ...int64) program.Var {
	return program.Var{Name: name, Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: 5, Dims: dims, Persistable: true, Parameter: true}
}

// filesIn are the names and contents of a folder.
func filesIn(t *testing.T, b blob.Bucket, dir string) map[string][]byte {
	t.Helper()
	infos, err := b.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, i := range infos {
		if files[strings.TrimPrefix(i.Name, dir+"/")], err = blob.ReadAll(t.Context(), b, i.Name, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestTopologyKept converts models to folders of every layout: the topology stays as it is, with the parameters in the files
// in which Paddle looks for them.
func TestTopologyKept(t *testing.T) {
	desc, stream := networkOf(t, param("w", -1)), []byte(pageStream)
	for what, c := range map[string]struct {
		path               string
		files              map[string][]byte
		topology, combined string
	}{
		"__model__":        {"m", map[string][]byte{"m/__model__": desc, "m/__params__": stream}, "__model__", "__params__"},
		"__model__ params": {"m", map[string][]byte{"m/__model__": desc, "m/params": stream}, "__model__", "__params__"},
		"separate":         {"m", map[string][]byte{"m/__model__": desc, "m/w": stream}, "__model__", "__params__"},
		"pdmodel":          {"m", map[string][]byte{"m/x.pdmodel": desc, "m/x.pdiparams": stream}, "x.pdmodel", "x.pdiparams"},
		"pdmodel file":     {"m/x.pdmodel", map[string][]byte{"m/x.pdmodel": desc, "m/x.pdiparams": stream}, "x.pdmodel", "x.pdiparams"},
		"PIR":              {"m", map[string][]byte{"m/x.json": []byte(pirText), "m/x.pdiparams": stream}, "x.json", "x.pdiparams"},
		"PIR file":         {"m/x.json", map[string][]byte{"m/x.json": []byte(pirText), "m/x.pdiparams": stream}, "x.json", "x.pdiparams"},
		"another name":     {"m/net", map[string][]byte{"m/net": desc, "m/__params__": stream}, "__model__", "__params__"},
		"others": {"m", map[string][]byte{"m/__model__": desc, "m/__params__": stream, "m/x.pdmodel": desc, "m/README": {1}}, "__model__",
			"__params__"},
	} {
		for layout, params := range map[string]string{"combined": c.combined, "separate": "w"} {
			b := fill(t, c.files)
			o := format.Options{Set: map[string]string{"layout": layout}, Lost: func(text string) { t.Errorf("%s: lost %s", what, text) }}
			if err := convertTo(t, b, Codec, c.path, Codec, "to", o); err != nil {
				t.Errorf("%s as %s: %v", what, layout, err)
				continue
			}
			got := filesIn(t, b, "to")
			from := path.Base(c.path)
			if c.files["m/"+from] == nil {
				from = c.topology
			}
			if !bytes.Equal(got[c.topology], c.files["m/"+from]) || !bytes.Equal(got[params], stream) {
				t.Errorf("%s as %s: %v, want the topology as %s, the parameters as %s", what, layout, slices.Sorted(maps.Keys(got)), c.topology, params)
			}
			m, err := program.Load(t.Context(), b, "to")
			if err != nil || path.Base(m.Path) != c.topology {
				t.Errorf("%s as %s: %v, want %s", what, layout, err, c.topology)
			}
			if text := describe(t, openPath(t, b, "to")); text != "w [2] f32 [1 -2]" {
				t.Errorf("%s as %s: holds %s", what, layout, text)
			}
		}
	}
}

// TestTopologyLost writes matrices that are not the parameters of the topology that came with them: refused, and with leave
// written without it.
func TestTopologyLost(t *testing.T) {
	rows := param("w", 2)
	rows.Kind = program.VarType_SELECTED_ROWS
	double := param("w", 2)
	double.Elem = 6
	for what, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"more":    {map[string][]byte{"__model__": networkOf(t, param("w", 2), param("v", 2))}, "has 2 parameters, not the 1 matrices"},
		"other":   {map[string][]byte{"x.pdmodel": networkOf(t, param("v", 2))}, `has a parameter "v" and no "w"`},
		"shape":   {map[string][]byte{"x.pdmodel": networkOf(t, param("w", 3))}, `parameter "w": it has shape [2], want [3]`},
		"type":    {map[string][]byte{"x.pdmodel": networkOf(t, double)}, "element type f32, want f64"},
		"rows":    {map[string][]byte{"x.pdmodel": networkOf(t, rows)}, "is of kind SELECTED_ROWS, not DENSE_TENSOR"},
		"damaged": {map[string][]byte{"__model__": networkOf(t, param("w", 2))[:20]}, "the topology: "},
		"none":    {map[string][]byte{"__model__": []byte("none")}, "the topology: "},
		"two":     {map[string][]byte{"a.pdmodel": networkOf(t, param("w", 2)), "b.pdmodel": networkOf(t, param("w", 2))}, "2 topologies"},
		"PIR":     {map[string][]byte{"x.json": []byte(strings.Replace(pirText, `"w"`, `"v"`, 1))}, `has a parameter "v" and no "w"`},
	} {
		for _, layout := range []string{"combined", "separate"} {
			b := fill(t, map[string][]byte{"w": []byte(pageStream)})
			files := maps.Clone(c.files)
			files["README"] = []byte("text")
			o := format.Options{Set: map[string]string{"layout": layout}, Files: files}
			err := convertTo(t, b, Codec, "w", Codec, "to", o)
			if !errors.Is(err, format.ErrLossy) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s as %s: %v, want ErrLossy with %q", what, layout, err, c.want)
			}
			if infos, _ := b.List(t.Context(), ""); len(infos) != 1 {
				t.Errorf("%s as %s: %v is left over", what, layout, infos)
			}
			var lost []string
			o.Lossy, o.Lost = true, func(text string) { lost = append(lost, text) }
			if err := convertTo(t, b, Codec, "w", Codec, "to", o); err != nil || len(lost) != 1 {
				t.Errorf("%s as %s: %v, lost %q, want the topology", what, layout, err, lost)
				continue
			}
			r := openPath(t, b, "to")
			if text := describe(t, r); text != "w [2] f32 [1 -2]" || string(r.Files()["README"]) != "text" {
				t.Errorf("%s as %s: holds %s, files %v", what, layout, text, slices.Sorted(maps.Keys(r.Files())))
			}
		}
	}
}

// TestFilesBeside writes folders with other files, which a reader must not take for variables.
func TestFilesBeside(t *testing.T) {
	opt, err := os.ReadFile("testdata/pickle/opt_p4.pdopt")
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []string{"separate", "combined"} {
		b := fill(t, map[string][]byte{"m.pdopt": opt})
		o := format.Options{Set: map[string]string{"layout": layout}, Lost: func(text string) { t.Errorf("%s: lost %s", layout, text) }}
		if err := convertTo(t, b, Codec, "m.pdopt", Codec, "to", o); err != nil {
			t.Fatal(err)
		}
		r := openPath(t, b, "to")
		if got := string(r.Files()[plainFile]); got != optValues {
			t.Errorf("%s: plain values are %s", layout, got)
		}
		names := namesOf(r)
		slices.Sort(names)
		if want := []string{"linear_0.w_0_moment1_0", "master_weights/linear_0.w_0"}; !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", layout, names, want)
		}
	}
	for _, c := range []struct{ layout, file string }{{"combined", combinedFile}, {"combined", "large"}, {"separate", "large"}} {
		lost := ""
		files := map[string][]byte{combinedFile: {1}, "large": make([]byte, int(format.FileLimit("large"))+1)}
		o := format.Options{Set: map[string]string{"layout": c.layout}, Lossy: true, Lost: func(text string) { lost += text },
			Files: map[string][]byte{c.file: files[c.file]}}
		b := fill(t, map[string][]byte{"w": []byte(pageStream)})
		if err := convertTo(t, b, Codec, "w", Codec, "to", o); err != nil || !strings.HasPrefix(lost, "file "+c.file) {
			t.Errorf("%s, file %s: %v, lost %q", c.layout, c.file, err, lost)
		}
		openPath(t, b, "to")
	}
}

// TestLargeTopology keeps a topology that is larger than other files beside parameters may be.
func TestLargeTopology(t *testing.T) {
	v := param("w", 2)
	long := program.Var{Name: strings.Repeat("x", int(format.FileLimit("large"))), Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: 5, Dims: []int64{2}}
	p, err := program.Declare([]program.Var{v, long}, release)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b := fill(t, map[string][]byte{"m/__model__": data, "m/w": []byte(pageStream), "m/large": make([]byte, int(format.FileLimit("large"))+1)})
	r := openPath(t, b, "m")
	if !bytes.Equal(r.Files()["__model__"], data) || r.Files()["large"] != nil || !strings.Contains(strings.Join(r.Notes(), "\n"), "m/large left out") {
		t.Errorf("%d files, notes %q", len(r.Files()), r.Notes())
	}
	if err := convertTo(t, b, Codec, "m", Codec, "to", format.Options{Set: map[string]string{"layout": "combined"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := blob.ReadAll(context.Background(), b, "to/__model__", 1<<30); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes of topology, %v, want %d", len(got), err, len(data))
	}
}

// TestNamesApart refuses names of which one would be a folder of another.
func TestNamesApart(t *testing.T) {
	ms := []matrix.Meta{{Name: "a", Rows: 1, Cols: 1, DType: matrix.F32}, {Name: "a/b", Rows: 1, Cols: 1, DType: matrix.F32}}
	b := &blob.Mem{}
	w, err := Codec.Create(t.Context(), b, "to", ms, format.Options{Set: map[string]string{"layout": "separate"}})
	if err == nil {
		w.Abort(t.Context())
		t.Error("no error")
	}
	if infos, _ := b.List(t.Context(), ""); len(infos) > 0 {
		t.Errorf("%s is left over", infos[0].Name)
	}
}
