package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slurm is a cluster of Slurm that runs, of three nodes.
type slurm struct {
	*run
	cluster string // its folder
}

// slurmCluster starts the cluster, once for all tests, and is where the test goes on within it; nil: outside, where it is over.
func slurmCluster(t *testing.T) *slurm {
	t.Helper()
	r := ready(t)
	s := &slurm{r, filepath.Join(r.dir, "slurm")}
	if os.Getenv(inside) == "" {
		must(t, filepath.Join(r.scripts, "slurm-up.sh"), s.cluster)
	}
	if !within(t, r, s.cluster) {
		return nil
	}
	t.Cleanup(func() {
		_ = exec.Command("scancel", "--user=root").Run() // jobs that the test left
		until(t, "no job is left", time.Minute, func() bool { return must(t, "squeue", "--noheader") == "" })
	})
	return s
}

// training is a launch on the cluster, in a folder of its own.
type training struct {
	*testing.T
	*slurm
	dir  string
	args []string
}

// train is a training of so many epochs that is not started yet, and the model of the same in one process.
func (s *slurm) train(t *testing.T, epochs int, more ...string) *training {
	t.Helper()
	dir, err := os.MkdirTemp(s.dir, "tr") // which the job has, too
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	examples(t, "a.libsvm", 2000, 20, 1000)
	l := &training{t, s, dir, append([]string{"launch", "--on", "slurm", "--servers", "2", "--workers", "3", "--data", "a.libsvm", "--model", "out",
		"--epochs", fmt.Sprint(epochs), "--checkpoint", "ck", "--checkpoint-every", "epoch", "--dir", "l"}, more...)}
	must(t, s.thole, "train", "--data", "a.libsvm", "--epochs", fmt.Sprint(epochs), "--tasks", "3", "--servers", "2", "--model", "alone")
	return l
}

// detach starts it in the background, and waits until it trains.
func (l *training) detach() {
	l.Helper()
	must(l.T, l.thole, append(slices.Clone(l.args), "--detach")...)
	l.trains(0)
}

// status is what thole launch status tells.
func (l *training) status() (s struct {
	ID        string
	Slurm     struct{ Phase string }
	Code      *int
	Processes []struct {
		Name, Node, Phase string
		Pid, Restarts     int
	}
	Job *struct{ Epoch *struct{ Epoch int } }
}) {
	l.Helper()
	if err := json.Unmarshal([]byte(must(l.T, l.thole, "launch", "status", "l", "--json")), &s); err != nil {
		l.Fatal(err)
	}
	return s
}

// epochs is how many lines of epochs the progress has.
func (l *training) epochs() int {
	text, _ := os.ReadFile("l/progress.jsonl")
	return strings.Count(string(text), `"event":"epoch"`)
}

// trains waits until there are more epochs than before.
func (l *training) trains(before int) {
	l.Helper()
	until(l.T, "the job trains", 3*time.Minute, func() bool {
		if l.epochs() > before {
			return true
		}
		if code, err := os.ReadFile("l/ended"); err == nil {
			l.Fatalf("it has ended with status %s:\n%s", code, l.said())
		}
		return false
	})
}

// said is what the job says of itself.
func (l *training) said() string {
	text, _ := os.ReadFile("l/slurm.log")
	first, _ := os.ReadFile("l/worker.0.log")
	return string(text) + string(first)
}

// again has a job that is queued again begin now: Slurm would have it wait for two minutes.
func (l *training) again() {
	l.Helper()
	id := l.status().ID
	until(l.T, "the job begins again", 4*time.Minute, func() bool {
		if !strings.HasPrefix(must(l.T, "squeue", "--noheader", "--states=all", "--jobs="+id, "--format=%T"), "PENDING") {
			text, _ := os.ReadFile("l/slurm.log")
			return regexp.MustCompile(`job \d+ runs on .* \(restarts: [1-9]`).Match(text)
		}
		for _, part := range []string{id, id + "+1"} { // of a heterogeneous job
			_ = exec.Command("scontrol", "update", "JobId="+part, "StartTime=now").Run() // it may be on its way
		}
		time.Sleep(2 * time.Second) // a change makes it wait for the scheduler again
		return false
	})
}

// ends waits for the end, which has to be a good one, with the model of the training in one process.
func (l *training) ends() {
	l.Helper()
	until(l.T, "the job ends", 5*time.Minute, func() bool { return l.status().Code != nil })
	if code := *l.status().Code; code != 0 {
		l.Fatalf("status %d:\n%s", code, l.said())
	}
	l.same()
}

func (l *training) same() {
	l.Helper()
	if out := must(l.T, l.thole, "diff", "alone", "out"); strings.Contains(out, "differ ") {
		l.Error(out)
	}
	l.Logf("the bits are the same; the job said\n%s", l.said())
}

// kill kills the process of a name, once it runs.
func (l *training) kill(name string) {
	l.Helper()
	for _, p := range l.status().Processes {
		if p.Name == name && p.Pid > 0 && p.Phase == "running" {
			if err := syscall.Kill(p.Pid, syscall.SIGKILL); err != nil {
				l.Fatal(err)
			}
			return
		}
	}
	l.Fatalf("no %s runs", name)
}

// TestSlurmTrains: a launch trains to its end, also where servers and workers ask for different things, with the bits of one process.
func TestSlurmTrains(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	for name, more := range map[string][]string{
		"one allocation": {"--time", "10", "--nodes", "2", "--slurm-partition", "p", "--name", `my "job" #1`, "--dir", "a'b 100%"},
		"two":            {"--server-memory", "100MiB", "--worker-memory", "200MiB", "--worker-cpus", "2", "--sbatch", "--comment=it's me"},
		"with a log":     {"--server-log"},
	} {
		t.Run(name, func(t *testing.T) {
			l := s.train(t, 20, more...)
			out := must(t, s.thole, l.args...)
			if !strings.Contains(out, "model  out") {
				t.Errorf("worker 0 says %q", out)
			}
			l.same()
		})
	}
}

// TestSlurmDryRun: sbatch takes what is printed, as it is.
func TestSlurmDryRun(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	l := s.train(t, 5)
	script := must(t, s.thole, append(slices.Clone(l.args), "--dry-run")...)
	if err := os.WriteFile("job", []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("l", 0o777); err != nil {
		t.Fatal(err)
	}
	must(t, "sbatch", "job")
	until(t, "it ends", time.Minute, func() bool { _, err := os.Stat("l/ended"); return err == nil })
	l.same()
}

// TestSlurmRequeue: a job that is queued again goes on from its last checkpoint.
func TestSlurmRequeue(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	for name, more := range map[string][]string{"one allocation": nil, "two": {"--worker-cpus", "2"}, "with a log": {"--server-log"}} {
		t.Run(name, func(t *testing.T) {
			l := s.train(t, 300, more...)
			l.detach()
			l.trains(10) // there are checkpoints
			must(t, "scontrol", "requeue", l.status().ID)
			l.again()
			l.ends()
			if !strings.Contains(l.said(), "goes on from ck/") {
				t.Error("it began anew")
			}
		})
	}
}

// TestSlurmTime: a job whose time is nearly over has itself queued again, and goes on.
func TestSlurmTime(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	l := s.train(t, 2000, "--time", "2", "--sbatch", "--signal=B:USR1@110")
	l.detach()
	until(t, "it is queued again", 2*time.Minute, func() bool { return strings.Contains(l.said(), "is queued again") })
	l.again()
	for l.status().Code == nil {
		if l.status().Slurm.Phase == "PENDING" {
			l.again()
		}
		time.Sleep(time.Second)
	}
	l.ends()
}

// TestSlurmKilled: a process that is killed is started again within its step, and the job goes on; from the kill to the next epoch it takes
// what is logged.
func TestSlurmKilled(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	for name, more := range map[string][]string{"checkpoints": nil, "logs": {"--server-log"}} {
		t.Run(name, func(t *testing.T) {
			l := s.train(t, 1500, more...)
			l.detach()
			for _, who := range []string{"server.1", "worker.2", "server.0", "worker.0"} {
				before := l.epochs()
				l.trains(before)
				began := time.Now()
				l.kill(who)
				before = l.epochs()
				l.trains(before + 1) // one may have been on its way
				t.Logf("%s was killed: %v to the next epoch", who, time.Since(began).Round(10*time.Millisecond))
				until(t, "it runs again", time.Minute, func() bool {
					return slices.ContainsFunc(l.status().Processes, func(p struct {
						Name, Node, Phase string
						Pid, Restarts     int
					}) bool {
						return p.Name == who && p.Restarts == 1
					})
				})
			}
			l.ends()
		})
	}
}

// TestSlurmNode: a node dies with all that runs on it. When Slurm hears of it the job is queued again, and goes on elsewhere.
func TestSlurmNode(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	l := s.train(t, 1500, "--nodes", "2")
	l.detach()
	batch := strings.TrimSpace(must(t, "squeue", "--noheader", "--format=%B"))
	node := ""
	for _, one := range strings.Fields(must(t, "scontrol", "show", "hostnames", strings.TrimSpace(must(t, "squeue", "--noheader", "--format=%N")))) {
		if one != batch {
			node = one
		}
	}
	daemon := strings.Fields(must(t, "sh", "-c", "ps ax -o pid,args | grep '[s]lurmd-wlm -D -N "+node+"'"))
	space, err := os.Readlink("/proc/" + daemon[0] + "/ns/uts")
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/ns/uts")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if of, err := os.Readlink(one); err == nil && of == space {
			if pid, err := strconv.Atoi(strings.Split(one, "/")[2]); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
	must(t, "scontrol", "update", "NodeName="+node, "State=DOWN", "Reason=dead") // as Slurm does after SlurmdTimeout, five minutes by default
	l.again()
	l.ends()
	back := exec.Command("setsid", append([]string{"unshare", "--uts", "sh", "-c", "hostname " + node + `; exec "$@"`, "sh"}, daemon[1:]...)...)
	if err := back.Start(); err != nil { // for the tests after this one
		t.Fatal(err)
	}
	until(t, "the node is back", time.Minute, func() bool {
		_ = exec.Command("scontrol", "update", "NodeName="+node, "State=RESUME").Run() // it is not known yet
		return !strings.Contains(must(t, "sinfo", "--noheader", "--Node", "--nodes="+node, "--format=%t"), "down")
	})
}

// TestSlurmCancel: Ctrl-C ends the job, and so does thole launch stop; nothing of it is left.
func TestSlurmCancel(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	l := s.train(t, 20, "--epochs", "100000")
	b := start(t, s.thole, l.args...)
	l.trains(10) // there are checkpoints
	before := l.status().Processes
	_ = b.Process.Signal(os.Interrupt)
	<-b.done
	if code := b.ProcessState.ExitCode(); code != 130 {
		t.Errorf("status %d, want 130: %s", code, b.out.String())
	}
	for _, p := range before {
		until(t, p.Name+" is gone", time.Minute, func() bool { return syscall.Kill(p.Pid, 0) != nil })
	}
	must(t, s.thole, append(slices.Clone(l.args), "--detach")...)
	out, err := exec.Command(s.thole, append(slices.Clone(l.args), "--detach")...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "launches there") {
		t.Errorf("a second launch in the folder: %v: %s", err, out)
	}
	until(t, "it goes on", time.Minute, func() bool { return strings.Contains(l.said(), "goes on from ck/") })
	must(t, s.thole, "launch", "stop", "l")
	if s := l.status(); s.Slurm.Phase != "CANCELLED" || *s.Code != 130 {
		t.Errorf("%+v", s)
	}
}

// TestSlurmTwo: two launches share nodes and do not meet.
func TestSlurmTwo(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	l := s.train(t, 300)
	other := append(slices.Clone(l.args), "--dir", "l2", "--model", "out2", "--checkpoint", "ck2")
	a, b := start(t, s.thole, l.args...), start(t, s.thole, other...)
	a.wait(t, 3*time.Minute)
	b.wait(t, 3*time.Minute)
	l.same()
	must(t, s.thole, "diff", "alone", "out2")
}

// TestSlurmFails: what fails by itself ends the job, and what it said is said.
func TestSlurmFails(t *testing.T) {
	s := slurmCluster(t)
	if s == nil {
		return
	}
	l := s.train(t, 5)
	if err := os.WriteFile("bad.libsvm", []byte("nonsense\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b := start(t, s.thole, append(slices.Clone(l.args), "--data", "bad.libsvm")...)
	<-b.done
	if code, out := b.ProcessState.ExitCode(), b.out.String(); code != 1 || !strings.Contains(out, "bad.libsvm:1") {
		t.Errorf("status %d, want 1 and the place: %s", code, out)
	}
	for flags, want := range map[string]string{"--slurm-partition=nowhere": "sinfo -s lists", "--sbatch=--nonsense": "see --sbatch"} {
		b := start(t, s.thole, append(slices.Clone(l.args), flags)...)
		<-b.done
		if out := b.out.String(); b.err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %s: %s", flags, b.err, want, out)
		}
	}
	b = start(t, s.thole, append(slices.Clone(l.args), "--server-cpus=100", "--worker-cpus=100")...)
	until(t, "it is said why the job does not run", time.Minute, func() bool {
		return strings.Contains(b.out.String(), "is pending: PartitionConfig (no node of the partition has what it asks for")
	})
	_ = b.Process.Signal(os.Interrupt)
	<-b.done
}
