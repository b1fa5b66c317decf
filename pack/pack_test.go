package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/zipfile"
)

// files are what the tests pack.
func files() map[string]string {
	return map[string]string{"__model__": "a topology", "w": strings.Repeat("values ", 300), "in/b": "", "in/é.txt": "x"}
}

// packed packs the files.
func packed(t testing.TB, b blob.Bucket, to string, oneFile bool) *Manifest {
	t.Helper()
	ctx := context.Background()
	var from []Source
	for name, content := range files() {
		if err := blob.WriteAll(ctx, b, "from/"+name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		from = append(from, Source{name, "from/" + name})
	}
	said := Manifest{Topology: &Topology{File: "__model__"}, Feeds: []Tensor{{"x", "f32", []int64{-1, 2}}}, Metadata: map[string]string{"by": "a test"}}
	m, err := Write(ctx, b, from, said, b, to, blob.Anything, oneFile)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// holds compares the files below a path with those that were packed.
func holds(t *testing.T, b blob.Bucket, dir string) {
	t.Helper()
	infos, err := b.List(t.Context(), dir)
	if err != nil || len(infos) != len(files())+1 {
		t.Errorf("%s: %v, %v, want %d files", dir, infos, err, len(files())+1)
	}
	for name, want := range files() {
		got, err := blob.ReadAll(t.Context(), b, dir+"/"+name, 1<<20)
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
		}
	}
}

// TestPack packs into a folder and a file, which hold the same, verifies and unpacks both, and packs again: the same bytes.
func TestPack(t *testing.T) {
	ctx, b := t.Context(), blob.NewDir(t.TempDir())
	for _, oneFile := range []bool{false, true} {
		said := packed(t, b, "p", oneFile)
		in, err := Inside(ctx, b, "p")
		if err != nil || (in == blob.Bucket(b)) == oneFile {
			t.Fatalf("%v: %T, %v", oneFile, in, err)
		}
		holds(t, in, "p")
		m, err := Read(ctx, in, "p")
		if err != nil || !reflect.DeepEqual(m, said) || !slices.IsSortedFunc(m.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%+v, %v, want %+v", m, err, said)
		}
		if problems, err := m.Verify(ctx, in, "p"); len(problems) > 0 || err != nil {
			t.Errorf("%q, %v", problems, err)
		}
		if _, err := Unpack(ctx, in, "p", b, "u", blob.Anything); err != nil {
			t.Error(err)
		}
		holds(t, b, "u")
		if oneFile {
			o, err := in.Open(ctx, "p/w")
			if err != nil {
				t.Fatal(err)
			}
			if err := o.(blob.Mapped).Map(func(data []byte) error {
				if string(data) != files()["w"] {
					return fmt.Errorf("%d bytes", len(data))
				}
				return nil
			}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Error(err)
			}
			o.Close()
			first, _ := blob.ReadAll(ctx, b, "p", 1<<20)
			packed(t, b, "q", true)
			if second, _ := blob.ReadAll(ctx, b, "q", 1<<20); !bytes.Equal(first, second) {
				t.Error("packed twice, other bytes")
			}
			if _, err := zip.NewReader(bytes.NewReader(first), int64(len(first))); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Unpack(ctx, b, "from", b, "v", blob.Anything); !errors.Is(err, format.ErrUnknown) {
		t.Errorf("unpacked what is not packed: %v", err)
	}
}

// TestDamage changes every bit of a packed file, and cuts it everywhere: an error, or a problem that verify finds. Nothing
// damaged is unpacked.
func TestDamage(t *testing.T) {
	ctx, b := t.Context(), &blob.Mem{}
	packed(t, b, "p", true)
	whole, err := blob.ReadAll(ctx, b, "p", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, data []byte) {
		if err := blob.WriteAll(ctx, b, "d", data); err != nil {
			t.Fatal(err)
		}
		in, err := Inside(ctx, b, "d")
		if err != nil {
			if !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) {
				t.Errorf("%s: %v, want damage", what, err)
			}
			return
		}
		if _, err := Unpack(ctx, in, "d", b, "u", blob.Anything); err == nil {
			t.Errorf("%s: unpacked", what)
		}
		if infos, _ := b.List(ctx, "u"); len(infos) > 0 {
			t.Errorf("%s: %d files are left", what, len(infos))
		}
	}
	for i := range whole {
		if same := i > bytes.LastIndexByte(whole, '}') && i < len(whole)-200 && i%7 != 0; same {
			continue // within files each byte is the same as the others
		}
		data := slices.Clone(whole)
		data[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("bit of byte %d", i), data)
	}
	for n := 0; n < len(whole); n += 13 {
		check(fmt.Sprintf("cut at byte %d", n), whole[:n])
	}
	check("a byte more", append(slices.Clone(whole), 0))
}

// TestProblems are folders that are not what their manifest says.
func TestProblems(t *testing.T) {
	ctx := t.Context()
	for want, change := range map[string]func(b blob.Bucket) error{
		"is missing":             func(b blob.Bucket) error { return b.Remove(ctx, "p/w") },
		"not in the manifest":    func(b blob.Bucket) error { return blob.WriteAll(ctx, b, "p/more", nil) },
		"has 1 bytes, want":      func(b blob.Bucket) error { return blob.WriteAll(ctx, b, "p/w", []byte("x")) },
		"has the SHA-256":        func(b blob.Bucket) error { return blob.WriteAll(ctx, b, "p/in/é.txt", []byte("y")) },
		"in the manifest":        func(b blob.Bucket) error { return blob.WriteAll(ctx, b, "p/in/more", nil) },
		"file __model__ has the": func(b blob.Bucket) error { return blob.WriteAll(ctx, b, "p/__model__", []byte("A topology")) },
	} {
		b := &blob.Mem{}
		m := packed(t, b, "p", false)
		if err := change(b); err != nil {
			t.Fatal(err)
		}
		problems, err := m.Verify(ctx, b, "p")
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("%q, %v, want one problem: %s", problems, err, want)
		}
		if _, err := Unpack(ctx, b, "p", b, "u", blob.Anything); !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%s: unpacked, %v", want, err)
		}
	}
}

// sum is any SHA-256.
const sum = `"sha256":"0c1489055e24177280572b71d831dbf091984dda1d0667fb3d23defd2cccdf5b"`

// TestManifests are manifests that no one should follow.
func TestManifests(t *testing.T) {
	one := func(name, size string) string { return `{"name":"` + name + `","size":` + size + `,` + sum + `}` }
	all := map[string]string{
		"version":   `{"pack":2,"files":[]}`,
		"behind":    `{"pack":1,"files":[]} x`,
		"unknown":   `{"pack":1,"files":[],"more":1}`,
		"negative":  `{"pack":1,"files":[` + one("a", "-1") + `]}`,
		"overflow":  `{"pack":1,"files":[` + one("a", "9223372036854775807") + `]}`,
		"sum":       `{"pack":1,"files":[` + one("a", "9223372036854775806") + `,` + one("b", "9") + `]}`,
		"digest":    `{"pack":1,"files":[{"name":"a","size":1,"sha256":"12"}]}`,
		"unsorted":  `{"pack":1,"files":[` + one("b", "1") + `,` + one("a", "1") + `]}`,
		"twice":     `{"pack":1,"files":[` + one("a", "1") + `,` + one("a", "1") + `]}`,
		"both":      `{"pack":1,"files":[` + one("a", "1") + `,` + one("a/b", "1") + `]}`,
		"long":      `{"pack":1,"files":[` + one(strings.Repeat("a", 2000), "1") + `]}`,
		"no number": `{"pack":"1"}`,
		"no pack":   `{"pbck":1,"files":[]}`,
		"no JSON":   `{"pack":1,"files":[]`,
		"empty":     ``,
	}
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../b", "a//b", "a/", `a\\b`, `a\u0000b`, "manifest.json", ".x", "a/.x", "_tmp.x"} {
		all["name "+name] = `{"pack":1,"files":[` + one(name, "1") + `]}`
	}
	for what, text := range all {
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "p/"+Name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if m, err := Read(t.Context(), b, "p"); !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("%s: %v, %v, want an error", what, m, err)
		}
	}
	for _, text := range []string{"7", "{}", "[]", `{"name":"another kind of manifest"}`} {
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "p/"+Name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if m, err := Read(t.Context(), b, "p"); m != nil || err != nil {
			t.Errorf("%q: %v, %v, want nothing packed", text, m, err)
		}
	}
}

// TestLimits packs what is just within each limit of the package comment, and reads it back; what is one beyond is refused.
func TestLimits(t *testing.T) {
	manifest := func(files int, size int64) *Manifest {
		m := &Manifest{Files: make([]File, files)}
		for i := range m.Files {
			m.Files[i] = File{fmt.Sprintf("%08d", i), 0, strings.Repeat("0", 64)}
		}
		m.Files[files-1].Size = size
		return m
	}
	for what, sides := range map[string][2]*Manifest{
		"files": {manifest(65536, 0), manifest(65537, 0)},
		"sizes": {manifest(2, math.MaxInt64-1<<32), manifest(2, math.MaxInt64-1<<32+1)},
	} {
		for beyond, m := range sides {
			if err := m.check(); (err == nil) != (beyond == 0) {
				t.Errorf("%s, %d beyond the limit: %v", what, beyond, err)
			}
		}
	}

	ctx, b := t.Context(), &blob.Mem{}
	write := func(name string, said Manifest, oneFile bool) error {
		if err := blob.WriteAll(ctx, b, name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		_, err := Write(ctx, b, []Source{{name, name}}, said, b, "packed", blob.Anything, oneFile)
		if err != nil {
			return err
		}
		in, err := Inside(ctx, b, "packed")
		if err != nil {
			return err
		}
		_, err = Unpack(ctx, in, "packed", b, "unpacked", blob.Anything)
		return err
	}
	for _, oneFile := range []bool{false, true} {
		for beyond := range 2 {
			name := strings.Repeat("n", 1024+beyond)
			if err := write(name, Manifest{}, oneFile); (err == nil) != (beyond == 0) {
				t.Errorf("a name of %d bytes: %v", len(name), err)
			}
			said := Manifest{Metadata: map[string]string{"by": ""}, Files: []File{{"x", 1, strings.Repeat("0", 64)}}, Pack: version}
			data, err := said.encode()
			if err != nil {
				t.Fatal(err)
			}
			said.Metadata["by"] = strings.Repeat("y", 16<<20-len(data)+beyond)
			if err := write("x", said, oneFile); (err == nil) != (beyond == 0) || err != nil && !errors.Is(err, format.ErrLimit) {
				t.Errorf("a manifest of %d bytes: %v", 16<<20+beyond, err)
			}
		}
	}
}

// sparse is the frame of an archive whose files are zeros.
type sparse []format.Span

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for _, span := range s {
		for i := range span.Bytes {
			if at := span.Off + int64(i) - off; at >= 0 && at < int64(len(p)) {
				p[at] = span.Bytes[i]
			}
		}
	}
	return len(p), nil
}

// TestLarge lays out files beyond 4 GiB, as another reader of archives has to find them.
func TestLarge(t *testing.T) {
	sizes := map[string]int64{"a": 5 << 30, "b": 1<<32 - 1, "c": 1<<32 - 2, "d": 1 << 40, "e": 7}
	m := Manifest{}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		m.Files = append(m.Files, File{Name: name, Size: sizes[name]})
	}
	all, end := plan(&m, 100)
	frame := frame(all, end)
	last := frame[len(frame)-1]
	r, err := zip.NewReader(sparse(frame), last.Off+int64(len(last.Bytes)))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.File {
		off, err := f.DataOffset()
		if err != nil || off != all[i].Data || off%zipfile.Alignment != 0 || int64(f.UncompressedSize64) != all[i].Size || f.Method != zip.Store {
			t.Errorf("%s at %d, %v, want %+v", f.Name, off, err, all[i])
		}
	}
	if len(r.File) != len(sizes)+1 {
		t.Errorf("%d files", len(r.File))
	}
}

// failing is a bucket whose objects end before their time.
type failing struct{ blob.Bucket }

type failingObject struct{ blob.Object }

func (f failing) Open(ctx context.Context, name string) (blob.Object, error) {
	o, err := f.Bucket.Open(ctx, name)
	return failingObject{o}, err
}

func (failingObject) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

// TestNothingHalf fails while it writes: nothing is left.
func TestNothingHalf(t *testing.T) {
	ctx, b := t.Context(), &blob.Mem{}
	packed(t, b, "p", false)
	m, err := Read(ctx, b, "p")
	if err != nil {
		t.Fatal(err)
	}
	from := []Source{{"w", "p/w"}}
	for _, oneFile := range []bool{false, true} {
		if _, err := Write(ctx, failing{b}, from, *m, b, "half", blob.Anything, oneFile); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v, want an early end", err)
		}
		w := writer{ctx, b, from, &Manifest{Files: []File{{"w", 2100, strings.Repeat("0", 64)}}}, []byte("{}"), []uint32{0}, blob.Anything}
		write := w.folder
		if oneFile {
			write = w.file
		}
		if err := write(b, "half"); !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%v, want another SHA-256", err)
		}
	}
	infos, err := b.List(ctx, "")
	for _, i := range infos {
		if strings.Contains(i.Name, "half") {
			t.Errorf("%s is left, %v", i.Name, err)
		}
	}
	if _, err := Write(ctx, b, []Source{{"../w", "p/w"}}, *m, b, "half", blob.Anything, true); err == nil {
		t.Error("a name that leaves the folder was packed")
	}
}

// FuzzInside opens anything as a packed file.
func FuzzInside(f *testing.F) {
	b := &blob.Mem{}
	packed(f, b, "p", true)
	data, err := blob.ReadAll(f.Context(), b, "p", 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "d", data); err != nil {
			t.Fatal(err)
		}
		in, err := Inside(t.Context(), b, "d")
		if err != nil || in == blob.Bucket(b) {
			return
		}
		m, err := Read(t.Context(), in, "d")
		if err != nil || m == nil {
			t.Fatalf("opened, but %v", err)
		}
		if _, err := m.Verify(t.Context(), in, "d"); err != nil {
			t.Errorf("opened, but %v", err)
		}
	})
}
