package slurm

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shapes are jobs by the names of their golden files.
func shapes() map[string]*Job {
	group := func(n, cpus int, memory int64, args ...Word) Group {
		return Group{Count: n, CPUs: cpus, Memory: memory, Args: args}
	}
	small := Job{Name: "thole-lr", Dir: "/shared/jobs/a", Folder: "/shared", Program: "/shared/thole", Restarts: 100,
		Servers: group(1, 1, 0, `--listen="$host:$port"`), Workers: group(1, 1, 0, "--data=a")}
	all := map[string]*Job{}
	add := func(name string, change func(*Job)) {
		j := small
		change(&j)
		all[name] = &j
	}
	add("small", func(*Job) {})
	add("one-size", func(j *Job) {
		j.Servers, j.Workers, j.GoesOn = group(2, 4, 3<<30), group(6, 4, 3<<30), true
		j.Options = Options{Partition: "long", Account: "lab", QOS: "high", Time: "2-12", Nodes: 4, More: []string{"--gres=gpu:1", "--mail-user=a b"}}
	})
	add("two-sizes", func(j *Job) {
		j.Servers, j.Workers = group(2, 1, 8<<30), group(4, 8, 1<<30)
		j.Options = Options{Partition: "long", Time: "90", Nodes: 3}
		j.Workers.First, j.Workers.Others, j.Optional = []Word{"--log=x"}, []Word{"--log="}, true
	})
	add("odd", func(j *Job) {
		j.Name, j.Dir, j.Folder = `my "job" #1`, "/shared/100% 'it'", "/a\nb"
		j.Servers.Args = []Word{Quote("it's\n$x")}
	})
	return all
}

// Scripts are as they should be, and the shell reads them.
func TestScripts(t *testing.T) {
	for name, j := range shapes() {
		text, err := j.Script()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		head, whole := bytes.CutSuffix(text, []byte(steps))
		if !whole {
			t.Errorf("%s does not end with the steps", name)
		}
		golden := filepath.Join("testdata", name+".sh")
		if *update {
			if err := os.WriteFile(golden, head, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(head, want) {
			t.Errorf("%s: %v; it is\n%s\nwant\n%s", name, err, head, want)
		}
		c := exec.Command("bash", "-n")
		c.Stdin = bytes.NewReader(text)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// What no script can say is refused.
func TestRefused(t *testing.T) {
	for what, change := range map[string]func(*Job){
		"name":      func(j *Job) { j.Name = "a\nb" },
		"partition": func(j *Job) { j.Options.Partition = `a\b` },
		"account":   func(j *Job) { j.Options.Account = "\x00" },
		"qos":       func(j *Job) { j.Options.QOS = "\xff" },
		"time":      func(j *Job) { j.Options.Time = "soon" },
		"sbatch":    func(j *Job) { j.Options.More = []string{"gres=gpu"} },
		"nodes":     func(j *Job) { j.Options.Nodes = 3 },
		"dir":       func(j *Job) { j.Dir = "relative" },
		"folder":    func(j *Job) { j.Folder = "" },
		"program":   func(j *Job) { j.Program = "thole" },
		"processes": func(j *Job) { j.Workers.Count = 0 },
		"cpus":      func(j *Job) { j.Servers.CPUs = 0 },
		"memory":    func(j *Job) { j.Servers.Memory = -1 },
		"restarts":  func(j *Job) { j.Restarts = -1 },
		"word":      func(j *Job) { j.Workers.First = []Word{"a\x00"} },
		"words":     func(j *Job) { j.Workers.Args = []Word{Quote(strings.Repeat("x", wordsLimit))} },
	} {
		j := shapes()["small"]
		change(j)
		text, err := j.Script()
		if bad, ok := err.(*Error); !ok || bad.What != what || text != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, time := range []string{"90", "1:30", "1:30:00", "2-12", "2-12:30", "2-12:30:15", "UNLIMITED"} {
		j := shapes()["small"]
		j.Options.Time = time
		if _, err := j.Script(); err != nil {
			t.Error(err)
		}
	}
}
