package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thole.example/blob"
)

// globs are the characters that make a pattern of a path.
const globs = "*?["

// Files are the files that patterns name, in the order of the patterns: a path, a list of patterns with commas between them, a glob
// such as "day-*.libsvm", or a folder. The files of a glob and of a folder come in the order of their names, without those that
// begin with a dot or an underscore, as _SUCCESS does. Stdin stands for itself. A path that exists is taken as it is, whatever
// characters it has; of URLs of the store, which may be nil, those with such characters are always globs. A file may be named once only.
// Files of Delta and Iceberg tables are refused.
func Files(ctx context.Context, store blob.Bucket, patterns []string) ([]string, error) {
	var all []string
	for _, p := range patterns {
		files, err := expand(ctx, store, p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if slices.Contains(all, f) {
				return nil, fmt.Errorf("%s: named twice, want every file once: %w", f, ErrOption)
			}
			all = append(all, f)
		}
	}
	return all, checkLake(ctx, store, all)
}

func expand(ctx context.Context, store blob.Bucket, pattern string) ([]string, error) {
	if pattern == Stdin {
		return []string{Stdin}, nil
	}
	info, err := os.Stat(pattern)
	switch {
	case err == nil && info.IsDir():
		return folder(pattern)
	case err == nil:
		return []string{pattern}, nil
	case strings.Contains(pattern, ","):
		return Files(ctx, store, strings.Split(pattern, ","))
	case blob.IsURL(pattern):
		return objects(ctx, store, pattern)
	case !strings.ContainsAny(pattern, globs):
		return nil, err
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", pattern, err, ErrOption)
	}
	var files []string
	for _, f := range found { // in the order of their names
		if info, err := os.Stat(f); err == nil && !info.IsDir() && !hidden(f) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, errNoFile(pattern)
	}
	return files, nil
}

func errNoFile(pattern string) error { return fmt.Errorf("%s: no file has such a name", pattern) }

func errNoExamples(folder string) error {
	return fmt.Errorf("%s: a folder without files of examples (names that begin with . or _ are passed over)", folder)
}

// folder is the files in a folder.
func folder(path string) ([]string, error) {
	entries, err := os.ReadDir(path) // in the order of their names
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		if info, err := os.Stat(name); err == nil && !info.IsDir() && !hidden(name) {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return nil, errNoExamples(path)
	}
	return files, nil
}

// objects are those of a store that a URL names: an object, those right below it, or those that match it.
func objects(ctx context.Context, store blob.Bucket, pattern string) ([]string, error) {
	if store == nil {
		return nil, errNoStore(pattern)
	}
	pattern = blob.Clean(pattern)
	if _, err := blob.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", pattern, err, ErrOption)
	}
	tree := pattern
	if first := strings.IndexAny(pattern, globs); first >= 0 {
		tree = pattern[:strings.LastIndexByte(pattern[:first], '/')]
	}
	found, err := store.List(ctx, tree)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, o := range found { // in the order of their names
		fits := o.Name == pattern || blob.Parent(o.Name) == blob.Clean(pattern)
		if tree != pattern {
			fits, _ = blob.Match(pattern, o.Name)
		}
		if fits && (o.Name == pattern || !hidden(o.Name)) {
			files = append(files, o.Name)
		}
	}
	switch {
	case len(files) > 0:
		return files, nil
	case tree != pattern:
		return nil, errNoFile(pattern)
	case len(found) > 0:
		return nil, errNoExamples(pattern)
	}
	return nil, &os.PathError{Op: "open", Path: pattern, Err: os.ErrNotExist}
}

func hidden(path string) bool {
	name := filepath.Base(path)
	return name[0] == '.' || name[0] == '_'
}
