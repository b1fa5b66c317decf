// Package dir keeps the values of a coord.Store in a folder, for processes of one machine or of one shared POSIX file system.
//
//	ROOT/KEY/00000000000000000007   the bytes of version 7 of a key; KEY is escaped as a part of a URL's path
//	ROOT/KEY/_tmp.*                 what is being written
//	ROOT/%store                     tells the store from all others
//
// The value of a key is that of the highest version. A Put writes and syncs a temporary file, and links it to the name of the
// version after the one it replaces: the file system gives a name to one of several who ask, and to nobody if it is taken. So there is
// no lock, which a process that is stopped would hold for ever. Versions that were replaced are removed, but for the last few: who
// took long between reading and linking finds the name taken, and not free again.
//
// What it takes from the file system: link and list are atomic, seen by all at once, and kept once synced. A local one does that. NFS
// links as needed, but its clients remember what a folder has (mount with actimeo=0), and several minutes of silence of a client
// may end its view of a file. Where there are no hard links it cannot be used. Whoever waits looks every 50 milliseconds. While a file
// system is not mounted, its folder is empty or not there: then %store is missing, and the store does not answer, rather than that nobody
// has any role.
package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/coord"
)

// Store is the values in a folder. It implements coord.Store, and keeps nothing open.
type Store struct{ root, id string }

const (
	poll     = 50 * time.Millisecond
	keep     = 16 // versions of a key
	tmpMark  = "_tmp."
	idName   = "%store" // escaped like that no key is
	idLimit  = 100
	tmpLimit = time.Hour // after which the file of a Put is that of a process which died
)

// Open is the store in a folder, which is made if it is not there. The folder above has to be there.
func Open(root string) (*Store, error) {
	if err := os.Mkdir(root, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("coord: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("coord: %s is no folder, want one for this store alone", root))
	}
	if err := publish(root, idName, []byte(rand.Text())); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, wrap(err)
	}
	return Find(root)
}

// Find is the store in a folder, which is not made: for who only looks.
func Find(root string) (*Store, error) {
	id, err := readID(root)
	if _, missing := os.Stat(root); missing != nil {
		return nil, fmt.Errorf("coord: %w: want the folder that servers were started with", missing)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("coord: %s has no file %s: want the folder that servers were started with", root, idName)
	}
	return &Store{root, id}, wrap(err)
}

func readID(root string) (string, error) {
	f, err := os.Open(filepath.Join(root, idName))
	if err != nil {
		return "", err
	}
	defer f.Close()
	id, err := io.ReadAll(io.LimitReader(f, idLimit))
	return string(id), err
}

// present says why the folder is not the one that was opened.
func (s *Store) present() error {
	switch id, err := readID(s.root); {
	case err != nil:
		return fmt.Errorf("coord: the store is away: %w", err)
	case id != s.id:
		return fmt.Errorf("coord: %s is another store than it was", s.root)
	}
	return nil
}

func (s *Store) folder(key string) string { return filepath.Join(s.root, url.PathEscape(key)) }

func name(version uint64) string { return fmt.Sprintf("%020d", version) }

// versions is the versions in the folder of a key, ascending.
func versions(folder string) ([]uint64, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []uint64
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 64); err == nil && e.Name() == name(n) && n > 0 && e.Type().IsRegular() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Get implements coord.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, coord.Version, error) {
	if err := errors.Join(coord.CheckKey(key), ctx.Err()); err != nil {
		return nil, "", err
	}
	for {
		all, err := versions(s.folder(key))
		if err != nil {
			return nil, "", wrap(err)
		}
		if len(all) == 0 {
			return nil, "", s.present()
		}
		last := all[len(all)-1]
		data, err := read(filepath.Join(s.folder(key), name(last)))
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // many newer ones came meanwhile
		}
		if err == nil {
			err = coord.CheckValue(key, data)
		}
		if err != nil {
			return nil, "", wrap(err)
		}
		return data, version(last), nil
	}
}

func version(n uint64) coord.Version { return coord.Version(strconv.FormatUint(n, 10)) }

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("coord: %w", err)
}

// read is a file, or the part of it that is above the limit of values.
func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, coord.ValueLimit+1))
}

// Put implements coord.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte, old coord.Version) (coord.Version, error) {
	if err := errors.Join(coord.CheckPut(key, data), ctx.Err()); err != nil {
		return "", err
	}
	folder := s.folder(key)
	n, err := strconv.ParseUint("0"+string(old), 10, 64)
	if err != nil {
		return "", fmt.Errorf("coord: %s: version %q, want a number", key, old)
	}
	if err := s.present(); err != nil {
		return "", err
	}
	all, err := versions(folder)
	if err != nil {
		return "", wrap(err)
	}
	if last := slices.Max(append(all, 0)); last != n {
		return "", changed(key, last, n)
	}
	if err = os.Mkdir(folder, 0o777); err == nil {
		err = syncFolder(s.root)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", wrap(err)
	}
	switch err := publish(folder, name(n+1), data); {
	case errors.Is(err, fs.ErrExist):
		return "", changed(key, n+1, n)
	case err != nil:
		return "", wrap(err)
	}
	if err := s.verify(key, n+1); err != nil {
		return "", err
	}
	return version(n + 1), nil
}

func changed(key string, now, old uint64) error {
	return fmt.Errorf("coord: %s has version %d, want %d: %w", key, now, old, coord.ErrChanged)
}

// publish gives bytes a name in a folder, on the disk, unless it is taken.
func publish(folder, name string, data []byte) error {
	tmp := filepath.Join(folder, tmpMark+rand.Text())
	defer os.Remove(tmp)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp, filepath.Join(folder, name)); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes the names in a folder last.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// verify removes what a new version has replaced, and says if nobody knows whether it replaced anything: others may have gone on so far
// that its name was free again.
func (s *Store) verify(key string, n uint64) error {
	folder := s.folder(key)
	all, err := versions(folder)
	if err != nil {
		return wrap(err)
	}
	last := slices.Max(append(all, n))
	for _, v := range all {
		if v+keep <= last {
			os.Remove(filepath.Join(folder, name(v))) // or somebody else does
		}
	}
	if n+keep <= last {
		return fmt.Errorf("coord: %s: version %d took so long to write that %d is there: whether it was kept is not known", key, n, last)
	}
	return s.sweep(folder)
}

// sweep removes what processes that died were writing.
func (s *Store) sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if info, err := e.Info(); strings.HasPrefix(e.Name(), tmpMark) && err == nil && time.Since(info.ModTime()) > tmpLimit {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	return wrap(err)
}

// List implements coord.Store.
func (s *Store) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	if err := s.present(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.root)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, wrap(err)
	}
	var found []coord.Entry
	for _, e := range entries {
		key, err := url.PathUnescape(e.Name())
		if err != nil || !e.IsDir() || url.PathEscape(key) != e.Name() || !strings.HasPrefix(key, prefix) || coord.CheckKey(key) != nil {
			continue // somebody else's
		}
		data, v, err := s.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		if v != "" {
			found = append(found, coord.Entry{Key: key, Data: data, Version: v})
		}
	}
	slices.SortFunc(found, func(a, b coord.Entry) int { return strings.Compare(a.Key, b.Key) })
	return found, nil
}

// Watch implements coord.Store.
func (s *Store) Watch(ctx context.Context, key string, seen coord.Version) ([]byte, coord.Version, error) {
	for {
		data, v, err := s.Get(ctx, key)
		if err != nil || v != seen {
			return data, v, err
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(poll):
		}
	}
}

// Close implements coord.Store.
func (s *Store) Close() error { return nil }
