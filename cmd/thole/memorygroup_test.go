package main

import (
	"math"
	"os"
	"testing"
	"testing/fstest"
)

// TestGroupMemory: the least limit counts of the groups that a process is in, in both versions, as machines and containers show them.
func TestGroupMemory(t *testing.T) {
	const (
		one = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
		two = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	for _, tc := range []struct {
		name, groups, mounts string
		limits               map[string]string
		want                 int64
	}{
		{"nothing", "", "", nil, math.MaxInt64},
		{"no limit", "0::/user.slice\n", two, map[string]string{"sys/fs/cgroup/user.slice/memory.max": "max\n"}, math.MaxInt64},
		{"own", "0::/a/b\n", two, map[string]string{"sys/fs/cgroup/a/b/memory.max": "300\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 300},
		{"above", "0::/a/b\n", two, map[string]string{"sys/fs/cgroup/a/b/memory.max": "300\n", "sys/fs/cgroup/a/memory.max": "200\n"}, 200},
		{"beside", "0::/a/b\n", two, map[string]string{"sys/fs/cgroup/c/memory.max": "100\n"}, math.MaxInt64},
		{"container", "0::/\n", two, map[string]string{"sys/fs/cgroup/memory.max": "400\n"}, 400},
		{"outside of the name space", "0::/../../x\n", two, map[string]string{"sys/fs/cgroup/memory.max": "400\n"}, 400},
		{"first version", "4:memory:/a/b\n1:cpu:/z\n0::/\n", one, map[string]string{"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "500\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 500},
		{"first version, container", "4:cpu,memory:/docker/1\n",
			"35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n",
			map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "600\n"}, 600},
		{"another place", "0::/a\n", "30 23 0:27 / /groups rw - cgroup2 none rw\n", map[string]string{"groups/a/memory.max": "700\n"}, 700},
		{"both versions", "4:memory:/a\n0::/a\n", one + "36 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			map[string]string{"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "500\n", "sys/fs/cgroup/unified/a/memory.max": "450\n"}, 450},
		{"damaged", "0::/a\n0:\n::\n", two + " - \n - cgroup2\nx - cgroup2 a b\n", map[string]string{"sys/fs/cgroup/a/memory.max": "-5\n"}, math.MaxInt64},
		{"relative mount", "0::/a\n", "30 23 0:27 / groups rw - cgroup2 none rw\n", map[string]string{"groups/a/memory.max": "7\n"}, 7},
	} {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(tc.groups)}, "proc/self/mountinfo": {Data: []byte(tc.mounts)}}
		for file, text := range tc.limits {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := groupMemory(root); got != tc.want {
			t.Errorf("%s: %d bytes, want %d", tc.name, got, tc.want)
		}
	}
	if n := machineMemory(); n <= 0 || n > groupMemory(os.DirFS("/")) {
		t.Errorf("%d bytes of memory, want some, and at most those of the control groups", n)
	}
}
