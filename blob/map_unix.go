//go:build unix

package blob

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile shows the first size bytes of the file in memory, for reading.
func mapFile(f *os.File, size int64) ([]byte, error) {
	if int64(int(size)) != size {
		return nil, errors.ErrUnsupported
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(errors.ErrUnsupported, os.NewSyscallError("mmap", err))
	}
	return data, nil
}

func unmapFile(data []byte) error { return os.NewSyscallError("munmap", unix.Munmap(data)) }
