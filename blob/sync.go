package blob

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
)

// aheadBytes is how much is written to a file before the disk is told to begin with it, so that Commit does not wait for all of it.
const aheadBytes = 8 << 20

// ahead counts what was written to a file.
type ahead struct{ bytes atomic.Int64 }

// wrote tells the disk to begin when there is enough. It may be called by many goroutines.
func (a *ahead) wrote(f *os.File, n int64) {
	if a.bytes.Add(n) >= aheadBytes {
		a.bytes.Store(0)
		begin(f)
	}
}

// syncDir makes the entries of a folder outlive the machine, if the bucket wants that.
func (d *Dir) syncDir(dir string) error {
	if !d.sync {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(system.sync(f), f.Close())
}

// folders makes a folder with those above it, whose entries outlive the machine if the bucket wants that.
func (d *Dir) folders(dir string) error {
	var above []string // folders that get an entry
	for at := dir; d.sync; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !missing(err) || filepath.Dir(at) == at {
			break
		}
		above = append(above, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, at := range above {
		if err := d.syncDir(at); err != nil {
			return err
		}
	}
	return nil
}
