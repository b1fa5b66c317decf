package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/blob"
)

// Files in the folder of a launch; the output of a process lies in its name with LogEnding.
const (
	RecordFile = "launch.json"
	ScriptFile = "job.sh"
	LogFile    = "slurm.log"
	LogEnding  = ".log"
	nowEnding  = ".now"
	endedFile  = "ended"
)

// Place is what the record of a launch has as "on".
const Place = "slurm"

// Submitted is what the record of a launch has as "state": Slurm knows more.
const Submitted = "submitted"

// Record is what was submitted: the content of launch.json.
type Record struct {
	On       string    `json:"on"`
	State    string    `json:"state"`
	ID       string    `json:"id"`       // of the job
	Command  []string  `json:"command"`  // the command line
	Folder   string    `json:"folder"`   // the working directory of all processes
	Progress string    `json:"progress"` // the file of the job's progress, as JSON lines
	Servers  int       `json:"servers"`
	Workers  int       `json:"workers"`
	Began    time.Time `json:"began"` // it was submitted
}

// recordLimit is the largest file of a folder that is read whole.
const recordLimit = 1 << 20

// Open reads the record of a launch.
func Open(dir string) (*Record, error) {
	text, err := blob.ReadAll(context.Background(), blob.NewDir(dir), RecordFile, recordLimit)
	r := &Record{}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err == nil && (r.On != Place || !isID(r.ID) || r.Servers < 1 || r.Workers < 1 || r.Servers > most || r.Workers > most) {
		err = fmt.Errorf("no record of a launch on Slurm: on %q, job %q, %d servers, %d workers", r.On, r.ID, r.Servers, r.Workers)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, RecordFile), err)
	}
	return r, nil
}

// most is more processes of a kind than a launch has.
const most = 100_000

// Write replaces the record of a folder.
func (r *Record) Write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return blob.WriteAll(context.Background(), blob.NewDir(dir), RecordFile, append(text, '\n'))
}

// Clear removes from the folder what a job before wrote, but not what a server keeps: the new one begins with that or without.
func Clear(dir string) error {
	all, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, one := range all {
		name := one.Name()
		kind, _, _ := strings.Cut(name, ".")
		ours := slices.Contains([]string{endedFile, LogFile, RecordFile}, name) || slices.Contains([]string{"began", "done", "failed"}, kind)
		ofProcess := (kind == "server" || kind == "worker") && (strings.HasSuffix(name, LogEnding) || strings.HasSuffix(name, nowEnding))
		if ours || ofProcess {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Process is how a process is.
type Process struct {
	Name     string    `json:"name"`
	Node     string    `json:"node,omitempty"`
	Pid      int       `json:"pid,omitempty"` // on the node, while it runs
	Phase    string    `json:"phase"`         // waiting, running or ended
	Restarts int       `json:"restarts"`      // since the job was queued last
	Since    time.Time `json:"since,omitzero"`
	LastExit string    `json:"lastExit,omitempty"` // how it ended last
}

// Names are those of the processes: servers, then workers.
func (r *Record) Names() (all []string) {
	for i := range r.Servers {
		all = append(all, fmt.Sprintf("server.%d", i))
	}
	for i := range r.Workers {
		all = append(all, fmt.Sprintf("worker.%d", i))
	}
	return all
}

// Processes are how the processes of a launch say that they are. What is damaged says nothing.
func (r *Record) Processes(dir string) (all []Process) {
	for _, name := range r.Names() {
		p := Process{Name: name, Phase: "waiting"}
		if text, err := readSome(filepath.Join(dir, name+nowEnding)); err == nil {
			p.take(text)
		}
		all = append(all, p)
	}
	return all
}

// take takes a line of steps.sh: node, phase, id of the process, restarts, time, last end.
func (p *Process) take(text string) {
	parts := strings.Split(strings.TrimRight(text, "\n"), "\t")
	if len(parts) != 6 {
		return
	}
	pid, err := strconv.Atoi(parts[2])
	again, aerr := strconv.Atoi(parts[3])
	since, serr := strconv.ParseInt(parts[4], 10, 64)
	if err != nil || aerr != nil || serr != nil {
		return
	}
	p.Node, p.Phase, p.Pid, p.Restarts, p.Since, p.LastExit = parts[0], parts[1], pid, again, time.Unix(since, 0), parts[5]
}

// readSome reads a small file, or the beginning of one.
func readSome(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, recordLimit))
	return string(text), err
}

// Ended reads the status that the script of a launch says it ends with.
func Ended(dir string) (code int, ok bool) {
	text, err := readSome(filepath.Join(dir, endedFile))
	if err != nil {
		return 0, false
	}
	code, err = strconv.Atoi(strings.TrimSpace(text))
	return code, err == nil && code >= 0 && code < 256
}

// Failed is the process that failed first for good, and how: empty if none has.
func Failed(dir string) (process, how string) {
	all, _ := fs.Glob(os.DirFS(dir), "failed.*") // the pattern is right
	if len(all) == 0 {
		return "", ""
	}
	text, err := readSome(filepath.Join(dir, all[len(all)-1]))
	parts := strings.SplitN(strings.TrimSpace(text), " ", 3) // status, name, how
	if err != nil || len(parts) != 3 {
		return "", ""
	}
	return parts[1], parts[2]
}
