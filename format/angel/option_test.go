package angel

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// plainSample is a matrix with so many rows and columns whose values count up; of a sparse one every third is missing.
func plainSample(kind rowType, rows, cols int64) sample {
	m := matrix.Meta{Name: "w", Rows: rows, Cols: cols, DType: elementOf(kind), Layout: kind.Layout(), Attrs: map[string]string{attrRowType: kind.String()}}
	d := &matrix.CSR[float32]{Ptr: []int{0}}
	for r := range rows {
		for c := range cols {
			if m.Layout == matrix.RowDense || (r+c)%3 != 0 {
				d.Idx, d.Val = append(d.Idx, c), append(d.Val, float32(r*cols+c))
			}
		}
		d.Ptr = append(d.Ptr, len(d.Idx))
	}
	b := matrix.Block{At: m.Rect(), Data: d}
	if m.Layout == matrix.RowDense {
		b = b.ToDense()
	}
	return sample{m, b}
}

// metaOf reads the metadata of the matrix w.
func metaOf(t testing.TB, b blob.Bucket) *matrixMeta {
	t.Helper()
	files := everything(t, b)
	for _, n := range metaNames {
		if data := files["model/w/"+n]; data != nil {
			m, err := parseMeta(data, true)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
	}
	t.Fatal("no metadata")
	return nil
}

// metaFile is the bytes of a metadata file.
func metaFile(t testing.TB, m *matrixMeta) []byte {
	t.Helper()
	b := &blob.Mem{}
	out, err := b.Create(ctx, "meta")
	if err == nil {
		err = m.write(out)
	}
	if err == nil {
		err = out.Commit()
	}
	data, readErr := blob.ReadAll(ctx, b, "meta", maxMeta)
	if err := errors.Join(err, readErr); err != nil {
		t.Fatal(err)
	}
	return data
}

// saved writes the sample in pieces and reads it back.
func saved(t testing.TB, s *sample, set map[string]string) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	if err := save(b, s, 2, cutBlocks(s.b, max(7, s.m.Rows)), set); err != nil {
		t.Fatal(err)
	}
	r, err := Codec.Open(ctx, b, "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := values(r, r.Matrices()[0], s.m.Rect())
	if err != nil || !maps.Equal(got, s.stored(t)) {
		t.Fatalf("%v: got %v, %v", set, got, err)
	}
	if problems, err := r.(format.Verifier).Verify(ctx); len(problems) > 0 || err != nil {
		t.Fatalf("%v: problems %q, %v", set, problems, err)
	}
	return b
}

// TestPartitions cuts matrices as asked: places, files and their names as Angel's.
func TestPartitions(t *testing.T) {
	dense, sparse := plainSample(7, 4, 13), plainSample(10, 4, 13)
	for _, c := range []struct {
		s     *sample
		set   map[string]string
		parts string // id: rows, columns, file
	}{
		{&dense, map[string]string{"block-cols": "5"}, "0:[0,4)[0,5)0 1:[0,4)[5,10)1 2:[0,4)[10,13)2"},
		{&dense, map[string]string{"block-cols": "10", "block-rows": "3"}, "0:[0,3)[0,10)0 1:[0,3)[10,13)1 2:[3,4)[0,10)2 3:[3,4)[10,13)3"},
		{&sparse, map[string]string{"partition": "column", "block-cols": "7"}, "0:[0,4)[0,7)0 1:[0,4)[7,13)1"},
		{&sparse, map[string]string{"partition": "hash", "partitions": "2", "format": "ColIdValueTextRowFormat"}, "0:[0,4)[0,0)0 1:[0,4)[0,0)1"},
		{&dense, map[string]string{"block-cols": "1", "partitions-per-file": "5"},
			"0:[0,4)[0,1)0 1:[0,4)[1,2)0 2:[0,4)[2,3)0 3:[0,4)[3,4)3 4:[0,4)[4,5)3 5:[0,4)[5,6)3 6:[0,4)[6,7)6 7:[0,4)[7,8)6 8:[0,4)[8,9)6 " +
				"9:[0,4)[9,10)9 10:[0,4)[10,11)9 11:[0,4)[11,12)9 12:[0,4)[12,13)9"},
		{&dense, map[string]string{"format": "SnapshotFormat", "block-cols": "7", "partitions-per-file": "5"}, "0:[0,4)[0,7)0 1:[0,4)[7,13)1"},
		{&sparse, map[string]string{"format": "SnapshotFormat", "block-cols": "7"}, "0:[0,4)[0,7)0 1:[0,4)[7,13)1"},
	} {
		m := metaOf(t, saved(t, c.s, c.set))
		var got []string
		for i, p := range m.parts {
			got = append(got, fmt.Sprintf("%d:%v%v%s", i, p.rows, p.cols, p.file))
		}
		if strings.Join(got, " ") != c.parts {
			t.Errorf("%v: %s", c.set, strings.Join(got, " "))
		}
	}
	m := metaOf(t, saved(t, &sparse, map[string]string{"partition": "hash", "format": "ColIdValueTextRowFormat"}))
	if len(m.parts) != 5 || m.blockRow != -1 || m.blockCol != -1 {
		t.Errorf("%d hash partitions of %d x %d, want 5 without size", len(m.parts), m.blockRow, m.blockCol)
	}
}

// TestEveryOption draws a matrix, a format and options: what was put is read, and everything in the model is as verify wants.
func TestEveryOption(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		l := rapid.SampledFrom(writable).Draw(t, "format")
		set := map[string]string{
			optFormat:    l.name,
			optPerFile:   rapid.SampledFrom([]string{"1", "2", "5"}).Draw(t, "per file"),
			optPartition: rapid.SampledFrom([]string{"range", "column", "hash"}).Draw(t, "partition"),
			optBlockCols: rapid.SampledFrom([]string{"", "1", "3", "20"}).Draw(t, "block cols"),
			optCompat:    rapid.SampledFrom([]string{"", "angel-3.1", "angel-master"}).Draw(t, "compat"),
			optChecksum:  rapid.SampledFrom([]string{"on", "off"}).Draw(t, "checksum"),
			optSlots:     rapid.SampledFrom([]string{"", "0", "1", "3"}).Draw(t, "slots"),
		}
		var b blob.Mem
		err := save(&b, &s, 2, cutBlocks(s.b, rapid.Int64Range(1, 60).Draw(t, "piece")), set)
		refused := set[optPartition] == "hash" && (s.m.Layout == matrix.RowDense || !l.colID || l.column)
		if (err != nil) != refused {
			t.Fatalf("%v: %v", set, err)
		}
		if refused {
			return
		}
		r, err := Codec.Open(ctx, &b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := values(r, r.Matrices()[0], s.m.Rect())
		if err != nil {
			t.Fatal(err)
		}
		if want := expected(&s, l, got, s.stored(t)); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if problems, err := r.(format.Verifier).Verify(ctx); len(problems) > 0 || err != nil {
			t.Fatalf("problems %q, %v", problems, err)
		}
	})
}

// TestCompat writes what an old version expects: its name for metadata, nothing of ours.
func TestCompat(t *testing.T) {
	s := plainSample(7, 2, 6)
	for compat, file := range map[string]string{"": "_meta", "angel-3.1": "meta", "angel-3.2": "_meta", "angel-master": "_meta"} {
		b := saved(t, &s, map[string]string{"compat": compat, "format": "ValueBinaryRowFormat", "block-cols": "4", "partitions-per-file": "2"})
		data := everything(t, b)["model/w/"+file]
		if data == nil || bytes.Contains(data, []byte(ownKey)) != (compat == "") {
			t.Errorf("%q: metadata %q", compat, data)
		}
		if compat != "" && !bytes.Contains(data, []byte(`"1":{"rowId":1,"offset":32,"elementNum":2,"saveType":0}}}}}`)) {
			t.Errorf("%q: offsets of rows are not those of the partition: %q", compat, data)
		}
	}
	holes := plainSample(10, 4, 6)
	set := map[string]string{"compat": "angel-3.2", "format": "TextColumnFormat"}
	_, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{holes.m}, format.Options{Set: set})
	if !isLossy(err) {
		t.Errorf("absent cells that nothing keeps: %v", err)
	}
}

func isLossy(err error) bool {
	return err != nil && strings.Contains(err.Error(), format.ErrLossy.Error())
}

// TestWrongOptions are options that say nothing.
func TestWrongOptions(t *testing.T) {
	sparse := plainSample(10, 4, 6)
	for _, set := range []map[string]string{
		{"partition": "round"}, {"block-rows": "0"}, {"block-cols": "x"}, {"partitions-per-file": "-1"}, {"compat": "angel-9"},
		{"partition": "column", "block-rows": "2"}, {"separator": "1"}, {"format": "BinaryCSRFormat"}, {"format": "org.example.Mine"},
		{"partition": "hash", "format": "TextColumnFormat"}, {"partition": "hash", "format": "ValueTextRowFormat"},
	} {
		if _, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{sparse.m}, format.Options{Set: set, Lossy: true}); err == nil {
			t.Errorf("%v is accepted", set)
		}
	}
	b := saved(t, &sparse, nil)
	for _, set := range []map[string]string{{"decimal": "dot"}, {"separator": "ab1"}} {
		if _, err := Codec.Open(ctx, b, "model", format.Options{Set: set}); err == nil {
			t.Errorf("%v is accepted", set)
		}
	}
}

// TestHashPlaces are partitions that Angel's partitioner gives to keys.
func TestHashPlaces(t *testing.T) {
	for _, c := range []struct {
		col  int64
		n    int
		want int
	}{{0, 5, 0}, {7, 5, 2}, {-7, 5, 2}, {65536, 4, 1}, {65537, 8, 0}, {1 << 32, 7, 0}, {1<<32 + 3, 4, 3}, {-2147483648, 3, 2}} {
		if got := hashPart(c.col, true, c.n); got != c.want {
			t.Errorf("key %d of %d partitions: %d, want %d", c.col, c.n, got, c.want)
		}
	}
}

// TestVerify finds what reading passes over, and names every damaged partition.
func TestVerify(t *testing.T) {
	verify := func(b blob.Bucket) []string {
		t.Helper()
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		problems, err := r.(format.Verifier).Verify(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return problems
	}
	s := plainSample(7, 4, 12)
	b := saved(t, &s, map[string]string{"block-cols": "3", "format": "ColIdValueBinaryRowFormat"})
	for _, f := range []string{"model/w/1", "model/w/3"} {
		data := slices.Clone(everything(t, b)[f])
		data[5] ^= 1
		if err := blob.WriteAll(ctx, b, f, data); err != nil {
			t.Fatal(err)
		}
	}
	if got := verify(b); len(got) != 2 || !strings.Contains(got[0], "model/w/1") || !strings.Contains(got[1], "checksum of partition 3") {
		t.Errorf("problems %q", got)
	}
	text := "1,1\n3,3\n2,12\n0,10\n"
	if got := verify(raw(t, plainMeta("ColIdValueTextRowFormat", "24", itoa(len(text))), text)); len(got) != 1 || !strings.Contains(got[0], "ascending order") {
		t.Errorf("problems %q", got)
	}
	gaps := strings.Replace(plainMeta("ColIdValueTextRowFormat", "24", itoa(len(text))), `"partId":0`, `"partId":4`, 1)
	if got := verify(raw(t, gaps, text)); len(got) != 2 || !strings.Contains(got[0], "partition 4 where 0") {
		t.Errorf("problems %q", got)
	}
	if got := verify(raw(t, plainMeta("of.a.User", "24", "3"), "abc")); len(got) != 1 || !strings.Contains(got[0], "of.a.User") {
		t.Errorf("problems %q", got)
	}
	for _, format := range []string{"ValueTextRowFormat", "ValueBinaryRowFormat"} {
		moved := saved(t, &s, map[string]string{"format": format, "checksum": "off", "block-cols": "12"})
		meta := everything(t, moved)["model/w/_meta"]
		m, err := parseMeta(meta, true)
		if err != nil {
			t.Fatal(err)
		}
		m.parts[0].rowMetas.change(func(r rowMeta) rowMeta {
			r.off += int64(b2i(r.id == 1))
			return r
		})
		if err := blob.WriteAll(ctx, moved, "model/w/_meta", metaFile(t, m)); err != nil {
			t.Fatal(err)
		}
		if got := verify(moved); len(got) != 1 || !strings.Contains(got[0], "said to begin") {
			t.Errorf("%s: problems %q", format, got)
		}
	}
}
