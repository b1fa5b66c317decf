package slurm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func after() <-chan time.Time { return time.After(5 * time.Millisecond) }

// run is a script that runs with commands that stand for Slurm's.
type run struct {
	*testing.T
	dir, notes string
	cmd        *exec.Cmd
	out        bytes.Buffer
}

// start runs the script of a job, with what processes are told.
func start(t *testing.T, j *Job, env ...string) *run {
	t.Helper()
	dir := t.TempDir()
	r := &run{T: t, dir: filepath.Join(dir, "l"), notes: filepath.Join(dir, "notes")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	for _, name := range []string{"srun", "scontrol", "scancel", "program"} {
		os.MkdirAll(bin, 0o777)
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	j.Name, j.Dir, j.Folder = "j", r.dir, dir
	if j.Program == "" {
		j.Program = filepath.Join(bin, "program")
	}
	j.Servers.CPUs, j.Workers.CPUs = 1, 1
	text, err := j.Script()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "job.sh")
	if err := os.WriteFile(script, text, 0o777); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command("bash", script)
	r.cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "FAKE_NOTES="+r.notes, "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=localhost")
	r.cmd.Env = append(r.cmd.Env, env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	r.cmd.WaitDelay = time.Second
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) })
	return r
}

// ends waits for the script, which has to end with a status.
func (r *run) ends(want int) {
	r.Helper()
	r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); code != want {
		r.Errorf("status %d, want %d; it said:\n%s%s", code, want, &r.out, r.calls())
	}
}

// calls is what was called.
func (r *run) calls() string {
	text, _ := os.ReadFile(r.notes)
	return string(text)
}

// has waits until something was called, or written to a file of the folder.
func (r *run) has(file, text string) {
	r.Helper()
	path := filepath.Join(r.dir, file)
	if file == "" {
		path = r.notes
	}
	var got []byte
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-after() {
		if got, _ = os.ReadFile(path); strings.Contains(string(got), text) {
			return
		}
	}
	r.Fatalf("%s never has %q, but\n%s\n%s", path, text, got, &r.out)
}

func words(texts ...string) (all []Word) {
	for _, text := range texts {
		all = append(all, Quote(text))
	}
	return all
}

// servers are some that do what they should.
func servers(n int) Group {
	return Group{Count: n, Args: []Word{`listen="$host:$port"`, `--role="$rank"`, "input"}}
}

// hostile are words that shells like to take for something else.
var hostile = []string{"", " ", "a b", "'", `"`, `\`, `\'`, "$HOME", "$(touch x)", "`id`", "*", "~", "-n", "--", "a\nb", "\t", "#", "!!", "{1,2}", "%s", "é\x01",
	"\xff\xfe", "&& exit", "a=b", "<x", ">x", "|", ";", "\r\n", "'\\''", "$'a'", strings.Repeat("x'", 2000)}

// Words come to the processes as they were, through the script, two shells and srun.
func TestStepsWords(t *testing.T) {
	t.Parallel()
	said := words(hostile...)
	r := start(t, &Job{Servers: servers(1), Workers: Group{Count: 2, Args: append(said, `n="$rank"`), First: words("fi'rst"), Others: words("oth\ners")}})
	r.ends(0)
	for rank, last := range []string{"fi'rst", "oth\ners"} {
		want := fmt.Sprintf("%q\n", slices.Concat([]string{"program", "worker"}, hostile, []string{fmt.Sprintf("n=%d", rank), last}))
		if !strings.Contains(r.calls(), want) {
			t.Errorf("worker %d is not called as\n%s but\n%s", rank, want, r.calls())
		}
	}
}

// FuzzQuote: what a shell makes of a quoted word is the text.
func FuzzQuote(f *testing.F) {
	for _, one := range hostile {
		f.Add(one)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text = strings.ReplaceAll(text, "\x00", ""); len(text) > 1<<15 {
			return
		}
		// as in a script: a function that another shell is given
		inner := fmt.Sprintf("f() { printf %%s %s; }; bash -c \"$(declare -f f); f\"", Quote(text))
		for shell, line := range map[string]string{"sh": "printf %s " + string(Quote(text)), "bash": inner} {
			out, err := exec.Command(shell, "-c", line).Output()
			if err != nil || string(out) != text {
				t.Errorf("%s makes %q of %q: %v", shell, out, text, err)
			}
		}
	})
}

// The job ends as its workers do, and its servers are told to end.
func TestStepsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		others []Word
		want   int
		failed string
	}{
		{"done", words("exit=0"), 0, ""},
		{"one fails for good", words("exit=3"), 3, "worker.1"},
		{"one is not cured by other tries", words("exit=75"), 75, "worker.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := words("until=/never")
			if c.want == 0 {
				first = nil
			}
			r := start(t, &Job{Servers: servers(2), Workers: Group{Count: 2, First: first, Others: c.others}, Restarts: 1})
			r.ends(c.want)
			if code, ok := Ended(r.dir); !ok || code != c.want {
				t.Errorf("it says that it ends with %d, %v", code, ok)
			}
			if name, how := Failed(r.dir); name != c.failed {
				t.Errorf("%s %s failed, want %s", name, how, c.failed)
			}
			for _, p := range (&Record{Servers: 2, Workers: 0}).Processes(r.dir) {
				if p.Phase != "ended" || p.LastExit == "" || p.Restarts > 0 || p.Node != "localhost" {
					t.Errorf("%+v, want one that was told to end", p)
				}
			}
		})
	}
}

// A process that is killed is started again, a server where it listened; the workers wait for nothing.
func TestStepsRestart(t *testing.T) {
	t.Parallel()
	j := &Job{Servers: servers(1), Workers: Group{Count: 2}, Restarts: 3}
	j.Servers.Args = slices.Insert(j.Servers.Args, 1, `once="$dir/server"`)
	j.Workers.Args = []Word{`until="$dir/go"`, `once="$dir/worker.$rank"`}
	r := start(t, j)
	r.has("", `:4242" "once=`)
	r.has("server.0.now", "\trunning\t")
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	r.ends(0)
	for i, p := range (&Record{Servers: 1, Workers: 2}).Processes(r.dir) {
		if p.Restarts != 1 || p.Phase != "ended" || p.LastExit != "ended with status 0" {
			t.Errorf("process %d: %+v, want one that was started again once", i, p)
		}
	}
	r.has("worker.0.log", "worker.0 was killed by signal 9\n")
}

// When the first worker is done the model is saved: it does not matter how others end.
func TestStepsDone(t *testing.T) {
	t.Parallel()
	j := &Job{Servers: servers(1), Workers: Group{Count: 2, Others: []Word{`until="$dir/done.$attempt"`, "exit=3"}}}
	start(t, j).ends(0)
}

// Servers that fail end the workers, which would wait in vain.
func TestStepsServersFail(t *testing.T) {
	t.Parallel()
	r := start(t, &Job{Servers: Group{Count: 2, First: words("input"), Others: words("exit=2")}, Workers: Group{Count: 2, Args: words("until=/never")}, Restarts: 0})
	r.ends(2)
	if name, how := Failed(r.dir); name != "server.1" || how != "ended with status 2" {
		t.Errorf("%s %s failed", name, how)
	}
}

// Without one worker the others go on, if they may, but not without the first.
func TestStepsOptional(t *testing.T) {
	t.Parallel()
	for rank, want := range []int{75, 0} {
		r := start(t, &Job{Servers: servers(1), Workers: Group{Count: 2, Args: []Word{Word(fmt.Sprintf("exit=$(((rank == %d) * 75))", rank))}}, Optional: true})
		r.ends(want)
	}
}

// When its time is nearly over the job has its workers end and is queued again, if it goes on then and has not been too often. Whatever Slurm
// ends of it has nothing to say.
func TestStepsTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		goesOn   bool
		before   string
		requeued bool
		want     int
	}{
		{"goes on", true, "1", true, 75},
		{"would begin anew", false, "0", false, 75},
		{"often enough", true, "2", false, 75},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, &Job{Servers: servers(1), Workers: Group{Count: 2, Args: words("until=/never")}, GoesOn: c.goesOn, Restarts: 2},
				"SLURM_RESTART_COUNT="+c.before)
			r.has("worker.0.now", "\trunning\t")
			r.has("worker.1.now", "\trunning\t")
			r.cmd.Process.Signal(syscall.SIGUSR1)
			if c.requeued {
				r.has("", `["scontrol" "requeue" "7"]`)
				r.cmd.Process.Signal(syscall.SIGTERM)
			}
			r.ends(c.want)
			if strings.Contains(r.calls(), "requeue") != c.requeued {
				t.Errorf("queued again, want %v: %s", c.requeued, r.calls())
			}
			if _, ok := Ended(r.dir); ok == c.requeued {
				t.Errorf("it says that it has ended: %v", ok)
			}
			if name, how := Failed(r.dir); name != "" {
				t.Errorf("%s %s failed", name, how)
			}
		})
	}
}

// A process does not outlive the shell that looks after it, however that ends.
func TestStepsTied(t *testing.T) {
	t.Parallel()
	r := start(t, &Job{Servers: servers(1), Workers: Group{Count: 1, Args: words("input")}})
	r.has("worker.0.now", "\trunning\t")
	p := (&Record{Servers: 1, Workers: 1}).Processes(r.dir)[1]
	syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // the script, srun and the shells; the program is in a group of its own
	for end := time.Now().Add(20 * time.Second); syscall.Kill(p.Pid, 0) == nil; <-after() {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid)); strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is left")
		}
	}
}

// A node that does not have the folders or the program says so.
func TestStepsShared(t *testing.T) {
	t.Parallel()
	r := start(t, &Job{Program: "/nowhere/thole", Servers: servers(1), Workers: Group{Count: 1}})
	r.ends(1)
	if _, how := Failed(r.dir); !strings.Contains(how, "does not see /nowhere/thole: want it in a folder that all nodes share") {
		t.Errorf("it says %q:\n%s", how, &r.out)
	}
}
