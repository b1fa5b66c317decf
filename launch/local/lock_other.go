//go:build !unix

package local

import (
	"errors"
	"os"
)

func hold(*os.File) (held bool, err error) { return false, nil }

func locked(*os.File) (bool, error) { return false, errors.ErrUnsupported }
