package blob

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// vecLimit is how many slices the system takes at once.
const vecLimit = 1024

// WriteVec writes slices to a file, one after the other from off on, and gives how many bytes it wrote. It changes the slice of slices.
func WriteVec(f *os.File, vec [][]byte, off int64) (int64, error) {
	var total int64
	for len(vec) > 0 {
		n, err := unix.Pwritev(int(f.Fd()), vec[:min(len(vec), vecLimit)], off+total)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return total, &os.PathError{Op: "write", Path: f.Name(), Err: err}
		case n == 0 && len(vec[0]) > 0:
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
