package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/program"
)

// source is the flags of commands that read a stored model.
type source struct {
	from   string
	set    map[string]string
	matrix string
	values flagValues
}

func (s *source) flags(c *cobra.Command, oneMatrix bool) {
	s.formatFlags(c)
	s.values.flags(c, true, false)
	if oneMatrix {
		c.Flags().StringVar(&s.matrix, "matrix", "", "name of the matrix (default: the only one)")
	}
}

// formatFlags are the flags that name the format and its options.
func (s *source) formatFlags(c *cobra.Command) {
	c.Flags().StringVar(&s.from, "from", "", "format of the path (default: found out)")
	pairsVar(c.Flags(), &s.set, "set", "options of the format, NAME=VALUE (see thole formats)")
}

// place is a path and the format that was found at it.
type place struct {
	side
	path   string // as the user wrote it, with the ending of the topology that it stands for
	bucket blob.Bucket
	name   string // within the bucket
	sink   *sink  // of a place that is written; nil if it is read
}

var errNoPath = errors.New("a path of no characters, want one that names a file or folder")

// locate finds out the format of a path, or takes the named one.
func (e *env) locate(ctx context.Context, path, from string, set map[string]string) (*place, error) {
	b, name, err := e.input(ctx, path)
	if err != nil {
		return nil, err
	}
	file, err := program.Resolve(ctx, b, name)
	if err != nil {
		return nil, err
	}
	path += strings.TrimPrefix(file, name)
	p := &place{side: side{set: maps.Clone(set)}, path: path, bucket: b, name: file}
	if from != "" {
		if p.Codec, err = codecs().Lookup(from); err != nil {
			return nil, usageError{err}
		}
		return p, nil
	}
	if p.Codec, _, err = codecs().Detect(ctx, b, p.name); err != nil {
		return nil, err
	}
	return p, nil
}

// locate finds the path of a command that reads one model, with the flags in the options.
func (s *source) locate(ctx context.Context, e *env, path string) (*place, error) {
	p, err := e.locate(ctx, path, s.from, s.set)
	if err != nil {
		return nil, err
	}
	return p, s.values.share(nil, &p.side)
}

// open opens the path of a command that reads one model.
func (s *source) open(ctx context.Context, e *env, path string) (format.Reader, error) {
	p, err := s.locate(ctx, e, path)
	if err != nil {
		return nil, err
	}
	return p.read(ctx, e)
}

// options are the options for opening the place.
func (p *place) options() (format.Options, error) {
	o := format.Options{Set: p.set}
	err := o.CheckSet(p.Info())
	for name := range p.set {
		if others := having(name); err != nil && !hasOption(p.Info(), name) && len(others) > 0 {
			err = fmt.Errorf("%w; %s has it: --out %s=VALUE where such is written", err, strings.Join(others, ", "), name)
		}
	}
	return o, err
}

// reader opens the place.
func (p *place) reader(ctx context.Context) (format.Reader, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	for _, opt := range p.Info().Options {
		if _, ok := p.set[opt.Name]; ok && opt.Writing {
			return nil, usageError{fmt.Errorf("format %s: option %s has no use for reading %s, want it in --out of a command that writes",
				p.Info().Name, opt.Name, p.path)}
		}
	}
	return format.Open(ctx, p.Codec, p.bucket, p.name, o)
}

// open finds out the format of a path and opens it.
func (e *env) open(ctx context.Context, path string) (format.Reader, error) {
	p, err := e.locate(ctx, path, "", nil)
	if err != nil {
		return nil, err
	}
	return p.reader(ctx)
}

// maxWarnings is how many warnings of one path are shown.
const maxWarnings = 8

// read opens the place and shows what should be known before its values are used.
func (p *place) read(ctx context.Context, e *env) (format.Reader, error) {
	r, err := p.reader(ctx)
	if err != nil {
		return nil, err
	}
	e.warn(p.path, r)
	return r, nil
}

// warn shows what should be known before the values of a path are used.
func (e *env) warn(path string, r format.Reader) {
	warnings := format.Warnings(r.Notes())
	for i, w := range warnings {
		if i == maxWarnings {
			fmt.Fprintf(e.err, "%s: %d warnings more, shown by thole inspect\n", path, len(warnings)-i)
			break
		}
		fmt.Fprintf(e.err, "%s: %s\n", path, escaped(w))
	}
}

// bucketAt is the bucket and the name of a path or URL. The name is as the user wrote it, as far as it has one, so that errors speak of it.
func bucketAt(in *blob.Paths, path string) (blob.Bucket, string, error) {
	if path == "" {
		return nil, "", usageError{errNoPath}
	}
	name := inBucket(path)
	if base := blob.Base(name); base == "." || base == ".." || base == "/" {
		return blob.Local(path)
	}
	return in, name, nil
}
