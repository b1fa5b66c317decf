//go:build !linux

package kernel

import (
	"errors"
	"unsafe"
)

const (
	canMap   = false
	hugePage = 1
)

// mapping is nothing: memory stays in the Go heap, and is copied as it grows.
type mapping struct{ base unsafe.Pointer }

func (m *Memory) grow(int) error { return errors.ErrUnsupported }

// Ready does nothing here.
func (m *Memory) Ready(int, int, bool) {}

// Await does nothing here.
func (m *Memory) Await(int, int) {}

func (m *mapping) fit(int) {}

func (m *mapping) plain() {}

func (m *mapping) drop(int, int) bool { return false }

func (m *mapping) free() {}
