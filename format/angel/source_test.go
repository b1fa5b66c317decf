package angel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// bytesOf appends numbers in big-endian order, strings with two bytes of length, raw bytes as they are.
func bytesOf(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch v := p.(type) {
		case string:
			out = append(binary.BigEndian.AppendUint16(out, uint16(len(v))), v...)
		case []byte:
			out = append(out, v...)
		default:
			out, _ = binary.Append(out, binary.BigEndian, v)
		}
	}
	return out
}

// bucketOf holds files below the path model.
func bucketOf(t testing.TB, files map[string][]byte) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	for name, data := range files {
		if err := blob.WriteAll(ctx, b, "model/"+name, data); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// legacyModel is a sparse double matrix w of 1.x in two partitions of one file, and a dense float matrix d.
func legacyModel(t testing.TB) *blob.Mem {
	data := bytesOf(int32(2), int32(0), int32(2), int32(3), 0.5, int32(1), -1.25, int32(1), int32(0),
		int32(1), int32(1), int32(1), int32(4), 100.0)
	meta := bytesOf(int32(7), "w", int32(1), int32(2), int64(6), int32(2), int64(4), int32(1), "note", "a/b", int32(2),
		int32(0), int32(0), int32(2), int64(0), int64(4), int64(2), "ParameterServer_0_0", int64(0), int64(44), int32(2),
		int32(0), int64(4), int32(1), int64(36),
		int32(1), int32(0), int32(2), int64(4), int64(6), int64(1), "ParameterServer_0_0", int64(44), int64(24), int32(1),
		int32(1), int64(48))
	dense := bytesOf(int32(1), int32(0), float32(1), float32(2), float32(1e-4))
	denseMeta := bytesOf(int32(8), "d", int32(6), int32(1), int64(3), int32(1), int64(3), int32(0), int32(1),
		int32(0), int32(0), int32(1), int64(0), int64(3), int64(3), "ParameterServer_0_0", int64(0), int64(20), int32(1), int32(0), int64(4))
	return bucketOf(t, map[string][]byte{"w/meta": meta, "w/ParameterServer_0_0": data, "d/meta": denseMeta, "d/ParameterServer_0_0": dense})
}

var legacyCells = map[string]map[cell]string{
	"w": {{0, 1}: "-1.25", {0, 3}: "0.5", {1, 4}: "100"},
	"d": {{0, 0}: "1", {0, 1}: "2", {0, 2}: "0.0001"},
}

// csrModel is a matrix of three rows in Angel's CSR format; plain rows of the offsets, or one more.
func csrModel(t testing.TB, more bool) *blob.Mem {
	offsets := []any{int32(0), int32(2), int32(2)}
	if more {
		offsets = append(offsets, int32(3))
	}
	data := bytesOf(append(append([]any{int32(len(offsets))}, offsets...), int32(3), int32(5), int32(1), int32(2), int32(3), int32(7), int32(-8), int32(9))...)
	meta := fmt.Sprintf(`{"matrixName":"w","formatClassName":"%sBinaryCSRFormat","rowType":24,"row":3,"col":6,"blockRow":3,"blockCol":6,
"options":{"a":"b"},"partMetas":{"0":{"partId":0,"startRow":0,"endRow":3,"startCol":0,"endCol":6,"nnz":3,"saveRowNum":0,"fileName":"0",
"offset":0,"length":%d,"rowMetas":{}}}}`, classPath, len(data))
	return bucketOf(t, map[string][]byte{"w/_meta": []byte(meta), "w/0": data})
}

// TestEmptyCSR reads partitions in Angel's CSR format that have rows and no cell.
func TestEmptyCSR(t *testing.T) {
	b := csrModel(t, true)
	meta := string(everything(t, b)["model/w/_meta"])
	for _, offsets := range []int{3, 4} {
		data := bytesOf(int32(offsets))
		for range offsets + 2 {
			data = append(data, bytesOf(int32(0))...)
		}
		text := regexp.MustCompile(`"length":\d+`).ReplaceAllString(strings.Replace(meta, `"nnz":3`, `"nnz":0`, 1), fmt.Sprintf(`"length":%d`, len(data)))
		got, err := attempt(bucketOf(t, map[string][]byte{"w/_meta": []byte(text), "w/0": data}))
		if err != nil || len(got) != 1 || len(got["w"]) != 0 {
			t.Errorf("%d offsets: %v, %v, want no cell", offsets, got, err)
		}
	}
}

var csrCells = map[string]map[cell]string{"w": {{0, 1}: "-8", {0, 5}: "7", {2, 2}: "9"}}

// serverModel is a snapshot that two parameter servers left, with a sparse row and a dense one.
func serverModel(t testing.TB) *blob.Mem {
	part := func(id int32, cols int64, file string, rows ...int32) []byte {
		b := bytesOf(id, int32(0), int32(2), int64(id)*4, int64(id)*4+4, int64(0), int32(2), int32(0), int32(0), file, int64(0), cols, int32(2))
		for i := range 2 {
			b = append(b, bytesOf(int32(i), int64(0), rows[2*i], rows[2*i+1])...)
		}
		return b
	}
	return bucketOf(t, map[string][]byte{
		"ParameterServer_0/w/3/psmeta": bytesOf(int32(0), int32(1), part(0, 32, "0", 2, 1, 4, 0)),
		"ParameterServer_0/w/3/0":      bytesOf(int32(3), float32(0.5), int32(0), float32(2), float32(5), float32(6), float32(7), float32(8)),
		"ParameterServer_1/w/3/psmeta": bytesOf(int32(0), int32(1), part(1, 24, "1", 1, 1, 4, 0)),
		"ParameterServer_1/w/3/1":      bytesOf(int32(7), float32(-1), float32(9), float32(10), float32(11), float32(12)),
	})
}

var serverCells = map[string]map[cell]string{"w": {{0, 0}: "2", {0, 3}: "0.5", {0, 7}: "-1", {1, 0}: "5", {1, 1}: "6", {1, 2}: "7",
	{1, 3}: "8", {1, 4}: "9", {1, 5}: "10", {1, 6}: "11", {1, 7}: "12"}}

// TestSources reads models that this package does not write, all of them and in parts, and says what they are.
func TestSources(t *testing.T) {
	for what, c := range map[string]struct {
		b       *blob.Mem
		want    map[string]map[cell]string
		note    string
		dialect string
	}{
		"1.x":         {legacyModel(t), legacyCells, "habits of Angel 1.x", "Angel 1.x"},
		"CSR":         {csrModel(t, true), csrCells, "habits of Angel 3.2 or later", "Angel 3.2 or later"},
		"CSR, no end": {csrModel(t, false), csrCells, "BinaryCSRFormat", "Angel 3.2 or later"},
		"servers":     {serverModel(t), serverCells, "row type taken as T_FLOAT_SPARSE", "snapshot of parameter servers"},
	} {
		t.Run(what, func(t *testing.T) {
			if got, err := Codec.Sniff(ctx, c.b, "model"); err != nil || got != c.dialect {
				t.Errorf("sniffed as %q, %v", got, err)
			}
			got, err := attempt(c.b)
			if err != nil || !maps.EqualFunc(got, c.want, maps.Equal[map[cell]string]) {
				t.Fatalf("got %v, %v", got, err)
			}
			r, err := Codec.Open(ctx, c.b, "model", format.Options{})
			if err != nil || !strings.Contains(strings.Join(r.Notes(), "\n"), c.note) {
				t.Errorf("notes %q, %v", r.Notes(), err)
			}
			for _, m := range r.Matrices() {
				everyPart(t, r, m, c.want[m.Name])
			}
			if problems, err := r.(format.Verifier).Verify(ctx); len(problems) > 0 || err != nil {
				t.Errorf("problems %q, %v", problems, err)
			}
			if out := explained(t, c.b); !strings.Contains(out, "partition 0") {
				t.Errorf("explained as\n%s", out)
			}
			breakAll(t, c.b, c.want)
		})
	}
}

// everyPart reads every place of a small matrix.
func everyPart(t *testing.T, r format.Reader, m matrix.Meta, want map[cell]string) {
	t.Helper()
	for lo := range m.Rows {
		for hi := lo + 1; hi <= m.Rows; hi++ {
			for from := m.ColLo; from < m.ColLo+m.Cols; from++ {
				for to := from + 1; to <= m.ColLo+m.Cols; to++ {
					at := matrix.At(lo, hi, from, to)
					got, err := values(r, m, at)
					part := maps.Clone(want)
					maps.DeleteFunc(part, func(c cell, _ string) bool { return !at.Rows.Has(c.row) || !at.Cols.Has(c.col) })
					if err != nil || !maps.Equal(got, part) {
						t.Fatalf("%v: got %v, %v, want %v", at, got, err, part)
					}
				}
			}
		}
	}
}

// breakAll cuts every file at every byte and changes every byte: the right values or typed errors.
func breakAll(t *testing.T, b blob.Bucket, want map[string]map[cell]string) {
	t.Helper()
	everyPrefix(t, b, want)
	everyByte(t, b, func(file string, i int, _ map[string]map[cell]string, err error) {
		if err != nil && !isTyped(err, sentinels...) {
			t.Fatalf("byte %d of %s: %v", i, file, err)
		}
	})
}

// everyPrefix cuts every file at every byte: the right values or typed errors.
func everyPrefix(t *testing.T, b blob.Bucket, want map[string]map[cell]string) {
	t.Helper()
	for file, data := range everything(t, b) {
		for n := range data {
			if err := blob.WriteAll(ctx, b, file, data[:n]); err != nil {
				t.Fatal(err)
			}
			got, err := attempt(b)
			if err != nil && !isTyped(err, sentinels...) || err == nil && !maps.EqualFunc(got, want, maps.Equal[map[cell]string]) {
				t.Fatalf("%d bytes of %s: got %v, %v", n, file, got, err)
			}
		}
		if err := blob.WriteAll(ctx, b, file, data); err != nil {
			t.Fatal(err)
		}
	}
}

// bare is a golden matrix without its metadata, the values that it has, and what the metadata said.
func bare(t *testing.T, full *blob.Mem) (b *blob.Mem, want map[cell]string, m matrix.Meta) {
	t.Helper()
	r, err := Codec.Open(ctx, full, "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m = r.Matrices()[0]
	if want, err = values(r, m, m.Rect()); err != nil {
		t.Fatal(err)
	}
	for name := range everything(t, full) {
		if slices.Contains(metaNames, path.Base(name)) {
			if err := full.Remove(ctx, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return full, want, m
}

// TestWithoutMetadata reads golden files whose metadata are gone: what can be known from the data is found, the rest is
// said by options.
func TestWithoutMetadata(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]string
		note string
	}{
		{"RowIdColIdValueTextRowFormat", nil, "3 rows of T_FLOAT_SPARSE"},
		{"RowIdColIdValueBinaryRowFormat", map[string]string{"rowtype": "T_LONG_SPARSE"}, "RowIdColIdValueBinaryRowFormat"},
		{"TextColumnFormat", map[string]string{"rowtype": "T_DOUBLE_DENSE"}, "taken as TextColumnFormat"},
		{"BinaryColumnFormat", map[string]string{"format": "BinaryColumnFormat", "rowtype": "T_FLOAT_DENSE", "rows": "3"}, ""},
		{"tabs", map[string]string{"rowtype": "T_FLOAT_DENSE"}, ""},
		{"generated-master/matrix/T_FLOAT_DENSE/RowIdColIdValueTextRowFormat", nil, "2 rows of T_FLOAT_DENSE"},
		{"generated-master/matrix/T_FLOAT_SPARSE/RowIdColIdValueTextRowFormat", nil, "T_FLOAT_SPARSE"},
		{"generated-master/matrix/T_LONG_SPARSE/RowIdColIdValueTextRowFormat", nil, "all values are integers"},
		{"generated-master/matrix/T_FLOAT_DENSE/TextColumnFormat", nil, "taken as TextColumnFormat"},
		{"generated-master/matrix/T_INT_DENSE/TextColumnFormat", map[string]string{"rowtype": "T_INT_DENSE"}, "TextColumnFormat"},
		{"generated-master/matrix/T_DOUBLE_SPARSE_LONGKEY/RowIdColIdValueTextRowFormat", nil, "T_DOUBLE_SPARSE_LONGKEY"},
		{"generated-master/matrix/T_FLOAT_SPARSE/RowIdColIdValueBinaryRowFormat", nil, "ids of 4 and values of 4"},
		{"generated-master/matrix/T_FLOAT_DENSE/BinaryColumnFormat",
			map[string]string{"format": "BinaryColumnFormat", "rowtype": "T_FLOAT_DENSE", "rows": "2"}, ""},
		{"generated-master/cases/special_T_FLOAT_DENSE_ColIdValueTextRowFormat", map[string]string{"rowtype": "T_FLOAT_DENSE"}, ""},
		{"generated-master/cases/parts13_ps1", map[string]string{"format": "ValueBinaryRowFormat", "rowtype": "T_DOUBLE_DENSE"}, ""},
	} {
		if len(present(c.name)) == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b, want, _ := bare(t, copyOf(t, c.name))
			r, err := Codec.Open(ctx, b, "model", format.Options{Set: c.set})
			if err != nil {
				t.Fatal(err)
			}
			m := r.Matrices()[0]
			got, err := values(r, m, m.Rect())
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
			if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, c.note) || !strings.Contains(notes, "without metadata") {
				t.Errorf("notes %q", r.Notes())
			}
		})
	}
}

// TestGuessesThatFail are data of which nothing says what they are, and options that contradict them.
func TestGuessesThatFail(t *testing.T) {
	for what, c := range map[string]struct {
		data string
		set  map[string]string
	}{
		"values of unknown width":  {"\x01\x02\x03\x04\x05\x06\x07\x08", nil},
		"a row type that is none":  {"1,2\n", map[string]string{"rowtype": "T_SOME"}},
		"a width that is none":     {"1,2\n", map[string]string{"keywidth": "5"}},
		"no number of rows":        {"1,2\n", map[string]string{"rows": "-1"}},
		"no number of columns":     {"1,2\n", map[string]string{"cols": "x"}},
		"rows that cannot be told": {"1,2\n", map[string]string{"rows": "2"}},
		"twice the same column":    {"1,2\n1,3\n", nil},
		"too few columns":          {"1,2\n7,3\n", map[string]string{"cols": "3"}},
		"lines of another kind":    {"1,2\n1;2\n", map[string]string{"format": "ColIdValueTextRowFormat"}},
		"rows of unequal lengths":  {"1\n2\n3\n", map[string]string{"rows": "2"}},
		"nothing":                  {"", nil},
		"a value and more":         {"0\n0A", nil},
		"snapshot without counts":  {"abcd", map[string]string{"format": "SnapshotFormat"}},
		"doubles or ids":           {string(bytesOf(0.5, 1.5, 2.5, 3.5)), nil},
	} {
		t.Run(what, func(t *testing.T) {
			b := bucketOf(t, map[string][]byte{"w/0": []byte(c.data)})
			r, err := Codec.Open(ctx, b, "model", format.Options{Set: c.set})
			if err == nil {
				_, err = values(r, r.Matrices()[0], r.Matrices()[0].Rect())
			}
			if !isTyped(err, append(sentinels, format.ErrOption)...) {
				t.Errorf("got %v, want a typed error", err)
			}
		})
	}
	if got, err := Codec.Sniff(ctx, bucketOf(t, map[string][]byte{"w/0": []byte("\x00\x01")}), "model"); got != "" || err != nil {
		t.Errorf("binary data are sniffed as %q, %v", got, err)
	}
	if got, err := Codec.Sniff(ctx, bucketOf(t, map[string][]byte{"w/0": []byte("1,0.5\n")}), "model"); !strings.Contains(got, "without metadata") || err != nil {
		t.Errorf("text is sniffed as %q, %v", got, err)
	}
}

// TestOneFile opens a data file itself.
func TestOneFile(t *testing.T) {
	b := bucketOf(t, map[string][]byte{"w/part": []byte("3:0.5\n10:1.0E-4\n")})
	r, err := Codec.Open(ctx, b, "model/w/part", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrices()[0]
	got, err := values(r, m, m.Rect())
	if want := (map[cell]string{{0, 3}: "0.5", {0, 10}: "0.0001"}); err != nil || !maps.Equal(got, want) || m.DType != matrix.F32 || m.Cols != 11 {
		t.Errorf("got %v, %v of %+v", got, err, m)
	}
}

// TestGuessedWidths finds the widths of ids and values of snapshots that say only how long they are.
func TestGuessedWidths(t *testing.T) {
	for kind := range firstComplex {
		s := plainSample(10, 3, 40)
		if kind.Layout() == matrix.RowDense {
			s = plainSample(7, 3, 40)
		}
		if s.m.Attrs[attrRowType] = kind.String(); kind%7 != 0 && kind%7 != 3 && kind%7 != 5 {
			continue // the same bytes
		}
		s.m.DType = elementOf(kind)
		s.b, _ = s.b.Cast(elementOf(kind))
		b := saved(t, &s, map[string]string{"format": "SnapshotFormat", "block-cols": "17"})
		m := metaOf(t, b)
		psmeta := bytesOf(int32(0), int32(len(m.parts)))
		for _, p := range m.parts {
			psmeta = append(psmeta, bytesOf(p.id, int32(p.rows.Lo), int32(p.rows.Hi), p.cols.Lo, p.cols.Hi, p.nnz, p.saved.rows, int32(0), int32(0),
				p.file, p.off, p.size, int32(p.rowMetas.n))...)
			for _, r := range p.rowMetas.all() {
				psmeta = append(psmeta, bytesOf(r.id, r.off, r.n, r.kind)...)
			}
		}
		if err := b.Remove(ctx, "model/w/_meta"); err != nil {
			t.Fatal(err)
		}
		if err := blob.WriteAll(ctx, b, "model/w/psmeta", psmeta); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatalf("%v: %v", kind, err)
		}
		got, err := values(r, r.Matrices()[0], s.m.Rect())
		if want := s.stored(t); err != nil || !maps.Equal(got, want) || r.Matrices()[0].DType != elementOf(kind) {
			t.Errorf("%v: taken as %v, got %v, %v", kind, r.Matrices()[0].Attrs[attrRowType], got, err)
		}
	}
}

// TestUnrepaired shows the ids that 3.2.0 stored.
func TestUnrepaired(t *testing.T) {
	b := own(t, "release_3_2_0")
	count := func(repair string) (n int, largest int64) {
		r, err := Codec.Open(ctx, b, "model", format.Options{Set: map[string]string{"repair": repair}})
		if err != nil {
			t.Fatal(err)
		}
		m := r.Matrices()[0]
		for blk, err := range r.Blocks(ctx, m.Name, m.Rect()) {
			if err != nil {
				t.Fatal(err)
			}
			_ = blk.EachText(func(_, col int64, _ []byte) error { n, largest = n+1, max(largest, col); return nil })
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, "3.2.0") {
			t.Errorf("notes %q", notes)
		}
		return n, largest
	}
	n, largest := count("on")
	raw, below := count("off")
	if n == 0 || n != raw || largest <= 3 || below >= 3 {
		t.Errorf("%d cells up to column %d, unrepaired %d up to %d", n, largest, raw, below)
	}
}

// TestCommas reads text with decimal commas, if asked to, and separators of several bytes.
func TestCommas(t *testing.T) {
	want := map[cell]string{{0, 1}: "1.5", {0, 3}: "-3", {1, 0}: "0.25", {1, 2}: "12"}
	for _, c := range []struct {
		class, data string
		set         map[string]string
	}{
		{"RowIdColIdValueTextRowFormat", "0,1,1,5\n0,3,-3\n1,0,0,25\n1,2,12\n", map[string]string{"decimal": "comma"}},
		{"ColIdValueTextRowFormat", "1 1,5\n3 -3,0\n0 0,25\n2 12\n", map[string]string{"decimal": "comma"}},
		{"RowIdColIdValueTextRowFormat", "0::1::1.5\n0::3::-3\n1::0::0.25\n1::2::12\n", nil},
		{"RowIdColIdValueTextRowFormat", "0, 1, 1.5\n0, 3, -3\n1, 0, 0.25\n1, 2, 12\n", nil},
		{"RowIdColIdValueTextRowFormat", "0->1->1.5\n0->3->-3\n1->0->0.25\n1->2->12\n", map[string]string{"separator": "->"}},
	} {
		b := raw(t, plainMeta(c.class, "10", itoa(len(c.data))), c.data)
		r, err := Codec.Open(ctx, b, "model", format.Options{Set: c.set})
		if err != nil {
			if c.set["separator"] != "" && strings.Contains(err.Error(), "separator") {
				continue // a sign cannot be part of it
			}
			t.Fatal(err)
		}
		got, err := values(r, r.Matrices()[0], matrix.At(0, 2, 0, 4))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: got %v, %v", c.data, got, err)
		}
	}
	data := "0,1,1,5\n"
	b := raw(t, plainMeta("RowIdColIdValueTextRowFormat", "10", itoa(len(data))), data)
	if _, err := attempt(b); !isTyped(err, format.ErrCorrupt) {
		t.Errorf("a decimal comma that nobody asked for: %v", err)
	}
}

// TestHabits says which version wrote a model.
func TestHabits(t *testing.T) {
	for name, want := range map[string]string{
		"real/serving-lr": "2.0.x", "release_1_5": "1.x", "release_3_1": "2.1 to 3.1", "release_3_2_0": "Angel 3.2.0", "slots": "3.2 or later",
	} {
		if len(present(name)) == 0 {
			continue
		}
		r, err := Codec.Open(ctx, copyOf(t, name), "model", format.Options{})
		if err != nil || !strings.Contains(strings.Join(r.Notes(), "\n"), "habits of Angel") || !strings.Contains(strings.Join(r.Notes(), "\n"), want) {
			t.Errorf("%s: notes %q, %v", name, r.Notes(), err)
		}
	}
}

func FuzzSources(f *testing.F) {
	for _, b := range []*blob.Mem{legacyModel(f), csrModel(f, true), serverModel(f)} {
		for name, data := range everything(f, b) {
			if bytes.Contains([]byte(path.Base(name)), []byte("meta")) {
				f.Add(data, []byte("abc"))
			} else {
				f.Add([]byte("{}"), data)
			}
		}
	}
	f.Add([]byte{}, []byte("1,2,0.5\n3,4,1.0E-4\n"))
	f.Fuzz(func(t *testing.T, meta, data []byte) {
		for _, files := range []map[string][]byte{
			{"w/meta": meta, "w/ParameterServer_0_0": data}, {"w/psmeta": meta, "w/0": data}, {"w/_meta": meta, "w/0": data}, {"w/0": data},
		} {
			if _, err := attempt(bucketOf(t, files)); err != nil && !isTyped(err, sentinels...) {
				t.Errorf("%v: wraps no error of package format", err)
			}
		}
	})
}
