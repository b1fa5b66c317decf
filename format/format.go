// Package format says what a storage format is, and does with every format what does not depend on one: detect, open,
// create, convert, print.
//
// A [Codec] is a format. It opens a path of a bucket as a [Reader] of matrices or creates one through a [Writer]. A
// path may hold several matrices. Writing has two phases, because the partitions of a matrix live in several
// processes: any number of Writers made with the same Options.Stage Put blocks, each answering with a small Part; one
// Commit with all Parts makes everything visible at once, and nothing before. [Create] and [Open] are how codecs are used: what is
// saved passes one gate of losses there, is read back, and replaces only what was seen at the path.
//
// Codecs that hold one matrix in one file need not know about folders: [Folder] lends them a folder of such files.
package format

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/matrix"
	"thole.example/wire"
)

// What can be wrong with stored bytes or with what is asked for. Errors of codecs wrap one of these.
var (
	ErrUnknown = errors.New("unknown format")           // no codec knows the bytes, or none has the name
	ErrCorrupt = errors.New("damaged")                  // the bytes contradict themselves or the format
	ErrVersion = errors.New("unsupported version")      // a version or feature that the codec does not have
	ErrLimit   = errors.New("beyond the limit")         // a size above what the codec accepts
	ErrLossy   = errors.New("would lose information")   // the target cannot hold what the source says
	ErrMatrix  = errors.New("no such matrix")           // a name that the path does not hold
	ErrOption  = errors.New("wrong option of a format") // a setting or a value that the codec does not have
)

// Error says where something was wrong: format, path, and the byte if it is known.
type Error struct {
	Codec string
	Path  string
	Off   int64 // -1: not known
	Err   error
}

// Error implements error as "codec: path at byte N: …".
func (e *Error) Error() string {
	if e.Off < 0 {
		return fmt.Sprintf("%s: %s: %v", e.Codec, e.Path, e.Err)
	}
	return fmt.Sprintf("%s: %s at byte %d: %v", e.Codec, e.Path, e.Off, e.Err)
}

// Unwrap gives what was wrong.
func (e *Error) Unwrap() error { return e.Err }

// Wrap makes err an *Error of the codec and path; the byte is taken from a *wire.At within err, whose cause without
// another sentinel counts as ErrCorrupt. nil stays nil, and an *Error stays as it is.
func Wrap(codec, path string, err error) error {
	var already *Error
	if err == nil || errors.As(err, &already) {
		return err
	}
	var at *wire.At
	if errors.As(err, &at) {
		return &Error{codec, path, at.Off, corrupt(at.Err)}
	}
	return &Error{codec, path, -1, err}
}

// corrupt marks err as damage unless it is marked as something else.
func corrupt(err error) error {
	for _, known := range []error{ErrCorrupt, ErrVersion, ErrLimit, ErrLossy, ErrUnknown, ErrMatrix, wire.ErrUnread} {
		if errors.Is(err, known) {
			return err
		}
	}
	return &marked{err}
}

// marked is an error that is ErrCorrupt without saying so in its text.
type marked struct{ err error }

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.err, ErrCorrupt} }

// Corrupt is a formatted error that wraps ErrCorrupt. off is the byte, -1 if it is not known.
func Corrupt(codec, path string, off int64, text string, args ...any) error {
	return &Error{codec, path, off, &marked{fmt.Errorf(text, args...)}}
}

// Codec is a storage format. Its methods may be called by many goroutines.
type Codec interface {
	Info() Info
	// Sniff looks at the path and says in a few words which dialect it holds; "" if it is not of this format.
	Sniff(ctx context.Context, b blob.Bucket, path string) (dialect string, err error)
	// Open reads what is known without the values, and checks the structure as far as that goes. Users call the function
	// Open, which adds the files that lie beside.
	Open(ctx context.Context, b blob.Bucket, path string, o Options) (Reader, error)
	// Create begins writing the matrices to the path, which is free: the function Create, which users call, gives it a stage.
	// What the format cannot hold of their Meta goes through Options.Lose.
	Create(ctx context.Context, b blob.Bucket, path string, ms []matrix.Meta, o Options) (Writer, error)
	// Explain prints the bytes at the path with their meaning. It goes on as far as the bytes make sense.
	Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error
}

// Info describes a codec for people: for lists, help texts and the README.
type Info struct {
	Name    string   `json:"name"`   // in commands and errors
	Title   string   `json:"title"`  // what it is, a few words
	Ext     string   `json:"ext"`    // usual file name ending with its dot; "" for folders
	Single  bool     `json:"single"` // holds one matrix in one file
	Reads   string   `json:"reads"`  // what it reads, a few words
	Writes  string   `json:"writes"` // what it writes; "" if it only reads
	Options []Option `json:"options"`
	Origins []string `json:"origins"` // foreign types that it can write, without what stands in brackets (Meta.Origin, Meta.ColOrigins)
	// Needs is the file that must lie beside the matrices because the format holds only what it describes (trees.json: boosted
	// trees); "" if it holds any matrices.
	Needs string `json:"needs"`
	// Overlaps, if it is not nil, says that blocks of a sparse matrix may overlap as long as no cell is in two of them (hash
	// partitions), and has the options for such blocks if they are soon read again: Options.Relay.
	Overlaps map[string]string `json:"overlaps"`
	// Loose says that any text can look like the begin of such a file, so that what is wrong with one tells nothing.
	Loose bool `json:"loose"`
	// Endings are other usual endings.
	Endings []Ending `json:"endings"`
}

// Ending is an ending of file names with its dot, and the options that it stands for when such a file is written.
type Ending struct {
	Ext string            `json:"ext"`
	Set map[string]string `json:"set"`
}

// Option is a setting of a codec, for Options.Set.
type Option struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Help    string `json:"help"`
	Writing bool   `json:"writing"` // it has no use for reading
}

// Reader reads the matrices of a path. Blocks may be called by many goroutines.
type Reader interface {
	// Matrices describes what is stored, in the order of storage. The result must not be changed.
	Matrices() []matrix.Meta
	// Blocks gives the stored values of the matrix within want, each cell once, in blocks of a size that the reader
	// chooses (at most about 64 MiB where the format allows it). Rows that are not saved yield nothing. Yielded blocks
	// belong to the caller. The walk ends with the first error. A walk over the whole matrix accounts for every byte
	// stored for it.
	Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error]
	// Notes says what a user should know of how the path was read: dialect, version, repairs, guesses, warnings.
	Notes() []string
	// Files are the small files that lie beside the matrices, by name (graph.json). The result must not be changed.
	Files() map[string][]byte
	Close() error
}

// Enclosing is a Reader of a folder that knows what else is in it.
type Enclosing interface {
	// Foreign names the files and folders below the path that are not part of the model. A model that replaces it would remove them.
	Foreign() []string
}

// Verifier is a Reader that can check more than a walk over all values does: checksums, order, coverage.
type Verifier interface {
	// Verify describes what is wrong, one problem each; err is what kept it from looking.
	Verify(ctx context.Context) (problems []string, err error)
}

// Part is what must be remembered of one block that was put: small, opaque, fit for the wire.
type Part []byte

// Writer writes the matrices of a path. Put may be called by many goroutines.
type Writer interface {
	// Put stores a block of the matrix. The blocks of one matrix must not overlap, but for Info.Overlaps. b is not kept.
	Put(ctx context.Context, name string, b matrix.Block) (Part, error)
	// Commit makes visible what all Parts of all Writers of the stage say, whole or not at all. Cells of a dense matrix
	// that no block held are an error.
	Commit(ctx context.Context, parts []Part) error
	// Abort removes what was staged. After Commit it does nothing.
	Abort(ctx context.Context)
}

// Options are the user's choices for opening or creating.
type Options struct {
	// Stage names the save: the same for all Writers of it. "": only this Writer.
	Stage string
	// Lossy allows to lose what the target cannot hold of the matrices. Lost, if it is set, hears of each loss, and of what
	// an option of the target leaves out.
	Lossy bool
	Lost  func(what string)
	// Note, if it is set, hears what else a user should know of the save.
	Note func(what string)
	// Over is what lies at the path and may be replaced; the zero State: nothing may be there when the save is committed.
	Over blob.State
	// State says that the state of the model was saved at PATH.state (StateExt) before it. Else what lies there belongs to the model that is
	// replaced, and is removed with it.
	State bool
	// MaxDense is how many bytes the sparse matrices of the save may take together once their absent cells are stored: 0
	// stands for DefaultMaxDense, below 0 for no bound.
	MaxDense int64
	// Files are small files to store beside the matrices.
	Files map[string][]byte
	// Relay is set where blocks of sparse matrices overlap. Unless the target has Info.Overlaps, they are stored by the relay, and
	// the commit converts them.
	Relay Codec
	// Set has the codec's own options, by name.
	Set map[string]string

	gate *gate // of the whole save
}

// Get is the codec's own option of that name, or the default that its Info states.
func (o *Options) Get(i Info, name string) string {
	if v, ok := o.Set[name]; ok {
		return v
	}
	for _, opt := range i.Options {
		if opt.Name == name {
			return opt.Default
		}
	}
	return ""
}

// CheckSet reports an option that the codec does not have.
func (o *Options) CheckSet(i Info) error {
next:
	for name := range o.Set {
		for _, opt := range i.Options {
			if opt.Name == name {
				continue next
			}
		}
		var names []string
		for _, opt := range i.Options {
			names = append(names, opt.Name)
		}
		if len(names) == 0 {
			return fmt.Errorf("format %s has no options, found %q: %w", i.Name, name, ErrOption)
		}
		return fmt.Errorf("format %s: option %q, want one of %q: %w", i.Name, name, names, ErrOption)
	}
	return nil
}
