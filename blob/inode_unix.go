//go:build unix

package blob

import (
	"io/fs"
	"syscall"
)

// inode is what tells a file from every other one that exists.
func inode(info fs.FileInfo) [2]uint64 {
	if at, ok := info.Sys().(*syscall.Stat_t); ok {
		return [2]uint64{uint64(at.Dev), uint64(at.Ino)}
	}
	return [2]uint64{}
}
