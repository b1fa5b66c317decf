package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/blob"
	"thole.example/internal/filelock"
)

// Files in the folder of a launch; those of logs are called after their processes.
const (
	RecordFile = "launch.json"
	lockFile   = "launch.lock"
	LogEnding  = ".log"
)

// State is how a launch is doing.
type State string

// States of launches.
const (
	Going       State = "running"
	Finished    State = "finished"
	Failed      State = "failed"
	Interrupted State = "interrupted"
	Dead        State = "dead" // its supervisor is gone, and did not say how it ended; never written
)

// Record is what there is to know of a launch: the content of launch.json.
type Record struct {
	On        string        `json:"on"`              // where the processes run
	Command   []string      `json:"command"`         // the command line
	Host      string        `json:"host"`            // of the supervisor
	Folder    string        `json:"folder"`          // the working directory of all processes
	Progress  string        `json:"progress"`        // the file of the job's progress, as JSON lines
	Pid       int           `json:"pid"`             // of the supervisor
	Born      uint64        `json:"born"`            // see Status
	Given     Counts        `json:"given"`           // how many processes it was told to have
	Now       Counts        `json:"now"`             // how many it has
	Grace     time.Duration `json:"grace,omitempty"` // nanoseconds that the first worker has to end when the launch is asked to
	State     State         `json:"state"`
	Error     string        `json:"error,omitempty"` // why it failed
	Began     time.Time     `json:"began"`
	Ended     time.Time     `json:"ended,omitzero"`
	Order     *Answer       `json:"order,omitempty"` // the last one that was given
	Processes []Status      `json:"processes"`
}

// Counts is how many processes there are of each kind.
type Counts struct {
	Servers int `json:"servers"`
	Workers int `json:"workers"`
}

// Status is how a process is doing.
type Status struct {
	Name     string    `json:"name"`
	Kind     Kind      `json:"kind"`
	Pid      int       `json:"pid,omitempty"`  // 0: it does not run
	Born     uint64    `json:"born,omitempty"` // when it began, in ticks of the system, which tells it from another of the same id; 0: unknown
	Address  string    `json:"address,omitempty"`
	Phase    Phase     `json:"phase"`
	Since    time.Time `json:"since,omitzero"` // it was started last
	Restarts int       `json:"restarts"`
	LastExit string    `json:"lastExit,omitempty"` // how it ended last
}

// recordLimit is the largest launch.json that is read: that of 100,000 processes is smaller.
const recordLimit = 64 << 20

// ErrNoLaunch is the error of a folder that is not that of a launch.
var ErrNoLaunch = errors.New("not the folder of a launch: no " + RecordFile + " in it")

// Open reads the record of a launch. A launch whose supervisor is gone without a word is Dead, where the system can tell, and those of its
// processes that are gone, too, have Ended.
func Open(dir string) (*Record, error) {
	r, err := read(dir)
	if err != nil || r.State != Going {
		return r, err
	}
	if _, alive, err := holder(dir, lockFile); alive || err != nil {
		return r, nil
	}
	if r, err = read(dir); err == nil && r.State == Going { // it had not ended meanwhile
		r.State = Dead
		r.lookAgain()
	}
	return r, err
}

// lookAgain says of the processes that are gone that they have ended, where the system can tell.
func (r *Record) lookAgain() {
	if host, _ := os.Hostname(); r.Host != host {
		return
	}
	left := r.left()
	for i := range r.Processes {
		if p := &r.Processes[i]; (p.Pid == 0 || p.Born > 0) && !slices.Contains(left, p.Pid) {
			p.Phase, p.Pid = Ended, 0
		}
	}
}

func read(dir string) (*Record, error) {
	text, err := blob.ReadAll(context.Background(), blob.NewDir(dir), RecordFile, recordLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoLaunch)
	}
	r := &Record{}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, RecordFile), err)
	}
	return r, nil
}

// write replaces the record.
func (r *Record) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return blob.WriteAll(context.Background(), blob.NewDir(dir), RecordFile, append(text, '\n'))
}

// BusyError is the error of a folder that another launch uses.
type BusyError struct {
	Dir string
	Pid int // of its supervisor; 0: not known
}

// Error implements error.
func (e *BusyError) Error() string {
	who := "another launch"
	if e.Pid > 0 {
		who = fmt.Sprintf("process %d", e.Pid)
	}
	return fmt.Sprintf("%s: %s launches there, want another folder, or thole launch stop %[1]s first", e.Dir, who)
}

// claimTries and claimPause: whoever looks at a lock holds it for a moment.
const (
	claimTries = 10
	claimPause = 20 * time.Millisecond
)

// Claim makes this process the supervisor of the folder, which is made if need be, until release or the process' end. Where another
// process is that, the error is a *BusyError.
func Claim(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	release, err = claim(dir, lockFile)
	if errors.Is(err, filelock.ErrHeld) {
		pid, _, _ := holder(dir, lockFile)
		err = &BusyError{dir, pid}
	}
	return release, err
}

// claim locks a file of a folder, and writes the number of this process into it.
func claim(dir, name string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for range claimTries {
		if err = filelock.Alone(f); !errors.Is(err, filelock.ErrHeld) {
			break
		}
		time.Sleep(claimPause)
	}
	if errors.Is(err, filelock.ErrNoLocks) {
		err = nil // then nobody can tell who has it
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return func() { f.Close() }, nil
}

// holder is the process that has claimed a file of the folder, and whether there is one; an error says that nobody can tell.
func holder(dir, name string) (pid int, alive bool, err error) {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	if alive, err = filelock.Held(f); err != nil {
		return 0, false, err
	}
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0) // as far as there is something
	pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid, alive, nil
}
