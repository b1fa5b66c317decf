//go:build !linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

const (
	canMap   = false
	hugePage = 1
)

// mapping is nothing: memory stays in the Go heap, and is copied as it grows.
type mapping struct{ base unsafe.Pointer }

func (m *Memory) grow(int) error { return errors.ErrUnsupported }

// CanBack is whether memory can be that of a file on this system.
const CanBack = false

// Back closes the file and fails: this system maps none.
func (m *Memory) Back(f *os.File, _ int) error {
	err := fmt.Errorf("kernel: memory of the file %s on %s: %w", f.Name(), runtime.GOOS, errors.ErrUnsupported)
	return errors.Join(err, f.Close())
}

func (m *Memory) growFile(int) error { return errors.ErrUnsupported }

func (m *Memory) readFile([]byte, int) error { return errors.ErrUnsupported }

// Release does nothing here.
func (m *Memory) Release(int, int) {}

// Ready does nothing here.
func (m *Memory) Ready(int, int, bool) {}

// Await does nothing here.
func (m *Memory) Await(int, int) {}

func (m *mapping) fit(int) {}

func (m *mapping) plain() {}

func (m *mapping) drop(int, int) bool { return false }

func (m *mapping) free() {}
