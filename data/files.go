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

// Files are the files that patterns name, in the order of the patterns: a path, a list of patterns with commas between them, a glob such
// as "day-*.libsvm", or a folder, also one that a glob names. The files of a folder are those in it and in its folders, at any depth.
// They come in the order of their names. Files and folders whose names begin with a dot or an underscore, such as _SUCCESS, are skipped,
// but not folders such as _day=1, which name a column. Stdin stands for itself. A path that exists is taken as it is, whatever
// characters it has; of URLs of the store, which may be nil, those with such characters are always globs. A file may be named once only.
// Files of Delta, Iceberg and Hudi tables are refused.
func Files(ctx context.Context, store blob.Bucket, patterns []string) ([]string, error) {
	e := expander{store: store, lakes: lakes{store: store, seen: map[string]bool{}}}
	named := map[string]bool{}
	for _, p := range patterns {
		files, err := e.expand(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if named[f] {
				return nil, fmt.Errorf("%s: named twice, want every file once: %w", f, ErrOption)
			}
			named[f] = true
			e.files = append(e.files, f)
		}
	}
	return e.files, e.lakes.check(ctx, e.files)
}

// expander finds the files of patterns.
type expander struct {
	store blob.Bucket
	files []string
	lakes lakes
}

func (e *expander) expand(ctx context.Context, pattern string) (files []string, err error) {
	if pattern == Stdin {
		return []string{Stdin}, nil
	}
	info, err := os.Stat(pattern)
	switch {
	case err == nil && info.IsDir():
		if files, err = folder(pattern, nil); err == nil && len(files) == 0 {
			err = errNoExamples(pattern)
		}
		return files, err
	case err == nil:
		return []string{pattern}, nil
	case strings.Contains(pattern, ","):
		for p := range strings.SplitSeq(pattern, ",") {
			more, err := e.expand(ctx, p)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
		return files, nil
	case blob.IsURL(pattern):
		return e.objects(ctx, pattern)
	case !strings.ContainsAny(pattern, globs):
		return nil, err
	}
	pattern = filepath.Clean(pattern)
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", pattern, err, ErrOption)
	}
	for _, f := range found {
		info, err := os.Stat(f)
		name := filepath.ToSlash(f)
		if err == nil && info.IsDir() {
			name += "/-" // whatever is in it
		}
		switch {
		case err != nil || hiddenBelow(name, literalFolders(filepath.ToSlash(pattern))):
		case info.IsDir():
			more, err := folder(f, nil)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		default:
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, errNoFile(pattern)
	}
	slices.Sort(files)
	return files, nil
}

func errNoFile(pattern string) error { return fmt.Errorf("%s: no file has such a name", pattern) }

func errNoExamples(folder string) error {
	return fmt.Errorf("%s: a folder without files of examples (names that begin with . or _ are skipped)", folder)
}

// folder is the files in a folder and its folders, which lies in those above.
func folder(path string, above []os.FileInfo) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, info) }) {
		return nil, fmt.Errorf("%s: a link to a folder that it lies in, want folders without such links", path)
	}
	above = append(above, info)
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		info, err := os.Stat(name)
		switch {
		case err != nil || hidden(entry.Name()) && !(info.IsDir() && namesColumn(entry.Name())):
		case info.IsDir():
			more, err := folder(name, above)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		default:
			files = append(files, name)
		}
	}
	slices.Sort(files) // as stores list them
	return files, nil
}

// objects are those of a store that a URL names: an object, those below it, or those that match it or lie below a folder that does.
func (e *expander) objects(ctx context.Context, pattern string) ([]string, error) {
	if e.store == nil {
		return nil, errNoStore(pattern)
	}
	pattern = blob.Clean(pattern)
	if _, err := blob.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", pattern, err, ErrOption)
	}
	tree, depth := pattern, strings.Count(pattern, "/")+1
	glob := strings.ContainsAny(pattern, globs)
	if glob {
		tree = strings.Join(strings.Split(pattern, "/")[:literalFolders(pattern)], "/")
	}
	found, err := e.store.List(ctx, tree)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, o := range found { // in the order of their names
		fits := true
		if glob {
			elements := strings.Split(o.Name, "/")
			fits, _ = blob.Match(pattern, strings.Join(elements[:min(depth, len(elements))], "/"))
		}
		if fits && (o.Name == pattern || !hiddenBelow(o.Name, strings.Count(tree, "/")+1)) {
			files = append(files, o.Name)
		}
	}
	e.lakes.listed(tree, found)
	switch {
	case len(files) > 0:
		return files, nil
	case glob:
		return nil, errNoFile(pattern)
	case len(found) > 0:
		return nil, errNoExamples(pattern)
	}
	return nil, &os.PathError{Op: "open", Path: pattern, Err: os.ErrNotExist}
}

// literalFolders is how many elements a pattern has before the first with a character of globs.
func literalFolders(pattern string) int {
	return strings.Count(pattern[:strings.IndexAny(pattern, globs)], "/")
}

// hiddenBelow reports whether an element of a name is hidden, but for the first ones, which are named in full.
func hiddenBelow(name string, first int) bool {
	elements := strings.Split(name, "/")
	for i, element := range elements[min(first, len(elements)):] {
		if hidden(element) && (first+i == len(elements)-1 || !namesColumn(element)) {
			return true
		}
	}
	return false
}

// hidden reports whether a file or folder of the name is skipped.
func hidden(name string) bool {
	return name == "" || name[0] == '.' || name[0] == '_' || strings.HasSuffix(name, folderMark)
}

// namesColumn reports whether a folder names a column whose name begins with an underscore.
func namesColumn(folder string) bool { return folder[0] == '_' && strings.Contains(folder, "=") }

// folderMark ends the names of empty objects by which Hadoop remembers folders in stores.
const folderMark = "_$folder$"
