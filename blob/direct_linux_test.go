package blob

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// alignedBytes is n bytes that are not all the same, where a disk can take them from.
func alignedBytes(n int) []byte {
	b := make([]byte, n+directAlign)
	b = b[-uintptr(unsafe.Pointer(&b[0]))&(directAlign-1):][:n]
	for i := range b {
		b[i] = byte(i * i >> 9)
	}
	return b
}

// TestDirect: large aligned writes of one that yields, to a bucket that syncs, go past what the system keeps of files, others do not, and the
// file has all of them and nothing else.
func TestDirect(t *testing.T) {
	root := t.TempDir()
	w, err := NewDir(root).Synced().Create(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	all := alignedBytes(5 << 20)
	var want bytes.Buffer
	d := w.(*dirWriter)
	d.Yield(true)
	for _, n := range []int{1 << 20, directLeast, 1 << 20, directAlign, 1 << 20, 1<<20 + 7, 1 << 20} {
		if _, err := w.Write(all[:n]); err != nil {
			t.Fatal(err)
		}
		want.Write(all[:n])
	}
	if d.direct.File == nil && !d.direct.off {
		t.Error("nothing was written directly")
	}
	if _, err := w.WriteAt([]byte("head"), 3); err != nil {
		t.Fatal(err)
	}
	copy(want.Bytes()[3:], "head")
	tail := make([]byte, 100)
	if n, err := w.ReadAt(tail, int64(want.Len()-10)); n != 10 || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v at the end of the file, want 10 and EOF", n, err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "a")); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes that differ, or %v, want %d", len(got), err, want.Len())
	}
}

// TestDirectFull: a file has what was written to it and nothing else, also when a disk that has too little room was taken in part.
func TestDirectFull(t *testing.T) {
	defer func(before func(fd int, mode uint32, off, n int64) error) { allocate = before }(allocate)
	allocate = func(fd int, _ uint32, off, n int64) error { // as ext4 does
		return errors.Join(unix.Ftruncate(fd, off+n/2), unix.ENOSPC)
	}
	root, all := t.TempDir(), alignedBytes(1<<20)
	w, err := NewDir(root).Synced().Create(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	w.(*dirWriter).Yield(true)
	for range 5 {
		if _, err := w.Write(all); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "a")); err != nil || !bytes.Equal(got, bytes.Repeat(all, 5)) {
		t.Errorf("%d bytes that differ, or %v, want %d", len(got), err, 5*len(all))
	}
}
