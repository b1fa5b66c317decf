package data

import (
	"errors"
	"fmt"
)

// What can be wrong beyond the text itself. Errors wrap one of these where it applies.
var (
	ErrUnknown = errors.New("unknown data format")       // no source has the name
	ErrOption  = errors.New("not a usable option")       // an option outside of what it may be
	ErrLimit   = errors.New("beyond the limit")          // a line longer than LineLimit
	ErrLabel   = errors.New("not labels of two classes") // a label that AutoTrans does not take
	ErrClass   = errors.New("not labels of classes")     // a label that ClassTrans does not take
)

// Error says where something was wrong: the input's name and the line, counted from 1; 0 means no line of it.
type Error struct {
	Path string
	Line int64
	Err  error
}

// Error implements error as "path:line: …".
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

// Unwrap gives what was wrong.
func (e *Error) Unwrap() error { return e.Err }

// quoteLimit is how much of a wrong token an error shows.
const quoteLimit = 40

// quote is the token for an error text: short and printable.
func quote(token []byte) string {
	if len(token) > quoteLimit {
		return fmt.Sprintf("%q...", token[:quoteLimit])
	}
	return fmt.Sprintf("%q", token)
}
