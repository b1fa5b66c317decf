package rpc

import (
	"context"
	"errors"
	"fmt"

	"thole.example/blob"
)

// What a handler may answer instead of a response, in addition to blob.ErrUnavailable. The caller's error has the handler's text after the
// server's address, and errors.Is finds these in it, whatever the network.
var (
	ErrStale     = errors.New("routing map is stale")
	ErrNotFound  = errors.New("not found")
	ErrExists    = errors.New("exists already")
	ErrRefused   = errors.New("refused")
	ErrAborted   = errors.New("aborted")
	ErrTimeout   = errors.New("took too long")
	ErrClosed    = errors.New("closed")
	ErrMalformed = errors.New("malformed request")
	ErrTooLarge  = errors.New("message is too large")
	ErrInternal  = errors.New("handler panicked")
	ErrPassed    = errors.New("clock has passed")
	ErrOver      = errors.New("aborted for good") // by a task that knows that another attempt is of no use
	ErrStandby   = errors.New("not its role now") // of a server whose role another one may have
	ErrLag       = errors.New("too far behind")   // of a copy of another server's jobs, which another copy or that server may not be
)

// What networks themselves report.
var (
	ErrLost        = errors.New("connection lost")
	ErrUnreachable = errors.New("nobody answers")
	ErrInUse       = errors.New("address is in use")
)

// faults gives each of a handler's errors its number on the wire: its place here. Place 0 is any other error.
var faults = [...]error{
	nil, ErrStale, ErrNotFound, ErrExists, ErrRefused, ErrAborted, ErrTimeout, ErrClosed, ErrMalformed, ErrTooLarge,
	ErrInternal, ErrPassed, ErrOver, ErrStandby, blob.ErrUnavailable, ErrLag,
}

// Fault is an error that a server answered.
type Fault struct {
	Server string // address
	Text   string // of the handler's error
	Kind   error  // which of the errors above it is, nil for any other
}

// Error implements error.
func (f *Fault) Error() string { return fmt.Sprintf("server %s: %s", f.Server, f.Text) }

// Unwrap gives the kind.
func (f *Fault) Unwrap() error { return f.Kind }

// NewFault is what a handler's error becomes on its way from the server to the caller. A context that ended counts as
// ErrAborted, a deadline that passed as ErrTimeout.
func NewFault(server string, err error) *Fault {
	return &Fault{server, err.Error(), faults[faultCode(err)]}
}

func faultCode(err error) uint16 {
	for code, kind := range faults {
		if kind != nil && errors.Is(err, kind) {
			return uint16(code)
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return faultCode(ErrAborted)
	case errors.Is(err, context.DeadlineExceeded):
		return faultCode(ErrTimeout)
	}
	return 0
}
