package paddle

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format/formattest"
)

// goldens are all golden files: those of this package below own/NAME, and those of goldenDir where they are there.
func goldens(t testing.TB) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	add := func(name string, data []byte) {
		if err := blob.WriteAll(t.Context(), b, name, data); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range formattest.Goldens(t, "testdata/golden/*.txtar") {
		for name, data := range g.Files {
			add("own/"+strings.TrimPrefix(g.Name, "paddle/")+"/"+name, data)
		}
	}
	err := filepath.WalkDir(goldenDir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // of which there may be none
		}
		data, err := os.ReadFile(name)
		if err == nil {
			add(strings.TrimPrefix(filepath.ToSlash(name), goldenDir+"/"), data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ownKinds are the kinds of the golden files of this package that are of layouts which are only read, as the list names them.
var ownKinds = map[string]string{
	"own/pr4602/fc_0.w_0": "pr4602", "own/release_0_11/seq": "v011", "own/selected_rows/grad": "selectedrows", "own/tnum/params": "tnum",
	"own/v2_tar/params.tar": "v2tar", "own/v2/w": "v2param", "own/pickle/model.pdparams": "pdparams",
}
