package blob

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Room implements Roomer: what the file system gives to a user who is not root.
func (d *Dir) Room(_ context.Context, name string) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	dir := filepath.Dir(d.file(name))
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	for missing(err) && dir != filepath.Dir(dir) { // it will be made
		dir = filepath.Dir(dir)
		err = unix.Statfs(dir, &s)
	}
	if err != nil {
		return 0, fmt.Errorf("blob: free space of %s: %w", dir, err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}
