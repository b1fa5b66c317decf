//go:build !unix

package blob

import (
	"errors"
	"os"
)

func lockShared(*os.File) error { return errors.ErrUnsupported }

func lockAlone(*os.File) error { return errors.ErrUnsupported }
