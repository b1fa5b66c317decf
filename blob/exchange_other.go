//go:build !linux

package blob

import "errors"

// exchange is not offered by this system's kernel.
func exchange(_, _ string) error { return errors.ErrUnsupported }

// renameFree is not offered by this system's kernel.
func renameFree(_, _ string) error { return errors.ErrUnsupported }
