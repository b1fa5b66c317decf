//go:build unix

package data

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe is read to its end.
func TestFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(fifo, []byte("-1 7:2\n"), 0o600) }()
	b, err := LoadFile(context.Background(), fifo, Options{})
	if err != nil || <-done != nil || b.Len() != 1 || b.Dim() != 7 {
		t.Errorf("%v, %v", b, err)
	}
}
