package main

import (
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/internal/seeds"
)

// simulation runs jobs in a bubble each, and knows how those end that nothing happens to. Several may run at once.
type simulation struct {
	data   string // examples
	mu     sync.Mutex
	models map[[3]int]map[string]string
	told   map[[3]int][]string
	total  simCount
}

func newSimulation(t *testing.T) *simulation {
	t.Setenv("GOMEMLIMIT", "off") // else each worker follows the process's memory, ten times in each second of a bubble
	data := filepath.Join(t.TempDir(), "clicks.libsvm")
	quiet := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	if code := Main([]string{"data", "clicks", "--rows", "200", "--out", data}, quiet); code != 0 {
		t.Fatal(code)
	}
	return &simulation{data: data, models: map[[3]int]map[string]string{}, told: map[[3]int][]string{}}
}

// calm runs a job that shall end with the same bits whatever happens, without anything happening.
func (all *simulation) calm(t *testing.T, j *simJob) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if key := j.key(); j.bits && all.models[key] == nil {
		synctest.Test(t, func(t *testing.T) { all.models[key], all.told[key], _ = j.calm().run(t) })
	}
}

// ended adds what a job has met, and is how it shall have ended.
func (all *simulation) ended(j *simJob, met simCount) (model map[string]string, told []string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.total.add(met)
	return all.models[j.key()], all.told[j.key()]
}

// try runs a job, and under BSP wants the model and the losses of one that nothing happened to.
func (all *simulation) try(t *testing.T, j *simJob) {
	synctest.Test(t, func(t *testing.T) {
		model, told, met := j.run(t)
		calm, calmTold := all.ended(j, met)
		if !j.bits {
			wantFinite(t, told)
			return
		}
		if names := differences(model, calm); len(names) > 0 {
			t.Errorf("the model differs in %q", names)
		}
		for i, want := range calmTold {
			if told[i] != want && told[i] != behind {
				t.Errorf("worker %d prints\n%s, want\n%s", i, told[i], want)
			}
		}
	})
}

// TestSimulation lets things happen to jobs that write checkpoints: processes are killed and started again, freeze, are cut off from each
// other, also while a checkpoint is written or restored, and the disk fails. Each job ends by itself, and under BSP with the model and the
// losses of one that nothing happened to. What happens follows from the seed, but for the order of goroutines.
func TestSimulation(t *testing.T) {
	set := seeds.Of(t, "SIM", 500, 50)
	all := newSimulation(t)
	set.Share(t, func(t *testing.T, some iter.Seq[uint64]) {
		for seed := range some {
			j := newSimJob(seed, all.data)
			all.calm(t, j)
			set.Try(t, seed, j, func(t *testing.T) { all.try(t, j) })
		}
	})
	ran := int(set.Count)
	t.Logf("%d seeds: %+v", ran, all.total)
	if n := all.total; ran >= 50 && (n.kills == 0 || n.replaced == 0 || n.attempts <= ran || n.behind > ran/10 || n.moved == 0) {
		t.Error("want some kills, moves, tasks in the place of others and further attempts, and few workers that were not waited for")
	}
}

// TestSimulationGivenUp is TestSimulation of jobs that go on without workers which stay away: each ends by itself, as worker 0 tells, and who
// comes back takes part again, or hears that the job has ended.
func TestSimulationGivenUp(t *testing.T) {
	set := seeds.Of(t, "SIM", 100, 20)
	all := newSimulation(t)
	set.Share(t, func(t *testing.T, some iter.Seq[uint64]) {
		for seed := range some {
			j := newSimJob(seed, all.data)
			j.absences(rand.New(rand.NewPCG(seed, 3)))
			set.Try(t, seed, j, func(t *testing.T) { all.try(t, j) })
		}
	})
	t.Logf("%d seeds: %+v", set.Count, all.total)
}

// TestSimulationReturns is TestSimulationGivenUp of jobs that move about when a worker comes back that was given up.
func TestSimulationReturns(t *testing.T) {
	set := seeds.Of(t, "SIM", 100, 20)
	all := newSimulation(t)
	set.Share(t, func(t *testing.T, some iter.Seq[uint64]) {
		for seed := range some {
			j := newReturnJob(seed, all.data)
			set.Try(t, seed, j, func(t *testing.T) { all.try(t, j) })
		}
	})
	t.Logf("%d seeds: %+v", set.Count, all.total)
	if n := all.total; set.Count >= 20 && n.moved < int(set.Count)/4 {
		t.Error("want many moves")
	}
}

// TestSimulationLogs is TestSimulation of servers with logs, which are killed more often and go on where they died, and whose disks are full
// for a while, up to longer than a log waits for room; half of the jobs go on without workers that stay away. Half of the servers have
// standbys, which copy the logs, are killed, too, and take over. Half of the jobs have readers (simReader). All sizes are small, so that each
// limit is reached.
func TestSimulationLogs(t *testing.T) {
	set := seeds.Of(t, "SIM", 100, 20)
	all := newSimulation(t)
	cuts := &simCuts{seen: map[[3]int]map[int]uint64{}}
	set.Share(t, func(t *testing.T, some iter.Seq[uint64]) {
		for seed := range some {
			rnd, full := rand.New(rand.NewPCG(seed, 4)), rand.New(rand.NewPCG(seed, 5))
			j := newSimJob(seed, all.data)
			if j.logBase = 1 << (10 + rnd.IntN(10)); rnd.IntN(2) == 0 {
				j.absences(rnd)
			}
			sizes := rand.New(rand.NewPCG(seed, 6))
			j.logs = drawLogs(sizes)
			for i := range j.program {
				if e := &j.program[i]; e.what != simMove && rnd.IntN(2) == 0 {
					e.what, e.lasts = simKillServer, time.Duration(rnd.IntN(3000))*time.Millisecond
				} else if e.what != simMove && full.IntN(3) == 0 {
					e.what, e.lasts = simFullLog, time.Second+time.Duration(full.IntN(59_000))*time.Millisecond
				}
				if e := &j.program[i]; j.logs.Standbys && e.what != simMove && sizes.IntN(4) == 0 {
					e.what, e.lasts = simKillStandby, time.Duration(sizes.IntN(3000))*time.Millisecond
					if sizes.IntN(2) == 0 {
						e.what, e.lasts = simFreezeStandby, 10*e.lasts
					}
				}
			}
			j.cuts = cuts
			if reads := rand.New(rand.NewPCG(seed, 7)); reads.IntN(2) == 0 {
				j.readers = 1 + reads.IntN(2)
			}
			all.calm(t, j)
			set.Try(t, seed, j, func(t *testing.T) { all.try(t, j) })
		}
	})
	t.Logf("%d seeds: %+v", set.Count, all.total)
	if set.Count >= 20 && all.total.replayed == 0 {
		t.Error("no server came back with its log")
	}
	if n := all.total; set.Count >= 100 && (n.bases == 0 || n.whole == 0 || n.takeovers == 0 || n.throttled == 0 || n.dropped == 0) {
		t.Error("want some bases, standbys that have everything, takeovers, throttled pushes and dropped standbys")
	}
	if set.Count >= 20 && all.total.full == 0 {
		t.Error("no disk with logs was full")
	}
	if n := all.total; set.Count >= 100 && (n.cuts == 0 || n.cutsOfCopies == 0 || n.compared == 0) {
		t.Error("want some cuts at servers and at standbys, and of steps that another run has made, too")
	}
}

// TestSimulated is what simulations found.
func TestSimulated(t *testing.T) {
	all := newSimulation(t)
	for name, j := range map[string]*simJob{
		"a best epoch before the first checkpoint": {servers: 1, workers: 1, tasks: 1, every: 100, network: 3,
			program: []simEvent{{after: 900 * time.Millisecond, what: simKillServer}}},
		"a best epoch of the attempt before": {servers: 1, workers: 1, tasks: 1, every: 100, network: 3, program: []simEvent{
			{after: 900 * time.Millisecond, what: simKillServer}, {after: 600 * time.Millisecond, what: simKillWorker}}},
		"all of a later attempt": {servers: 1, workers: 1, tasks: 2, every: 10, network: 3, program: []simEvent{
			{after: 900 * time.Millisecond, what: simKillServer}, {when: "save", what: simKillServer, lasts: time.Second},
			{what: simKillWorker, lasts: time.Second}}},
		"a server while the model is saved": {servers: 2, workers: 3, tasks: 3, every: 5,
			program: []simEvent{{when: "save", what: simKillServer}}},
		"cut off while the model is saved": {servers: 2, workers: 3, tasks: 3, every: 5,
			program: []simEvent{{when: "save", what: simPart, server: 1, worker: 1, lasts: 39 * time.Second}}},
		"between the checkpoint that moves the job and the next attempt": {servers: 2, workers: 3, tasks: 3, every: 5, program: []simEvent{
			{after: 300 * time.Millisecond, what: simMove, to: []int{1}, lasts: time.Minute},
			{when: "moved", what: simKillWorker, lasts: 9 * time.Second}}},
		"a server that was away when the job left it, and comes back with its log": {seed: 72432, servers: 2, workers: 2, tasks: 3, every: 16, network: 1,
			logBase: 32 << 10, program: []simEvent{
				{after: 438 * time.Millisecond, what: simMove, to: []int{1}, lasts: 36 * time.Second},
				{after: 53 * time.Millisecond, when: "write", what: simMove, to: []int{0, 1}, lasts: 3531 * time.Millisecond},
				{after: 3950 * time.Millisecond, when: "remove", what: simAskServer, server: 1, lasts: 2308 * time.Millisecond},
				{after: 1373 * time.Millisecond, what: simKillServer, lasts: 2856 * time.Millisecond}}},
		"a worker that was given up joins the next attempt on the servers of before while the job moves": {servers: 2, workers: 2, tasks: 2, every: 100,
			network: 1, giveUp: time.Second, args: []string{"--batch", "2"}, program: []simEvent{
				{after: 100 * time.Millisecond, what: simFreezeWorker, worker: 1, lasts: silence + 1200*time.Millisecond},
				{after: silence + 1400*time.Millisecond, what: simMove, to: []int{0}, lasts: time.Minute},
				{when: "moved", what: simPart, worker: 1, server: 1, lasts: silence / 2}}},
	} {
		own := j.args
		j.keep, j.bits = 3, j.giveUp == 0
		j.settings(all.data, 0)
		j.args = append(j.args, own...)
		all.calm(t, j)
		if !t.Run(name, func(t *testing.T) { all.try(t, j) }) {
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
