// Package local runs the processes of a job on this machine: servers and workers, which are started again when they die, until all
// workers are done.
//
// What happens when is decided by Group, a state machine without processes and clocks; Supervisor is the shell around it, with real
// ones. A folder holds what there is to know of a launch while it goes on and afterwards:
//
//	launch.json    what runs, how often it was started again, how it ended (Record); always whole
//	launch.lock    the id of the supervisor, which holds a lock on it as long as it lives
//	order.json     what the launch is asked for while it runs (Ask): other numbers of processes
//	order.lock     the id of the process that asks, which holds a lock on it as long as it lives
//	NAME.log       the output of a process, with a line for each start and end, over all restarts
//
// It knows nothing of training: which processes there are, and what they are told, is said by who launches.
package local

import (
	"fmt"
	"time"
)

// Kind says what the end of a process means to the others.
type Kind string

// Kinds of processes.
const (
	Server Kind = "server" // is needed until all workers are done, and then told to end
	Worker Kind = "worker" // is done when it ends with status 0
)

// Process is one to keep running.
type Process struct {
	Name    string   // is that of its log, too
	Kind    Kind     // servers come up before workers are started
	Args    []string // of the program
	Address string   // where it is found, for people; may be empty
	Ready   string   // how the line of its standard output begins that says it is up; "": it is when it runs
	// Optional says of a worker that the others go on without it if it has been started again too often.
	Optional bool
	Shown    bool // its output goes to that of the supervisor, too
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // status; below 0 if there is none
	Signal string // that killed it; "": none
	Failed string // why it could not be started; "": it was
}

// Statuses that mean something else than failure.
const (
	exitDone        = 0
	exitAgain       = 75  // EX_TEMPFAIL of sysexits.h: another try may do
	exitInterrupted = 130 // somebody asked the process alone to end
)

// String says it for people.
func (x Exit) String() string {
	switch {
	case x.Failed != "":
		return "could not be started: " + x.Failed
	case x.Signal != "":
		return "was killed by a signal: " + x.Signal
	case x.Code == exitInterrupted:
		return "was interrupted"
	}
	return fmt.Sprintf("ended with status %d", x.Code)
}

// verdict is what follows from an end that nobody asked for.
type verdict int

const (
	again verdict = iota
	done
	fails
)

// judge says what the end of a process of the kind means.
func judge(kind Kind, x Exit) verdict {
	switch {
	case x.Failed != "":
		return fails
	case x.Signal != "", x.Code == exitAgain, x.Code == exitInterrupted:
		return again
	case x.Code == exitDone && kind == Worker:
		return done
	case x.Code == exitDone: // a server that was told to end, by somebody else
		return again
	}
	return fails
}

// Times that a Group keeps.
const (
	firstPause = 100 * time.Millisecond // before a process is started again; twice as long each time
	mostPause  = 10 * time.Second
	calm       = time.Minute      // of life, after which the next pause is the first one again
	grace      = 5 * time.Second  // for processes to end when they are told to; then they are killed
	rest       = 30 * time.Second // for the other workers to end when the first one is done
)
