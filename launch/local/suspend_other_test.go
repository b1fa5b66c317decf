//go:build !unix

package local

import (
	"errors"
	"os"
)

func suspend(*os.Process) error { return errors.ErrUnsupported }
