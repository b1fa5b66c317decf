package journal

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Sync implements File: also of the size, but not of times.
func (d *disk) Sync() error {
	for {
		if err := unix.Fdatasync(int(d.Fd())); err != unix.EINTR {
			return err
		}
	}
}

// Allocate implements File.
func (d *disk) Allocate(size int64) error {
	for {
		err := unix.Fallocate(int(d.Fd()), 0, 0, size)
		switch {
		case err == unix.EINTR:
		case errors.Is(err, errors.ErrUnsupported), err == unix.EOPNOTSUPP, err == unix.ENOSYS:
			return d.lengthen(size)
		default:
			return err
		}
	}
}
