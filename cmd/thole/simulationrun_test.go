package main

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// simulation runs jobs in a bubble each, and knows how those end that nothing happens to.
type simulation struct {
	data   string // examples
	models map[string]map[string]string
	told   map[string][]string
	total  simCount
}

func newSimulation(t *testing.T) *simulation {
	data := filepath.Join(t.TempDir(), "clicks.libsvm")
	quiet := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	if code := Main([]string{"data", "clicks", "--rows", "200", "--out", data}, quiet); code != 0 {
		t.Fatal(code)
	}
	return &simulation{data: data, models: map[string]map[string]string{}, told: map[string][]string{}}
}

// try runs a job, and under BSP wants the model and the losses of one that nothing happened to.
func (all *simulation) try(t *testing.T, name string, j *simJob) bool {
	key := j.key()
	if j.bits && all.models[key] == nil {
		synctest.Test(t, func(t *testing.T) { all.models[key], all.told[key], _ = j.calm().run(t) })
	}
	return t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			model, told, met := j.run(t)
			all.total.add(met)
			if !j.bits {
				wantFinite(t, told)
				return
			}
			if names := differences(model, all.models[key]); len(names) > 0 {
				t.Errorf("the model differs in %q", names)
			}
			for i, want := range all.told[key] {
				if told[i] != want && told[i] != behind {
					t.Errorf("worker %d prints\n%s, want\n%s", i, told[i], want)
				}
			}
		})
	})
}

// TestSimulation lets things happen to jobs that write checkpoints: processes are killed and started again, freeze, are cut off from each
// other, also while a checkpoint is written or restored, and the disk fails. Each job ends by itself, and under BSP with the model and the
// losses of one that nothing happened to. What happens follows from the seed, but for the order of goroutines.
func TestSimulation(t *testing.T) {
	first, count, budget := simSeeds(t)
	all := newSimulation(t)
	began, ran := time.Now(), 0
	for seed := first; seed < first+count && (budget == 0 || time.Since(began) < budget); seed++ {
		ran++
		j := newSimJob(seed, all.data)
		if !all.try(t, strconv.FormatUint(seed, 10), j) {
			t.Errorf("SIM_SEED=%d go test ./cmd/thole -run '^TestSimulation$': %v", seed, j)
		}
	}
	t.Logf("%d seeds: %+v", ran, all.total)
	if n := all.total; ran >= 50 && (n.kills == 0 || n.replaced == 0 || n.attempts <= ran || n.behind > ran/10 || n.moved == 0) {
		t.Error("want some kills, moves, tasks in the place of others and further attempts, and few workers that were not waited for")
	}
}

// TestSimulationGivenUp is TestSimulation of jobs that go on without workers which stay away: each ends by itself, as worker 0 tells, and who
// comes back takes part again, or hears that the job has ended.
func TestSimulationGivenUp(t *testing.T) {
	first, count, budget := simSeeds(t)
	all := newSimulation(t)
	began := time.Now()
	for seed := first; seed < first+count && (budget == 0 || time.Since(began) < budget/2); seed++ {
		rnd := rand.New(rand.NewPCG(seed, 3))
		j := newSimJob(seed, all.data)
		j.bits, j.giveUp = false, []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}[rnd.IntN(3)]
		for i := range j.program {
			if rnd.IntN(2) == 0 {
				j.program[i].lasts += time.Duration(rnd.IntN(180)) * time.Second
			}
		}
		if !all.try(t, strconv.FormatUint(seed, 10), j) {
			t.Errorf("SIM_SEED=%d go test ./cmd/thole -run '^TestSimulationGivenUp$': %v", seed, j)
		}
	}
	t.Logf("%+v", all.total)
}

// TestSimulated is what simulations found.
func TestSimulated(t *testing.T) {
	all := newSimulation(t)
	for name, j := range map[string]*simJob{
		"a best epoch before the first checkpoint": {servers: 1, workers: 1, tasks: 1, every: 100, network: 3,
			program: []simEvent{{after: 900 * time.Millisecond, what: simKillServer}}},
		"a server while the model is saved": {servers: 2, workers: 3, tasks: 3, every: 5,
			program: []simEvent{{when: "save", what: simKillServer}}},
		"cut off while the model is saved": {servers: 2, workers: 3, tasks: 3, every: 5,
			program: []simEvent{{when: "save", what: simPart, server: 1, worker: 1, lasts: 39 * time.Second}}},
	} {
		j.keep, j.bits = 3, true
		j.settings(all.data, 0)
		if !all.try(t, name, j) {
			t.Error(j)
		}
	}
}

// wantFinite wants losses that are numbers.
func wantFinite(t *testing.T, told []string) {
	found := regexp.MustCompile(`loss[ =](\S+)`).FindStringSubmatch(strings.Join(told, "\n"))
	if found == nil {
		t.Errorf("no loss in %q", told)
		return
	}
	if loss, err := strconv.ParseFloat(found[1], 64); err != nil || math.IsNaN(loss) || math.IsInf(loss, 0) {
		t.Errorf("loss %q", found[1])
	}
}

// simSeeds are the seeds that the environment names, else some for so long.
func simSeeds(t *testing.T) (first, count uint64, budget time.Duration) {
	for _, name := range []string{"SIM_SEED", "SIM_SEEDS"} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "SIM_SEED" {
			return n, 1, 0
		}
		return 0, n, 0
	}
	if testing.Short() {
		return 0, 20, 0
	}
	return 0, 200, 20 * time.Second
}
