package hdfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/all"
)

// angelModels are folders that Angel wrote.
const angelModels = "../../../shared/golden/angel"

// TestAngelModels copies models that Angel wrote into HDFS, where Angel keeps them, and reads them there as from a folder.
func TestAngelModels(t *testing.T) {
	b := open(t, given(t))
	leakless(t)
	var models []string
	err := filepath.WalkDir(angelModels, func(p string, e fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{"meta", "_meta", "graph.json"}, e.Name()) {
			models = append(models, filepath.Dir(p))
		}
		return err
	})
	if err != nil || len(models) == 0 {
		t.Skipf("no models of Angel at %s: %v", angelModels, err)
	}
	read := 0
	for _, dir := range models {
		if strings.Contains(dir, "input_") {
			continue // a part of another
		}
		local, name, err := blob.Local(dir)
		if err != nil {
			t.Fatal(err)
		}
		c, dialect, err := all.Codecs().Detect(t.Context(), local, name)
		if err != nil {
			continue // settings are needed, which Angel's files do not say
		}
		t.Run(strings.TrimPrefix(filepath.ToSlash(dir), angelModels+"/"), func(t *testing.T) {
			at := "angel/" + strings.TrimPrefix(filepath.ToSlash(dir), angelModels+"/")
			copyFolder(t, b, dir, at)
			got, said, err := all.Codecs().Detect(t.Context(), b, at)
			if err != nil || got.Info().Name != "angel" || got.Info().Name != c.Info().Name || said != dialect {
				t.Fatalf("%v in dialect %q, %v, want angel in %q", got, said, err, dialect)
			}
			want := cells(t, c, local, name)
			if found := cells(t, got, b, at); !slices.Equal(found, want) {
				t.Errorf("%q, want %q", found, want)
			}
			read += len(want)
		})
	}
	t.Logf("%d models, %d cells", len(models), read)
}

func copyFolder(t *testing.T, b blob.Bucket, dir, to string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		return blob.WriteAll(t.Context(), b, to+"/"+filepath.ToSlash(rel), data)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cells is all that a model says, and whether there is something wrong with it.
func cells(t *testing.T, c format.Codec, b blob.Bucket, name string) (found []string) {
	t.Helper()
	r, err := format.Open(t.Context(), c, b, name, format.Options{})
	if err != nil {
		return []string{"not opened"}
	}
	defer r.Close()
	for _, m := range r.Matrices() {
		for block, err := range r.Blocks(t.Context(), m.Name, m.Rect()) {
			if err == nil {
				err = block.EachText(func(row, col int64, v []byte) error {
					found = append(found, fmt.Sprintf("%s %d %d %s", m.Name, row, col, v))
					return nil
				})
			}
			if err != nil {
				_, what, _ := strings.Cut(err.Error(), "at byte") // before it is the name
				return append(found, "error "+what)
			}
		}
	}
	return found
}
