package blob

import (
	"cmp"
	"path"
	"strings"
)

// The functions of this file are those of package path for names, which may be URLs: path.Join, path.Dir and path.Clean make s3:/bucket/x
// of s3://bucket/x, which no listing contains. A test of internal/house keeps package path from being imported where names are handled.

// Clean is path.Clean, except that a URL keeps the "//" before its authority, or gets it if it is missing.
func Clean(name string) string {
	scheme, authority, rest, is := URL(name)
	if !is {
		return path.Clean(name)
	}
	return strings.TrimSuffix(scheme+"://"+path.Join(cmp.Or(authority, noAuthority), rest), "/")
}

// Join is path.Join, but for what Clean leaves of URLs.
func Join(elements ...string) string { return Clean(path.Join(elements...)) }

// Split is path.Split: the name is folder+last, and the folder ends in a slash or is empty. The root of a store is a folder without a last
// element.
func Split(name string) (folder, last string) {
	if _, _, rest, is := URL(name); is && rest == "" {
		return strings.TrimRight(name, "/") + "/", ""
	}
	return path.Split(name)
}

// Parent is path.Dir: the name of the folder that a name lies in. The root of a store lies in itself.
func Parent(name string) string {
	folder, _ := Split(name)
	return Clean(folder)
}

// Base is path.Base: the last element of a name. The root of a store is called by its authority, or by its scheme if it has none.
func Base(name string) string {
	if scheme, authority, rest, is := URL(name); is && rest == "" {
		return cmp.Or(authority, scheme)
	}
	return path.Base(name)
}

// Ext is path.Ext: the ending of the last element with its dot. The root of a store has none, whatever its authority contains.
func Ext(name string) string {
	_, last := Split(name)
	return path.Ext(last)
}

// Stem is the last element of a name without its ending.
func Stem(name string) string { return strings.TrimSuffix(Base(name), Ext(name)) }

// Rel is the name of an object as the tree that it lies in calls it, and whether it lies there. The tree itself is called ".".
func Rel(tree, name string) (rel string, inside bool) {
	tree, name = Clean(tree), Clean(name)
	switch {
	case tree == name:
		return ".", true
	case tree == ".":
		return name, !strings.HasPrefix(name, "/") && !strings.HasPrefix(name+"/", "../") && !IsURL(name)
	}
	return strings.CutPrefix(name, strings.TrimSuffix(tree, "/")+"/")
}

// Within reports whether an object lies right in the folder, and in no folder of it.
func Within(folder, name string) bool {
	rel, inside := Rel(folder, name)
	return inside && rel != "." && !strings.Contains(rel, "/")
}

// Match is path.Match.
func Match(pattern, name string) (bool, error) { return path.Match(pattern, name) }
