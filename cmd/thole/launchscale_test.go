//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/launch/local"
)

// launching is a launch in the folder l of its working directory.
type launching struct {
	*testing.T
	dir  string
	args []string
	p    *process
}

func newLaunching(t *testing.T, dir string, args ...string) *launching {
	t.Helper()
	for _, left := range []string{"ck", "kept", "l"} {
		if err := os.RemoveAll(filepath.Join(dir, left)); err != nil {
			t.Fatal(err)
		}
	}
	l := &launching{T: t, dir: dir, args: append([]string{"launch", "--dir", "l"}, args...)}
	l.start()
	return l
}

// start launches, and waits until all processes run and there is a checkpoint.
func (l *launching) start() {
	l.Helper()
	l.p = newProcess(l.T, l.dir, l.args...)
	if err := l.p.Start(); err != nil {
		l.Fatal(err)
	}
	l.until(func(r *local.Record) bool {
		return r.Pid == l.p.Process.Pid && allRun(r) && len(checkpointsIn(context.Background(), nil, filepath.Join(l.dir, "ck"))) > 0
	})
}

func (l *launching) until(as func(*local.Record) bool) *local.Record {
	l.Helper()
	return recordOf(l.T, filepath.Join(l.dir, "l"), as)
}

func (l *launching) scale(args ...string) *process {
	return newProcess(l.T, l.dir, append([]string{"launch", "scale", "l"}, args...)...)
}

// scales is an order that goes well, after which there are so many processes.
func (l *launching) scales(want local.Counts, args ...string) {
	l.Helper()
	p := l.scale(args...)
	if err := p.Run(); err != nil {
		l.Fatalf("%q: %v: %s; launch: %s", args, err, &p.err, &l.p.err)
	}
	if r := l.until(func(*local.Record) bool { return true }); r.Now != want || !strings.HasPrefix(p.out.String(), "l: ") {
		l.Errorf("%q: there are %+v, want %+v; it says %s", args, r.Now, want, &p.out)
	}
}

// kill kills a process, and waits until it has been started again, unless it has left by then.
func (l *launching) kill(name string) {
	l.Helper()
	number := func(r *local.Record) int {
		return slices.IndexFunc(r.Processes, func(p local.Status) bool { return p.Name == name && p.Pid > 0 })
	}
	r := l.until(func(r *local.Record) bool { return number(r) >= 0 || r.State != local.Going })
	if number(r) < 0 { // the training was faster
		return
	}
	before := r.Processes[number(r)]
	if err := syscall.Kill(before.Pid, syscall.SIGKILL); err != nil {
		l.Fatal(err)
	}
	l.until(func(r *local.Record) bool {
		i := slices.IndexFunc(r.Processes, func(p local.Status) bool { return p.Name == name })
		p := r.Processes[i]
		return p.Phase == local.Running && p.Pid != before.Pid || p.Phase == local.Left || r.State != local.Going
	})
}

// ends waits for the end, which has to be a good one, with the model of a training alone.
func (l *launching) ends() {
	l.Helper()
	if err := l.p.Wait(); err != nil {
		l.Fatalf("%v: %s", err, &l.p.err)
	}
	l.Logf("launch:\n%s", &l.p.err)
	diff := newProcess(l.T, l.dir, "diff", "alone", "kept")
	if err := diff.Run(); err != nil {
		l.Errorf("the model differs: %v: %s%s", err, &diff.out, &diff.err)
	}
	for _, p := range l.until(func(r *local.Record) bool { return r.State == local.Finished }).Processes {
		if p.Pid > 0 {
			l.Errorf("%s, process %d, is left", p.Name, p.Pid)
		}
	}
}

// A launch is given more servers and fewer while it runs, has its processes killed afterwards, is interrupted, and goes on by the same command
// with as many as it had: the model has the bits of one that nothing happened to.
func TestLaunchScaled(t *testing.T) {
	t.Parallel()
	for log, epochs := range map[string]string{"--server-log=false": "60", "--server-log": "20"} { // which makes each step wait for the disk
		t.Run(log, func(t *testing.T) {
			dir, settings := movingData(t, epochs)
			l := newLaunching(t, dir, append(slices.Clone(settings), "--servers", "2", "--workers", "3", log)...)
			l.scales(local.Counts{Servers: 3, Workers: 3}, "--servers", "3")
			l.scales(local.Counts{Servers: 1, Workers: 3}, "--servers", "1")
			l.kill("server.0")
			l.kill("worker.0")
			l.scales(local.Counts{Servers: 3, Workers: 3}, "--servers", "3")
			l.scales(local.Counts{Servers: 3, Workers: 3}, "--servers", "3")
			l.kill("server.2")
			l.kill("worker.2")
			l.p.Process.Signal(syscall.SIGINT)
			if err := l.p.Wait(); err == nil || l.p.ProcessState.ExitCode() != exitInterrupted {
				t.Fatalf("%v, want status %d: %s", err, exitInterrupted, &l.p.err)
			}
			t.Logf("launch:\n%s", &l.p.err)
			l.start()
			if r := l.until(allRun); r.Now != (local.Counts{Servers: 3, Workers: 3}) || r.Given != (local.Counts{Servers: 2, Workers: 3}) {
				t.Errorf("it goes on with %+v of %+v", r.Now, r.Given)
			}
			l.scales(local.Counts{Servers: 2, Workers: 3}, "--servers", "2")
			l.ends()
		})
	}
}

// Whoever dies while a launch is given another number of servers, it ends by itself with the same bits, and nobody is left.
func TestLaunchScaleKilled(t *testing.T) {
	t.Parallel()
	dir, settings := movingData(t, "40")
	for name, kill := range map[string]func(l *launching, p *process){
		"a server that stays":  func(l *launching, _ *process) { l.kill("server.0") },
		"a server that leaves": func(l *launching, _ *process) { l.kill("server.1") },
		"a server that comes":  func(l *launching, _ *process) { l.kill("server.2") },
		"the first worker":     func(l *launching, _ *process) { l.kill("worker.0") },
		"another worker":       func(l *launching, _ *process) { l.kill("worker.2") },
		"who has ordered":      func(_ *launching, p *process) { p.Process.Kill() },
		"Ctrl-C":               func(_ *launching, p *process) { p.Process.Signal(syscall.SIGINT) },
	} {
		if !everyCase() && !slices.Contains([]string{"a server that comes", "the first worker", "who has ordered"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := newLaunching(t, dir, append(slices.Clone(settings), "--servers", "2", "--workers", "3")...)
			want := 3
			if name == "a server that leaves" {
				want = 1
			}
			p := l.scale("--servers", string(rune('0'+want)))
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			l.until(func(r *local.Record) bool {
				return r.Order != nil && slices.ContainsFunc(r.Order.Said, isMove) || r.State != local.Going
			})
			kill(l, p)
			err := p.Wait()
			t.Logf("%v: %s%s", err, &p.out, &p.err)
			r := l.until(func(r *local.Record) bool { return r.Order.Done || r.State != local.Going })
			if by := name == "Ctrl-C"; by && err != nil && p.ProcessState.ExitCode() != exitInterrupted {
				t.Errorf("status %d, want %d", p.ProcessState.ExitCode(), exitInterrupted)
			}
			if n := r.Now.Servers; n != want && (n != 2 || r.Order.Error == "") {
				t.Errorf("there are %d servers, want %d, or 2 with a reason", n, want)
			}
			l.ends()
		})
	}
}

// isMove is the line by which an order says that the job has heard of it.
func isMove(line string) bool {
	return strings.HasPrefix(line, "job ") && strings.Contains(line, " moves to ")
}

// Workers come and leave between epochs; those that have left come back. A worker that leaves is not started again, and one that was asked
// to ends at once when the launch does.
func TestLaunchScaleWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := longJob(t, dir, "--epochs", "100000", "--early-stop", "0", "--checkpoint", "ck", "--checkpoint-every", "1h", "--give-up", "20s",
		"--log", "run.jsonl")
	l := &launching{T: t, dir: dir, args: append([]string{"launch", "--dir", "l", "--workers", "2", "--most-workers", "3", "--servers", "2"},
		settings...)}
	l.p = newProcess(t, dir, l.args...)
	if err := l.p.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	l.scales(local.Counts{Servers: 2, Workers: 3}, "--workers", "3")
	l.says("task 2 shares the examples again")
	l.scales(local.Counts{Servers: 1, Workers: 1}, "--servers", "1", "--workers", "1")
	l.says("task 1 has left after epoch")
	l.says("task 2 has left after epoch")
	l.scales(local.Counts{Servers: 1, Workers: 2}, "--workers", "2")
	l.says("task 1 shares the examples again")
	r := l.until(func(r *local.Record) bool { return r.Now.Workers == 2 })
	phases := map[string]local.Phase{}
	for _, p := range r.Processes {
		phases[p.Name] = p.Phase
		if p.Restarts > 0 {
			t.Errorf("%s was started again: %s", p.Name, p.LastExit)
		}
	}
	if phases["worker.1"] != local.Running || phases["worker.2"] != local.Left || phases["server.1"] != local.Left {
		t.Errorf("%v", phases)
	}
	r.Processes = slices.DeleteFunc(r.Processes, func(p local.Status) bool { return p.Pid == 0 })
	l.p.Process.Signal(syscall.SIGKILL)
	l.p.Wait()
	gone(t, r)
}

// says waits until the launch has said something.
func (l *launching) says(want string) {
	l.Helper()
	log := filepath.Join(l.dir, "l", "worker.0.log")
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(log); err == nil && strings.Contains(string(text), want) {
			return
		}
	}
	l.Fatalf("it never says %q", want)
}
