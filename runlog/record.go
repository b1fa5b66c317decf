package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"thole.example/blob"
	"thole.example/internal/filelock"
)

// Recorder writes the folder of one run. It is for one goroutine; a nil Recorder records nothing.
type Recorder struct {
	folder string
	env    Environment
	events *os.File // locked as long as the run goes on
	whole  int64    // bytes of its lines
	failed error
}

// sameName is how many runs may begin in one second under one label.
const sameName = 10000

// Begin makes the folder of a run below root, which is made, too, if need be. Its name is the time env.Began and the label, such as the
// name of the algorithm; job is its settings (nil: not known). Any number of processes may begin runs in one root at once. The run
// is Running until End is called, or Dead if that never comes.
func Begin(root, label string, env Environment, job []byte) (*Recorder, error) {
	folder, err := claim(root, title(env.Began, label))
	if err != nil {
		return nil, err
	}
	r := &Recorder{folder: folder, env: env}
	r.env.State = Running
	r.events, err = os.OpenFile(filepath.Join(folder, EventsFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o666)
	if err != nil {
		return nil, errors.Join(err, os.Remove(folder))
	}
	_ = filelock.Alone(r.events) // before anybody can take the folder for a run; without locks readers are unsure whether it runs
	if job != nil {
		err = blob.WriteAll(context.Background(), blob.NewDir(folder), JobFile, job)
	}
	if err == nil {
		err = r.describe()
	}
	if err != nil {
		return nil, errors.Join(err, r.events.Close(), os.RemoveAll(folder)) // which nobody else has seen as a run
	}
	return r, nil
}

// claim makes a folder that nobody else has: of the name, or with a number behind it.
func claim(root, name string) (folder string, err error) {
	if err := os.MkdirAll(root, 0o777); err != nil {
		return "", err
	}
	for n := 1; n <= sameName; n++ {
		folder = filepath.Join(root, name)
		if n > 1 {
			folder += fmt.Sprintf("-%d", n)
		}
		if err = os.Mkdir(folder, 0o777); !errors.Is(err, fs.ErrExist) {
			return folder, err
		}
	}
	return "", err
}

// Folder is that of the run.
func (r *Recorder) Folder() string {
	if r == nil {
		return ""
	}
	return r.folder
}

// Append writes an event, as Line has it. After an error nothing more is appended, and every call gives that error.
func (r *Recorder) Append(event any) error {
	if r == nil || r.failed != nil {
		return r.Failed()
	}
	line, err := Line(event)
	if err == nil {
		if _, err = r.events.Write(append(line, '\n')); err != nil {
			_ = r.events.Truncate(r.whole) // half a line is of no use; err says that it is missing
		}
	}
	r.whole += int64(len(line)) + 1
	r.failed = err
	return err
}

// Failed is the error that ended the recording, nil if none did.
func (r *Recorder) Failed() error {
	if r == nil {
		return nil
	}
	return r.failed
}

// End says how the run ended, at the time, and why if it Failed. It answers with the first error of the recording. The Recorder
// is done with.
func (r *Recorder) End(state State, why string, at time.Time) error {
	if r == nil || r.events == nil {
		return r.Failed()
	}
	r.env.State, r.env.Error, r.env.Ended = state, why, at
	err := r.describe() // before the lock is given up: at no time does it look dead
	err = errors.Join(r.failed, err, r.events.Close())
	r.events = nil
	return err
}

// describe writes the environment.
func (r *Recorder) describe() error {
	text, err := json.MarshalIndent(&r.env, "", "  ")
	if err != nil {
		return err
	}
	return blob.WriteAll(context.Background(), blob.NewDir(r.folder), EnvironmentFile, append(text, '\n'))
}
