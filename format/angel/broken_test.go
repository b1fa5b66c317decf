package angel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// isTyped reports whether an error says where it was found and wraps one of the given sentinels.
func isTyped(err error, any ...error) bool {
	var where *format.Error
	if !errors.As(err, &where) {
		return false
	}
	for _, want := range any {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

var sentinels = []error{format.ErrCorrupt, format.ErrVersion, format.ErrLimit, format.ErrLossy, format.ErrUnknown}

// attempt reads everything at the path model.
func attempt(b blob.Bucket) (map[string]map[cell]string, error) {
	all := map[string]map[cell]string{}
	r, err := Codec.Open(ctx, b, "model", format.Options{})
	if err != nil {
		return nil, err
	}
	for _, m := range r.Matrices() {
		if all[m.Name], err = values(r, m, m.Rect()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// smallGoldens are small models of all kinds.
var smallGoldens = []string{
	"BinaryColumnFormat", "ColIdValueBinaryRowFormat", "TextColumnFormat", "document", "hash", "psmeta", "release_1_5", "release_3_2_0",
	"generated-master/matrix/T_FLOAT_DENSE/ValueTextRowFormat",
	"generated-master/matrix/T_FLOAT_DENSE/BinaryColumnFormat",
	"generated-master/matrix/T_DOUBLE_SPARSE_LONGKEY/ColIdValueTextRowFormat",
	"generated-master/matrix/T_LONG_SPARSE/RowIdColIdValueBinaryRowFormat",
	"generated-master/matrix/T_LONG_SPARSE/TextColumnFormat",
	"generated-master/cases/hash3_ColIdValueTextRowFormat",
	"generated-release-3.2.0/router_default/T_FLOAT_SPARSE/ColIdValueTextRowFormat",
	"generated-master/cases/snapshot_T_FLOAT_SPARSE",
	"generated-master/cases/snapshot_withmeta_T_DOUBLE_DENSE",
}

// TestEveryPrefix cuts every file at every byte: the right values or a typed error.
func TestEveryPrefix(t *testing.T) {
	for _, name := range present(smallGoldens...) {
		t.Run(name, func(t *testing.T) {
			b := copyOf(t, name)
			want, err := attempt(b)
			if err != nil {
				t.Fatal(err)
			}
			everyPrefix(t, b, want)
		})
	}
}

// TestEveryByte changes every byte of every file: no panic, and errors are typed. In what this package wrote, changes of
// the data are always found.
func TestEveryByte(t *testing.T) {
	for _, name := range present(smallGoldens...) {
		b := copyOf(t, name)
		everyByte(t, b, func(file string, i int, got map[string]map[cell]string, err error) {
			if err != nil && !isTyped(err, sentinels...) {
				t.Fatalf("%s: byte %d of %s: %v", name, i, file, err)
			}
		})
		var own blob.Mem
		src, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := format.Convert(ctx, src, Codec, &own, "model", format.Options{}, nil, nil); err != nil {
			t.Fatal(err)
		}
		everyByte(t, &own, func(file string, i int, got map[string]map[cell]string, err error) {
			if !strings.HasSuffix(file, "_meta") && !isTyped(err, format.ErrCorrupt) {
				t.Fatalf("%s: byte %d of %s: got %v, %v", name, i, file, got, err)
			}
		})
	}
}

func everyByte(t *testing.T, b blob.Bucket, f func(file string, i int, got map[string]map[cell]string, err error)) {
	t.Helper()
	for file, data := range everything(t, b) {
		for i := range data {
			for _, c := range []byte{data[i] ^ 1, data[i] ^ 0x80, '9', 0xff} {
				if c == data[i] {
					continue
				}
				changed := append([]byte(nil), data...)
				changed[i] = c
				if err := blob.WriteAll(ctx, b, file, changed); err != nil {
					t.Fatal(err)
				}
				got, err := attempt(b)
				f(file, i, got, err)
				if c == data[i]^1 {
					_ = Codec.Explain(ctx, b, "model", dump.New(discard{}))
				}
			}
		}
		if err := blob.WriteAll(ctx, b, file, data); err != nil {
			t.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestContradictions changes one thing of good metadata and wants an error that says what.
func TestContradictions(t *testing.T) {
	const data = "1,1\n3,3\n0,10\n2,12\n"
	good := plainMeta("ColIdValueTextRowFormat", "24", itoa(len(data)))
	if _, err := attempt(raw(t, good, data)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"row":"2"`, `"row":"02"`, "leading zeros"},
		{`"row":"2"`, `"row":2.5`, "want an integer"},
		{`"row":"2"`, `"row":-1`, "want 0.."},
		{`"row":"2"`, `"row":9999999999`, "want 0.."},
		{`"row":"2"`, `"row":1`, "within 1 rows"},
		{`"rowType":24`, `"rowType":28`, "T_ANY_INTKEY_DENSE"},
		{`"rowType":24`, `"rowType":99`, "row type 99"},
		{`"rowType":24`, `"rowType":21`, "dense row 0 has 2 elements"},
		{`"rowType":24,`, ``, "without rowType"},
		{`"formatClassName":`, `"formatClass":`, "without formatClassName"},
		{`ColIdValueTextRowFormat`, `my.Format`, "my.Format"},
		{`"fileName":"0"`, `"fileName":"7"`, `"7" is missing`},
		{`"fileName":"0"`, `"fileName":"../0"`, "a name within the folder"},
		{`"fileName":"0",`, ``, "without fileName"},
		{`"offset":0`, `"offset":3`, "begins at byte 3"},
		{`"length":18`, `"length":17`, "18 bytes, want 17"},
		{`"length":18`, `"length":1800`, "18 bytes, want 1800"},
		{`"length":18`, `"length":9223372036854775807,"offset":9223372036854775807`, "beyond int64"},
		{`"rowId":1`, `"rowId":0`, "described twice"},
		{`"rowId":1`, `"rowId":2`, "row 2, want one in"},
		{`"rowId":1,"elementNum":2`, `"rowId":1`, "without elementNum"},
		{`"rowId":1,"elementNum":2`, `"rowId":1,"elementNum":1`, "behind the 3 records"},
		{`"rowId":1,"elementNum":2`, `"rowId":1,"elementNum":3`, "18 bytes for 5 lines"},
		{`"rowId":1,"elementNum":2`, `"rowId":1,"elementNum":2000000000`, "elements in 4 columns"},
		{`"endCol":4`, `"endCol":3`, "column 3, want one in [0,3)"},
		{`"endCol":4`, `"endCol":-4`, "columns [0,-4)"},
		{`"saveColNum":2`, `"saveRowNum":1`, "saveRowNum is 1"},
		{`"partId":0,`, `"partId":-3,`, "want 0.."},
		{`}}}}}`, `}}},"1":{"partId":0,"startRow":0,"endRow":0,"fileName":"0","offset":18,"length":0}}}`, "described twice"},
		{`}}}}}`, `}}},"1":{"partId":1,"startRow":1,"endRow":2,"endCol":2,"fileName":"0","offset":18,"length":0}}}`, "overlaps"},
		{`}}}}}`, `}}}}} x`, "behind the end"},
		{`[1,{"a":null}]`, strings.Repeat("[", 1000) + strings.Repeat("]", 1000), "nested deeper"},
	} {
		changed := strings.Replace(good, c.old, c.new, 1)
		if changed == good {
			t.Errorf("%s is not in the metadata", c.old)
		}
		_, err := attempt(raw(t, changed, data))
		if !isTyped(err, format.ErrCorrupt, format.ErrVersion) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s instead of %s: %v, want an error with %q", c.new, c.old, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"3,3", "3,x", `line "3,x"`}, {"3,3", "3;3", `line "3;3"`}, {"3,3", "1,3", "twice"}, {"3,3", "9,3", "column 9"},
		{"3,3", ",33", `line ",33"`}, {"1,1\n", "abc\n", "an integer and a separator"},
	} {
		_, err := attempt(raw(t, good, strings.Replace(data, c.old, c.new, 1)))
		if !isTyped(err, format.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s instead of %s: %v, want an error with %q", c.new, c.old, err, c.want)
		}
	}
}

// TestUnknownFormat lists a matrix in a format of a user and refuses only its values.
func TestUnknownFormat(t *testing.T) {
	r, err := Codec.Open(ctx, raw(t, plainMeta("of.a.User", "24", "3"), "abc"), "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrices()[0]
	if m.Rows != 2 || m.Cols != 4 || m.Attrs[attrFormat] != "of.a.User" {
		t.Errorf("matrix %+v", m)
	}
	if _, err := values(r, m, m.Rect()); !isTyped(err, format.ErrVersion) {
		t.Errorf("values: %v", err)
	}
	if _, err := Codec.Open(ctx, &blob.Mem{}, "model", format.Options{}); err == nil {
		t.Error("nothing opens")
	}
	for range r.Blocks(ctx, "no", m.Rect()) {
		return
	}
	t.Error("an unknown matrix gives no error")
}

func TestCancel(t *testing.T) {
	stopped, stop := context.WithCancel(ctx)
	stop()
	data := "1,1\n3,3\n0,10\n2,12\n"
	r, err := Codec.Open(ctx, raw(t, plainMeta("ColIdValueTextRowFormat", "24", itoa(len(data))), data), "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Blocks(stopped, "w", r.Matrices()[0].Rect()) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(plainMeta("ColIdValueTextRowFormat", "24", "18")))
	f.Add(metaFile(f, &matrixMeta{name: "w", class: "X", options: map[string]string{"a/b": "\u0001\"\\é"},
		parts: []partMeta{{file: "0", rowMetas: listRows(rowMeta{}), hasSum: true}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMeta(b, true)
		if err != nil {
			return
		}
		complete(m)
		again, err := parseMeta(metaFile(t, m), true)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if again.rows != m.rows || again.cols != m.cols || len(again.parts) != len(m.parts) {
			t.Fatalf("got %+v, want %+v", again, m)
		}
		_, _ = attempt(raw(t, string(b), "0,1\n1,2\n"))
	})
}

// complete sets what the metadata did not say.
func complete(m *matrixMeta) {
	for i := range m.parts {
		p := &m.parts[i]
		p.saved = counts{max(0, p.saved.rows), max(0, p.saved.cols), max(0, p.saved.elems)}
		p.rowMetas.change(func(r rowMeta) rowMeta {
			r.id, r.n = max(0, r.id), max(0, r.n)
			return r
		})
	}
}

// FuzzRecords reads any bytes as records of every format and writes what was read: it must read as the same again.
func FuzzRecords(f *testing.F) {
	for i, l := range writable {
		r := &records[float32]{row: []int32{0, 1}, col: []int64{-3, 7}, val: []float32{0.5, 1e-4}, width: 1}
		f.Add(pairOf[float32](l).put(nil, style{sep: ","}, r), uint8(i), uint8(1), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, which, width uint8, last bool) {
		l := writable[int(which)%len(writable)]
		fuzzRecords[float64](t, l, b, width, last)
		fuzzRecords[float32](t, l, b, width, last)
		fuzzRecords[int64](t, l, b, width, last)
		fuzzRecords[int32](t, l, b, width, last)
	})
}

func fuzzRecords[T Number](t *testing.T, l *layout, b []byte, width uint8, last bool) {
	r := &records[T]{width: 1}
	if l.column {
		r.width = 1 + int(width)
	}
	s := style{sep: ",", long: width%2 == 1}
	pair := pairOf[T](l)
	used, err := pair.take(input{style: s, b: b, last: last}, r, 1000)
	if err != nil {
		return
	}
	n := len(r.val) / r.width
	if used > len(b) || l.text && n > len(b) || l.colID && len(r.col) != n {
		t.Fatalf("%s: %d records of %d bytes", l.name, n, used)
	}
	text := pair.put(nil, s, r)
	again := &records[T]{width: r.width}
	if used, err = pair.take(input{style: s, b: text, last: true}, again, 1000); err != nil || used != len(text) {
		t.Fatalf("%s: %q: %d bytes read again, %v", l.name, text, used, err)
	}
	if fmt.Sprint(again) != fmt.Sprint(r) {
		t.Fatalf("%s: got %v, want %v", l.name, again, r)
	}
}

// TestStrayData has a data file that no partition names: whose values would be lost without a word.
func TestStrayData(t *testing.T) {
	for _, c := range []struct {
		file, data string
		fails      bool
		warns      string
	}{
		{"7", "1,0.5\n", true, ""}, {"7", "", false, ""}, {"_SUCCESS", "", false, ""}, {"notes.txt", "of mine", false, "1 files that the metadata do not name"},
	} {
		b := own(t, "ColIdValueTextRowFormat")
		if err := blob.WriteAll(ctx, b, "model/input_weight/"+c.file, []byte(c.data)); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if c.fails {
			if !isTyped(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "model/input_weight/7") {
				t.Errorf("%s: got %v", c.file, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(format.Warnings(r.Notes()), "; "); !strings.Contains(got, c.warns) || (got == "") != (c.warns == "") {
			t.Errorf("%s: warnings %q", c.file, got)
		}
	}
}

// TestLostWhenSaved warns of what is certainly missing in a model that Angel saved.
func TestLostWhenSaved(t *testing.T) {
	for name, want := range map[string]string{
		"TextColumnFormat": "", "hash": "", "release_3_2_0": "repaired",
		"generated-master/cases/empty_row0_TextColumnFormat":                    "at least 1 values were lost",
		"generated-master/cases/uneven_rows_ColIdValueTextRowFormat":            "",
		"generated-master/matrix/T_FLOAT_DENSE/TextColumnFormat":                "",
		"generated-master/cases/rows20_block10_ColIdValueTextRowFormat":         "not listed in ascending order",
		"generated-master/cases/hash3_ColIdValueTextRowFormat":                  "",
		"generated-release-3.2.0/router_default/T_FLOAT_DENSE/TextColumnFormat": "repaired",
	} {
		if len(present(name)) == 0 {
			continue
		}
		r, err := Codec.Open(ctx, copyOf(t, name), "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(format.Warnings(r.Notes()), "; ")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: warnings %q, want %q", name, got, want)
		}
	}
}

// TestOrphans has a matrix that lost its metadata beside one that has them: it is left out with a warning, and verify fails.
func TestOrphans(t *testing.T) {
	b := own(t, "release_3_1")
	for _, n := range metaNames {
		if err := b.Remove(ctx, "model/input_bias/"+n); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Codec.Open(ctx, b, "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "input_bias: data files without metadata"
	if got := strings.Join(format.Warnings(r.Notes()), "; "); len(r.Matrices()) != 1 || !strings.Contains(got, want) {
		t.Errorf("%d matrices, warnings %q", len(r.Matrices()), got)
	}
	if got, err := r.(format.Verifier).Verify(ctx); err != nil || len(got) == 0 || got[len(got)-1] != want {
		t.Errorf("problems %q, %v", got, err)
	}
}
