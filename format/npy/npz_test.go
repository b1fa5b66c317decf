package npy

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const archivePath = "d/a.npz"

// zipOf makes an archive of members, as the library of Go writes it.
func zipOf(t fataler, method uint16, members ...string) []byte {
	return zipAs(t, zip.FileHeader{Method: method}, members...)
}

// zipAs gives every member the same header, but for its name.
func zipAs(t fataler, h zip.FileHeader, members ...string) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		one := h
		one.Name = members[i]
		w, err := z.CreateHeader(&one)
		if err == nil {
			_, err = io.WriteString(w, members[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// holding is what an archive holds: raw values and shapes by name, and files.
type holding struct {
	ms     []matrix.Meta
	values map[string][]byte
	files  map[string][]byte
}

func loadArchive(t fataler, data []byte) (h holding, err error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, archivePath, data); err != nil {
		t.Fatal(err)
	}
	r, err := Zipped.Open(ctx, b, archivePath, format.Options{})
	if err != nil {
		return h, err
	}
	defer r.Close()
	h = holding{r.Matrices(), map[string][]byte{}, r.Files()}
	for _, m := range h.ms {
		for _, places := range [][]matrix.Rect{{m.Rect()}, {matrix.At(0, m.Rows/2, 0, m.Cols), matrix.At(m.Rows/2, m.Rows, 0, m.Cols/2), matrix.At(m.Rows/2, m.Rows, m.Cols/2, m.Cols)}} {
			whole := matrix.NewDense(m.DType, m.Rect())
			for _, at := range places {
				for blk, err := range r.Blocks(ctx, m.Name, at) {
					if err != nil {
						return h, err
					}
					if err := matrix.Put(whole, blk); err != nil {
						return h, err
					}
				}
			}
			raw, _ := wire.ViewAny(whole.Data.Values())
			if before, ok := h.values[m.Name]; ok && !bytes.Equal(before, raw) {
				return h, fmt.Errorf("%s: % x in parts, % x as a whole", m.Name, raw, before)
			}
			h.values[m.Name] = raw
		}
	}
	return h, nil
}

func saveArchive(t fataler, h holding, o format.Options) []byte {
	ctx, b := context.Background(), &blob.Mem{}
	o.Files = h.files
	w, err := Zipped.Create(ctx, b, archivePath, h.ms, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, m := range h.ms {
		blk := matrix.NewDense(m.DType, m.Rect())
		raw, _ := wire.ViewAny(blk.Data.Values())
		copy(raw, h.values[m.Name])
		p, err := w.Put(ctx, m.Name, blk)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	data, err := blob.ReadAll(ctx, b, archivePath, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestArchive writes random arrays and reads them: stored by us, stored and deflated by Go's library, in both orders.
func TestArchive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := holding{values: map[string][]byte{}, files: map[string][]byte{}}
		for _, name := range rapid.SliceOfNDistinct(rapid.String(), 1, 4, rapid.ID[string]).Draw(t, "names") {
			m := matrix.Meta{Name: name, DType: rapid.SampledFrom(matrix.DTypes()).Filter(func(d matrix.DType) bool { return d != matrix.BF16 }).Draw(t, "type")}
			m.Dims = rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 4).Draw(t, "dims")
			m.Rows, m.Cols, _ = matrix.Shape(m.Dims)
			raw := make([]byte, m.Rows*m.Cols*int64(m.DType.Size()))
			for i := range raw {
				if raw[i] = rapid.Byte().Draw(t, "byte"); m.DType == matrix.Bool {
					raw[i] &= 1
				}
			}
			h.ms, h.values[name] = append(h.ms, m), raw
		}
		if rapid.Bool().Draw(t, "file") {
			h.files["graph.json"] = rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		}
		data := saveArchive(t, h, format.Options{})
		same := func(data []byte) {
			got, err := loadArchive(t, data)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(got.values, h.values, bytes.Equal) || !maps.EqualFunc(got.files, h.files, bytes.Equal) {
				t.Fatalf("%v, want %v", got, h)
			}
			for i, m := range got.ms {
				if m.Name != h.ms[i].Name || fmt.Sprint(m.Dims) != fmt.Sprint(h.ms[i].Dims) || m.DType != h.ms[i].DType {
					t.Fatalf("%+v, want %+v", m, h.ms[i])
				}
			}
		}
		same(data)
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		var plain, turned []string
		for i, f := range z.File {
			off, err := f.DataOffset()
			if err != nil || off%alignment != 0 {
				t.Fatalf("%q at %d, %v, want a multiple of %d", f.Name, off, err, alignment)
			}
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(in)
			if err != nil { // among others if the checksum is wrong
				t.Fatal(err)
			}
			plain = append(plain, f.Name, string(content))
			if i < len(h.ms) {
				raw := h.values[h.ms[i].Name]
				content = bytes.Replace(content, []byte("False"), []byte("True "), 1)
				turn(content[len(content)-len(raw):], raw, h.ms[i].Dims, h.ms[i].DType.Size())
			}
			turned = append(turned, f.Name, string(content))
		}
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			same(zipOf(t, method, plain...))
			same(zipOf(t, method, turned...))
		}
	})
}

// TestArchiveDamage are archives that lie.
func TestArchiveDamage(t *testing.T) {
	array := string(file(1, plainText, []byte("abcdefghijkl")))
	good := zipOf(t, zip.Store, "a.npy", array)
	change := func(data []byte, old, with string) []byte {
		if !bytes.Contains(data, []byte(old)) {
			t.Fatalf("no %q to change", old)
		}
		return bytes.ReplaceAll(data, []byte(old), []byte(with))
	}
	deflated := zipOf(t, zip.Deflate, "a.npy", array)
	broken := bytes.Clone(deflated)
	broken[60] ^= 0xff
	two := zipOf(t, zip.Store, "a.npy", array, "b.npy", array)
	at := bytes.LastIndex(two, []byte("PK\x01\x02"))
	copy(two[at+42:], []byte{0, 0, 0, 0}) // the second entry names the place of the first member
	other := bytes.Clone(good)
	other[bytes.LastIndex(other, []byte("PK\x01\x02"))+10] = 99
	for name, c := range map[string]struct {
		data []byte
		want error
		says string
	}{
		"no archive":   {[]byte("PK\x05\x06"), format.ErrCorrupt, "want a zip"},
		"no directory": {good[:len(good)-30], format.ErrCorrupt, "directory"},
		"no array":     {zipOf(t, zip.Store, "a.txt", "x"), format.ErrMatrix, "none of which"},
		"twice":        {zipOf(t, zip.Store, "a.npy", array, "a.npy", array), format.ErrCorrupt, "second member"},
		"shared bytes": {two, format.ErrCorrupt, "within another"},
		"values":       {change(good, "abcd", "abce"), format.ErrCorrupt, "checksum"},
		"head":         {change(good, "'shape'", "'shapi'"), format.ErrCorrupt, `member "a.npy"`},
		"deflated":     {broken, format.ErrCorrupt, ""},
		"short array":  {zipOf(t, zip.Deflate, "a.npy", array[:len(array)-1]), format.ErrCorrupt, "remain"},
		"long array":   {zipOf(t, zip.Deflate, "a.npy", array+"x"), format.ErrCorrupt, "behind"},
		"method":       {other, format.ErrVersion, "method 99"},
		"nested":       {zipOf(t, zip.Store, "a.npy", string(file(1, "{'descr': [('a', [('b', '<i2')])], 'fortran_order': False, 'shape': (3,), }", make([]byte, 6)))), format.ErrVersion, `field "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadArchive(t, c.data)
			err = format.Wrap(zipName, archivePath, err)
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

// TestArchiveNames reads names as NumPy does: UTF-8 where the flag says so, else code page 437. Names of UTF-8 without the flag,
// as many programs write them, stay what they are.
func TestArchiveNames(t *testing.T) {
	array := string(file(1, plainText, make([]byte, 12)))
	unflagged, flagged := zip.FileHeader{NonUTF8: true}, zip.FileHeader{Flags: 1 << 11}
	for _, c := range []struct {
		raw  string
		head zip.FileHeader
		name string // "" if it is refused
	}{
		{"xyz\x81", unflagged, "xyzü"},
		{"\x80\xe1\xfe\xff", unflagged, "Çß■\u00a0"},
		{"zwü", unflagged, "zwü"},
		{"zwü", flagged, "zwü"},
		{"xyz\x81", flagged, ""},
	} {
		t.Run(fmt.Sprintf("%q %x", c.raw, c.head.Flags), func(t *testing.T) {
			h, err := loadArchive(t, zipAs(t, c.head, c.raw+".npy", array))
			if c.name == "" {
				if err = format.Wrap(zipName, archivePath, err); !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "UTF-8") {
					t.Errorf("%v, want ErrCorrupt that says UTF-8", err)
				}
				return
			}
			if err != nil || h.ms[0].Name != c.name {
				t.Fatalf("%v, %+v, want the name %q", err, h.ms, c.name)
			}
			again, err := loadArchive(t, saveArchive(t, h, format.Options{}))
			if err != nil || again.ms[0].Name != c.name || !maps.EqualFunc(again.values, h.values, bytes.Equal) {
				t.Errorf("%v, %+v, want %+v", err, again, h)
			}
		})
	}
	// A file beside the arrays, and names that only their bytes tell apart.
	h, err := loadArchive(t, zipAs(t, unflagged, "a.npy", array, "xyz\x81", "text"))
	if err != nil || string(h.files["xyzü"]) != "text" {
		t.Errorf("%v, files %q, want xyzü", err, h.files)
	}
	if _, err := loadArchive(t, zipAs(t, unflagged, "xyz\x81.npy", array, "xyzü.npy", array)); err == nil || !strings.Contains(err.Error(), "second member") {
		t.Errorf("%v, want a second member refused", err)
	}
}

// TestInflateLimit refuses what would have to be held in memory and is too large for it.
func TestInflateLimit(t *testing.T) {
	text := fmt.Sprintf("{'descr': '|u1', 'fortran_order': True, 'shape': (2, %d), }", inflateLimit/2)
	head := string(file(1, text, nil))
	data := zipOf(t, zip.Deflate, "a.npy", head+string(make([]byte, 1<<20))) // and says that it holds more
	size := data[bytes.LastIndex(data, []byte("PK\x01\x02"))+24:]
	wire.Little.PutUint32(size, uint32(len(head)+inflateLimit))
	if _, err := loadArchive(t, data); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want ErrLimit", err)
	}
}

// TestArchiveExplained prints every member, and goes on as long as there is sense.
func TestArchiveExplained(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	array := string(file(1, plainText, make([]byte, 12)))
	data := zipOf(t, zip.Deflate, "a.npy", array, "note.txt", "x")
	if err := blob.WriteAll(ctx, b, archivePath, data); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Zipped.Explain(ctx, b, archivePath, dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`member "a.npy", deflated`, "magic", "from value 0", `member "note.txt", 1 bytes`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nhas no %q", out.String(), want)
		}
	}
}

// FuzzArchive reads and explains any bytes; what is read without an error is written and read again.
func FuzzArchive(f *testing.F) {
	array := string(file(1, plainText, make([]byte, 12)))
	f.Add(zipOf(f, zip.Store, "a.npy", array, "b", "text"))
	f.Add(zipOf(f, zip.Deflate, "a.npy", array, "ü.npy", array))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, archivePath, data); err != nil {
			t.Fatal(err)
		}
		_ = Zipped.Explain(ctx, b, archivePath, dump.New(io.Discard))
		h, err := loadArchive(t, data)
		if err != nil {
			return
		}
		again, err := loadArchive(t, saveArchive(t, h, format.Options{}))
		if err != nil || !maps.EqualFunc(again.values, h.values, bytes.Equal) {
			t.Errorf("%v, %v, want %v", again, err, h)
		}
	})
}
