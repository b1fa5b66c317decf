package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"thole.example/bench"
)

// burst is tasks that push a row each, all at once, to a server process of its own.
type burst struct {
	memory string
	tasks  int
	cols   string
	more   []string // --by-key, --async
}

// TestMemoryOfBursts: --memory bounds what a server process takes, its code, its runtime and garbage included, whatever the size of
// messages. MEMORY_BURSTS=1 (make bursts) runs all combinations, which takes an hour or so.
func TestMemoryOfBursts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak memory of a process is found in Linux's /proc")
	}
	all := []burst{
		{"64MiB", 16, "500K", []string{"--by-key"}},
		{"128MiB", 24, "1M", []string{"--by-key"}},
		{"128MiB", 32, "1M", []string{"--async"}},
	}
	if os.Getenv("MEMORY_BURSTS") != "" {
		all = everyBurst()
	}
	for _, b := range all {
		t.Run(b.String(), b.run)
	}
}

// everyBurst is messages of 4 to 24 MB, dense and by key, where a column takes 12 bytes instead of 4, under BSP and ASP.
func everyBurst() (all []burst) {
	for _, memory := range []string{"64MiB", "128MiB", "256MiB", "512MiB", "1GiB"} {
		for _, mode := range [][]string{nil, {"--async"}, {"--by-key"}, {"--by-key", "--async"}} {
			sizes := []string{"1M", "3M", "6M"}
			if len(mode) > 0 && mode[0] == "--by-key" {
				sizes = []string{"350K", "1M", "2M"}
			}
			if memory == "64MiB" {
				sizes = sizes[:2] // 24 MB at once are more than half of what it has to give, and refused
			}
			for _, cols := range sizes {
				all = append(all, burst{memory, 64, cols, mode})
			}
		}
		all = append(all, burst{memory, 128, "580K", []string{"--by-key"}}, burst{memory, 16, "1M", []string{"--by-key"}})
	}
	return all
}

func (b burst) String() string {
	return strings.Join(append([]string{b.memory, fmt.Sprint(b.tasks), b.cols}, b.more...), " ")
}

func (b burst) run(t *testing.T) {
	args := append([]string{"bench", "storm", "--memory", b.memory, "--tasks", strconv.Itoa(b.tasks), "--cols", b.cols, "--json"}, b.more...)
	p := newProcess(t, t.TempDir(), args...)
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %s", err, &p.err)
	}
	var r bench.Result
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil || r.Peak == nil {
		t.Fatalf("%v, or no peak, in %s", err, &p.out)
	}
	memory, err := parseSize("memory", b.memory)
	if err != nil {
		t.Fatal(err)
	}
	share := float64(*r.Peak) / float64(memory)
	t.Logf("%v: peak %d MiB, %.2f of --memory", b, *r.Peak>>20, share)
	if share > 1.15 {
		t.Errorf("the server takes %.2f of --memory, want at most 1.15", share)
	}
}
