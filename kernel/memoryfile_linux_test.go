package kernel

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// nameless is an empty file of the folder that has no name any more.
func nameless(t rapid.TB, dir string) *os.File {
	f, err := os.CreateTemp(dir, "")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestBack: memory that moves into a file at any time is what it would be without, whatever it grows by and is released of.
func TestBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var m Memory
		defer m.Free()
		var want []byte
		backed := false
		for i := range rapid.IntRange(1, 8).Draw(t, "steps") {
			n := len(want) + rapid.SampledFrom([]int{1, 5000, mapFrom, 5 << 20}).Draw(t, "more")
			if err := m.Grow(n); err != nil {
				t.Fatal(err)
			}
			if len(bytes.Trim(m.Data()[len(want):n], "\x00")) > 0 {
				t.Fatalf("%d bytes: what is new is not zero", n)
			}
			for k := len(want); k < n; k += 997 {
				m.Data()[k] = byte(i + 1)
			}
			want = append(want, m.Data()[len(want):n]...)
			if !backed && rapid.Bool().Draw(t, "back") {
				backed = true
				if err := m.Back(nameless(t, dir), n); err != nil {
					t.Fatal(err)
				}
			}
			from := rapid.IntRange(0, n).Draw(t, "from")
			m.Release(from, rapid.IntRange(from, n).Draw(t, "to"))
			part := make([]byte, rapid.IntRange(0, n-from).Draw(t, "read"))
			if err := m.ReadAt(part, from); err != nil || !bytes.Equal(part, want[from:from+len(part)]) {
				t.Fatalf("%d bytes read at %d, in a file: %t: other bytes, or %v", len(part), from, backed, err)
			}
			if !bytes.Equal(m.Data()[:n], want) {
				t.Fatalf("%d bytes, in a file: %t: other bytes", n, backed)
			}
		}
	})
}

// TestBackReleases: what is released is not in this process's memory any more.
func TestBackReleases(t *testing.T) {
	const size = 32 << 20
	var m Memory
	defer m.Free()
	if err := m.Back(nameless(t, t.TempDir()), 0); err != nil {
		t.Fatal(err)
	}
	if err := m.Grow(size); err != nil {
		t.Fatal(err)
	}
	before := resident(t)
	for i := 0; i < size; i += 1 << 10 {
		m.Data()[i] = 1
	}
	full := resident(t)
	m.Release(0, size)
	if after := resident(t); full-before < size/2 || after-before > size/4 {
		t.Errorf("%d bytes resident, %d when %d were written, %d when they were released", before, full, size, after)
	}
}

// resident is how much memory this process has, in bytes.
func resident(t *testing.T) int64 { return statusBytes(t, "VmRSS:") }

// TestBackFails: what cannot be had is an error, and memory is what it was.
func TestBackFails(t *testing.T) {
	dir := t.TempDir()
	for name, open := range map[string]func() (*os.File, error){
		"full disk": func() (*os.File, error) {
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
				return nil, err
			}
			return os.Create(filepath.Join(dir, "file"))
		},
		"read only": func() (*os.File, error) { return os.Open(os.Args[0]) },
		"no file":   func() (*os.File, error) { return os.Open(os.DevNull) },
	} {
		t.Run(name, func(t *testing.T) {
			f, err := open()
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = unix.Unmount(dir, 0) }()
			var m Memory
			defer m.Free()
			if err := m.Grow(2 << 20); err != nil {
				t.Fatal(err)
			}
			m.Data()[0] = 7
			if err = m.Back(f, 2<<20); err == nil {
				t.Fatal("memory of a file that cannot be written")
			}
			if name == "full disk" && !errors.Is(err, unix.ENOSPC) {
				t.Errorf("error %v, want that of a full disk", err)
			}
			if f.Close() == nil {
				t.Error("the file is open")
			}
			if err := m.Grow(3 << 20); err != nil || m.Data()[0] != 7 || m.Back(nameless(t, t.TempDir()), 3<<20) != nil || m.Data()[0] != 7 {
				t.Errorf("grow: %v, first byte %d, want it to go on in memory", err, m.Data()[0])
			}
		})
	}
}
