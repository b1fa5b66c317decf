package main

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// memoryGroups is a hierarchy of control groups that bounds memory: of version 2, or the one of version 1 for memory.
type memoryGroups struct {
	point string // where it is mounted
	root  string // the group that is seen there
	limit string // the file of a group's limit
}

// groupMemory is the least memory that a control group allows which this process is in, from its own up to the outermost that is seen, in
// bytes; math.MaxInt64 if none does. root is the root of the file system.
func groupMemory(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	own := ownGroups(root)
	for _, h := range mountedGroups(root) {
		group, ok := own[h.limit]
		if !ok {
			continue
		}
		below, inside := strings.CutPrefix(group, strings.TrimSuffix(h.root, "/"))
		if !inside || !fs.ValidPath(strings.TrimPrefix(below, "/")) { // what is mounted is all that can be seen, as in containers
			below = ""
		}
		for dir := path.Join(h.point, below); ; dir = path.Dir(dir) {
			least = min(least, limitIn(root, path.Join(dir, h.limit)))
			if dir == h.point || dir == "." || dir == "/" {
				break
			}
		}
	}
	return least
}

// limitIn is the limit in a file, math.MaxInt64 if there is none.
func limitIn(root fs.FS, file string) int64 {
	text, _ := fs.ReadFile(root, strings.TrimPrefix(file, "/")) // groups without the file have no limit
	if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
		return n
	}
	return math.MaxInt64
}

// Files of limits, of both versions.
const (
	limitOne = "memory.limit_in_bytes"
	limitTwo = "memory.max"
)

// ownGroups are the groups that this process is in, by the file of their limits.
func ownGroups(root fs.FS) map[string]string {
	own := map[string]string{}
	text, _ := fs.ReadFile(root, "proc/self/cgroup") // other systems have none
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case number == "0" && controllers == "":
			own[limitTwo] = group
		case inList(controllers, "memory"):
			own[limitOne] = group
		}
	}
	return own
}

// mountedGroups are the hierarchies that are mounted.
func mountedGroups(root fs.FS) (all []memoryGroups) {
	text, _ := fs.ReadFile(root, "proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		mount, kind, _ := strings.Cut(line, " - ")
		of, is := strings.Fields(mount), strings.Fields(kind)
		switch {
		case len(of) < 5 || len(is) < 3:
		case is[0] == "cgroup2":
			all = append(all, memoryGroups{of[4], of[3], limitTwo})
		case is[0] == "cgroup" && inList(is[2], "memory"):
			all = append(all, memoryGroups{of[4], of[3], limitOne})
		}
	}
	return all
}

// inList reports whether a word is in a list with commas.
func inList(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }
