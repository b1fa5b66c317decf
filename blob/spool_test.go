package blob

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestSpool writes anywhere, small and across the size from which on a file is taken, and holds what is read to a plain slice.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		s := NewSpool("x")
		defer s.Close()
		var want []byte
		pos := 0
		for range rapid.IntRange(1, 8).Draw(t, "writes") {
			p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.SampledFrom([]int{0, 1, 100, 1 << 19, 1 << 20}).Draw(t, "size"))
			at, appended := pos, rapid.Bool().Draw(t, "append")
			if !appended {
				at = rapid.IntRange(0, 2<<20).Draw(t, "at")
			}
			n, err := len(p), error(nil)
			if appended {
				n, err = s.Write(p)
				pos += n
			} else {
				n, err = s.WriteAt(p, int64(at))
			}
			if n != len(p) || err != nil {
				t.Fatalf("%d of %d bytes at %d: %v", n, len(p), at, err)
			}
			if n > 0 {
				want = append(want, make([]byte, max(0, at+n-len(want)))...)
				copy(want[at:], p)
			}
		}
		got, err := io.ReadAll(io.NewSectionReader(s, 0, s.Size()))
		if err != nil || !bytes.Equal(got, want) || s.Written() != int64(pos) {
			t.Fatalf("%d bytes of which %d were appended, %v; want %d and %d", len(got), s.Written(), err, len(want), pos)
		}
	})
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 || err != nil {
		t.Errorf("%v remain, %v", left, err)
	}
}

// TestSpoolTogether writes by many goroutines, across the moment at which a file is taken.
func TestSpoolTogether(t *testing.T) {
	s := NewSpool("x")
	defer s.Close()
	var all sync.WaitGroup
	const writers, size = 16, 200 << 10
	for i := range writers {
		all.Go(func() {
			if _, err := s.WriteAt(bytes.Repeat([]byte{byte(i)}, size), int64(i)*size); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := make([]byte, writers*size)
	if n, err := s.ReadAt(got, 0); n != len(got) || err != nil && err != io.EOF || s.Size() != writers*size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	for i, b := range got {
		if b != byte(i/size) {
			t.Fatalf("byte %d is of writer %d", i, b)
		}
	}
}

// TestSpoolFails has no folder for a file: the object is named, and what was written is still there.
func TestSpoolFails(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "not", "there"))
	s := NewSpool("a/b")
	if _, err := s.Write([]byte("head")); err != nil {
		t.Fatal(err)
	}
	var at *fs.PathError
	if _, err := s.Write(make([]byte, spoolInMemory)); !errors.As(err, &at) || at.Path != "a/b" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want a PathError of a/b that says that there is no folder", err)
	}
	got := make([]byte, 10)
	if n, err := s.ReadAt(got, 0); string(got[:n]) != "head" || err != io.EOF {
		t.Errorf("%q, %v", got[:n], err)
	}
	if !s.Close() || s.Close() {
		t.Error("closed once, want the first Close alone to say so")
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%v, want fs.ErrClosed", err)
	}
	if _, err := s.ReadAt(got, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%v, want fs.ErrClosed", err)
	}
}
