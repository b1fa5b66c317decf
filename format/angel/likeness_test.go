package angel

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// longKeyModel is like models of Angel's library line: three partitions of long keys on two servers, the last of which
// holds nothing and has a file of its own, the offset of the partition at every row, and side files of the file system.
func longKeyModel(t testing.TB) *blob.Mem {
	zero, two := "5,0.5\n900,-1.0E-4\n5,0.25\n", "1431655800,2.0\n"
	part := func(id int, lo, hi int64, file string, off, length int, n [2]int) string {
		return fmt.Sprintf(`"%d":{"partId":%d,"startRow":0,"endRow":4,"startCol":%d,"endCol":%d,"nnz":0,"saveRowNum":2,"saveColNum":0,
"saveColElemNum":0,"fileName":"%s","offset":%d,"length":%d,"rowMetas":{"0":{"rowId":0,"offset":%d,"elementNum":%d,"saveType":0},
"1":{"rowId":1,"offset":%d,"elementNum":%d,"saveType":0}}}`, id, id, lo, hi, file, off, length, off, n[0], off, n[1])
	}
	meta := `{"matrixId":1,"matrixName":"input_weight","formatClassName":"` + colIDValueText.className() + `","rowType":12,"row":4,
"col":2147483657,"blockRow":4,"blockCol":715827886,"options":{"ml.matrix.output.format":"` + colIDValueText.className() + `",
"feature.index.range.start":"0","feature.index.range.end":"2147483657"},"partMetas":{` + strings.Join([]string{
		part(0, 0, 715827886, "0", 0, len(zero), [2]int{2, 1}), part(1, 715827886, 1431655772, "1", 0, 0, [2]int{}),
		part(2, 1431655772, 2147483657, "0", len(zero), len(two), [2]int{0, 1})}, ",") + `}}`
	framed := append(bytesOf(int32(len(meta))), meta...)
	return bucketOf(t, map[string][]byte{
		"graph.json": []byte(`{"layers":[]}`), ".graph.json.crc": []byte("crc"), "input_weight/meta": framed,
		"input_weight/.meta.crc": []byte("crc"), "input_weight/0": []byte(zero + two), "input_weight/1": {}, "input_weight/.0.crc": []byte("crc"),
	})
}

// oneFiveModel is like a model of 1.5.1: one row of 123 doubles in a component row type.
func oneFiveModel(t testing.TB) (*blob.Mem, map[cell]string) {
	data, want := bytesOf(int32(1), int32(0), int32(123)), map[cell]string{}
	for i := range 123 {
		col := (i * 50) % 123 // in the order of a hash table
		data = append(data, bytesOf(int32(col), float64(col)/4)...)
		want[cell{0, int64(col)}] = fmt.Sprint(float64(col) / 4)
	}
	meta := bytesOf(int32(0), "lr_weight", int32(9), int32(1), int64(123), int32(1), int64(123), int32(1), "matrix.oplog.type", "SPARSE_DOUBLE",
		int32(1), int32(0), int32(0), int32(1), int64(0), int64(123), int64(123), "ParameterServer_0_0", int64(0), int64(len(data)),
		int32(1), int32(0), int64(4))
	return bucketOf(t, map[string][]byte{"lr_weight/meta": meta, "lr_weight/ParameterServer_0_0": data, "lr_weight/.meta.crc": []byte("crc")}), want
}

// TestLikenesses reads models made after those that people have, says what they are, and damages them.
func TestLikenesses(t *testing.T) {
	old, oldCells := oneFiveModel(t)
	for _, c := range []struct {
		b     *blob.Mem
		name  string
		want  map[cell]string
		kind  string
		notes []string
	}{
		{longKeyModel(t), "input_weight", map[cell]string{{0, 5}: "0.5", {0, 900}: "-0.0001", {1, 5}: "0.25", {1, 1431655800}: "2"},
			"T_FLOAT_SPARSE_LONGKEY", []string{"library line", "3 range partitions in 2 files", "0 to 25 each"}},
		{old, "lr_weight", oldCells, "T_DOUBLE_SPARSE_COMPONENT", []string{"Angel 1.x", "1 range partitions in 1 files, 1488 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Codec.Open(ctx, c.b, "model", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := format.Find(r, c.name)
			if err != nil || m.Attrs[attrRowType] != c.kind {
				t.Fatalf("matrix %+v, %v", m, err)
			}
			if got, err := values(r, m, m.Rect()); err != nil || !maps.Equal(got, c.want) {
				t.Errorf("got %v, %v", got, err)
			}
			for at, v := range c.want {
				one, err := values(r, m, matrix.At(at.row, at.row+1, at.col, at.col+1))
				if err != nil || len(one) != 1 || one[at] != v {
					t.Errorf("cell %v alone: %v, %v, want %s", at, one, err, v)
				}
			}
			for _, note := range c.notes {
				if !strings.Contains(strings.Join(r.Notes(), "\n"), note) {
					t.Errorf("notes %q, want one with %q", r.Notes(), note)
				}
			}
			var out blob.Mem
			if err := format.Convert(ctx, r, Codec, &out, "model", format.Options{}, nil, nil); err != nil {
				t.Fatal(err)
			}
			if back, err := attempt(&out); err != nil || !maps.Equal(back[c.name], c.want) {
				t.Errorf("written and read as %v, %v", back, err)
			}
			if files := everything(t, &out); !bytes.Equal(files["model/graph.json"], r.Files()["graph.json"]) {
				t.Errorf("files beside it: %v, want %v", slicesOf(files), slicesOf(r.Files()))
			}
			if c.name == "input_weight" {
				everyPrefix(t, c.b, map[string]map[cell]string{c.name: c.want})
			}
		})
	}
}
