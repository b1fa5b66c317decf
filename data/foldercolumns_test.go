package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/feature"
)

// lake writes files below a folder and a URL, and answers both roots.
func lake(t *testing.T, files map[string]string) (roots []string, store *blob.Paths) {
	dir := filepath.Join(t.TempDir(), "lake")
	roots, store = []string{dir, "mem://b/lake"}, memories()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := blob.WriteAll(t.Context(), store, "mem://b/lake/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return roots, store
}

// TestFolderColumnsOf reads names of folders as Hive writes them.
func TestFolderColumnsOf(t *testing.T) {
	for path, want := range map[string]string{
		"lake/day=2026-11-01/country=de/part-0.csv":    `[{day 2026-11-01} {country de}]`,
		"s3://b/lake/a=1/sub/b=2/x.parquet":            `[{a 1} {b 2}]`,
		"t/at=10%3A30%2F1/100%=5%zz/x.csv":             `[{at 10:30/1} {100% 5%zz}]`,
		"t/city=K%C3%B6ln/s=a=b/x.csv":                 `[{city Köln} {s a=b}]`,
		"t/c=__HIVE_DEFAULT_PARTITION__/d=/=e/y=1.csv": `[{c } {d }]`,
		"t/c=1/c=1/x.csv":                              `[{c 1}]`,
		"t/c=1/c=2/x.csv":                              `two folders name column "c" ("1" and "2"), want one`,
		"plain/x.csv":                                  `[]`,
		"t/_hidden%20name=+/x.csv":                     `[{_hidden name +}]`,
		"s3://bucket=1/x.csv":                          `[]`,
		"t/c=%5F%5FHIVE_DEFAULT_PARTITION%5F%5F/1.csv": `[{c __HIVE_DEFAULT_PARTITION__}]`,
	} {
		all, err := folderColumnsOf(path)
		got := fmt.Sprint(all)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestFolderFiles: folders are descended, globs name folders, and hidden names are skipped at every depth.
func TestFolderFiles(t *testing.T) {
	roots, store := lake(t, map[string]string{"day=1/c=de/a.csv": "x", "day=1/c=de/_SUCCESS": "", "day=1/_tmp/b.csv": "x", "day=1/.x.crc": "",
		"day=2/c=de/a.csv": "x", "day=2/c=fr/a.csv": "x", "day=2/c=fr/.hidden/a.csv": "x", "_a=1/z.csv": "x", "_old/y.csv": "x", "top.csv": "x"})
	for _, root := range roots {
		for pattern, want := range map[string]string{
			"":                "_a=1/z.csv day=1/c=de/a.csv day=2/c=de/a.csv day=2/c=fr/a.csv top.csv",
			"/":               "_a=1/z.csv day=1/c=de/a.csv day=2/c=de/a.csv day=2/c=fr/a.csv top.csv",
			"/day=2":          "day=2/c=de/a.csv day=2/c=fr/a.csv",
			"/day=*":          "day=1/c=de/a.csv day=2/c=de/a.csv day=2/c=fr/a.csv",
			"/*/c=de":         "day=1/c=de/a.csv day=2/c=de/a.csv",
			"/*/*/*.csv":      "day=1/c=de/a.csv day=2/c=de/a.csv day=2/c=fr/a.csv",
			"/*":              "_a=1/z.csv day=1/c=de/a.csv day=2/c=de/a.csv day=2/c=fr/a.csv top.csv",
			"/day=1/_tmp":     "day=1/_tmp/b.csv",
			"/_old/*":         "_old/y.csv",
			"/day=2/c=f?/a.*": "day=2/c=fr/a.csv",
			"/day=3*":         "",
			"/day=1/.*":       "",
		} {
			files, err := Files(t.Context(), store, []string{root + pattern})
			for i, f := range files {
				files[i] = strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(f, root)), "/")
			}
			if got := strings.Join(files, " "); got != want || (err == nil) != (want != "") {
				t.Errorf("%s%s: %s, %v; want %s", root, pattern, got, err, want)
			}
		}
	}
	if err := os.Symlink(roots[0], filepath.Join(roots[0], "day=1", "loop")); err != nil {
		t.Skip(err)
	}
	if _, err := Files(t.Context(), nil, roots[:1]); err == nil || !strings.Contains(err.Error(), "a link to a folder that it lies in") {
		t.Errorf("loop: %v", err)
	}
}

// TestFolderColumns: a table in folders equals the same table with columns in its files, whatever names its files, and is scored alike.
func TestFolderColumns(t *testing.T) {
	roots, store := lake(t, map[string]string{
		"day=2026-11-01/country=de/a.csv":                         "y,x\n1,2\n0,3\n",
		"day=2026-11-02/country=a%2Cb/a.csv":                      "y,x\n1,5\n",
		"day=2026-11-02/country=__HIVE_DEFAULT_PARTITION__/b.csv": "y,x\n0,4\n1,1\n",
	})
	flat := "y,x,day,country\n1,2,2026-11-01,de\n0,3,2026-11-01,de\n1,5,2026-11-02,\"a,b\"\n0,4,2026-11-02,\n1,1,2026-11-02,\n"
	opt := Options{Store: store, Table: &Table{Spec: feature.Spec{Columns: map[string]feature.Column{"country": {Min: 1}}}}}
	want, err := LoadAll(t.Context(), []Input{{Name: "flat.csv", R: strings.NewReader(flat), Size: int64(len(flat))}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		files, err := Files(t.Context(), store, []string{root})
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range [][]string{nil, {"y", "x"}} {
			opt := opt
			var notes []string
			opt.Note = func(path string, _ int64, text string) { notes = append(notes, text) }
			if names != nil { // of files whose first line is one of rows
				opt.SkipBad = 3
				opt.Table = &Table{Spec: opt.Table.Spec}
				opt.Table.Spec.Names = names
			}
			got, err := LoadFiles(t.Context(), files, nil, opt)
			if err != nil {
				t.Fatal(err)
			}
			// The files come in the order of their names, in which the second and third of the flat table are exchanged.
			if names == nil && (!slices.Equal(got.Label, []float32{1, 0, 0, 1, 1}) || got.Transform.Dim() != want.Transform.Dim()) {
				t.Errorf("labels %v, dim %d; want dim %d", got.Label, got.Transform.Dim(), want.Transform.Dim())
			}
			notes = slices.DeleteFunc(notes, func(note string) bool { return !strings.Contains(note, "folder") })
			if len(notes) != 1 || notes[0] != "the names of its folders are columns of the table: day, country" {
				t.Errorf("notes %q", notes)
			}
			header, err := HeaderOf(t.Context(), files[0], opt)
			if err != nil || !slices.Equal(header, []string{"y", "x", "day", "country"}) {
				t.Errorf("header %q, %v", header, err)
			}
			if names != nil {
				continue
			}
			// Rows score alike with the transformation of either.
			opt.Table = &Table{Transform: want.Transform}
			read, err := LoadFiles(t.Context(), []string{files[0]}, nil, opt)
			if err != nil {
				t.Fatal(err)
			}
			batch, whole := read.Batch(), want.Batch()
			if !slices.Equal(batch.Rows().Idx, whole.Rows().Idx[:len(batch.Rows().Idx)]) {
				t.Errorf("columns %v, want %v", batch.Rows().Idx, whole.Rows().Idx)
			}
			var lines []string
			r := RecordReader{Options: Options{Store: store}, Column: "country"}
			for rec, err := range r.Read(t.Context(), files) {
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, string(rec.Text)+string(rec.Cell))
			}
			if got := string(r.Header) + strings.Join(lines, "|"); got != "y,x,day,country\n1,2,2026-11-01,de\nde|0,3,2026-11-01,de\nde|0,4,2026-11-02,\n|"+
				"1,1,2026-11-02,\n|1,5,2026-11-02,\"a,b\"\na,b" {
				t.Errorf("records %q", got)
			}
		}
	}
}

// TestFolderDisagrees: a column that both the file and its folder have needs one value in every row; columns of all files are the same.
func TestFolderDisagrees(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"agrees":   {map[string]string{"d=1/a.csv": "y,d\n1,1\n0,1.0\n", "d=2/a.csv": "d,y\n2,1\n02,0\n"}, ""},
		"instant":  {map[string]string{"d=2026-11-01/a.csv": "y,d\n1,2026-11-01\n0,2026-11-01T00:00:00\n"}, ""},
		"missing":  {map[string]string{"d=1/a.csv": "y,d\n1,1\n0,1\n", "d=__HIVE_DEFAULT_PARTITION__/a.csv": "y,d\n1,\n0,NA\n"}, ""},
		"another":  {map[string]string{"d=1/a.csv": "y,d\n1,1\n0,2\n"}, `a.csv:3: column "d": "2" in the file and "1" in the name of its folder`},
		"wide":     {map[string]string{"d=9007199254740993/a.csv": "y,d\n1,9007199254740992\n"}, `"9007199254740992" in the file`},
		"null":     {map[string]string{"d=1/a.csv": "y,d\n1,\n0,1\n"}, `a.csv:2: column "d": "" in the file and "1"`},
		"no null":  {map[string]string{"d=__HIVE_DEFAULT_PARTITION__/a.csv": "y,d\n1,3\n"}, `"3" in the file and a missing value`},
		"fewer":    {map[string]string{"d=1/a.csv": "y,x\n1,1\n0,2\n", "z.csv": "y,x\n1,1\n"}, "no column d, which the model learned from"},
		"more":     {map[string]string{"a.csv": "y,x\n1,1\n0,2\n", "d=1/a.csv": "y,x\n1,1\n"}, `its folder names column "d", which the first file does not have`},
		"two ways": {map[string]string{"d=1/d=2/a.csv": "y,x\n1,1\n0,2\n"}, `two folders name column "d"`},
	} {
		roots, store := lake(t, c.files)
		for _, root := range roots {
			files, err := Files(t.Context(), store, []string{root})
			if err != nil {
				t.Fatal(err)
			}
			_, err = LoadFiles(t.Context(), files, nil, Options{Store: store, Table: &Table{}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
	}
}

// TestFolderKinds: the values of all files say what kind of column a folder's is.
func TestFolderKinds(t *testing.T) {
	roots, store := lake(t, map[string]string{"k=1/a.csv": "y,x\n1,1\n0,2\n", "k=__HIVE_DEFAULT_PARTITION__/a.csv": "y,x\n1,1\n", "k=b/a.csv": "y,x\n0,1\n"})
	files, err := Files(t.Context(), store, roots[:1])
	if err != nil {
		t.Fatal(err)
	}
	all, err := LoadFiles(t.Context(), files, nil, Options{Table: &Table{}})
	if err != nil {
		t.Fatal(err)
	}
	if k := all.Transform.Columns[2]; k.Name != "k" || k.Kind != feature.Categorical {
		t.Errorf("column %+v", k)
	}
}

// TestFolderLines: lines have no columns of names, which is reported once.
func TestFolderLines(t *testing.T) {
	roots, store := lake(t, map[string]string{"d=1/a.libsvm": "1 1:1\n", "d=2/a.libsvm": "0 1:1\n"})
	for _, root := range roots {
		files, err := Files(t.Context(), store, []string{root})
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		_, err = LoadFiles(t.Context(), files, nil, Options{Store: store, Note: func(_ string, _ int64, text string) { notes = append(notes, text) }})
		if err != nil || len(notes) != 1 || notes[0] != "the names of its folders (d) are ignored: lines of libsvm have no named columns" {
			t.Errorf("%q, %v", notes, err)
		}
	}
}
