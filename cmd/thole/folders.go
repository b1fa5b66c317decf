package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// missingFolders are the folders of a path that are not there, the deepest first.
func missingFolders(dir string) (all []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}

// removeEmpty removes folders, the deepest first, up to one that has something in it.
func removeEmpty(dirs []string) {
	for _, dir := range dirs {
		if os.Remove(dir) != nil {
			return
		}
	}
}
