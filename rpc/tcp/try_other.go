//go:build !darwin && !linux && !openbsd

package tcp

import "errors"

// triesWrites says that writeFD is there.
const triesWrites = false

func writeFD(uintptr, [][]byte) (int, error) { return 0, errors.ErrUnsupported }
