package main

import (
	"os"
	"path/filepath"

	"thole.example/internal/filelock"
)

// momentPrefix begins the names of folders in which a process keeps its best epoch.
const momentPrefix = "thole-best."

// momentFolder makes a folder of this process in one for temporary files, until remove is called. Those of processes that were killed go.
func momentFolder(in string) (dir string, remove func(), err error) {
	sweepMoments(in)
	for {
		if dir, err = os.MkdirTemp(in, momentPrefix); err == nil {
			dir, err = filepath.Abs(dir)
		}
		if err != nil {
			return "", nil, err
		}
		f, err := os.Open(dir)
		if os.IsNotExist(err) {
			continue // another process took it for one that was left
		}
		if err != nil {
			return "", nil, err
		}
		if err := filelock.Shared(f); err != nil || hasPath(f, dir) {
			return dir, func() { os.RemoveAll(dir); f.Close() }, nil
		}
		f.Close()
	}
}

// sweepMoments removes the folders that nobody holds. Whatever cannot be looked at, or locked, stays.
func sweepMoments(folder string) {
	left, _ := filepath.Glob(filepath.Join(folder, momentPrefix+"*"))
	for _, dir := range left {
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.IsDir() && filelock.Alone(f) == nil && hasPath(f, dir) {
			_ = os.RemoveAll(dir) // what cannot be removed stays
		}
		f.Close()
	}
}
