package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format"
)

// rewrite packs the files of an archive again, each as how writes it.
func rewrite(t *testing.T, data []byte, how func(w *zip.Writer, h *zip.FileHeader, content []byte) error) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := w.SetComment("by another program"); err != nil {
		t.Fatal(err)
	}
	files := slices.Clone(r.File)
	slices.Reverse(files) // the manifest last
	for _, f := range files {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err == nil {
			err = how(w, &zip.FileHeader{Name: f.Name}, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// streamed writes sizes and checksum behind the content.
func streamed(w *zip.Writer, h *zip.FileHeader, content []byte) error {
	out, err := w.CreateHeader(h)
	if err == nil {
		_, err = out.Write(content)
	}
	return err
}

// foreigners are ways in which other programs write archives.
var foreigners = map[string]func(w *zip.Writer, h *zip.FileHeader, content []byte) error{
	"stored, data descriptors": streamed,
	"deflated": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
		h.Method = zip.Deflate
		return streamed(w, h, content)
	},
	"extra fields and comments": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
		h.Extra, h.Comment = []byte{0x75, 0x78, 4, 0, 1, 2, 3, 4}, "a comment"
		return streamed(w, h, content)
	},
	"sizes in the header": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
		h.CRC32, h.CompressedSize64, h.UncompressedSize64 = crc32.ChecksumIEEE(content), uint64(len(content)), uint64(len(content))
		out, err := w.CreateRaw(h)
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	},
	"64-bit sizes": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
		n := byte(len(content))
		h.CRC32, h.CompressedSize64, h.UncompressedSize64 = crc32.ChecksumIEEE(content), uint64(len(content)), uint64(len(content))
		h.Extra = []byte{1, 0, 16, 0, n, byte(len(content) >> 8), 0, 0, 0, 0, 0, 0, n, byte(len(content) >> 8), 0, 0, 0, 0, 0, 0}
		out, err := w.CreateRaw(h)
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	},
	"folders too": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
		if h.Name == "in/b" {
			if _, err := w.Create("in/"); err != nil {
				return err
			}
		}
		h.Method = zip.Deflate
		return streamed(w, h, content)
	},
}

// TestForeign reads packed files that other programs wrote again, and finds every damage that changes a file.
func TestForeign(t *testing.T) {
	for name, how := range foreigners {
		t.Run(name, func(t *testing.T) {
			ctx, b := t.Context(), &blob.Mem{}
			said := packed(t, b, "p", true)
			data, err := blob.ReadAll(ctx, b, "p", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			data = rewrite(t, data, how)
			put := func(data []byte) (blob.Bucket, error) {
				if err := blob.WriteAll(ctx, b, "f", data); err != nil {
					t.Fatal(err)
				}
				return Inside(ctx, b, "f")
			}
			in, err := put(data)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, in, "f")
			m, err := Read(ctx, in, "f")
			if err != nil || len(m.Files) != len(said.Files) {
				t.Fatalf("%+v, %v", m, err)
			}
			if problems, err := m.Verify(ctx, in, "f"); len(problems) > 0 || err != nil {
				t.Errorf("%q, %v", problems, err)
			}
			if _, err := Unpack(ctx, in, "f", b, "u", blob.Anything); err != nil {
				t.Error(err)
			}
			holds(t, b, "u")
			for i := range data {
				bad := slices.Clone(data)
				bad[i] ^= 1 << (i % 8)
				in, err := put(bad)
				if err != nil {
					if !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) && !errors.Is(err, format.ErrLimit) {
						t.Errorf("byte %d: %v, want damage", i, err)
					}
					continue
				}
				if _, err := Unpack(ctx, in, "f", b, "v", blob.Anything); err == nil {
					holds(t, b, "v")
				}
				if m, err := Read(ctx, in, "f"); err != nil || m == nil {
					continue // it is no packed file any more, or has another manifest
				} else if _, err := m.Verify(ctx, in, "f"); err != nil {
					t.Errorf("byte %d: %v, want damage among the problems", i, err)
				}
			}
		})
	}
}

// TestForeignRefused are archives with a manifest that cannot be followed.
func TestForeignRefused(t *testing.T) {
	ctx, b := t.Context(), &blob.Mem{}
	packed(t, b, "p", true)
	data, err := blob.ReadAll(ctx, b, "p", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for want, how := range map[string]func(w *zip.Writer, h *zip.FileHeader, content []byte) error{
		"want one of a file within the folder": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
			if h.Name == "w" {
				h.Name = "../w"
			}
			return streamed(w, h, content)
		},
		"twice": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
			if h.Name == "w" {
				h.Name = "__model__"
			}
			return streamed(w, h, content)
		},
		"encrypted": func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
			if h.Name == "w" {
				h.Flags = 1
			}
			return streamed(w, h, content)
		},
	} {
		if err := blob.WriteAll(ctx, b, "f", rewrite(t, data, how)); err != nil {
			t.Fatal(err)
		}
		if _, err := Inside(ctx, b, "f"); err == nil || !bytes.Contains([]byte(fmt.Sprint(err)), []byte(want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	other := rewrite(t, data, func(w *zip.Writer, h *zip.FileHeader, content []byte) error {
		if h.Name == Name {
			content = []byte(`{"name":"of something else"}`)
		}
		return streamed(w, h, content)
	})
	if err := blob.WriteAll(ctx, b, "f", other); err != nil {
		t.Fatal(err)
	}
	if in, err := Inside(ctx, b, "f"); err != nil || in != blob.Bucket(b) {
		t.Errorf("another kind of manifest: %T, %v", in, err)
	}
}

// replacedBucket is a bucket in which an object is replaced before it is opened, or before it is read.
type replacedBucket struct {
	*blob.Mem
	opens bool
}

func (b replacedBucket) Open(ctx context.Context, name string) (blob.Object, error) {
	if !b.opens {
		return nil, blob.ErrChanged
	}
	o, err := b.Mem.Open(ctx, name)
	return unreadable{o}, err
}

type unreadable struct{ blob.Object }

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, blob.ErrChanged }

// TestInsideReplaced: a packed file that is replaced has changed; it is not taken for a file of another kind.
func TestInsideReplaced(t *testing.T) {
	b := &blob.Mem{}
	packed(t, b, "p", true)
	for _, opens := range []bool{false, true} {
		if _, err := Inside(t.Context(), replacedBucket{b, opens}, "p"); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("opens %v: %v, want ErrChanged", opens, err)
		}
	}
}
