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

// checkLake refuses files of a Delta or Iceberg table. Its log decides which of its files hold rows of today: others were removed or
// rewritten, and all of them together hold some rows twice. The folders above a file are looked at, as a pattern may name any file.
func checkLake(ctx context.Context, store blob.Bucket, files []string) error {
	seen := map[string]bool{}
	for _, f := range files {
		if f == Stdin {
			continue
		}
		local := !blob.IsURL(f)
		if local {
			whole, err := filepath.Abs(f)
			if err != nil {
				return err
			}
			f = whole
		}
		for folder := blob.Parent(f); !seen[folder]; folder = blob.Parent(folder) {
			seen[folder] = true
			kind, err := lakeOf(ctx, store, folder, local)
			if err != nil {
				return err
			}
			if kind != "" {
				return fmt.Errorf("%s: a file of the %s table %s, whose log says which files hold its rows; export a snapshot of the table "+
					"to Parquet first", f, kind, folder)
			}
		}
	}
	return nil
}

// lakeOf is the kind of the table whose folder this is; "" if it is none.
func lakeOf(ctx context.Context, store blob.Bucket, folder string, local bool) (kind string, err error) {
	if local {
		if info, err := os.Stat(filepath.Join(folder, "_delta_log")); err == nil && info.IsDir() {
			return "Delta", nil
		}
		if found, err := filepath.Glob(filepath.Join(literal(folder), "metadata", "*"+icebergEnd)); err == nil && len(found) > 0 {
			return "Iceberg", nil
		}
		return "", nil
	}
	if store == nil {
		return "", nil
	}
	found, err := list(ctx, store, blob.Join(folder, "_delta_log"))
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "Delta", nil
	}
	found, err = list(ctx, store, blob.Join(folder, "metadata"))
	for _, o := range found {
		if strings.HasSuffix(o.Name, icebergEnd) {
			return "Iceberg", nil
		}
	}
	return "", err
}

// list gives the objects of a tree, none where they may not be listed: rights to read a file need not reach the folders above it.
func list(ctx context.Context, store blob.Bucket, tree string) ([]blob.Info, error) {
	found, err := store.List(ctx, tree)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return found, err
}

// icebergEnd is how the names of Iceberg's files of metadata end.
const icebergEnd = ".metadata.json"

// literal escapes the characters of globs.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
