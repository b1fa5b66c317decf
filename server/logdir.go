package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"thole.example/blob"
	"thole.example/journal"
)

// LogDir is the logs of one server in a folder on disk. Nobody else has it open meanwhile, where the system has locks of files.
type LogDir struct {
	dir    string
	unlock func() error
}

// ownerName is the file that says whose logs they are.
const ownerName = "server"

// OpenLogDir opens the folder, or makes it if there is none. The owner is a text that tells a server from others, as its address and its
// store: the folder of another one is refused.
func OpenLogDir(dir, owner string) (d *LogDir, err error) {
	unlock, err := journal.Dir(dir).Lock()
	if err != nil {
		return nil, fmt.Errorf("logs %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	d = &LogDir{dir, unlock}
	if old, err := filepath.Glob(filepath.Join(dir, removedPrefix+"*")); err == nil {
		for _, name := range old {
			_ = os.RemoveAll(name) // the next one tries again
		}
	}
	switch found, err := os.ReadFile(filepath.Join(dir, ownerName)); {
	case errors.Is(err, fs.ErrNotExist):
		return d, blob.WriteAll(context.Background(), blob.NewDir(dir).Synced(), ownerName, []byte(owner))
	case err != nil:
		return nil, err
	case string(found) != owner:
		return nil, fmt.Errorf("logs %s are those of %s, want those of %s: name another folder, or start that server", dir, found, owner)
	}
	return d, nil
}

// identityName is the file with the identity of what is in the folder.
const identityName = "identity"

// Identity is what the logs are called where roles are kept: all that is in them belongs together. "": they have no identity, as what is
// in them is not whole.
func (d *LogDir) Identity() (string, error) {
	text, err := os.ReadFile(filepath.Join(d.dir, identityName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// SetIdentity gives the logs an identity, durably; "" takes it away.
func (d *LogDir) SetIdentity(id string) error {
	files := blob.NewDir(d.dir).Synced()
	if id != "" {
		return blob.WriteAll(context.Background(), files, identityName, []byte(id))
	}
	err := os.Remove(filepath.Join(d.dir, identityName))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = journal.Dir(d.dir).Sync()
	}
	return err
}

// Close lets others open the folder.
func (d *LogDir) Close() error { return d.unlock() }

// List implements Logs.
func (d *LogDir) List() (names []string, err error) {
	entries, err := os.ReadDir(d.dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Folder implements Logs.
func (d *LogDir) Folder(name string) journal.Files { return journal.Dir(filepath.Join(d.dir, name)) }

// keptPrefix begins the names of folders that were put aside.
const keptPrefix = "kept."

// Keep implements Logs.
func (d *LogDir) Keep(name string) (string, error) {
	where := filepath.Join(d.dir, keptPrefix+name)
	for n := 2; ; n++ { // one of its name may have been kept before
		if _, err := os.Lstat(where); err != nil {
			break
		}
		where = filepath.Join(d.dir, fmt.Sprintf("%s%s.%d", keptPrefix, name, n))
	}
	if err := os.Rename(filepath.Join(d.dir, name), where); err != nil {
		return "", err
	}
	return where, journal.Dir(d.dir).Sync()
}

// removedPrefix begins the names of folders that are being removed: no log is there in part.
const removedPrefix = "removed."

// Remove implements Logs.
func (d *LogDir) Remove(name string) error {
	removed := filepath.Join(d.dir, removedPrefix+name)
	if err := os.RemoveAll(removed); err != nil { // one of its name that could not be removed to the end
		return err
	}
	if err := os.Rename(filepath.Join(d.dir, name), removed); err != nil {
		return err
	}
	if err := journal.Dir(d.dir).Sync(); err != nil {
		return err
	}
	return os.RemoveAll(removed)
}
