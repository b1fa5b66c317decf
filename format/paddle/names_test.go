package paddle

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/safetensors"
	"thole.example/matrix"
)

// nameless is a file of n streams without names, of which each holds its number.
func nameless(n int) []byte {
	var data []byte
	for i := range n {
		one := []byte(pageStream)
		one[len(one)-8], one[len(one)-7] = byte(i), byte(i>>8) // a value of its own
		data = append(data, one...)
	}
	return data
}

// convertTo converts a path of the bucket.
func convertTo(t *testing.T, b blob.Bucket, from format.Codec, src string, to format.Codec, dst string, o format.Options) error {
	t.Helper()
	r, err := from.Open(t.Context(), b, src, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return format.Convert(t.Context(), r, to, b, dst, o, nil, nil)
}

// TestNameless writes files without names again, at once and by way of files that keep the names that were invented: the
// same bytes. Where nothing has a name of its own, no name is lost.
func TestNameless(t *testing.T) {
	stream := map[string]string{"layout": "stream"}
	for _, n := range []int{1, 2, 10, 11, 100, 101, 1001} {
		data := nameless(n)
		b := fill(t, map[string][]byte{"m.pdiparams": data})
		same := func(file string) {
			t.Helper()
			if got, err := blob.ReadAll(t.Context(), b, file, 1<<20); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d tensors: %s has other bytes, %v", n, file, err)
			}
		}
		strict := format.Options{Set: stream, Lost: func(what string) { t.Errorf("%d tensors: lost %s", n, what) }}
		if err := convertTo(t, b, Codec, "m.pdiparams", Codec, "again.pdiparams", strict); err != nil {
			t.Errorf("%d tensors: %v", n, err)
		}
		same("again.pdiparams")
		lossy := format.Options{Set: stream, Lossy: true}
		if err := convertTo(t, b, Codec, "m.pdiparams", safetensors.Codec, "m.safetensors", format.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := convertTo(t, b, safetensors.Codec, "m.safetensors", Codec, "st.pdiparams", lossy); err != nil {
			t.Fatal(err)
		}
		same("st.pdiparams")
		for _, layout := range []string{"seed004", "separate", "combined"} {
			to := layout + "/m"
			if err := convertTo(t, b, Codec, "m.pdiparams", Codec, to, format.Options{Set: map[string]string{"layout": layout}}); err != nil {
				t.Fatal(err)
			}
			if err := convertTo(t, b, Codec, to, Codec, layout+".pdiparams", lossy); err != nil {
				t.Fatal(err)
			}
			same(layout + ".pdiparams")
		}
	}
}

// TestStoredNamesOrder checks that names that a file has decide the order of a file that has none, as Paddle writes it, and
// are a loss.
func TestStoredNamesOrder(t *testing.T) {
	two := []matrix.Meta{{Name: "b", Rows: 1, Cols: 1, DType: matrix.F32}, {Name: "a", Rows: 1, Cols: 1, DType: matrix.F32}}
	for _, c := range []struct {
		unnamed []bool
		want    string
		lost    int
	}{
		{[]bool{false, false}, "[a b]", 1},
		{[]bool{true, false}, "[a b]", 1},
		{[]bool{true, true}, "[b a]", 0},
	} {
		ms := slices.Clone(two)
		ms[0].Unnamed, ms[1].Unnamed = c.unnamed[0], c.unnamed[1]
		lost := 0
		o := format.Options{Set: map[string]string{"layout": "stream"}, Lossy: true, Lost: func(string) { lost++ }}
		w, err := Codec.Create(t.Context(), &blob.Mem{}, "w", ms, o)
		if err != nil {
			t.Fatal(err)
		}
		w.Abort(t.Context())
		var order []string
		for _, m := range inOrder(ms) {
			order = append(order, m.Name)
		}
		if lost != c.lost || fmt.Sprint(order) != c.want {
			t.Errorf("unnamed %v: %v, %d losses, want %s, %d", c.unnamed, order, lost, c.want, c.lost)
		}
	}
}

// TestUnnamed says of which files the names are stored.
func TestUnnamed(t *testing.T) {
	pickle := func(file string) []byte {
		data, err := os.ReadFile("testdata/pickle/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const eleven = "[00 01 02 03 04 05 06 07 08 09 10]"
	for what, c := range map[string]struct {
		path    string
		files   map[string][]byte
		names   string
		unnamed bool
	}{
		"stream":   {"w", map[string][]byte{"w": []byte(pageStream)}, "[w]", true},
		"ending":   {"w.params", map[string][]byte{"w.params": []byte(pageStream)}, "[w]", true},
		"streams":  {"w", map[string][]byte{"w": nameless(2)}, "[tensor_0 tensor_1]", true},
		"folder":   {"m", map[string][]byte{"m/w": []byte(pageStream)}, "[w]", false},
		"v2":       {"w", map[string][]byte{"w": []byte(v2File(0, 4, 2))}, "[w]", true},
		"rows":     {"w", map[string][]byte{"w": rowsFile([]int{1}, 3, []int64{1, 2}, 2)}, "[w]", true},
		"row file": {"m", map[string][]byte{"m/w": rowsFile([]int{1}, 3, []int64{1, 2}, 2)}, "[w]", false},
		"array":    {"w", map[string][]byte{"w": pickle("array_p4.pdparams")}, "[w]", true},
		"list":     {"w", map[string][]byte{"w": pickle("list_p2.pdparams")}, eleven, false},
		"numbers":  {"w", map[string][]byte{"w": pickle("numbers_p4.pdparams")}, eleven, false},
	} {
		r := openPath(t, fill(t, c.files), c.path)
		if got := fmt.Sprint(namesOf(r)); got != c.names {
			t.Errorf("%s: %s, want %s", what, got, c.names)
		}
		for _, m := range r.Matrices() {
			if m.Unnamed != c.unnamed {
				t.Errorf("%s: %s is unnamed: %v, want %v", what, m.Name, m.Unnamed, c.unnamed)
			}
		}
	}
}
