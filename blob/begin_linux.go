package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// begin has what was written to the file go to the disk, and does not wait for it. Where that cannot be, Commit waits for all of it.
func begin(f *os.File) { _ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) }

// syncFile waits until the file, or the entries of a folder, are on the disk.
func syncFile(f *os.File) error { return f.Sync() }
