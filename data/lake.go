package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"thole.example/blob"
)

// lakes finds out whether files belong to tables of Delta, Iceberg or Hudi. The log of such a table decides which of its files hold rows of
// today: others were removed or rewritten, and all of them together hold some rows twice.
type lakes struct {
	store blob.Bucket
	seen  map[string]bool // folders that are none, or are in kinds
	trees []string        // of stores, whose names are all known
	kinds map[string]string
}

// listed learns of the tables in a tree of a store from the names of its objects, so that no folder of it is asked for.
func (l *lakes) listed(tree string, objects []blob.Info) {
	l.trees = append(l.trees, tree)
	for _, o := range objects {
		if folder, kind := lakeLog(o.Name); kind != "" {
			if l.kinds == nil {
				l.kinds = map[string]string{}
			}
			l.kinds[folder] = kind
		}
	}
}

// lakeLog is the folder of the table of whose log an object is a part, and its kind; "" if it is none.
func lakeLog(name string) (folder, kind string) {
	for at := blob.Parent(name); ; at = blob.Parent(at) {
		switch base := blob.Base(at); {
		case at == blob.Parent(at):
			return "", ""
		case base == deltaLog:
			return blob.Parent(at), "Delta"
		case base == hudiLog:
			return blob.Parent(at), "Hudi"
		case base == icebergLog && strings.HasSuffix(strings.TrimSuffix(name, icebergPacked), icebergEnd) && at == blob.Parent(name):
			return blob.Parent(at), "Iceberg"
		}
	}
}

// check refuses files of a table. The folders above a file are looked at, as a pattern may name any file.
func (l *lakes) check(ctx context.Context, files []string) error {
	for _, f := range files {
		if f == Stdin {
			continue
		}
		if blob.IsURL(f) {
			if err := l.above(ctx, f, f, false); err != nil {
				return err
			}
			continue
		}
		whole, err := filepath.Abs(f)
		if err != nil {
			return err
		}
		if err := l.above(ctx, f, whole, true); err != nil {
			return err
		}
		if real, err := filepath.EvalSymlinks(whole); err == nil && real != whole { // who opens the file says what is wrong
			if err := l.above(ctx, f, real, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// above refuses a file if a folder above it is a table; whole is where it lies, and f what it is called.
func (l *lakes) above(ctx context.Context, f, whole string, local bool) error {
	for folder := blob.Parent(whole); !l.seen[folder]; folder = blob.Parent(folder) {
		kind, err := l.of(ctx, folder, local)
		if err != nil {
			return err
		}
		if kind != "" {
			return fmt.Errorf("%s: a file of the %s table %s, whose log says which files hold its rows; export a snapshot of the table "+
				"to Parquet first", f, kind, folder)
		}
		l.seen[folder] = true
	}
	return nil
}

// of is the kind of the table whose folder this is; "" if it is none.
func (l *lakes) of(ctx context.Context, folder string, local bool) (kind string, err error) {
	if local {
		for _, log := range []struct{ name, kind string }{{deltaLog, "Delta"}, {hudiLog, "Hudi"}} {
			if info, err := os.Stat(filepath.Join(folder, log.name)); err == nil && info.IsDir() {
				return log.kind, nil
			}
		}
		for _, end := range []string{icebergEnd, icebergEnd + icebergPacked} {
			if found, err := filepath.Glob(filepath.Join(literal(folder), icebergLog, "*"+end)); err == nil && len(found) > 0 {
				return "Iceberg", nil
			}
		}
		return "", nil
	}
	if kind = l.kinds[folder]; kind != "" || l.store == nil {
		return kind, nil
	}
	for _, tree := range l.trees {
		if _, inside := blob.Rel(tree, folder); inside {
			return "", nil
		}
	}
	for _, log := range []string{deltaLog, icebergLog, hudiLog} {
		found, err := list(ctx, l.store, blob.Join(folder, log))
		if err != nil {
			return "", err
		}
		for _, o := range found {
			if of, kind := lakeLog(o.Name); kind != "" && of == folder {
				return kind, nil
			}
		}
	}
	return "", nil
}

// list gives the objects of a tree, none where they may not be listed: rights to read a file need not reach the folders above it.
func list(ctx context.Context, store blob.Bucket, tree string) ([]blob.Info, error) {
	found, err := store.List(ctx, tree)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return found, err
}

// The folders of logs, and how the names of Iceberg's files of metadata end, also of those that early versions compressed.
const (
	deltaLog      = "_delta_log"
	hudiLog       = ".hoodie"
	icebergLog    = "metadata"
	icebergEnd    = ".metadata.json"
	icebergPacked = ".gz"
)

// literal escapes the characters of globs.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
