package data

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
)

// TestLake: files of Delta, Iceberg and Hudi tables are refused, named by a folder, a glob or one by one, on disks and in stores.
func TestLake(t *testing.T) {
	for _, c := range []struct{ log, kind string }{
		{"_delta_log/00000000000000000000.json", "Delta"}, {"metadata/v1.metadata.json", "Iceberg"}, {".hoodie/hoodie.properties", "Hudi"},
		{"metadata/v1.metadata.json.gz", "Iceberg"},
		{"metadata/notes.txt", ""},
	} {
		dir, store := t.TempDir(), memories()
		root := filepath.Join(dir, "a[1]")
		url := "mem://b/a"
		for _, name := range []string{c.log, "day=1/part-0.csv", "part-1.csv"} {
			path := filepath.Join(root, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("y,x\n1,2\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := blob.WriteAll(t.Context(), store, url+"/"+name, []byte("y,x\n1,2\n")); err != nil {
				t.Fatal(err)
			}
		}
		linkedFolder, linkedFile := filepath.Join(dir, "folder"), filepath.Join(dir, "file.csv")
		err := errors.Join(os.Symlink(filepath.Join(root, "day=1"), linkedFolder), os.Symlink(filepath.Join(root, "part-1.csv"), linkedFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []string{linkedFolder, linkedFile, filepath.Join(linkedFolder, "*.csv"), root,
			filepath.Join(root, "part-1.csv"), filepath.Join(root, "day=1"), filepath.Join(dir, "*", "*", "*.csv"),
			url, url + "/part-1.csv", url + "/*/*.csv"} {
			_, err := Files(t.Context(), store, []string{pattern})
			if c.kind == "" && err != nil || c.kind != "" && (err == nil || !strings.Contains(err.Error(), "a file of the "+c.kind+" table")) {
				t.Errorf("%s of %q: error %v", pattern, c.kind, err)
			}
		}
	}
}
