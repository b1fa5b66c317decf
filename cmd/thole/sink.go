package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"thole.example/blob"
	"thole.example/format"
)

// sink is where an output path of the command line leads: to a file or folder, which appears whole or not at all, or to a
// stream (standard output, a pipe, a device, a socket), which is written to and never replaced.
type sink struct {
	*env
	path string                                            // as the user wrote it
	std  bool                                              // it is standard output
	file string                                            // without links at its end
	open func(ctx context.Context) (io.WriteCloser, error) // of a stream; nil for files and folders

	spool string // the temporary folder where what a stream gets is made
}

// sink says where the path leads. What exists is refused, unless forced or a stream.
func (e *env) sink(path string, force bool) (*sink, error) {
	if path == "" {
		return nil, usageError{errNoPath}
	}
	s := &sink{env: e, path: path}
	if path == "-" {
		s.path, s.std, s.open = "standard output", true, s.descriptor(1)
		return s, nil
	}
	var err error
	if s.file, err = followed(path); err != nil {
		return nil, err
	}
	if m := descriptorPath.FindStringSubmatch(s.file); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fmt.Errorf("%s: no such descriptor", path)
		}
		s.std, s.open = n == 1, s.descriptor(n)
		return s, nil
	}
	info, err := os.Lstat(s.file)
	switch {
	case err != nil: // who creates it says what is wrong
	case info.Mode()&os.ModeSocket != 0:
		s.open = s.socket
	case !info.Mode().IsRegular() && !info.IsDir():
		s.open = s.device
	case !force:
		return nil, fmt.Errorf("%s exists; --force replaces it", path)
	}
	return s, nil
}

// descriptorPath is what the system calls the open files of a process.
var descriptorPath = regexp.MustCompile(`^/(?:dev|proc/self|proc/thread-self|proc/` + strconv.Itoa(os.Getpid()) + `)/fd/([0-9]+)$`)

// linksLimit is how many links are followed one after another.
const linksLimit = 40

// followed is the path that links at the end of a path lead to, whether or not there is anything. Names of descriptors are
// no links, though the system shows them as such.
func followed(path string) (string, error) {
	at := path
	for range linksLimit {
		if descriptorPath.MatchString(at) {
			return at, nil
		}
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return at, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	return "", fmt.Errorf("%s: more than %d links, one after another", path, linksLimit)
}

// kept is a stream that stays open when a command is done with it.
type kept struct{ io.Writer }

// Close implements io.Closer.
func (kept) Close() error { return nil }

// descriptor gives an open file of this process.
func (s *sink) descriptor(n int) func(context.Context) (io.WriteCloser, error) {
	return func(context.Context) (io.WriteCloser, error) {
		switch n {
		case 1:
			return kept{s.out}, nil
		case 2:
			return kept{s.err}, nil
		}
		return os.NewFile(uintptr(n), s.path), nil
	}
}

// device opens a pipe or device. A pipe is open once somebody reads it: until then ctx can end the wait.
func (s *sink) device(ctx context.Context) (io.WriteCloser, error) {
	var f *os.File
	err := interruptible(ctx, func() (err error) {
		f, err = os.OpenFile(s.file, os.O_WRONLY, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (s *sink) socket(ctx context.Context) (io.WriteCloser, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", s.file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return c, nil
}

// interruptible calls do, which the system may hold up for ever, and stops waiting for it when ctx ends.
func interruptible(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// streams tells whether the path is a stream.
func (s *sink) streams() bool { return s.open != nil }

// reports is where a command says what it did: not where its output goes.
func (s *sink) reports() io.Writer {
	if s.std {
		return s.err
	}
	return s.out
}

// folder is the sink of a path where a folder is made, which takes the place of a model only.
func (e *env) folder(ctx context.Context, path string, force bool) (*sink, error) {
	s, err := e.sink(path, force)
	if err != nil {
		return nil, err
	}
	return s, s.folder(ctx)
}

// folder refuses a path where no folder can be made: a stream, and what would be replaced though it is no model.
func (s *sink) folder(ctx context.Context) error {
	if s.streams() {
		return usageError{fmt.Errorf("%s is a stream, and a folder is written: want a path", s.path)}
	}
	return codecs().Replaceable(ctx, blob.Files{}, inBucket(s.file), true)
}

// place is where codecs write: the path itself, or of a stream a place from which deliver copies.
func (s *sink) place() (blob.Bucket, string, error) {
	if !s.streams() {
		return bucketAt(s.file)
	}
	if s.spool == "" {
		var err error
		if s.spool, err = s.scratch(); err != nil {
			return nil, "", err
		}
	}
	return blob.NewDir(s.spool), "made", nil
}

// deliver hands what was made to the stream. It does nothing for a file or folder, which is there already.
func (s *sink) deliver(ctx context.Context) error {
	if !s.streams() {
		return nil
	}
	b, name, err := s.place()
	if err != nil {
		return err
	}
	infos, err := b.List(ctx, "")
	if err != nil {
		return err
	}
	for _, i := range infos {
		switch {
		case i.Name == name:
		case i.Name == name+format.SidecarExt:
			fmt.Fprintf(s.err, "left out: the description that would lie beside the file as FILE%s\n", format.SidecarExt)
		default:
			return usageError{fmt.Errorf("%s is a stream, which holds one file, and this is a folder of %d: want a path, "+
				"or --matrix, or a format of several matrices in a file", s.path, len(infos))}
		}
	}
	o, err := b.Open(ctx, name)
	if err != nil {
		return err
	}
	defer o.Close()
	w, err := s.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, io.NewSectionReader(o, 0, o.Size())); err != nil {
		return err
	}
	return w.Commit()
}

// writing is a file in the making, or an open stream.
type writing struct {
	checked
	commit func() error
	abort  func()
}

// create begins to write the file, or opens the stream.
func (s *sink) create(ctx context.Context) (*writing, error) {
	if s.streams() {
		w, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		return &writing{checked{w: w, name: s.path}, w.Close, func() { w.Close() }}, nil
	}
	b, name, err := bucketAt(s.file)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(s.file); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a file", s.path)
	}
	w, err := b.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &writing{checked{w: w, name: s.path}, w.Commit, w.Abort}, nil
}

// Commit ends the writing: the file appears if all of it was written.
func (w *writing) Commit() error {
	if w.failed == nil {
		w.fails(w.commit())
	}
	return w.failed
}

// Abort ends the writing and forgets the file; after Commit it does nothing. What a stream has got cannot be taken back.
func (w *writing) Abort() { w.abort() }

// checked is a stream that remembers the first error of writing, whoever looks at it, and writes nothing after it.
type checked struct {
	w      io.Writer
	name   string
	failed error
}

// errEnough is the error of a stream whose reader has seen enough: the command is done.
var errEnough = errors.New("nobody reads on")

// Write implements io.Writer.
func (c *checked) Write(p []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	n, err := c.w.Write(p)
	c.fails(err)
	return n, c.failed
}

// fails notes an error, in the words of the user's path.
func (c *checked) fails(err error) {
	var file *os.PathError
	switch {
	case err == nil || c.failed != nil || errors.Is(err, errEnough):
		if c.failed == nil {
			c.failed = err
		}
	case errors.Is(err, errBrokenPipe):
		c.failed = fmt.Errorf("%s: %w", c.name, errEnough)
	case errors.As(err, &file):
		c.failed = fmt.Errorf("%s: %w", c.name, file.Err)
	default:
		c.failed = fmt.Errorf("%s: %w", c.name, err)
	}
}
