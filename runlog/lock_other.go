//go:build !unix

package runlog

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.ErrUnsupported }

func locked(*os.File) (bool, error) { return false, errors.ErrUnsupported }
