//go:build !linux

package blob

import (
	"os"
	"runtime"
)

func begin(*os.File) {}

// syncFile waits until the file, or the entries of a folder, are on the disk. Windows has no such thing for folders.
func syncFile(f *os.File) error {
	if info, err := f.Stat(); runtime.GOOS == "windows" && err == nil && info.IsDir() {
		return nil
	}
	return f.Sync()
}
