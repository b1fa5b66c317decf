package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/edit"
	"thole.example/format"
)

// output is the flags of commands that read models and write one.
type output struct {
	to            string
	out           map[string]string
	only          []string
	maxDense      string
	lossy, force  bool
	asJSON, quiet bool
	keeps         bool // the format of the first source is that of DST unless DST says otherwise
	values        flagValues
}

// flags adds the flags; by says what decides the format of DST where --to does not.
func (o *output) flags(c *cobra.Command, by string) {
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "format of DST (default: "+by+")")
	pairsVar(f, &o.out, "out", "options of the format of DST, NAME=VALUE (see thole formats)")
	f.StringSliceVar(&o.only, "matrix", nil, "matrices to take (default: all)")
	f.BoolVar(&o.lossy, "lossy", false, "allow to lose what the target cannot hold, and say what was lost")
	f.StringVar(&o.maxDense, "max-dense", format.Bytes(format.DefaultMaxDense),
		"how large sparse matrices may become where every cell is stored: a size like 8GiB, or none")
	f.BoolVar(&o.force, "force", false, "replace DST if it exists")
	f.BoolVar(&o.asJSON, "json", false, "print what was written as JSON")
	inGroup(c, formatOptions, "out")
	o.values.flags(c, true, true)
}

// saved is what a command says of the model that it wrote.
type saved struct {
	Path     string        `json:"path"`
	Format   string        `json:"format"`
	Matrices []savedMatrix `json:"matrices"`
	Stored   int64         `json:"stored"` // values
	Files    int           `json:"files"`
	Bytes    int64         `json:"bytes"`
	LeftOut  []string      `json:"leftOut"`
}

type savedMatrix struct {
	Name   string `json:"name"` // in the source; a format that keeps none has that of the file
	Rows   int64  `json:"rows"`
	Cols   int64  `json:"cols"`
	DType  string `json:"dtype"`
	Layout string `json:"layout"`
}

// save reads the models of the places, changes them, and writes the result to dst.
func (o *output) save(ctx context.Context, e *env, srcs []*place, dst string, change func([]format.Reader) (format.Reader, error)) error {
	t, err := o.target(ctx, e, dst, srcs)
	if err != nil {
		return err
	}
	var rs []format.Reader
	for _, src := range srcs {
		r, err := src.read(ctx, e)
		if err != nil {
			return err
		}
		defer r.Close()
		if len(o.only) > 0 {
			if r, err = edit.Only(r, o.only); err != nil {
				return err
			}
		}
		rs = append(rs, r)
	}
	r, err := change(rs)
	if err != nil {
		return err
	}
	return o.write(ctx, e, r, t, dst, !srcs[0].Info().Single)
}

// target is the place of DST, with all options, after everything was checked that can be checked before reading.
func (o *output) target(ctx context.Context, e *env, dst string, srcs []*place) (*place, error) {
	s, err := o.sink(ctx, e, dst)
	if err != nil {
		return nil, err
	}
	sides := make([]*side, len(srcs))
	for i, src := range srcs {
		if err := s.apart(src.path); err != nil {
			return nil, err
		}
		sides[i] = &src.side
	}
	b, name, err := s.place()
	if err != nil {
		return nil, err
	}
	p := &place{path: dst, bucket: b, name: name, sink: s}
	var ending map[string]string
	if p.Codec, ending, err = o.codec(dst, srcs); err != nil {
		return nil, usageError{err}
	}
	if p.Info().Writes == "" {
		return nil, usageError{fmt.Errorf("format %s is only read", p.Info().Name)}
	}
	if s.streams() && p.Info().Ext == "" && len(p.Info().Endings) == 0 {
		return nil, usageError{fmt.Errorf("format %s is a folder, and %s a stream: want a path, or a format of one file", p.Info().Name, s.path)}
	}
	p.set = map[string]string{}
	for name, value := range o.out {
		p.set[name] = value
	}
	if err := o.values.share(&p.side, sides...); err != nil {
		return nil, err
	}
	for name, value := range ending {
		if _, said := p.set[name]; !said {
			p.set[name] = value
		}
	}
	if _, err := p.options(); err != nil {
		return nil, err
	}
	if p.Info().Single && strings.HasSuffix(dst, "/") {
		p.name += "/" // one matrix goes into a folder too
	}
	return p, nil
}

// sink is where DST leads. A single file may be replaced whatever is in it, be it a damaged model.
func (o *output) sink(ctx context.Context, e *env, dst string) (*sink, error) {
	s, err := e.sink(dst, o.force)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dst); err == nil && info.IsDir() {
		return s, s.folder(ctx)
	}
	return s, nil
}

// codec is the format of DST, and the options that its ending stands for.
func (o *output) codec(dst string, srcs []*place) (format.Codec, map[string]string, error) {
	c, ending, err := codecs().ByExt(dst)
	if o.to != "" {
		named, err := codecs().Lookup(o.to)
		if err == nil && (c == nil || c.Info().Name != o.to) {
			ending = nil
		}
		return named, ending, err
	}
	if err != nil && len(srcs) > 0 && o.keeps && slices.Contains([]string{"", fileEnding(srcs[0].path)}, fileEnding(dst)) {
		return srcs[0].Codec, nil, nil
	}
	return c, ending, err
}

// write writes the matrices of a reader to the place and says so.
func (o *output) write(ctx context.Context, e *env, r format.Reader, t *place, dst string, named bool) error {
	bound, err := parseSize("max-dense", o.maxDense)
	if err != nil {
		return err
	}
	p := e.progress("write", "values", values(r.Matrices()))
	defer p.end()
	s := saved{Path: dst, Format: t.Info().Name, LeftOut: []string{}}
	shown := 0
	tell := func() { // once the target was accepted: before that, what is left out is of no interest
		for ; shown < len(s.LeftOut) && (!o.quiet || o.lossy) && !o.asJSON; shown++ {
			p.line("left out: %s", s.LeftOut[shown])
		}
	}
	opts := format.Options{Lossy: o.lossy, MaxDense: bound, Set: t.set, Over: t.sink.over,
		Lost: func(what string) { s.LeftOut = append(s.LeftOut, what) }, Note: func(what string) { p.line("%s", what) }}
	err = format.Convert(ctx, r, t.Codec, t.bucket, t.name, opts, nil, func(n int) {
		tell()
		s.Stored += int64(n)
		p.add(n)
	})
	if err != nil {
		return err
	}
	tell()
	if err := t.sink.deliver(ctx); err != nil || o.quiet {
		return err
	}
	if name, ok := renamed(r, t, named); ok && !o.asJSON {
		p.line("%s is the name of matrix %s now, as that of its file", name, r.Matrices()[0].Name)
	}
	if !o.asJSON {
		p.line("%s: %s", t.sink.path, t.Info().Title)
		return nil
	}
	return o.print(ctx, e, r, t, &s)
}

// renamed is the name that the only matrix has in a file whose format keeps none.
func renamed(r format.Reader, t *place, named bool) (string, bool) {
	ms := r.Matrices()
	if !named || !t.Info().Single || t.sink.streams() || len(ms) != 1 || strings.HasSuffix(t.name, "/") {
		return "", false
	}
	name := blob.Stem(t.name)
	return name, name != ms[0].Name
}

// print prints what was written for scripts.
func (o *output) print(ctx context.Context, e *env, r format.Reader, t *place, s *saved) error {
	for _, m := range r.Matrices() {
		s.Matrices = append(s.Matrices, savedMatrix{m.Name, m.Rows, m.Cols, m.DType.String(), m.Layout.String()})
	}
	infos, err := t.bucket.List(ctx, strings.TrimSuffix(t.name, "/"))
	if err != nil {
		return err
	}
	for _, i := range infos {
		s.Files, s.Bytes = s.Files+1, s.Bytes+i.Size
	}
	return writeJSON(t.sink.reports(), s)
}

// errSame says that a model would be written over what it is read from.
var errSame = errors.New("want two paths of which neither lies within the other")

// apart refuses a target that is a source, lies within one, or holds one: writing would destroy what is read. A stream is
// none.
func (s *sink) apart(src string) error {
	if s.streams() || src == "-" {
		return nil
	}
	dst := s.path
	if blob.IsURL(src) || blob.IsURL(dst) {
		_, above := blob.Rel(src, dst)
		_, below := blob.Rel(dst, src)
		if above || below {
			return fmt.Errorf("%s and %s: %w", src, dst, errSame)
		}
		return nil
	}
	from, err := resolved(src)
	if err != nil {
		return err
	}
	to, err := resolved(dst)
	if err != nil {
		return err
	}
	sep := string(filepath.Separator)
	if from == to || strings.HasPrefix(to, from+sep) || strings.HasPrefix(from, to+sep) {
		return fmt.Errorf("%s and %s: %w", src, dst, errSame)
	}
	a, errA := os.Stat(src)
	b, errB := os.Stat(dst)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return fmt.Errorf("%s and %s are one file: %w", src, dst, errSame)
	}
	return nil
}

// resolved is the path without links, as far as it exists.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	dir, base := filepath.Split(path)
	if dir = filepath.Clean(dir); dir == path {
		return path, nil
	}
	dir, err = resolved(dir)
	return filepath.Join(dir, base), err
}
