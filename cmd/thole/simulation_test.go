package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
)

// sim is a job whose servers and workers are started again whenever they are killed, as a supervisor does, in a synctest bubble.
type sim struct {
	t      *testing.T
	drawn  *simJob
	net    *simNet
	store  *simStore
	logs   []*journaltest.Disk   // on which the servers have their logs; nil: they have none
	places []*simPlace           // their roles, with standbys; nil: they have none
	powers int                   // how often one was killed that has a log: each second time its machine loses its power
	ending sync.WaitGroup        // what brings processes back
	seen   map[string]blob.State // of the checkpoints that were read
	reads  simReads

	mu      sync.Mutex
	servers []*simServing
	workers []*simWorking
	over    chan struct{} // closed when all workers have ended
	count   simCount
}

// simWorking is a worker process.
type simWorking struct {
	way   *simWay
	asked *farewell
	left  bool // it has ended as it was asked to, with work that is left
	// followed says that another process is started in its place.
	followed bool
	gone     chan struct{} // closed when it has ended
	cancel   context.CancelCauseFunc
	killed   bool // nobody looks at what comes of it
	ended    bool
	err      error
	out      bytes.Buffer
	said     simLines
}

// simLines is what a process says, by many goroutines.
type simLines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *simLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// startWorker starts a worker process with its command line.
func (s *sim) startWorker(i int) {
	w := &simWorking{way: &simWay{simNet: s.net, name: fmt.Sprint("w", i)}, gone: make(chan struct{})}
	w.asked = &farewell{grace: defaultGrace, over: w.gone}
	ctx, cancel := context.WithCancelCause(context.Background())
	w.cancel = cancel
	s.mu.Lock()
	s.workers[i] = w
	s.mu.Unlock()
	go func() {
		err := s.work(ctx, w, i)
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		defer close(w.gone)
		w.ended, w.err, w.left = true, err, err != nil && !w.killed && w.asked.begun()
		if w.killed = w.killed || w.left; w.killed {
			return
		}
		for _, w := range s.workers {
			if !w.ended || w.killed {
				return
			}
		}
		close(s.over)
	}()
}

// work is what a worker process does.
func (s *sim) work(ctx context.Context, w *simWorking, i int) error {
	e := &env{in: strings.NewReader(""), out: &w.out, err: &w.said}
	j := &job{name: "job", wait: simWait, retry: defaultRetry}
	c := &cobra.Command{Use: "worker"}
	j.flags(e, c)
	j.farewell = w.asked
	if err := c.ParseFlags(s.drawn.args); err != nil {
		return err
	}
	var tasks []int
	for task := i; task < s.drawn.tasks; task += s.drawn.workers {
		tasks = append(tasks, task)
	}
	j.atServers, j.elsewhere, j.giveUp = true, tasks[0] > 0, s.drawn.giveUp
	if j.back = s.logs != nil; j.back {
		j.retry = logRetry
	}
	p, err := j.choose(ctx)
	if err == nil {
		err = p.read(ctx, e)
	}
	if err != nil {
		return err
	}
	watch, err := newWatcher(ctx, e, "", false)
	if err != nil {
		return err
	}
	p.moment = p.momentThere()
	cl := &cluster{net: w.way, addrs: s.drawn.addrs()}
	return p.wayOut(p.runAndTell(ctx, e, cl, tasks, j.there(j.model), watch), watch.bar.line)
}

// killWorker ends a worker process, without a word to the servers; false if it is not there any more.
func (s *sim) killWorker(i int) bool {
	s.mu.Lock()
	w := s.workers[i]
	if w.killed || w.ended {
		s.mu.Unlock()
		return false
	}
	w.killed = true
	s.mu.Unlock()
	s.net.free(w.way.name)
	w.way.kill()
	w.cancel(errSimKilled)
	return true
}

// askWorker asks a worker process to end, and waits until it has; false if its work is done, or it was killed meanwhile.
func (s *sim) askWorker(i int) bool {
	s.mu.Lock()
	w := s.workers[i]
	s.mu.Unlock()
	w.asked.mu.Lock()
	w.asked.by = syscall.SIGTERM
	w.asked.mu.Unlock()
	w.asked.say()
	w.cancel(errSimKilled)
	<-w.gone
	s.mu.Lock()
	first := w.left && !w.followed // it may be asked twice at once
	w.followed = w.followed || first
	s.mu.Unlock()
	if first {
		s.net.free(w.way.name)
	}
	return first
}

// behind stands for what a worker prints that others did not wait for.
const behind = "behind"

// simWait is the --wait of the workers, and simLimit the time in which every job ends.
const (
	simWait  = 10 * time.Minute
	simLimit = 2 * time.Hour
)

// run is the job, with all that happens to it. It answers with the model's objects and what the workers print.
func (j *simJob) run(t *testing.T) (model map[string]string, told []string, count simCount) {
	rnd := rand.New(rand.NewPCG(j.seed, 1))
	s := &sim{t: t, drawn: j, servers: make([]*simServing, j.servers), workers: make([]*simWorking, j.workers), over: make(chan struct{}),
		seen: map[string]blob.State{}}
	s.store = &simStore{rnd: rand.New(rand.NewPCG(j.seed, 2)), next: map[string]chan struct{}{}}
	s.net = &simNet{Network: mem.Network{Log: slog.New(slog.DiscardHandler)}, rnd: rnd, blocked: map[[2]string]time.Time{},
		conns: map[*simConn]struct{}{}, servers: map[string]*simServer{}}
	for i := range s.servers {
		if j.logBase > 0 {
			disk := journaltest.NewDisk(j.seed + uint64(i))
			disk.Slow, disk.Writing = simWriting/4, simWriting/8
			s.logs = append(s.logs, disk)
		}
	}
	if j.logs.Standbys {
		s.places = newSimPlaces(s)
	}
	for i := range s.servers {
		s.startServer(i)
	}
	for i := range s.workers {
		s.workers[i] = &simWorking{}
	}
	for i := range s.workers {
		s.startWorker(i)
	}
	s.ending.Go(s.look)
	s.read()
	s.ending.Go(s.happen)
	select {
	case <-s.over:
	case <-time.After(simLimit):
		t.Errorf("it has not ended after %v", simLimit)
		for i := range s.workers {
			s.killWorker(i)
		}
		close(s.over)
	}
	s.ending.Wait()
	time.Sleep(3 * time.Minute) // what goes on in the background
	for i, w := range s.workers {
		told = append(told, w.out.String())
		switch {
		case w.err == nil && w.out.Len() == 0 && strings.Contains(w.said.String(), "has ended already"):
			s.count.behind++
			told[i] = behind
		case w.err == nil:
		case i > 0 && s.workers[0].err == nil && strings.Contains(w.err.Error(), " did not join within "):
			// It was lost after its last step and came back when the others had ended, with the model saved. Nobody can tell it so.
			s.count.behind++
			told[i] = behind
		default:
			t.Errorf("worker %d: %v; it said:\n%s", i, w.err, &w.said)
		}
	}
	s.checkFolder(true)
	model = s.model()
	if s.logs != nil {
		time.Sleep(2 * time.Hour) // until nobody is waited for any more, by a server that was killed neither
	}
	for i, l := range s.logs {
		if names := l.Going(); len(names) > 0 {
			t.Errorf("server %d has logs %q when all has ended, want none", i, names)
		}
	}
	for _, p := range s.places {
		p.end()
	}
	for i := range s.servers {
		s.killServer(i)
	}
	for _, text := range s.net.stale {
		t.Error(text)
	}
	s.count.attempts, s.count.torn = s.net.highest, s.store.tears
	s.count.checkpoints, s.count.paused = s.net.ops[rpc.OpCommit], s.net.paused
	time.Sleep(3 * time.Hour) // nobody is waited for any more
	return model, told, s.count
}

// model is the objects of the saved model.
func (s *sim) model() map[string]string {
	ctx, all := s.t.Context(), map[string]string{}
	objects, err := s.store.Mem.List(ctx, "model")
	if err != nil {
		s.t.Error(err)
	}
	for _, o := range objects {
		data, err := blob.ReadAll(ctx, &s.store.Mem, o.Name, 1<<30)
		if err != nil {
			s.t.Error(err)
		}
		all[o.Name] = string(data)
	}
	if len(all) == 0 {
		s.t.Error("no model was saved")
	}
	return all
}

// happen makes the program happen, until the job has ended.
func (s *sim) happen() {
	for _, e := range s.drawn.program {
		select {
		case <-s.over:
			return
		case <-time.After(e.after):
		}
		if e.when != "" {
			select {
			case <-s.over:
				return
			case <-s.store.soon(e.when):
			case <-time.After(time.Minute):
			}
		}
		s.make(e)
	}
}

func (s *sim) make(e simEvent) {
	back := func(start func()) {
		s.mu.Lock()
		s.count.kills++
		s.mu.Unlock()
		s.ending.Go(func() {
			time.Sleep(e.lasts)
			start()
		})
	}
	asked := func(start func()) {
		s.mu.Lock()
		s.count.asked++
		s.mu.Unlock()
		time.Sleep(e.lasts)
		start()
	}
	server, worker := fmt.Sprint("s", e.server), fmt.Sprint("w", e.worker)
	switch e.what {
	case simKillServer:
		if s.killServer(e.server) {
			back(func() { s.startServer(e.server) })
		}
		return
	case simKillWorker:
		if s.killWorker(e.worker) {
			back(func() { s.startWorker(e.worker) })
		}
		return
	case simAskServer:
		s.ending.Go(func() {
			if s.askServer(e.server) {
				asked(func() { s.startServer(e.server) })
			}
		})
		return
	case simAskWorker:
		s.ending.Go(func() {
			if s.askWorker(e.worker) {
				asked(func() { s.startWorker(e.worker) })
			}
		})
		return
	case simKillStandby:
		s.places[e.server].killStandby(e.lasts)
		return
	case simFreezeStandby:
		s.places[e.server].freezeStandby(e.lasts)
	case simFreezeServer:
		s.net.block("", server, e.lasts)
		if v := s.serverAt(e.server); v != nil && v.reads != nil {
			s.net.block("", v.claim, e.lasts)
		}
	case simFreezeWorker:
		s.net.block(worker, "", e.lasts)
	case simPart:
		s.net.block(worker, server, e.lasts)
	case simMove:
		s.ending.Go(func() { s.move(e) })
		return
	case simFullLog:
		disk := s.logs[e.server]
		if s.places != nil {
			disk = s.places[e.server].disks[e.worker%2]
		}
		disk.SetRoom(max(1, disk.Used()))
		s.count.full++
		s.ending.Go(func() {
			time.Sleep(e.lasts)
			disk.SetRoom(0)
		})
		return
	case simDiskFails:
		s.store.mu.Lock()
		s.store.fails = time.Now().Add(e.lasts)
		s.store.mu.Unlock()
		s.count.failed++
		return
	}
	s.count.blocks++
}

// move orders the job to other servers, by whichever of them has it, until it moves.
func (s *sim) move(e simEvent) {
	ctx, cancel := context.WithTimeout(context.Background(), e.lasts)
	defer cancel()
	var to []string
	for _, i := range e.to {
		to = append(to, fmt.Sprint("s", i))
	}
	way := &simWay{simNet: s.net, name: "operator"}
	for all := s.drawn.addrs(); ; all = append(all[1:], all[0]) {
		if _, err := ps.Move(ctx, way, all[0], rpc.Move{Job: "job", Servers: to}); err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.count.moved++
			return
		}
		select {
		case <-s.over:
			return
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// differences are the objects that differ.
func differences(got, want map[string]string) (all []string) {
	for name := range want {
		if got[name] != want[name] {
			all = append(all, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
