package runlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/internal/filelock"
)

// Run is a run as it was read.
type Run struct {
	Name   string
	Folder string
	Environment
	Start  Start
	Epochs []Epoch
	End    *End // nil: it has not come to its end
	Bad    int  // lines that are no events; half of a last line does not count
	Cut    bool // there are too many events: those in the middle are left out
}

// ErrNoRun is the error of a folder that is not that of a run.
var ErrNoRun = errors.New("not a run: no " + EnvironmentFile + " in it")

// Open reads a run. An environment that cannot be read makes it a Damaged one, with the reason as its Error.
func Open(folder string) (*Run, error) {
	r := &Run{Name: filepath.Base(folder), Folder: folder}
	dir := blob.NewDir(folder)
	text, err := blob.ReadAll(context.Background(), dir, EnvironmentFile, fileLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", folder, ErrNoRun)
	}
	if err == nil {
		if err = json.Unmarshal(text, &r.Environment); err == nil && !r.State.written() {
			err = fmt.Errorf("state %q, want one of %v", r.State, States()[:5])
		}
	}
	if err != nil {
		r.State, r.Error = Damaged, EnvironmentFile+": "+err.Error()
	}
	events, err := dir.Open(context.Background(), EventsFile)
	if err != nil { // without them there is nothing to tell whether it runs by
		if r.State == Running {
			r.State = Unsure
		}
		return r, nil
	}
	defer events.Close()
	if r.State == Running {
		r.State = r.alive()
	}
	err = r.read(events)
	if r.Algorithm == "" {
		r.Algorithm = r.Start.Algo
	}
	return r, err
}

// alive is the state of a run that says that it is running.
func (r *Run) alive() State {
	f, err := os.Open(filepath.Join(r.Folder, EventsFile))
	if err != nil {
		return Unsure
	}
	defer f.Close()
	switch held, err := filelock.Held(f); {
	case err != nil:
		return Unsure
	case held:
		return Running
	}
	// It may have ended since its environment was read.
	text, err := blob.ReadAll(context.Background(), blob.NewDir(r.Folder), EnvironmentFile, fileLimit)
	var now Environment
	if err == nil && json.Unmarshal(text, &now) == nil && now.State != Running && now.State.written() {
		r.Environment = now
		return now.State
	}
	return Dead
}

// read reads the events.
func (r *Run) read(events blob.Object) error {
	size := events.Size()
	if size <= eventsLimit {
		return r.lines(io.NewSectionReader(events, 0, size), false)
	}
	r.Cut = true
	if err := r.lines(io.NewSectionReader(events, 0, eventsLimit/2), false); err != nil {
		return err
	}
	return r.lines(io.NewSectionReader(events, size-eventsLimit/2, eventsLimit/2), true)
}

// lines takes the whole lines of a part of the events, which may begin within one.
func (r *Run) lines(part io.Reader, within bool) error {
	text, err := io.ReadAll(part)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(r.Folder, EventsFile), err)
	}
	for line := range bytes.Lines(text) {
		if within || !bytes.HasSuffix(line, []byte("\n")) {
			within = false
			continue
		}
		if !r.take(line) {
			r.Bad++
		}
	}
	return nil
}

// take takes an event and reports whether it is one. Events of names that are not known, and keys, are of later versions.
func (r *Run) take(line []byte) bool {
	var kind struct{ Event string }
	if json.Unmarshal(line, &kind) != nil || kind.Event == "" {
		return false
	}
	var err error
	switch kind.Event {
	case StartEvent:
		err = json.Unmarshal(line, &r.Start)
	case EpochEvent:
		e := Epoch{Loss: Number(math.NaN())}
		if err = json.Unmarshal(line, &e); err == nil {
			r.Epochs = append(r.Epochs, e)
		}
	case EndEvent:
		e := &End{}
		if err = json.Unmarshal(line, e); err == nil {
			r.End = e
		}
	}
	return err == nil
}

// Job is the settings of a run, as thole train --job takes them; none for a run that does not have them.
func (r *Run) Job() ([]byte, error) {
	text, err := blob.ReadAll(context.Background(), blob.NewDir(r.Folder), JobFile, fileLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// List reads all runs of a root, those first that began last. A root that is not there has none.
func List(root string) ([]*Run, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []*Run
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		r, err := Open(filepath.Join(root, e.Name()))
		switch {
		case errors.Is(err, ErrNoRun), errors.Is(err, fs.ErrNotExist): // or removed meanwhile
		case err != nil:
			return nil, err
		default:
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Run) int {
		if c := b.Began.Compare(a.Began); c != 0 {
			return c
		}
		return inOrder(b.Name, a.Name)
	})
	return all, nil
}

// inOrder compares names of runs: of two that began in one second the one with the smaller number behind it comes first.
func inOrder(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
