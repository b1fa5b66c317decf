package ps

import (
	"context"
	"errors"
	"fmt"

	"thole.example/blob"
	"thole.example/rpc"
)

// LaterAttempt is the error of a Dial whose task has not joined, because it has to in a later attempt of the job: another task has begun
// that already, or the place of this one is that of somebody who went away. Dial with it.
type LaterAttempt struct {
	Job     string
	Attempt int
	Without bool // the others have gone on without the task: the attempt begins when this one has ended
}

// Error implements error.
func (l *LaterAttempt) Error() string {
	return fmt.Sprintf("ps: the tasks of job %q have to join in attempt %d", l.Job, l.Attempt)
}

// Ended is the error of a Dial whose task has not joined, because there is nothing left to do: the others had gone on without it, and the
// job has come to its end.
type Ended struct{ Job string }

// Error implements error.
func (e *Ended) Error() string { return fmt.Sprintf("ps: job %q has ended, without this task", e.Job) }

// Moved is the error of a Dial whose task has not joined, because the job has moved to other servers than those of Options: find out where
// it is, and Dial there, in the same attempt.
type Moved struct{ Job string }

// Error implements error.
func (m *Moved) Error() string { return fmt.Sprintf("ps: job %q has moved to other servers", m.Job) }

// Recoverable reports whether the error of a call is about others: a connection or server that was lost, a server that was restarted, a
// task that went away, a store that is unavailable, another attempt that has begun, a job that has moved. A job that resumes from
// checkpoints then gives up its attempt (Close) and begins the next (Options.Attempt). It is false if a request was wrong or refused, if a
// task has given up for good (Quit), and for whatever is no error of the servers and the network, as a context that ended.
func Recoverable(err error) bool {
	if errors.Is(err, blob.ErrUnavailable) { // also where it is a time that has run out
		return true
	}
	for _, final := range []error{
		rpc.ErrOver, rpc.ErrRefused, rpc.ErrMalformed, rpc.ErrExists, rpc.ErrTooLarge, rpc.ErrInternal, ErrAnswer,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, final) {
			return false
		}
	}
	_, later := errors.AsType[*LaterAttempt](err)
	if _, moved := errors.AsType[*Moved](err); later || moved {
		return true
	}
	for _, lost := range []error{rpc.ErrAborted, rpc.ErrStandby, rpc.ErrLost, rpc.ErrUnreachable, rpc.ErrClosed, rpc.ErrTimeout} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// goOnAt notes the clock of the client in whose place this one is, as a server has it. If servers differ that one went away while it was
// telling them, and nobody can go on there.
func (c *Client) goOnAt(clock int) error {
	if c.goesOn && clock != c.clock {
		return &LaterAttempt{Job: c.o.Job, Attempt: c.o.Attempt + 1}
	}
	c.goesOn, c.clock = true, clock
	return nil
}

// Taken is the error of a Dial whose task is another process, which is there, or was a moment ago.
type Taken struct{ err error }

// Error implements error.
func (t *Taken) Error() string { return t.err.Error() }

// Unwrap gives the server's answer.
func (t *Taken) Unwrap() error { return t.err }
