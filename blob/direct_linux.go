package blob

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	directLeast = 256 << 10 // from how many bytes on a write goes past what the system keeps of files
	directAlign = 4 << 10   // what its place and its length are multiples of, and what the bytes lie at a multiple of
	directAhead = 64 << 20  // how much of the disk is taken at once, at most
)

// direct writes large parts of a file past what the system keeps of files: that leaves the rest of the machine its memory, and its
// processors a copy of all bytes and most of the work for pages, which is more than all other work for a checkpoint.
type direct struct {
	*os.File       // the same file; nil: not opened
	off      bool  // it cannot be
	taken    int64 // of the disk, or tried to: some of it may have been
}

// allocate takes some of the disk for a file, and makes it so long.
var allocate = unix.Fallocate

// write writes the whole of p, or nothing, and reports whether it did. Where the file system has no such writes, or not of what
// lies where p does, it does nothing.
func (d *direct) write(f *os.File, p []byte, at int64) (done bool, err error) {
	if d.off || len(p) < directLeast || (int64(len(p))|at)&(directAlign-1) != 0 {
		return false, nil
	}
	if d.File == nil {
		if d.File, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY|unix.O_DIRECT, 0); err != nil {
			d.off = true
			return false, nil
		}
	}
	if n := int64(len(p)); at+n > d.taken { // what lies there already is written faster; a disk that has no room tells the write
		n = max(n, min(at, directAhead))
		_ = allocate(int(d.Fd()), 0, at, n)
		d.taken = at + n
	}
	_, err = d.WriteAt(p, at)
	if errors.Is(err, unix.EINVAL) { // the bytes lie elsewhere, or it is a disk of larger blocks
		d.off = true
		return false, nil
	}
	return err == nil, err
}

// end gives back what was taken of the disk behind the end of the file.
func (d *direct) end(f *os.File, size int64) error {
	if d.taken <= size {
		return nil
	}
	return f.Truncate(size)
}

func (d *direct) close() {
	if d.File != nil {
		d.File.Close() // what was written is waited for by a sync of the other one
	}
}
