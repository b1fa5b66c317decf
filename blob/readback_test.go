package blob

import (
	"bytes"
	"context"
	"testing"
)

// TestWriterReadsBack checks that a writer gives back what was put anywhere in it, gaps as zero, before its Commit.
func TestWriterReadsBack(t *testing.T) {
	for name, b := range map[string]Bucket{"mem": &Mem{}, "dir": NewDir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			w, err := b.Create(context.Background(), "o")
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			if _, err := w.WriteAt([]byte("cd"), 4); err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteAt([]byte("ab"), 0); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 6)
			if n, err := w.ReadAt(got, 0); n != 6 {
				t.Fatalf("read %d bytes: %v", n, err)
			}
			if want := []byte("ab\x00\x00cd"); !bytes.Equal(got, want) {
				t.Errorf("read %q, want %q", got, want)
			}
			if n, err := w.ReadAt(got, 3); n != 3 || err == nil {
				t.Errorf("read of 6 bytes at 3 of 6 gave %d, %v, want 3 and an error", n, err)
			}
		})
	}
}
