//go:build !darwin && !linux && !openbsd

package tcp

import "errors"

const (
	// triesWrites says that writeFD is there, triesReads that readFD is.
	triesWrites, triesReads = false, false
	// sliceLimit is of how many slices a write may be; systems take no more.
	sliceLimit = 1024
)

func writeFD(uintptr, [][]byte) (int, error) { return 0, errors.ErrUnsupported }

func readFD(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
