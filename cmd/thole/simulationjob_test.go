package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// simJob is a job that a seed draws, and what happens to it.
type simJob struct {
	seed                          uint64
	servers, workers, tasks, keep int
	every, network                int // steps between checkpoints; of simNetworks
	args                          []string
	bits                          bool // it ends with the same bits whatever happens
	giveUp                        time.Duration
	logBase                       int64 // servers have logs, with a base after so many bytes; 0: they have none
	logs                          simLogs
	program                       []simEvent
	readers                       int      // processes that follow it
	cuts                          *simCuts // what they read
	asp                           bool     // matrices have no moments
}

func (j *simJob) addrs() (all []string) {
	for i := range j.servers {
		all = append(all, fmt.Sprint("s", i))
	}
	return all
}

// calm is the job that nothing happens to.
func (j *simJob) calm() *simJob {
	calm := *j
	calm.program, calm.servers, calm.logBase, calm.logs, calm.readers = nil, 1, 0, simLogs{}, 0
	if j.cuts != nil {
		calm.readers = 1
	}
	return &calm
}

// key is what the result depends on, which is not how often checkpoints are written.
func (j *simJob) key() [3]int { return [3]int{j.network, j.tasks, j.workers} }

// simNetworks are what is trained, on 200 examples.
var simNetworks = [][]string{
	{"--algo", "lr", "--epochs", "6", "--batch", "20"},
	{"--algo", "fm", "--factors", "4", "--epochs", "4", "--batch", "25"},
	{"--algo", "deepfm", "--factors", "4", "--hidden", "8", "--epochs", "3", "--batch", "25"},
	{"--algo", "fm", "--factors", "4", "--epochs", "5", "--batch", "30", "--holdout", "0.2", "--early-stop", "2", "--sparse"},
	{"--algo", "lr", "--epochs", "9", "--batch", "40", "--tolerance", "0.01"},
}

// newSimJob draws a job on the examples of a file.
func newSimJob(seed uint64, data string) *simJob {
	rnd := rand.New(rand.NewPCG(seed, 0))
	j := &simJob{seed: seed, servers: 1 + rnd.IntN(3), workers: 1 + rnd.IntN(3), keep: 1 + rnd.IntN(3)}
	j.tasks = j.workers
	if j.workers < 3 && rnd.IntN(3) == 0 {
		j.tasks++ // a process has two
	}
	staleness := []int{0, 0, 0, 0, 2, -1}[rnd.IntN(6)]
	j.bits, j.asp = staleness == 0, staleness < 0
	j.every, j.network = 3+rnd.IntN(18), rnd.IntN(len(simNetworks))
	j.settings(data, staleness)
	for range 1 + rnd.IntN(7) {
		if rnd.IntN(4) == 0 {
			j.program = append(j.program, j.move(rnd))
		}
		j.program = append(j.program, j.event(rnd))
	}
	return j
}

// absences has the job go on without workers that stay away, and some of them stay longer.
func (j *simJob) absences(rnd *rand.Rand) {
	j.bits, j.giveUp = false, []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}[rnd.IntN(3)]
	for i := range j.program {
		if rnd.IntN(2) == 0 {
			j.program[i].lasts += time.Duration(rnd.IntN(180)) * time.Second
		}
	}
}

// newReturnJob draws a job that goes on without worker 1, and moves about when that one comes back, in a long epoch; others are lost then, too.
func newReturnJob(seed uint64, data string) *simJob {
	rnd := rand.New(rand.NewPCG(seed, 7))
	upTo := func(d time.Duration) time.Duration {
		return time.Duration(rnd.Int64N(int64(d))).Round(time.Millisecond)
	}
	j := &simJob{seed: seed, servers: 2 + rnd.IntN(2), workers: 2 + rnd.IntN(2), keep: 3, every: 20 + rnd.IntN(60), network: 1,
		giveUp: []time.Duration{time.Second, 5 * time.Second}[rnd.IntN(2)]}
	j.tasks = j.workers
	away := simEvent{after: 100 * time.Millisecond, what: simFreezeWorker, worker: 1, lasts: silence + j.giveUp + upTo(400*time.Millisecond)}
	if rnd.IntN(3) == 0 {
		away.what, away.lasts = simKillWorker, away.lasts-silence
	}
	j.program = []simEvent{away}
	for i := range 1 + rnd.IntN(3) {
		e := j.move(rnd)
		if e.after = upTo(200 * time.Millisecond); i == 0 {
			e.after += away.lasts + upTo(300*time.Millisecond)
		}
		j.program = append(j.program, e)
		for range rnd.IntN(3) {
			j.program = append(j.program, simEvent{after: upTo(150 * time.Millisecond), worker: rnd.IntN(j.workers), server: rnd.IntN(j.servers),
				when:  []string{"moved", "moved", "write", "publish", "restore", ""}[rnd.IntN(6)],
				what:  []simKind{simPart, simPart, simPart, simFreezeWorker, simFreezeServer, simKillWorker, simKillServer}[rnd.IntN(7)],
				lasts: upTo(14 * time.Second)})
		}
	}
	j.settings(data, []int{0, 0, 2, -1}[rnd.IntN(4)])
	j.args = append(j.args, "--batch", []string{"2", "4"}[rnd.IntN(2)], "--epochs", "2")
	return j
}

// settings are what all workers are told.
func (j *simJob) settings(data string, staleness int) {
	j.args = append([]string{"--data", data, "--tasks", fmt.Sprint(j.tasks), "--staleness", fmt.Sprint(staleness), "--model", "model",
		"--checkpoint", "ck", "--keep", fmt.Sprint(j.keep), "--checkpoint-every", fmt.Sprint(j.every)}, simNetworks[j.network]...)
}

func (j *simJob) String() string {
	text := fmt.Sprintf("%d servers, %d workers with %d tasks: %s", j.servers, j.workers, j.tasks, strings.Join(j.args, " "))
	if j.giveUp > 0 {
		text += fmt.Sprint(" --give-up ", j.giveUp)
	}
	if j.readers > 0 {
		text += fmt.Sprintf(", %d readers", j.readers)
	}
	if j.logBase > 0 {
		text += fmt.Sprintf(", servers with --log-base %d, %+v", j.logBase, j.logs)
	}
	for _, e := range j.program {
		text += "\n\t" + e.String()
	}
	return text
}

// simEvent is what happens to a process, some time after the event before.
type simEvent struct {
	after          time.Duration
	when           string // the disk is about to do that; "": at once
	what           simKind
	server, worker int
	to             []int // servers
	lasts          time.Duration
}

type simKind uint8

const (
	simKillServer simKind = iota
	simKillWorker
	simFreezeServer
	simFreezeWorker
	simPart // a worker from a server
	simDiskFails
	simAskServer
	simAskWorker
	simMove // the job is ordered to other servers, and the order withdrawn if it takes longer
	simKinds
	simFullLog // the disk of a server's logs, which only jobs with logs have; with standbys of one of the two
	simKillStandby
	simFreezeStandby
)

func (e simEvent) String() string {
	text := fmt.Sprintf("after %v", e.after)
	if e.when != "" {
		text += ", at the next " + e.when
	}
	what := [...]string{"server S is killed, and is back after", "worker W is killed, and is back after", "server S freezes for",
		"worker W freezes for", "server S and worker W are cut off for", "the disk fails now and then for",
		"server S is asked to end, and is back after", "worker W is asked to end, and is back after",
		fmt.Sprintf("the job is to move to servers %v, within", e.to), "",
		"the disk with the logs of server S is full for", "the standby of server S is killed, and is back after",
		"the standby of server S freezes for"}[e.what]
	return fmt.Sprintf("%s: %s %v", text, strings.NewReplacer("S", fmt.Sprint(e.server), "W", fmt.Sprint(e.worker)).Replace(what), e.lasts)
}

// move draws an order, after which something may happen at once.
func (j *simJob) move(rnd *rand.Rand) simEvent {
	return simEvent{what: simMove, to: rnd.Perm(j.servers)[:1+rnd.IntN(j.servers)], lasts: time.Duration(1+rnd.IntN(40)) * time.Second,
		after: time.Duration(rnd.IntN(600)) * time.Millisecond}
}

// event draws what happens next.
func (j *simJob) event(rnd *rand.Rand) simEvent {
	e := simEvent{what: simKind(rnd.IntN(int(simKinds))), server: rnd.IntN(j.servers), worker: rnd.IntN(j.workers)}
	upTo := func(d time.Duration) time.Duration {
		return time.Duration(rnd.Int64N(int64(d))).Round(time.Millisecond)
	}
	e.after = upTo([]time.Duration{5 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second, 20 * time.Second}[rnd.IntN(4)])
	e.when = []string{"", "", "", "create", "write", "publish", "restore", "remove", "save"}[rnd.IntN(9)]
	e.to = rnd.Perm(j.servers)[:1+rnd.IntN(j.servers)]
	switch e.what {
	case simKillServer, simKillWorker, simAskServer, simAskWorker:
		e.lasts = upTo([]time.Duration{50 * time.Millisecond, 3 * time.Second, 30 * time.Second}[rnd.IntN(3)])
	default:
		e.lasts = time.Second + upTo(39*time.Second)
	}
	return e
}
