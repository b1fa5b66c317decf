package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/internal/proc"
)

// TestMain is also the program of the processes that tests supervise: its first argument says what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if act := acts[os.Args[1]]; act != nil {
			os.Exit(act(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// acts are what processes of tests do.
var acts = map[string]func(args []string) int{
	"serve": func([]string) int { // until the input ends, or somebody asks
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("up and serving")
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); asked <- nil }()
		<-asked
		return 0
	},
	"say-goodbye": func([]string) int {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("hello")
		<-asked
		fmt.Println("goodbye")
		return exitInterrupted
	},
	"deaf": func([]string) int { // it wants to be killed, and ends when nobody looks after it
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("up and deaf")
		time.Sleep(limit)
		return 0
	},
	"die-once": func(args []string) int { // killed the first time, status 75 the second, done the third
		for _, mark := range args {
			f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				continue
			}
			f.Close()
			fmt.Println("not yet")
			if mark != args[0] {
				return exitAgain
			}
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			time.Sleep(limit)
		}
		fmt.Println("done")
		return 0
	},
	"fail": func([]string) int {
		fmt.Println("trying")
		fmt.Fprint(os.Stderr, "it is broken")
		return 3
	},
	"supervise": func(args []string) int { // in the folder, a server and a worker without end
		release, err := Claim(args[0])
		if err != nil {
			fmt.Println(err)
			return 2
		}
		defer release()
		ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer end()
		s := supervisor(args[0], io.Discard, process("server", Server, "serve"), process("worker", Worker, "serve"))
		s.Processes[1].Ready = ""
		if s.Run(ctx, nil) != nil {
			return 1
		}
		return 0
	},
}

// limit is how long a test waits before it calls a process hung; nothing is measured with it.
const limit = 60 * time.Second

func process(name string, kind Kind, args ...string) Process {
	p := Process{Name: name, Kind: kind, Args: args}
	if kind == Server {
		p.Ready = "up "
	}
	return p
}

func supervisor(dir string, out io.Writer, all ...Process) *Supervisor {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &Supervisor{Program: program, Processes: all, Restarts: 3, Dir: dir, Out: out, Err: out, Record: Record{On: "local"}}
}

// logOf is the log of a process.
func logOf(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+LogEnding))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func needSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
}

// TestRestarted: workers that die are started again, those that are done are not, and the servers end with them.
func TestRestarted(t *testing.T) {
	needSignals(t)
	dir := t.TempDir()
	var out bytes.Buffer
	s := supervisor(dir, &out, process("server", Server, "serve"), process("first", Worker, "die-once", filepath.Join(dir, "a"),
		filepath.Join(dir, "b")), process("second", Worker, "die-once"))
	s.Processes[1].Shown = true
	if err := s.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil || r.State != Finished || r.Ended.IsZero() || len(r.Processes) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []Status{{Name: "server", LastExit: "ended with status 0"}, {Name: "first", Restarts: 2,
		LastExit: "ended with status 0"}, {Name: "second", LastExit: "ended with status 0"}} {
		if p := r.Processes[i]; p.Name != want.Name || p.Restarts != want.Restarts || p.LastExit != want.LastExit || p.Phase != Ended ||
			p.Pid != 0 {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	log := logOf(t, dir, "first")
	for _, want := range []string{"first starts as process ", "not yet\n", "first was killed by a signal: killed", "starts again in 100ms",
		"first ended with status 75", "starts again in 200ms", "(restarts: 2)", "\ndone\n", "first ended with status 0\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q: %s", want, log)
		}
	}
	if n := strings.Count(log, mark); n != 8 { // three starts and ends, two of what follows
		t.Errorf("%d lines of the supervisor: %s", n, log)
	}
	if text := out.String(); !strings.Contains(text, "done\n") || !strings.Contains(text, "first was killed") ||
		strings.Contains(text, "up and serving") {
		t.Errorf("shown: %s", text)
	}
}

// TestFails: a worker that fails by itself ends all, and its last lines are told.
func TestFails(t *testing.T) {
	dir := t.TempDir()
	err := supervisor(dir, io.Discard, process("server", Server, "serve"), process("first", Worker, "serve"),
		process("second", Worker, "fail")).Run(t.Context(), nil)
	var failed *Error
	if !errors.As(err, &failed) || failed.Process != "second" || failed.Exit.Code != 3 {
		t.Fatalf("%v, want an error of second", err)
	}
	if text := err.Error(); !strings.Contains(text, "second ended with status 3") || !strings.Contains(text, "it is broken") ||
		!strings.Contains(text, filepath.Join(dir, "second.log")) {
		t.Errorf("it says %q", text)
	}
	r, err := Open(dir)
	if err != nil || r.State != Failed || !strings.Contains(r.Error, "status 3") {
		t.Errorf("%+v, %v", r, err)
	}
	if log := logOf(t, dir, "second"); !strings.Contains(log, "\nit is broken\n") || !strings.Contains(log, "\ntrying\n") {
		t.Errorf("a line without an end is not a line of the log: %q", log)
	}
}

// TestNoProgram: what cannot be started fails.
func TestNoProgram(t *testing.T) {
	s := supervisor(t.TempDir(), io.Discard, process("server", Server, "serve"))
	s.Program = filepath.Join(t.TempDir(), "nothing")
	var failed *Error
	if err := s.Run(t.Context(), nil); !errors.As(err, &failed) || failed.Exit.Failed == "" {
		t.Fatal(err)
	}
}

// TestKilled: processes that do not listen are killed when that is asked for.
func TestKilled(t *testing.T) {
	needSignals(t)
	dir := t.TempDir()
	kill := make(chan struct{})
	r, w := io.Pipe()
	defer r.Close()
	s := supervisor(dir, w, process("server", Server, "serve"), process("worker", Worker, "deaf"))
	s.Processes[1].Shown = true
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context(), kill) }()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "up and deaf\n" {
		t.Fatalf("%q, %v", line, err)
	}
	going, err := Open(dir)
	if err != nil || len(going.Processes) != 2 || going.Processes[1].Pid == 0 {
		t.Fatalf("%+v, %v", going, err)
	}
	close(kill)
	go io.Copy(io.Discard, r)
	if err := <-done; !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	if left := going.left(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if r, err := Open(dir); err != nil || r.State != Interrupted || r.Processes[1].LastExit != "was killed by a signal: killed" {
		t.Errorf("%+v, %v", r, err)
	}
}

// inFolder runs a supervisor as a process of its own, until its worker runs.
func inFolder(t *testing.T, dir string) (*exec.Cmd, *Record) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "supervise", dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if r, err := Open(dir); err == nil && r.State == Going && r.Processes[1].Pid > 0 {
			return c, r
		}
	}
	t.Fatal("no worker is started")
	return nil, nil
}

// TestSupervisorKilled: with it its processes end, and the record says that it is gone.
func TestSupervisorKilled(t *testing.T) {
	needSignals(t)
	dir := t.TempDir()
	c, r := inFolder(t, dir)
	c.Process.Kill()
	c.Wait()
	for end := time.Now().Add(limit); len(r.left()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left running: %v", r.left())
		}
	}
	if r, err := Open(dir); err != nil || r.State != Dead {
		t.Errorf("%+v, %v, want it dead", r, err)
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Error(err)
	}
	inFolder(t, dir) // nothing that it left is in the way
}

// TestStop ends a launch of another process, and only one can be in a folder.
func TestStop(t *testing.T) {
	needSignals(t)
	dir := t.TempDir()
	c, r := inFolder(t, dir)
	var busy *BusyError
	if _, err := Claim(dir); !errors.As(err, &busy) || busy.Pid != c.Process.Pid ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d launches there", c.Process.Pid)) {
		t.Errorf("%v, want that process %d has the folder", err, c.Process.Pid)
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if r, err := Open(dir); err != nil || r.State != Interrupted {
		t.Errorf("%+v, %v", r, err)
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Errorf("stopped again: %v", err)
	}
}

// TestStopOther: a supervisor that is another one than the record says is not signalled.
func TestStopOther(t *testing.T) {
	needSignals(t)
	dir := t.TempDir()
	c, r := inFolder(t, dir)
	for want, change := range map[string]func(*Record){
		"on that machine": func(r *Record) { r.Host += "else" },
		fmt.Sprintf("process %d launches there, and this machine has another", c.Process.Pid): func(r *Record) { r.Born++ },
	} {
		other := *r
		change(&other)
		if err := other.write(dir); err != nil {
			t.Fatal(err)
		}
		if err := Stop(t.Context(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, alive, err := holder(dir, lockFile); !alive || err != nil {
		t.Errorf("the supervisor is gone: %v", err)
	}
}

// TestQuietEnd: what a process says when it was asked to end is in its log alone.
func TestQuietEnd(t *testing.T) {
	needSignals(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	s := supervisor(dir, w, process("worker", Worker, "say-goodbye"))
	s.Processes[0].Shown = true
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, nil); w.Close() }()
	lines := bufio.NewScanner(r)
	if !lines.Scan() || lines.Text() != "hello" {
		t.Fatalf("%q", lines.Text())
	}
	cancel()
	for lines.Scan() {
		t.Errorf("shown: %q", lines.Text())
	}
	if err := <-done; !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
	if log := logOf(t, dir, "worker"); !strings.Contains(log, "\ngoodbye\n") {
		t.Errorf("the log: %s", log)
	}
}

// TestStopHung: a supervisor that does not hear is killed.
func TestStopHung(t *testing.T) {
	needSignals(t)
	dir := t.TempDir()
	c, r := inFolder(t, dir)
	if err := suspend(c.Process); err != nil {
		t.Fatal(err)
	}
	if err := stop(t.Context(), dir, 0); err != nil {
		t.Fatal(err)
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if r, err := Open(dir); err != nil || r.State != Dead {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestStopKillsLeftovers: a process that outlived its supervisor is killed; one that has its number only is not.
func TestStopKillsLeftovers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody knows when processes began")
	}
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all [2]*exec.Cmd
	for i := range all {
		all[i] = exec.CommandContext(t.Context(), program, "deaf")
		if err := all[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	host, _ := os.Hostname()
	r := &Record{Host: host, State: Going, Processes: []Status{{Pid: all[0].Process.Pid, Born: proc.Birth(all[0].Process.Pid)},
		{Pid: all[1].Process.Pid, Born: proc.Birth(all[1].Process.Pid) + 1}}}
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- all[0].Wait() }()
	if err := r.kill(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || err.Error() != "signal: killed" {
		t.Errorf("the first ends with %v", err)
	}
	if proc.Birth(all[1].Process.Pid) == 0 {
		t.Error("the second was killed")
	}
	all[1].Process.Kill()
	all[1].Wait()
}

// TestOpen: what is no record is an error, and says so.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); !errors.Is(err, ErrNoLaunch) {
		t.Error(err)
	}
	if err := Stop(t.Context(), dir); !errors.Is(err, ErrNoLaunch) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, RecordFile), []byte(`{"processes": 3`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), RecordFile) {
		t.Error(err)
	}
}
