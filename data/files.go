package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files are the files that patterns name, in the order of the patterns: a path, a list of patterns with commas between them, a glob
// such as "day-*.libsvm", or a folder. The files of a glob and of a folder come in the order of their names, without those that
// begin with a dot or an underscore, as _SUCCESS does. Stdin stands for itself. A path that exists is taken as it is, whatever
// characters it has. A file may be named once only.
func Files(patterns []string) ([]string, error) {
	var all []string
	for _, p := range patterns {
		files, err := expand(p)
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
	return all, nil
}

func expand(pattern string) ([]string, error) {
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
		return Files(strings.Split(pattern, ","))
	case !strings.ContainsAny(pattern, "*?["):
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
		return nil, fmt.Errorf("%s: no file has such a name", pattern)
	}
	return files, nil
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
		return nil, fmt.Errorf("%s: a folder without files of examples (names that begin with . or _ are passed over)", path)
	}
	return files, nil
}

func hidden(path string) bool {
	name := filepath.Base(path)
	return name[0] == '.' || name[0] == '_'
}
