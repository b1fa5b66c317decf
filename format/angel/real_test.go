package angel

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// readAll reads every matrix of a folder and gives their values by name.
func readAll(t *testing.T, r format.Reader) map[string]map[cell]string {
	t.Helper()
	all := map[string]map[cell]string{}
	for _, m := range r.Matrices() {
		got, err := values(r, m, m.Rect())
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		all[m.Name] = got
	}
	return all
}

func TestServingLR(t *testing.T) {
	r := openDir(t, needGolden(t, "real/serving-lr"), nil)
	ms := r.Matrices()
	if len(ms) != 2 || ms[0].Name != "input_bias" || ms[1].Name != "input_weight" {
		t.Fatalf("matrices %v", ms)
	}
	w := ms[1]
	if w.Rows != 3 || w.Cols != 123 || w.ColLo != 0 || w.DType != matrix.F32 || w.Layout != matrix.RowSparse || w.Saved != nil {
		t.Errorf("input_weight is %+v", w)
	}
	if w.Attrs[attrRowType] != "T_FLOAT_SPARSE" || w.Attrs[attrFormat] != colIDValueText.className() {
		t.Errorf("attributes %v", w.Attrs)
	}
	all := readAll(t, r)
	if len(all["input_weight"]) != 3*123 || all["input_bias"][cell{0, 0}] != "-0.073112495" {
		t.Errorf("%d weights, bias %v", len(all["input_weight"]), all["input_bias"])
	}
	for c, want := range map[cell]string{{0, 0}: "-1.3820986", {0, 1}: "-0.40434486", {0, 2}: "0.170689", {2, 122}: "0"} {
		if got := all["input_weight"][c]; got != want {
			t.Errorf("weight %v is %q, want %q", c, got, want)
		}
	}
	if !bytes.Contains(r.Files()["graph.json"], []byte(`"layers"`)) {
		t.Errorf("files %v", slicesOf(r.Files()))
	}
	for b, err := range r.Blocks(ctx, "input_weight", w.Rect()) {
		if _, dense := b.Data.(*matrix.Dense[float32]); err != nil || !dense {
			t.Errorf("sparse rows that are stored dense are %T, %v", b.Data, err)
		}
	}
}

func slicesOf(m map[string][]byte) (names []string) {
	for n := range m {
		names = append(names, n)
	}
	return names
}

// TestSideFiles reads a folder with the side files of a local file system and of saves that did not end.
func TestSideFiles(t *testing.T) {
	b := own(t, "release_3_1")
	for _, n := range []string{"_tmp.input_weight/meta", "_final.x/w/_meta", "input_bias/_tmp.0", ".graph.json.crc"} {
		if err := blob.WriteAll(ctx, b, "model/"+n, []byte("{")); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Codec.Open(ctx, b, "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Matrices()) != 2 || len(r.Files()) != 1 || len(readAll(t, r)["input_weight"]) != 4 {
		t.Errorf("matrices %v, files %v", r.Matrices(), slicesOf(r.Files()))
	}
	for _, n := range r.Notes() {
		if strings.Contains(n, "do not name") {
			t.Errorf("note %q", n)
		}
	}
}

// copyOf is a golden folder in memory, at the path model: one that Angel wrote, or of this package.
func copyOf(t testing.TB, name string) *blob.Mem {
	t.Helper()
	if !strings.Contains(name, "/") {
		return own(t, name)
	}
	root := needGolden(t, name)
	b := &blob.Mem{}
	err := filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		return blob.WriteAll(ctx, b, "model/"+filepath.ToSlash(rel), data)
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCRLF reads data files whose line ends were changed after the save, so that offsets and lengths disagree.
func TestCRLF(t *testing.T) {
	for _, name := range present("release_3_1", "RowIdColIdValueTextRowFormat", "TextColumnFormat", "ValueTextRowFormat",
		"real/serving-lr", "generated-master/matrix/T_FLOAT_SPARSE/ColIdValueTextRowFormat",
		"generated-master/matrix/T_LONG_SPARSE/TextColumnFormat", "generated-master/matrix/T_INT_DENSE/ValueTextRowFormat") {
		b := copyOf(t, name)
		want, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		values := readAll(t, want)
		changed := 0
		for file, data := range everything(t, b) {
			if base := filepath.Base(file); base != "0" {
				continue
			}
			changed++
			if err := blob.WriteAll(ctx, b, file, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for m, got := range readAll(t, r) {
			if !maps.Equal(got, values[m]) {
				t.Errorf("%s: %s: got %v, want %v", name, m, got, values[m])
			}
		}
		if !strings.Contains(strings.Join(r.Notes(), "\n"), "CRLF") || changed == 0 {
			t.Errorf("%s: notes %q", name, r.Notes())
		}
	}
}

func TestDeepFM(t *testing.T) {
	r := openDir(t, needGolden(t, "real/serving-deepfm"), nil)
	all := readAll(t, r)
	if len(all) != 9 || r.Files()["graph.json"] == nil {
		t.Errorf("%d matrices, files %v", len(all), slicesOf(r.Files()))
	}
	m, err := format.Find(r, "embedding_embedding")
	if err != nil {
		t.Fatal(err)
	}
	if m.Cols != 148 || savedCount(&m) != 8 || m.Rows <= 8 || len(all[m.Name]) != 8*148 {
		t.Errorf("embedding is %+v with %d values", m, len(all[m.Name]))
	}
}

func TestLongKeys(t *testing.T) {
	r := openDir(t, needGolden(t, "real/mlcore-lr-longkey-3part"), nil)
	m, err := format.Find(r, "input_weight")
	if err != nil {
		t.Fatal(err)
	}
	if m.Cols != 2147483657 || m.Layout != matrix.RowSparse || len(readAll(t, r)[m.Name]) == 0 {
		t.Errorf("input_weight is %+v", m)
	}
}

func TestVersion1(t *testing.T) {
	r := openDir(t, needGolden(t, "real/v1.5.1-lr"), nil)
	if all := readAll(t, r); len(all) == 0 || len(all[r.Matrices()[0].Name]) != 123 {
		t.Errorf("matrices %+v", r.Matrices())
	}
}

// TestSlots reads a matrix whose optimizer rows were not saved and whose options need escapes.
func TestSlots(t *testing.T) {
	r, err := Codec.Open(ctx, own(t, "slots"), "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrices()[0]
	if m.Name != "w" || m.Rows != 3 || len(m.Saved) != 1 || m.Saved[0] != (matrix.Range{Lo: 0, Hi: 1}) {
		t.Errorf("matrix %+v", m)
	}
	if m.Attrs["note"] != "größe \"q\" \\ \t x" || m.Attrs["matrix.save.path"] != "hdfs://nn:9000/model/w" {
		t.Errorf("attributes %q", m.Attrs)
	}
	if m.BlockCols != 100 {
		t.Errorf("block columns %d, want 100", m.BlockCols)
	}
	for b, err := range r.Blocks(ctx, m.Name, matrix.At(1, 3, 0, 5)) {
		t.Errorf("rows that are not saved give %v, %v", b, err)
	}
}

// TestWriteBack reads what Angel wrote, or what is like it, writes it, and finds the same values.
func TestWriteBack(t *testing.T) {
	for _, name := range append(truths(t), present(smallGoldens...)...) {
		t.Run(name, func(t *testing.T) {
			src, err := Codec.Open(ctx, copyOf(t, name), "model", format.Options{Set: map[string]string{optPacked: "accept"}})
			if err != nil {
				t.Fatal(err)
			}
			m := src.Matrices()[0]
			var b blob.Mem
			err = format.Convert(ctx, src, Codec, &b, "model", format.Options{Lossy: true}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Codec.Open(ctx, &b, "model", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := back.Matrices()[0]
			if n.Attrs[attrRowType] != m.Attrs[attrRowType] || n.BlockRows != max(m.BlockRows, n.BlockRows) {
				t.Errorf("attributes %v, want %v", n.Attrs, m.Attrs)
			}
			want, err := values(src, m, m.Rect())
			if err != nil {
				t.Fatal(err)
			}
			got, err := values(back, n, n.Rect())
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestSameBytes writes matrices of Angel's test set again: the data are the bytes that Angel wrote.
func TestSameBytes(t *testing.T) {
	for _, kind := range []string{"T_FLOAT_DENSE", "T_INT_DENSE", "T_FLOAT_SPARSE", "T_LONG_SPARSE", "T_DOUBLE_SPARSE_LONGKEY"} {
		for _, l := range writable {
			dir := needGolden(t, "generated-master/matrix/"+kind+"/"+l.name)
			if strings.Contains(kind, "SPARSE") && !l.colID || l.name == "RowIdColIdValueTextRowFormat" && strings.Contains(kind, "DOUBLE") {
				continue
			}
			var b blob.Mem
			if err := format.Convert(ctx, openDir(t, dir, nil), Codec, &b, "model", format.Options{}, nil, nil); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join(dir, "0"))
			if err != nil {
				t.Fatal(err)
			}
			files := everything(t, &b)
			if got := append(bytes.Clone(files["model/m/0"]), files["model/m/1"]...); !bytes.Equal(got, want) {
				t.Errorf("%s %s: wrote %q, want %q", kind, l.name, got, want)
			}
		}
	}
}

func TestSniff(t *testing.T) {
	sniff := func(b blob.Bucket) string {
		t.Helper()
		dialect, err := Codec.Sniff(ctx, b, "model")
		if err != nil {
			t.Fatal(err)
		}
		return dialect
	}
	for name, want := range map[string]string{"real/serving-lr": "Angel 2.0 to 3.1",
		"generated-master/matrix/T_INT_DENSE": "Angel 3.2 or later",
		"release_1_5":                         "Angel 1.x",
		"release_3_1":                         "Angel 2.0 to 3.1",
		"ColIdValueTextRowFormat":             "Angel 3.2 or later",
		"psmeta":                              "snapshot of parameter servers"} {
		if len(present(name)) == 0 {
			continue
		}
		if got := sniff(copyOf(t, name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for data, want := range map[string]string{"{}": "", "": "", "\x00\x00\x00\x02{}": "", plainMeta("X", "7", "0"): "Angel 3.2 or later"} {
		if got := sniff(raw(t, data, "")); got != want {
			t.Errorf("%q is %q, want %q", data, got, want)
		}
	}
	if got := sniff(&blob.Mem{}); got != "" {
		t.Errorf("nothing is %q", got)
	}
}
