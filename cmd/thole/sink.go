package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/data"
)

// sink is where an output path of the command line leads: to a file or folder, which appears whole or not at all, or to a
// stream (standard output, a pipe, a device, a socket), which is written to and never replaced.
type sink struct {
	*env
	path  string                                            // as the user wrote it
	std   bool                                              // it is standard output
	force bool                                              // what exists may be replaced
	file  string                                            // without links at its end
	over  blob.State                                        // what is there and will be replaced
	open  func(ctx context.Context) (io.WriteCloser, error) // of a stream; nil for files and folders

	spool string // the temporary folder of what a stream will get
}

// sink says where the path leads. What exists is refused, unless forced or a stream.
func (e *env) sink(path string, force bool) (*sink, error) {
	if path == "" {
		return nil, usageError{errNoPath}
	}
	s := &sink{env: e, path: path, force: force}
	if path == "-" {
		s.path, s.std, s.open = "standard output", true, s.descriptor(1)
		return s, nil
	}
	if blob.IsURL(path) {
		return s, s.url()
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
		return nil, errThere(path)
	default:
		s.over, err = e.paths.State(context.Background(), inBucket(s.file))
		return s, err
	}
	return s, nil
}

func errThere(path string) error { return fmt.Errorf("%s exists; --force replaces it", path) }

// url makes the sink that of a URL.
func (s *sink) url() (err error) {
	s.file = inBucket(s.path)
	if s.file == blob.Root(s.file) {
		return usageError{fmt.Errorf("%s: the root of a store, want a path in it, such as %s", s.path, blob.Join(s.file, "model"))}
	}
	if s.over, err = s.paths.State(context.Background(), s.file); err == nil && s.over != blob.Nothing && !s.force {
		err = errThere(s.path)
	}
	return err
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

// streams reports whether the path is a stream.
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
	return codecs().Replaceable(ctx, s.paths, inBucket(s.file), true)
}

// place is where codecs write: the path itself, or of a stream a place from which deliver copies.
func (s *sink) place() (blob.Bucket, string, error) {
	if !s.streams() {
		return bucketAt(s.paths, s.file)
	}
	if s.spool == "" {
		var err error
		if s.spool, err = s.scratch(); err != nil {
			return nil, "", err
		}
	}
	return blob.NewDir(s.spool), "made", nil
}

// deliver hands what was written to the stream. It does nothing for a file or folder, which is there already.
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
		case strings.HasPrefix(i.Name, name+"."):
			fmt.Fprintf(s.err, "left out: what would lie beside the file as FILE%s\n", strings.TrimPrefix(i.Name, name))
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

// create begins to write the file, packed if its name says so, or opens the stream.
func (s *sink) create(ctx context.Context) (*writing, error) {
	if s.streams() {
		w, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		return &writing{checked{w: w, name: s.path}, w.Close, func() { w.Close() }}, nil
	}
	b, name, err := bucketAt(s.paths, s.file)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(s.file); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a file", s.path)
	}
	w, err := blob.CreateOver(ctx, b, name, s.over)
	if err != nil {
		return nil, err
	}
	packer, err := data.Packer(s.path, w)
	if err != nil || packer == nil {
		return &writing{checked{w: w, name: s.path}, w.Commit, w.Abort}, err
	}
	return &writing{checked{w: packer, name: s.path}, func() error {
		if err := packer.Close(); err != nil {
			return err
		}
		return w.Commit()
	}, w.Abort}, nil
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
