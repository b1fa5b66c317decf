package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/chart"
)

// TestSoak trains one job after the other for SOAK_TIME on two servers with logs and a standby each, by four workers, all at full speed. One
// of the eight processes is killed every ten seconds and started again with the same command line. It wants of every job the bits of the
// training that no process was killed in, and bounds of the disk and of the memory of each server process. SOAK_CURVE is the path of
// what is measured every ten seconds, without the ending: a file .csv and charts .log.svg and .memory.svg.
func TestSoak(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("SOAK_TIME"))
	if err != nil {
		t.Skip("SOAK_TIME says for how long processes are killed, as 1h: make endure")
	}
	seed, err := strconv.ParseUint(os.Getenv("KILL_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	s := &soak{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 0)), began: time.Now()}
	defer s.end()
	s.run("data", "clicks", "--preset", "criteo", "--rows", "100000", "--out", "clicks.ffm")
	s.settings = strings.Fields("--algo fm --data clicks.ffm --epochs 40 --batch 1000 --sparse --factors 16 --tasks 4 --servers 2")
	s.run(append([]string{"train", "--model", "alone"}, s.settings...)...)
	for i := range 4 {
		s.servers = append(s.servers, s.server(i/2, string("ab"[i%2])))
	}
	jobs := 0
	for time.Since(s.began) < lasts {
		jobs++
		s.job(jobs)
	}
	s.write(os.Getenv("SOAK_CURVE"))
	t.Logf("seed %d: %d jobs of equal bits, %d kills, %d starts after exit code %d; a log took %d MiB at most, a server %d MiB of memory",
		seed, jobs, s.kills, s.again, exitTemporary, s.most.log>>20, s.most.memory>>20)
}

const (
	soakKill   = 10 * time.Second
	soakMemory = 512 << 20 // of a server
	soakPeak   = soakMemory / 100 * 115
	// soakLog is the bound of a folder: two states of about 50 MiB, and four times --log-base.
	soakLog = 2*50<<20 + 4*64<<20
)

// soak is a cluster whose processes are killed.
type soak struct {
	t        *testing.T
	dir      string
	rng      *rand.Rand
	began    time.Time
	settings []string
	servers  []*soaked
	workers  []*soaked // of the job that runs

	kills, again int
	most         soakSample
	samples      []soakSample
}

// soaked is a process that is started again when it ends before its work is done.
type soaked struct {
	name  string
	log   string // its folder; "": none
	args  []string
	cmd   *exec.Cmd
	ended chan error
}

// soakSample is the largest of the servers at a time.
type soakSample struct {
	at          time.Duration
	job         int
	log, memory int64
	kills       int
}

// run runs a command that has to succeed.
func (s *soak) run(args ...string) {
	s.t.Helper()
	if out, err := free(s.t, s.dir, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("thole %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// server starts a server of a role on a disk.
func (s *soak) server(role int, disk string) *soaked {
	log := fmt.Sprintf("log.%d.%s", role, disk)
	p := &soaked{name: "server " + log, log: log, args: []string{"server", "--listen", "127.0.0.1:0", "--store", s.dir, "--coordinate", "dir:roles",
		"--role", fmt.Sprint(role), "--lease", "3s", "--log", log, "--log-base", "64MiB", "--replicas", "2", "--memory", fmt.Sprint(soakMemory),
		"--quiet"}}
	s.start(p)
	return p
}

// start starts a process. What it prints is added to a file of its name.
func (s *soak) start(p *soaked) {
	s.t.Helper()
	out, err := os.OpenFile(filepath.Join(s.dir, strings.ReplaceAll(p.name, " ", ".")+".out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		s.t.Fatal(err)
	}
	p.cmd = free(s.t, s.dir, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended, cmd := make(chan error, 1), p.cmd
	p.ended = ended
	go func() {
		ended <- cmd.Wait()
		close(ended)
		_ = out.Close()
	}()
}

// job trains once more, with the kills that fall into that time.
func (s *soak) job(n int) {
	s.t.Helper()
	name := fmt.Sprintf("job%d", n)
	s.workers = nil
	for task := range 4 {
		p := &soaked{name: fmt.Sprintf("%s worker %d", name, task), args: append([]string{"worker", "--task", fmt.Sprint(task), "--job", name,
			"--coordinate", "dir:roles", "--model", name, "--checkpoint", name + ".ck", "--checkpoint-every", "100", "--retry", "1m", "--wait", "20s"},
			s.settings...)}
		s.start(p)
		s.workers = append(s.workers, p)
	}
	tick := time.NewTicker(soakKill)
	defer tick.Stop()
	over := time.After(time.Hour)
	for done := map[*soaked]bool{}; len(done) < len(s.workers); {
		select {
		case <-over:
			s.t.Fatalf("%s has not ended within an hour", name)
		case <-tick.C:
			s.sample(n)
			all := append(s.workers[:len(s.workers):len(s.workers)], s.servers...)
			p := all[s.rng.IntN(len(all))]
			if !done[p] {
				s.kills++
				_ = p.cmd.Process.Kill() // it may have ended
			}
		case <-time.After(20 * time.Millisecond):
		}
		for _, p := range append(s.workers[:len(s.workers):len(s.workers)], s.servers...) {
			select {
			case err := <-p.ended:
				s.ended(p, err, done)
			default:
			}
		}
	}
	s.run("diff", "alone", name)
	for _, p := range []string{name, name + ".ck"} {
		if err := os.RemoveAll(filepath.Join(s.dir, p)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// ended starts a process again that was killed or that may do better later.
func (s *soak) ended(p *soaked, err error, done map[*soaked]bool) {
	s.t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil && p.log == "":
		done[p] = true
		return
	case !errors.As(err, &exit):
		s.t.Fatalf("%s ended with %v", p.name, err)
	case exit.ExitCode() == exitTemporary:
		s.again++
	case exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL:
		text, _ := os.ReadFile(filepath.Join(s.dir, strings.ReplaceAll(p.name, " ", ".")+".out"))
		s.t.Fatalf("%s ended with %v: %s", p.name, err, text)
	}
	s.start(p)
}

// sample measures the servers.
func (s *soak) sample(job int) {
	s.t.Helper()
	now := soakSample{at: time.Since(s.began), job: job, kills: s.kills}
	for _, p := range s.servers {
		log, memory := int64(0), int64(0)
		_ = filepath.WalkDir(filepath.Join(s.dir, p.log), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if i, err := d.Info(); err == nil { // it may be gone
					log += i.Size()
				}
			}
			return nil
		})
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if _, text, ok := strings.Cut(string(status), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			memory = kib << 10
		}
		if log > soakLog || memory > soakPeak {
			s.t.Errorf("%s: %d MiB of log, %d MiB of memory, want at most %d and %d", p.name, log>>20, memory>>20, soakLog>>20,
				soakPeak>>20)
		}
		now.log, now.memory = max(now.log, log), max(now.memory, memory)
	}
	s.most.log, s.most.memory = max(s.most.log, now.log), max(s.most.memory, now.memory)
	s.samples = append(s.samples, now)
}

// write writes what was measured.
func (s *soak) write(path string) {
	s.t.Helper()
	if path == "" {
		return
	}
	to := func(ending string, f func(out *os.File) error) {
		s.t.Helper()
		out, err := os.Create(path + ending)
		if err == nil {
			if err = f(out); err == nil {
				err = out.Close()
			}
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	to(".csv", func(out *os.File) error {
		w := csv.NewWriter(out)
		_ = w.Write([]string{"seconds", "job", "log_mib", "memory_mib", "kills"})
		for _, x := range s.samples {
			_ = w.Write([]string{fmt.Sprintf("%.0f", x.at.Seconds()), fmt.Sprint(x.job), fmt.Sprint(x.log >> 20), fmt.Sprint(x.memory >> 20),
				fmt.Sprint(x.kills)})
		}
		w.Flush()
		return w.Error()
	})
	draw := func(ending, title string, value func(x soakSample) int64, bound int64) {
		c := chart.Chart{Title: title, X: chart.Axis{Label: "minutes"}, Y: chart.Axis{Label: "MiB"}, Lines: []chart.Line{{Name: "largest server"},
			{Name: "bound", Dashed: true, Faint: true}}}
		for _, x := range s.samples {
			for i, y := range []int64{value(x), bound} {
				c.Lines[i].X = append(c.Lines[i].X, x.at.Minutes())
				c.Lines[i].Y = append(c.Lines[i].Y, float64(y>>20))
			}
		}
		to(ending, func(out *os.File) error { return c.SVG(out) })
	}
	draw(".log.svg", "Folder of the log", func(x soakSample) int64 { return x.log }, soakLog)
	draw(".memory.svg", "Peak memory of a server process", func(x soakSample) int64 { return x.memory }, soakPeak)
}

// end ends the processes.
func (s *soak) end() {
	for _, p := range append(s.workers, s.servers...) {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}
