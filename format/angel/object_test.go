package angel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// withObjects is a model of a matrix w that can be read and a matrix graph of Java objects.
func withObjects(t testing.TB, kind int) *blob.Mem {
	meta := strings.Replace(plainMeta("RowIdColIdValueTextRowFormat", itoa(kind), "3"), `"partMetas":{`,
		`"options":{"matrix.value.type.classname":"org.example.Node"},"partMetas":{`, 1)
	if !strings.Contains(meta, "org.example.Node") {
		t.Fatalf("no options in %s", meta)
	}
	const data = "1,1\n3,3\n0,10\n2,12\n"
	return bucketOf(t, map[string][]byte{
		"graph/_meta": []byte(meta), "graph/0": []byte("abc"),
		"w/_meta": []byte(plainMeta("ColIdValueTextRowFormat", "24", itoa(len(data)))), "w/0": []byte(data),
	})
}

// TestObjects opens a model with a matrix of Java objects: that is named, and the others are read.
func TestObjects(t *testing.T) {
	for _, kind := range matrix.RowTypes() {
		if !kind.Object() {
			continue
		}
		name := kind.String()
		b := withObjects(t, int(kind))
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ms := r.Matrices()
		if len(ms) != 2 || ms[0].Name != "graph" || ms[0].Attrs[attrRowType] != name || ms[0].Check() != nil {
			t.Fatalf("%s: matrices %+v", name, ms)
		}
		if got, err := values(r, ms[1], ms[1].Rect()); err != nil || len(got) != 4 {
			t.Errorf("%s: w has %v, %v", name, got, err)
		}
		_, err = values(r, ms[0], ms[0].Rect())
		if !isTyped(err, format.ErrVersion) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "org.example.Node") {
			t.Errorf("%s: %v, want an error that names the type and the class", name, err)
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, name+": values are Java objects of class org.example.Node") {
			t.Errorf("%s: notes %q", name, notes)
		}
		if problems, err := r.(format.Verifier).Verify(ctx); err != nil || len(problems) != 1 || !strings.Contains(problems[0], name) {
			t.Errorf("%s: problems %q, %v", name, problems, err)
		}
		err = format.Convert(ctx, r, Codec, &blob.Mem{}, "out", format.Options{}, []string{"w"}, nil)
		if err != nil {
			t.Errorf("%s: w alone: %v", name, err)
		}
	}
	if _, err := Codec.Open(ctx, withObjects(t, 33), "model", format.Options{}); !isTyped(err, format.ErrVersion) {
		t.Errorf("row type 33: %v", err)
	}
}

// TestArbitrary opens a model of 1.x with a matrix of a type that nobody describes.
func TestArbitrary(t *testing.T) {
	b := legacyModel(t)
	meta := everything(t, b)["model/d/meta"]
	at := 4 + 2 + 1 // behind id and name
	meta = slices.Concat(meta[:at], bytesOf(int32(5)), meta[at+4:])
	if err := blob.WriteAll(ctx, b, "model/d/meta", meta); err != nil {
		t.Fatal(err)
	}
	r, err := Codec.Open(ctx, b, "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, w := r.Matrices()[0], r.Matrices()[1]
	if got, err := values(r, w, w.Rect()); err != nil || !maps.Equal(got, legacyCells["w"]) {
		t.Errorf("w has %v, %v", got, err)
	}
	if _, err := values(r, d, d.Rect()); !isTyped(err, format.ErrVersion) || !strings.Contains(err.Error(), "T_INT_ARBITRARY") {
		t.Errorf("d: %v", err)
	}
}

// vectors are three nodes with vectors of two values, in two files, in no order.
func vectors(sep, inner string) map[string][]byte {
	line := func(id int, x, y string) string { return fmt.Sprintf("%d%s%s%s%s\n", id, sep, x, inner, y) }
	return map[string][]byte{"emb/0": []byte(line(7, "0.5", "-1.0E-4") + line(2, "1.5", "2.5")), "emb/3": []byte(line(5, "3.0", "4.0"))}
}

var vectorCells = map[cell]string{{0, 7}: "0.5", {1, 7}: "-0.0001", {0, 2}: "1.5", {1, 2}: "2.5", {0, 5}: "3", {1, 5}: "4"}

// TestNodeVectors reads the text that Angel's graph algorithms leave without metadata, with any of their separators.
func TestNodeVectors(t *testing.T) {
	signs := []string{":", " ", ",", "\t", `\|`}
	for _, sep := range signs {
		for _, inner := range signs {
			b := bucketOf(t, vectors(sep, inner))
			want, class := vectorCells, embeddingText.name
			if sep == inner {
				class = textColumn.name
			}
			dialect, err := Codec.Sniff(ctx, b, "model")
			if err != nil || dialect == "" {
				t.Errorf("%q, %q: sniffed as %q, %v", sep, inner, dialect, err)
			}
			r, err := Codec.Open(ctx, b, "model", format.Options{})
			if err != nil {
				t.Errorf("%q, %q: %v", sep, inner, err)
				continue
			}
			m := r.Matrices()[0]
			got, err := values(r, m, m.Rect())
			if err != nil || !maps.Equal(got, want) || m.Rows != 2 || m.Cols != 8 {
				t.Errorf("%q, %q: got %v, %v of %+v", sep, inner, got, err, m)
			}
			if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, "taken as "+class) {
				t.Errorf("%q, %q: notes %q", sep, inner, notes)
			}
			r.(*reader).stored[0].limit = 8 // a column at a time
			if got, err := values(r, m, m.Rect()); err != nil || !maps.Equal(got, want) {
				t.Errorf("%q, %q in small blocks: got %v, %v", sep, inner, got, err)
			}
			var out blob.Mem
			if err := format.Convert(ctx, r, Codec, &out, "model", format.Options{}, nil, nil); err != nil {
				t.Errorf("%q, %q: %v", sep, inner, err)
			} else if back, err := attempt(&out); err != nil || !maps.Equal(back["emb"], want) {
				t.Errorf("%q, %q: written and read as %v, %v", sep, inner, back, err)
			}
		}
	}
	set := format.Options{Set: map[string]string{optFormat: embeddingText.name}}
	var out blob.Mem
	r, err := Codec.Open(ctx, bucketOf(t, vectors(":", " ")), "model", set)
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Convert(ctx, r, Codec, &out, "model", set, nil, nil); !errors.Is(err, format.ErrVersion) {
		t.Errorf("writing it: %v, want that it is only read", err)
	}
}

// TestNodeVectorsWithMetadata reads vectors beside metadata that speak of objects.
func TestNodeVectorsWithMetadata(t *testing.T) {
	files := vectors(":", " ")
	files["emb/_meta"] = []byte(plainMeta("org.example.line.TextLINEModelOutputFormat", "29", "3"))
	b := bucketOf(t, files)
	got, err := attempt(b)
	if err != nil || !maps.Equal(got["w"], vectorCells) && !maps.Equal(got["emb"], vectorCells) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestBrokenNodeVectors cuts and changes such text: the right values or typed errors.
func TestBrokenNodeVectors(t *testing.T) {
	for _, bad := range []string{"7:0.5 1\n2:1.5\n", "7:0.5 1\n2:1.5 2 3\n", "7:0.5 1\n2;1.5 2\n", "7:0.5 1\nx:1.5 2\n", "7:0.5 1\n7:1.5 2\n", "7:0.5 1\n2:1.5,2\n"} {
		got, err := attempt(bucketOf(t, map[string][]byte{"emb/0": []byte(bad)}))
		if !isTyped(err, sentinels...) {
			t.Errorf("%q: got %v, %v", bad, got, err)
		}
	}
}
