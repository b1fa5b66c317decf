package scale

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"thole.example/ssp"
)

// troubles are what happens to a job, by name.
var troubles = []struct {
	name string
	setup
}{
	{"cut off", setup{checkpoint: 10, cuts: 5}},
	{"servers killed", setup{checkpoint: 10, kills: 2}},
	{"workers killed", setup{checkpoint: 10, workers: 3}},
	{"servers with logs killed", setup{kills: 2, workers: 2, cuts: 5, logs: true}},
	{"moved", setup{checkpoint: 10, moveTo: 12}},
	{"moved and killed", setup{checkpoint: 10, kills: 2, workers: 2, cuts: 5, moveTo: 7}},
	{"moved and killed, with logs", setup{checkpoint: 10, kills: 2, workers: 2, cuts: 5, moveTo: 12, logs: true}},
}

// TestScale: whatever happens to the processes of a job of 50 tasks on 10 servers, each read is of whole steps within the bound, with each
// push counted once; each key has one server; after a failure all go on from one clock; and every task comes to its end. SCALE_SEEDS is how
// many draws of it there are.
func TestScale(t *testing.T) {
	seeds, err := strconv.Atoi(cmp.Or(os.Getenv("SCALE_SEEDS"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range troubles {
		t.Run(c.name, func(t *testing.T) {
			happened := 0
			for seed := range uint64(seeds) {
				for _, bound := range []ssp.Bound{ssp.BSP, 3, ssp.ASP} {
					s := c.setup
					if s.tasks, s.servers, s.clocks, s.keys, s.space = 50, 10, 60, 40, 4096; bound == ssp.ASP && s.checkpoint > 0 {
						continue // its checkpoints are of no moment
					}
					s.bound, s.seed = bound, seed+1
					w := newWorld(s)
					if err := w.run(); err != nil {
						t.Errorf("seed %d under %v: %v", s.seed, bound, err)
					}
					happened += w.count.kills + w.count.killed + w.count.cuts + w.count.moved
				}
			}
			if happened == 0 {
				t.Error("nothing has happened to any of them")
			}
		})
	}
}

// TestRosterAnswers: the tasks of a simulated job that wait for each other are told a few times each of who has come.
func TestRosterAnswers(t *testing.T) {
	w := newWorld(setup{tasks: 200, servers: 3, bound: ssp.BSP, clocks: 2, keys: 5, space: 1024, seed: 1})
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	if most := 4 * 200; w.count.rosters > most {
		t.Errorf("200 tasks were told %d times who has joined, want %d at most", w.count.rosters, most)
	}
}

// TestFull prints what a job of 1,000 tasks on 200 servers takes: make scale.
func TestFull(t *testing.T) {
	if os.Getenv("SCALE") == "" {
		t.Skip("SCALE=1 runs it: some minutes")
	}
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "job\tclocks\tclock\tpulls and pushes a clock of a task\tof a server\tkilled\tlongest pause\tattempts\tevents\tevents/s")
	for _, c := range []struct {
		name string
		setup
	}{
		{"BSP, steps of 2,000 keys", setup{bound: ssp.BSP, clocks: 4, keys: 2000}},
		{"BSP, 20 keys", setup{bound: ssp.BSP, clocks: 5, keys: 20}},
		{"BSP, 20 keys, one message of 20,000 lost", setup{bound: ssp.BSP, clocks: 5, keys: 20, lossOf: 20_000}},
		{"SSP(3), the same", setup{bound: 3, clocks: 5, keys: 20, lossOf: 20_000}},
		{"BSP, 20 keys, one task 4 times slower", setup{bound: ssp.BSP, clocks: 5, keys: 20, seed: 2}},
		{"SSP(3), the same", setup{bound: 3, clocks: 5, keys: 20, seed: 2}},
		{"ASP, the same", setup{bound: ssp.ASP, clocks: 5, keys: 20, seed: 2}},
		{"BSP, servers killed", setup{bound: ssp.BSP, clocks: 20, keys: 20, checkpoint: 4, kills: 2, cuts: 20}},
		{"BSP, servers with logs killed", setup{bound: ssp.BSP, clocks: 20, keys: 20, kills: 2, cuts: 20, logs: true}},
		{"BSP, workers killed", setup{bound: ssp.BSP, clocks: 20, keys: 20, checkpoint: 4, workers: 3, cuts: 20}},
		{"BSP, moved to 256 servers", setup{bound: ssp.BSP, clocks: 20, keys: 20, checkpoint: 4, moveTo: 256}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.setup
			s.tasks, s.servers, s.space, s.seed, s.lossOf = 1000, 200, 1<<16, max(1, s.seed), cmp.Or(s.lossOf, 50_000_000)
			w, began := newWorld(s), time.Now()
			if err := w.run(); err != nil {
				t.Error(err)
			}
			perTask := float64(w.count.pulls+w.count.pushes) / float64(s.tasks*s.clocks)
			row := fmt.Sprintf("%s\t%d\t%v\t%.0f\t%.0f\t%d\t%v\t%d\t%d\t%.0f", c.name, s.clocks, w.usual().Round(time.Millisecond), perTask,
				perTask*float64(s.tasks)/float64(s.servers), w.count.kills+w.count.killed, w.longest().Round(10*time.Millisecond), w.count.attempts,
				w.count.events, float64(w.count.events)/time.Since(began).Seconds())
			t.Logf("%s: %+v, until the clock went on: %v", row, w.count, w.outages)
			fmt.Fprintln(out, row)
		})
	}
	_ = out.Flush()
	t.Logf("1,000 tasks on 200 servers, steps of %v\n%s", compute, &text)
}

// usual is the median of what a clock took.
func (w *world) usual() time.Duration {
	all := w.gaps()
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// longest is the longest time in which the clock stood still.
func (w *world) longest() (most time.Duration) {
	for _, d := range w.gaps() {
		most = max(most, d)
	}
	return most
}

func (w *world) gaps() (all []time.Duration) {
	for i := 1; i < len(w.moments); i++ {
		all = append(all, w.moments[i]-w.moments[i-1])
	}
	return all
}
