// Package blob keeps named byte objects: in a directory, in memory, later in an object store. What is written becomes
// visible whole or not at all: one object by its writer's Commit, a tree of objects by Publish.
//
// Names are slash-separated paths without "." and ".." elements. A name is at the same time an object or the root of a
// tree of objects "name/…", never both: an object cannot be made below another, and one made in the place of a tree
// replaces the tree. Elements that begin with "_tmp." are for what is not finished; only List of such a tree itself
// shows what lies below them.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// Bucket is a set of named objects. All methods may be called by many goroutines. Errors for a missing object wrap
// fs.ErrNotExist.
type Bucket interface {
	// Open gives the object for reading.
	Open(ctx context.Context, name string) (Object, error)
	// Create begins a new object, which replaces one of the same name when the writer commits.
	Create(ctx context.Context, name string) (Writer, error)
	// List gives the objects below the tree (its own name as prefix, then a slash), or the object itself if the name is
	// one, sorted by name. Nothing found is not an error.
	List(ctx context.Context, tree string) ([]Info, error)
	// Remove deletes the object or the tree; one that does not exist is no error.
	Remove(ctx context.Context, name string) error
	// State tells what lies at the name now, for a later Publish to it.
	State(ctx context.Context, name string) (State, error)
	// Publish moves the object or tree from to the name to, in one step, if what lies there is still what over says; else
	// it fails with ErrChanged and nothing has changed. Neither name may lie within the other; moving something onto itself
	// does nothing.
	Publish(ctx context.Context, from, to string, over State) error
}

// State identifies what lies at a name: Nothing, or one object or tree as it was at a moment. It may be stored and compared;
// what else is in it belongs to the bucket.
type State string

// Nothing is the State of a name that is free. Anything stands for every State, for names that nobody else knows.
const (
	Nothing  State = ""
	Anything State = "*"
)

// ErrChanged says that what lies at a name is not what it was said to be.
var ErrChanged = errors.New("changed meanwhile")

// ErrUnavailable says that a store does not answer, or asks for patience, for longer than it was tried again. A later attempt may succeed.
var ErrUnavailable = errors.New("store unavailable")

// Unavailable is an error that is ErrUnavailable, with a text of its own.
func Unavailable(text string) error { return unavailable{errors.New(text)} }

type unavailable struct{ error }

// Is implements errors.Is.
func (unavailable) Is(target error) bool { return target == ErrUnavailable }

// changed is the error of publishing to a name at which something else lies than over said.
func changed(to string, over State) error {
	if over == Nothing {
		return fmt.Errorf("blob: %s is there now, and was not before: %w", to, ErrChanged)
	}
	return fmt.Errorf("blob: %s is not what it was when it was to be replaced: %w", to, ErrChanged)
}

// Roomer is a Bucket that knows how much space is left.
type Roomer interface {
	// Room is how many bytes can be written where the name lies; below 0 if that is not known.
	Room(ctx context.Context, name string) (int64, error)
}

// Info names an object, its size in bytes, and when it was written last, zero if that is not known.
type Info struct {
	Name     string
	Size     int64
	Modified time.Time
}

// Object is an open object. ReadAt may be called by many goroutines.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Mapped is an Object whose bytes can be seen in memory.
type Mapped interface {
	Object
	// Map calls look with all bytes of the object, as they lie in memory: they must not be changed, nor be looked at after
	// look has returned. It may be called by many goroutines, but not by look; the first call maps the object, and Close
	// waits for those that look. It fails with errors.ErrUnsupported where the object cannot be mapped. A look at bytes of a file that
	// somebody cut meanwhile is a fault of the memory, which ends the process unless look prepares for it
	// (debug.SetPanicOnFault).
	Map(look func(data []byte) error) error
}

// Writer takes the bytes of a new object. Write appends behind the furthest byte that Write has reached; WriteAt puts
// bytes anywhere, and gaps read as zero. ReadAt gives back what was written, for checksums that are known only at the
// end. Exactly one of Commit and Abort ends it; Abort after Commit does nothing, so that it can be deferred. WriteAt and
// ReadAt may be called by many goroutines.
type Writer interface {
	io.Writer
	io.WriterAt
	io.ReaderAt
	// Commit makes the object visible under its name.
	Commit() error
	// Abort forgets the object.
	Abort()
}

// ErrName says that a name is empty, absolute where it must not be, or leaves the bucket.
var ErrName = errors.New("not a name within the bucket")

// Vectored is a Writer that takes several slices as if they were one, and changes the slice of slices.
type Vectored interface {
	Writer
	WriteVec(vec [][]byte) (n int64, err error)
}

// Yielder is a Writer that can leave more of the processors and of the memory of the machine to others, and write more slowly.
type Yielder interface {
	Writer
	// Yield says whether it is to, from the next Write on.
	Yield(yes bool)
}

// checkName refuses what is no name. A backslash is a letter like others unless the file system takes it for a slash.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "\x00") || filepath.Separator == '\\' && strings.Contains(name, `\`) {
		return fmt.Errorf("blob: %q: %w", name, ErrName)
	}
	return nil
}

// checkMove refuses names outside, and moves into what would be moved or replaced on the way.
func checkMove(from, to string) error {
	if err := errors.Join(checkName(from), checkName(to)); err != nil {
		return err
	}
	if from != to && (within(from, to) || within(to, from)) {
		return fmt.Errorf("blob: publish %s as %s: one lies within the other", from, to)
	}
	return nil
}

// ReadAll reads an object of at most limit bytes into memory. It fails for a larger one without reading it.
func ReadAll(ctx context.Context, b Bucket, name string, limit int64) ([]byte, error) {
	o, err := b.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if o.Size() > limit {
		return nil, fmt.Errorf("blob: %s: %d bytes, want at most %d", name, o.Size(), limit)
	}
	buf := make([]byte, o.Size())
	if n, err := o.ReadAt(buf, 0); n < len(buf) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("blob: %s: %d of %d bytes: %w", name, n, len(buf), err)
	}
	return buf, nil
}

// WriteAll makes data the whole content of the object.
func WriteAll(ctx context.Context, b Bucket, name string, data []byte) error {
	w, err := b.Create(ctx, name)
	return fill(w, err, data)
}

// fill makes data the whole content of the object that was begun, if it was.
func fill(w Writer, err error, data []byte) error {
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}
