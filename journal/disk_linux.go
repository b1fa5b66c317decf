package journal

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// vecLimit is how many slices the system takes at once.
const vecLimit = 1024

// WriteVec implements File.
func (d *disk) WriteVec(vec [][]byte, off int64) (int64, error) {
	var total int64
	for len(vec) > 0 {
		n, err := unix.Pwritev(int(d.Fd()), vec[:min(len(vec), vecLimit)], off+total)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return total, err
		case n == 0:
			return total, io.ErrShortWrite
		}
		total += int64(n)
		for len(vec) > 0 && n >= len(vec[0]) {
			n -= len(vec[0])
			vec = vec[1:]
		}
		if n > 0 {
			vec[0] = vec[0][n:]
		}
	}
	return total, nil
}

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
