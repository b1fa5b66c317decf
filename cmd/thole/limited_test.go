package main

import (
	"fmt"
	"os"

	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// limited BYTES ARG... runs thole with no more memory, files that it reads included, than the system gives a group of processes with that
// limit. Where no group can be made, as one has to be root in most places, it
// runs without a limit.
func limited(ts *testscript.TestScript, neg bool, args []string) {
	group, limit := groupOfMemory()
	if group == "" { // the rest of the script is as good without
		ts.Logf("no group of processes with a limit can be made here")
		ts.Check(ts.Exec("thole", args[1:]...))
		return
	}
	ts.Defer(func() { _ = os.Remove(group) })
	ts.Check(os.WriteFile(limit, []byte(args[0]), 0o644))
	join := fmt.Sprintf("echo $$ > %s && exec thole \"$@\"", filepath.Join(group, "cgroup.procs"))
	if err := ts.Exec("sh", append([]string{"-c", join, "thole"}, args[1:]...)...); (err != nil) != neg {
		ts.Fatalf("with %s bytes: %v", args[0], err)
	}
}

// groupOfMemory makes a control group of the first or the second version, and is its folder and the file of its limit.
func groupOfMemory() (group, limit string) {
	for _, at := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		{"/sys/fs/cgroup", "memory.max"},
	} {
		dir, err := os.MkdirTemp(at.root, "thole-test-")
		if err != nil {
			continue
		}
		if limit = filepath.Join(dir, at.limit); exists(limit) {
			return dir, limit
		}
		_ = os.Remove(dir)
	}
	return "", ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
