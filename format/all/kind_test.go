package all

import (
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/tree"
)

// kind is a codec with its own options for writing.
type kind struct {
	format.Codec
	name string
	set  map[string]string
}

// plainKinds are the codecs as they write without options.
func plainKinds() (all []kind) {
	for _, c := range Codecs() {
		if c.Info().Writes != "" {
			all = append(all, kind{Codec: c, name: c.Info().Name})
		}
	}
	return all
}

// anyKinds are those of kinds that hold any matrices, and not only what a file beside them describes.
func anyKinds(kinds []kind) []kind {
	return slices.DeleteFunc(kinds, func(c kind) bool { return c.Info().Needs != "" })
}

// optionSets are settings of codecs that change what is written. A codec that is not here is held to its defaults only.
var optionSets = []struct {
	codec, name string
	set         map[string]string
}{
	{"angel", "ValueBinary", map[string]string{"format": "ValueBinaryRowFormat"}},
	{"angel", "ColIdValueBinary", map[string]string{"format": "ColIdValueBinaryRowFormat"}},
	{"angel", "RowIdColIdValueBinary", map[string]string{"format": "RowIdColIdValueBinaryRowFormat"}},
	{"angel", "ValueText", map[string]string{"format": "ValueTextRowFormat"}},
	{"angel", "ColIdValueText", map[string]string{"format": "ColIdValueTextRowFormat"}},
	{"angel", "BinaryColumn", map[string]string{"format": "BinaryColumnFormat"}},
	{"angel", "TextColumn", map[string]string{"format": "TextColumnFormat"}},
	{"angel", "Snapshot", map[string]string{"format": "SnapshotFormat"}},
	{"angel", "several in a file", map[string]string{"block-rows": "2", "partitions-per-file": "2"}},
	{"daphne", "dialect daphne", map[string]string{"dialect": "daphne"}},
	{"daphne", "as-is", map[string]string{"blocks": "as-is"}},
	{"daphne", "tiles", map[string]string{"narrow": "true", "block-rows": "3", "block-cols": "7000"}},
	{"daphne", "meta", map[string]string{"meta": "true"}},
	{"csv", "tabs and header", map[string]string{"separator": "tab", "header": "true"}},
	{"libsvm", "from 0", map[string]string{"base": "0"}},
	{"arrow", "stream of lists, zstd", map[string]string{"layout": "stream", "rows": "list", "compression": "zstd"}},
	{"arrow", "lz4", map[string]string{"compression": "lz4"}},
	{"parquet", "zstd", map[string]string{"compression": "zstd"}},
	{"paddle", "extended", map[string]string{"endian": "big", "digest": "true", "align": "true"}},
	{"paddle", "separate", map[string]string{"layout": "separate"}},
	{"paddle", "combined", map[string]string{"layout": "combined"}},
	{"paddle", "stream", map[string]string{"layout": "stream"}},
	{"xgboost", "json", map[string]string{"layout": "json"}},
}

// kinds are the codecs with every set of options.
func kinds(t testing.TB) []kind {
	all := plainKinds()
	for _, w := range optionSets {
		c, err := Codecs().Lookup(w.codec)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, kind{c, w.codec + ", " + w.name, w.set})
	}
	return all
}

// each runs a test for every kind.
func each(t *testing.T, f func(t *testing.T, c kind)) {
	for _, c := range kinds(t) {
		t.Run(c.name, func(t *testing.T) { f(t, c) })
	}
}

// eachAny runs a test for every kind that holds any matrices.
func eachAny(t *testing.T, f func(t *testing.T, c kind)) {
	for _, c := range anyKinds(kinds(t)) {
		t.Run(c.name, func(t *testing.T) { f(t, c) })
	}
}

// pathOf is where a matrix m lies in the format.
func pathOf(c format.Codec) string { return "at/m" + c.Info().Ext }

// plains are small samples, dense and sparse, that the kind keeps without loss.
func plains(t testing.TB, c kind) (kept []sample) {
	t.Helper()
	if c.Info().Needs == tree.FileName {
		return forests()
	}
	for _, s := range []sample{
		tiled("dense", dense("", matrix.F32, 5, 6), []int64{0, 2, 3, 5}, []int64{0, 4, 6}),
		tiled("sparse", thin("", matrix.F32, 5, 9, 2), []int64{0, 2, 3, 5}, []int64{0, 4, 9}),
		tiled("dense row", dense("", matrix.F64, 1, 9), []int64{0, 1}, []int64{0, 4, 9}),
	} {
		if write(t, &blob.Mem{}, c, s, format.Options{}) == nil {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		t.Fatal("no plain sample is kept")
	}
	return kept
}

// eachPlain runs a test for every kind and every plain sample that it keeps.
func eachPlain(t *testing.T, f func(t *testing.T, c kind, s sample)) {
	each(t, func(t *testing.T, c kind) {
		for _, s := range plains(t, c) {
			t.Run(s.what, func(t *testing.T) { f(t, c, s) })
		}
	})
}

// TestTable checks what people see of the formats: names that differ, titles, endings.
func TestTable(t *testing.T) {
	names, endings := map[string]bool{}, map[string]bool{"": false}
	for _, c := range Codecs() {
		i := c.Info()
		if i.Name == "" || i.Title == "" || i.Reads == "" || names[i.Name] || endings[i.Ext] {
			t.Errorf("%+v, want a name, title and ending of its own, and what it reads", i)
		}
		names[i.Name] = true
		if i.Ext != "" {
			endings[i.Ext] = true
		}
		for _, o := range i.Options {
			if o.Name == "" || o.Help == "" {
				t.Errorf("%s: option %+v, want a name and a help", i.Name, o)
			}
		}
	}
}
