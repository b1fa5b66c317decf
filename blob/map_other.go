//go:build !unix

package blob

import (
	"errors"
	"os"
)

// mapFile is not offered here.
func mapFile(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapFile([]byte) error { return nil }
