package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thole.example/blob"
	"thole.example/internal/filelock"
)

// Files is the folder of a log. Names are plain names in it.
type Files interface {
	// Lock keeps others from opening the log until unlock is called; it makes the folder if there is none.
	Lock() (unlock func() error, err error)
	// List gives the names of all files.
	List() ([]string, error)
	// Create opens a file for reading and writing, with what is in it, and makes it if there is none.
	Create(name string) (File, error)
	// Open opens a file that is there, for reading and writing.
	Open(name string) (File, error)
	// Rename gives a file a name that no other one has. What has it open goes on.
	Rename(from, to string) error
	// Remove takes a name away. What has the file open goes on. It fails with fs.ErrNotExist, as Rename does, if there is none.
	Remove(name string) error
	// Sync makes durable which names there are.
	Sync() error
}

// File is a file of a log. Several may be open of one name; all methods may be called by several goroutines.
type File interface {
	io.ReaderAt
	// WriteVec writes the slices one after the other from off on, and gives how many bytes it wrote. It changes the slice of slices.
	WriteVec(vec [][]byte, off int64) (int64, error)
	// Sync makes durable what was written, and the size.
	Sync() error
	// Size is that of the file in bytes.
	Size() (int64, error)
	// Truncate makes the file so long.
	Truncate(size int64) error
	// Allocate makes the file so long with zeros, if it is shorter, and takes the space for it where the system can.
	Allocate(size int64) error
	Close() error
}

// lockName is the file that is locked.
const lockName = "lock"

// Dir is the files of a folder on disk, which is made, with those above it, if there is none.
type Dir string

// Lock implements Files.
func (d Dir) Lock() (func() error, error) {
	if err := makeDurable(filepath.Clean(string(d))); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.path(lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	// Where systems have no locks it is left to the user that a log is opened once.
	if err := filelock.Alone(f); err != nil && !errors.Is(err, filelock.ErrNoLocks) {
		_ = f.Close() // nothing was written to it
		return nil, fmt.Errorf("%s: %w: does another process have the log open?", d.path(lockName), err)
	}
	return f.Close, nil
}

// makeDurable makes a folder, and the names of all that it has made durable.
func makeDurable(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := makeDurable(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return Dir(above).Sync()
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// List implements Files.
func (d Dir) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Create implements Files.
func (d Dir) Create(name string) (File, error) { return d.open(name, os.O_RDWR|os.O_CREATE) }

// Open implements Files.
func (d Dir) Open(name string) (File, error) { return d.open(name, os.O_RDWR) }

func (d Dir) open(name string, flag int) (File, error) {
	f, err := os.OpenFile(d.path(name), flag, 0o666)
	if err != nil {
		return nil, err
	}
	return &disk{f}, nil
}

// Rename implements Files.
func (d Dir) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

// Remove implements Files.
func (d Dir) Remove(name string) error { return os.Remove(d.path(name)) }

// Sync implements Files.
func (d Dir) Sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// disk is a file on disk.
type disk struct{ *os.File }

// WriteVec implements File.
func (d *disk) WriteVec(vec [][]byte, off int64) (int64, error) {
	return blob.WriteVec(d.File, vec, off)
}

// Size implements File.
func (d *disk) Size() (int64, error) {
	info, err := d.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// lengthen makes the file so long, if it is shorter, without taking space.
func (d *disk) lengthen(size int64) error {
	now, err := d.Size()
	if err != nil || now >= size {
		return err
	}
	return d.Truncate(size)
}
