package format_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/npy"
	"thole.example/matrix"
)

// TestFolder writes several matrices and a file as a folder, by one and by several writers, and reads them back.
func TestFolder(t *testing.T) {
	ctx := context.Background()
	src := both(one("a", 1, 2, 1, 2), one("b", 2, 1, 3, 4))
	src.files = map[string][]byte{"graph.json": []byte("{}")}
	for _, b := range []blob.Bucket{&blob.Mem{}, blob.NewDir(t.TempDir())} {
		if err := format.Convert(ctx, src, npy.Codec, b, "x/w", format.Options{}, nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := format.Convert(ctx, one("a", 1, 1, 5), npy.Codec, b, "x/v/", format.Options{}, nil, nil); err != nil {
			t.Fatal(err)
		}
		want := "x/v/a.npy x/w/a.npy x/w/b.npy x/w/graph.json"
		if got := names(t, b, ""); got != want {
			t.Errorf("holds %s, want %s", got, want)
		}
		r, c, err := format.Set{npy.Codec}.Open(ctx, b, "x/w", "", format.Options{})
		if err != nil || c.Info().Name != "npy" {
			t.Fatal(c, err)
		}
		if diff, err := format.Diff(ctx, src, r); diff != "" || err != nil {
			t.Errorf("%s, %v", diff, err)
		}
		if got := r.Files(); len(got) != 1 || string(got["graph.json"]) != "{}" {
			t.Errorf("files %q, want graph.json", got)
		}
		if notes := r.Notes(); len(notes) != 2 || !strings.HasPrefix(notes[0], "a: ") {
			t.Errorf("notes %q, want one for each file", notes)
		}
		for _, err := range r.Blocks(ctx, "c", matrix.At(0, 1, 0, 1)) {
			if !errors.Is(err, format.ErrMatrix) {
				t.Errorf("%v, want ErrMatrix", err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// names lists a bucket.
func names(t *testing.T, b blob.Bucket, tree string) string {
	t.Helper()
	infos, err := b.List(context.Background(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, i := range infos {
		list = append(list, i.Name)
	}
	return strings.Join(list, " ")
}

// TestFolderSharedSave puts two matrices by two writers of one save; nothing is visible before the commit.
func TestFolderSharedSave(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	src := both(one("a", 1, 2, 1, 2), one("b", 2, 1, 3, 4))
	var ws [2]format.Writer
	for i := range ws {
		w, err := npy.Codec.Create(ctx, b, "w", src.ms, format.Options{Stage: "s"})
		if err != nil {
			t.Fatal(err)
		}
		ws[i] = w
	}
	var parts []format.Part
	for i, m := range src.ms {
		p, err := ws[i].Put(ctx, m.Name, src.blocks[m.Name][0])
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if got := names(t, b, "w"); got != "" {
		t.Errorf("visible before the commit: %s", got)
	}
	if err := ws[0].Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	ws[0].Abort(ctx)
	if got := names(t, b, ""); got != "w/a.npy w/b.npy" {
		t.Errorf("holds %s, want w/a.npy w/b.npy", got)
	}
	r, err := npy.Codec.Open(ctx, b, "w", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff, err := format.Diff(ctx, src, r); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
}

// TestFolderNames refuses names that cannot be files, or that two matrices have, and leaves nothing behind.
func TestFolderNames(t *testing.T) {
	ctx := context.Background()
	for _, bad := range [][]string{{"a", ""}, {"a", "x/y"}, {"a", ".."}, {"a", ".x"}, {"a", "_tmp.x"}, {"a", "b\x00"}, {"a", "a"}, {}} {
		dir := t.TempDir()
		b := blob.NewDir(dir)
		var ms []matrix.Meta
		for _, n := range bad {
			ms = append(ms, matrix.Meta{Name: n, Rows: 1, Cols: 1, DType: matrix.F32})
		}
		w, err := npy.Codec.Create(ctx, b, "w/", ms, format.Options{})
		if err == nil {
			w.Abort(ctx)
			t.Errorf("%q: no error", bad)
		}
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("%q: left %v, %v", bad, left, err)
		}
	}
	files := format.Options{Files: map[string][]byte{"a.npy": nil}}
	ms := []matrix.Meta{{Name: "a", Rows: 1, Cols: 1, DType: matrix.F32}}
	if w, err := npy.Codec.Create(ctx, &blob.Mem{}, "w/", ms, files); err == nil {
		w.Abort(ctx)
		t.Error("a file with the name of a matrix: no error")
	}
}

func TestFolderParts(t *testing.T) {
	ctx := context.Background()
	src := one("a", 1, 2, 1, 2)
	w, err := npy.Codec.Create(ctx, &blob.Mem{}, "w/", src.ms, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	if _, err := w.Put(ctx, "b", src.blocks["a"][0]); !errors.Is(err, format.ErrMatrix) {
		t.Errorf("put: %v, want ErrMatrix", err)
	}
	for _, p := range []format.Part{nil, format.Part("b\x00"), format.Part("a\x00zzz")} {
		if err := w.Commit(ctx, []format.Part{p}); err == nil {
			t.Errorf("commit of part %q: no error", p)
		}
	}
}

func TestFolderExplain(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	src := both(one("a", 1, 2, 1, 2), one("b", 2, 1, 3, 4))
	if err := format.Convert(ctx, src, npy.Codec, b, "w", format.Options{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := npy.Codec.Explain(ctx, b, "w", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# file w/a.npy", "# file w/b.npy", "93 4e 55 4d"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("explanation has no %q:\n%s", want, out.String())
		}
	}
}

// TestDetect names what was found instead.
func TestDetect(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	set := format.Set{npy.Codec}
	for name, data := range map[string]string{"text": "hello", "empty": "", "d/x.bin": "1", "d/y.bin": "2", "e/x.npy": "no"} {
		if err := blob.WriteAll(ctx, b, name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"text": "68 65 6c 6c 6f", "empty": "the file is empty", "d": "2 files",
		"e": "e/x.npy at byte 0"} {
		if c, _, err := set.Detect(ctx, b, name); !errors.Is(err, format.ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", name, c, err, want)
		}
	}
	if _, _, err := set.Detect(ctx, b, "none"); !errors.Is(err, fs.ErrNotExist) || !format.Missing(err) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	if _, err := set.Lookup("npz"); !errors.Is(err, format.ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
	if c, _, err := set.ByExt("a/b.NPY"); err != nil || c.Info().Name != "npy" {
		t.Errorf("%v, %v, want npy", c, err)
	}
	if _, _, err := set.ByExt("a/b"); !errors.Is(err, format.ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
}

// TestFolderErrorsNameTheTarget checks that no error speaks of the names under which a save waits.
func TestFolderErrorsNameTheTarget(t *testing.T) {
	ctx, b := context.Background(), blob.NewDir(t.TempDir())
	src := both(one("a", 1, 2, 1, 2), one("b", 2, 1, 3, 4))
	ms := slices.Clone(src.Matrices())
	ms[1].LoD = [][]int64{{0, 2}}
	_, err := npy.Codec.Create(ctx, b, "w", ms, format.Options{})
	if !errors.Is(err, format.ErrLossy) || !strings.HasPrefix(err.Error(), "npy: w/b.npy: ") {
		t.Errorf("create: %v, want ErrLossy of w/b.npy", err)
	}
	w, err := npy.Codec.Create(ctx, b, "w", src.Matrices(), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	err = w.Commit(ctx, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "npy: w/a.npy: ") {
		t.Errorf("commit: %v, want an error of w/a.npy", err)
	}
}

// TestByExt checks other endings and what they stand for.
func TestByExt(t *testing.T) {
	set := format.Set{named{npy.Codec, format.Info{Name: "x", Ext: ".x", Endings: []format.Ending{{Ext: ".tx", Set: map[string]string{"sep": "tab"}}}}},
		named{npy.Codec, format.Info{Name: "folder", Endings: []format.Ending{{Ext: ".model"}}}}}
	for name, want := range map[string]string{"a.x": "x map[]", "a.TX": "x map[sep:tab]", "d/a.model/": "folder map[]"} {
		c, o, err := set.ByExt(name)
		if err != nil || fmt.Sprint(c.Info().Name, " ", o) != want {
			t.Errorf("%s: %v, %v, %v, want %s", name, c, o, err, want)
		}
	}
	if _, _, err := set.ByExt("a.y"); !errors.Is(err, format.ErrUnknown) || !strings.Contains(err.Error(), ".x .tx .model") {
		t.Errorf("%v, want ErrUnknown with the endings", err)
	}
}

// named is a codec with another description.
type named struct {
	format.Codec
	info format.Info
}

func (n named) Info() format.Info { return n.info }

// TestNearest checks which codec's word counts for a file that none claims.
func TestNearest(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	far := failing{named{npy.Codec, format.Info{Name: "far"}}, 40}
	near := failing{named{npy.Codec, format.Info{Name: "near", Ext: ".near"}}, 3}
	loose := failing{named{npy.Codec, format.Info{Name: "loose", Ext: ".text", Loose: true}}, 40}
	for _, name := range []string{"w.near", "w.other", "w.text"} {
		if err := blob.WriteAll(ctx, b, name, make([]byte, 50)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		set        format.Set
		name, want string
	}{
		{format.Set{far, near}, "w.other", "damaged: far: w.other at byte 40"},
		{format.Set{far, near}, "w.near", "damaged: near: w.near at byte 3"},
		{format.Set{near}, "w.other", "unknown format: 50 bytes"},
		{format.Set{loose}, "w.other", "unknown format: 50 bytes"},
		{format.Set{loose}, "w.text", "damaged: loose: w.text at byte 40"},
	} {
		if _, _, err := c.set.Detect(ctx, b, c.name); !errors.Is(err, format.ErrUnknown) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// failing is a codec that claims nothing and finds damage at a byte.
type failing struct {
	named
	off int64
}

func (f failing) Sniff(context.Context, blob.Bucket, string) (string, error) { return "", nil }

func (f failing) Open(_ context.Context, _ blob.Bucket, path string, _ format.Options) (format.Reader, error) {
	return nil, format.Corrupt(f.info.Name, path, f.off, "odd")
}

// TestConvertErrorsNameTheTarget checks the same of errors of the file system.
func TestConvertErrorsNameTheTarget(t *testing.T) {
	err := format.Convert(t.Context(), one("a", 1, 2, 1, 2), npy.Codec, full{&blob.Mem{}}, "d/w.npy", format.Options{}, nil, nil)
	if err == nil || err.Error() != "npy: d/w.npy: write /x/d/w.npy: no space" {
		t.Errorf("%v, want an error of d/w.npy", err)
	}
}

// full is a bucket that takes no more.
type full struct{ blob.Bucket }

func (full) Create(_ context.Context, name string) (blob.Writer, error) {
	return nil, &fs.PathError{Op: "write", Path: "/x/d/_tmp.w.npy.ABC/piece.7", Err: errors.New("no space")}
}
