// Package runlog keeps what is known of trainings: one folder a run, with the job as it was resolved, the events of the training as JSON
// lines, and the environment. It writes, reads, finds and removes them; it neither trains nor prints. docs/runs.md has the layout.
//
//	runs/20261125-143000-deepfm/
//	    environment.json  Environment: what ran where, when and on what data, and how it ended
//	    job.yaml          the settings, as thole train --job takes them; not there if nobody knows them
//	    metrics.jsonl     Start, Epoch and End, one a line, appended while it runs; locked by the process that writes it
//
// What is read is not trusted: sizes are bounded, lines that are no events are counted and left out, and a half-written last line is
// that of a process that still writes or has died.
package runlog

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// The names of the files in a folder of a run.
const (
	EnvironmentFile = "environment.json"
	JobFile         = "job.yaml"
	EventsFile      = "metrics.jsonl"
)

// Bounds of what is read of a run. Of a longer file of events the first and the last half of the bound are read.
const (
	fileLimit   = 1 << 20
	eventsLimit = 16 << 20
)

// State is how far a run is.
type State string

// States. Those after Interrupted are never written: they are found out when a run is read.
const (
	Running     State = "running"
	Finished    State = "finished"    // all epochs were made
	Stopped     State = "stopped"     // early: by the held-out examples, the tolerance or the loss
	Failed      State = "failed"      // with Environment.Error
	Interrupted State = "interrupted" // by the user or the system
	Dead        State = "dead"        // its process ended without saying how
	Unsure      State = "running?"    // it says that it runs, and this file system cannot tell whether it does
	Damaged     State = "damaged"     // its environment cannot be read
)

// States are all of them, in the order of a run's life.
func States() []State {
	return []State{Running, Finished, Stopped, Failed, Interrupted, Dead, Unsure, Damaged}
}

// written reports whether a run may say the state of itself.
func (s State) written() bool { return slices.Contains(States()[:5], s) }

// Environment is what a run says of itself, beside its settings and its events. What is empty is not known.
type Environment struct {
	State State  `json:"state"`
	Error string `json:"error,omitempty"` // why it failed
	Note  string `json:"note,omitempty"`  // what tells it from others, such as which trial of a search it is

	Algorithm   string `json:"algorithm,omitempty"`
	Model       string `json:"model,omitempty"` // path, as it was given; "": not saved
	ModelFormat string `json:"modelFormat,omitempty"`
	Data        []File `json:"data,omitempty"`
	Validate    []File `json:"validate,omitempty"`

	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`

	Command []string `json:"command,omitempty"` // the command line, without what looks like a secret
	Folder  string   `json:"folder,omitempty"`  // the working directory
	Process int      `json:"process,omitempty"`
	Host    string   `json:"host,omitempty"`

	Version    string `json:"version,omitempty"` // of thole
	Commit     string `json:"commit,omitempty"`  // that it was built from
	Go         string `json:"go,omitempty"`
	System     string `json:"system,omitempty"` // such as linux/amd64
	Processor  string `json:"processor,omitempty"`
	Processors int    `json:"processors,omitempty"` // that the process may use
	Memory     int64  `json:"memory,omitempty"`     // bytes of the machine, or of the control group if that has less
}

// File is a file that was read, and its size when the run began.
type File struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // -1: a stream, or not there
}

// title is the name of a run that begins at the time: sortable, and readable.
func title(at time.Time, label string) string {
	var b strings.Builder
	for _, r := range label {
		switch {
		case r > unicode.MaxASCII || b.Len() >= 40:
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := at.Format("20060102-150405")
	if word := strings.TrimSuffix(b.String(), "-"); word != "" {
		name += "-" + word
	}
	return name
}
