package data

import (
	"context"
	"io"
	"os"

	"thole.example/blob"
	"thole.example/feature"
)

// Examples are everything that was read from some inputs.
type Examples struct {
	*Set
	Classes Classes // what the labels were in the text, under AutoTrans and ClassTrans
	Unseen  Unseen  // what Options.Columns does not have
	Skipped Skipped // lines that were left out
	Ends    []int64 // how many examples had been read at the end of each input
	Bare    int     // examples that have no features, such as rows of zeros

	Scaling   Scaling            // of the values of lines, which Set.Scale applied
	Transform *feature.Transform // of tables: how their columns became features; nil: there was none
}

// Load parses the whole input into one Batch. Beside the batch it needs the memory of Read.
func Load(ctx context.Context, in Input, opt Options) (*Batch, error) {
	all, err := LoadAll(ctx, []Input{in}, opt)
	if err != nil {
		return nil, err
	}
	return all.Batch(), nil
}

// LoadAll parses all inputs, one after the other, into one set of examples; what gzip or zstd packed is unpacked. Progress is of all of
// them; its total is 0 where the length of one is not known.
func LoadAll(ctx context.Context, ins []Input, opt Options) (*Examples, error) {
	l := loader{reader: reader{step: chunkLen, limit: LineLimit}, opt: opt, set: newSet()}
	l.set.spill = spill{opt.Limit, opt.Scratch}
	l.open.spill = l.set.spill
	defer l.open.free()
	return l.load(ctx, ins)
}

type loader struct {
	reader
	opt    Options
	set    *Set
	unseen unseen
	open   openRows
	knows  bool // which labels are positive: examples are dropped as they come
	left   rows // scratch: those of a chunk that are not dropped
	bare   int  // rows without values
}

func (l *loader) load(ctx context.Context, ins []Input) (*Examples, error) {
	if err := l.all(ctx, ins, l.opt, l.take); err != nil {
		return nil, err
	}
	return l.end(ins)
}

// take adds the rows of a chunk.
func (l *loader) take(_ *settings, c *chunk) error {
	l.unseen.add(&c.unseen)
	if c.part != nil {
		return l.open.add(c)
	}
	for i := range c.label {
		if c.ptr[i] == c.ptr[i+1] {
			l.bare++
		}
	}
	if l.opt.Drop != nil {
		return l.thin(c)
	}
	return l.set.add(&c.rows)
}

// end makes one set of what was read.
func (l *loader) end(ins []Input) (*Examples, error) {
	all := &Examples{Set: l.set, Unseen: l.unseen.count(), Skipped: l.join.skipped, Ends: l.ends, Bare: l.bare}
	if l.plan != nil {
		all.Unseen.Table = true
		if all.Transform = l.opt.Table.of(); l.plan.IsOpen() {
			var err error
			if all.Transform, err = l.fit(); err != nil {
				return nil, &Error{ins[0].Name, 0, err}
			}
		}
	}
	if l.opt.Labels == AutoTrans || l.opt.Labels == ClassTrans {
		if all.Classes = l.opt.Classes; all.Classes == nil {
			var err error
			if all.Classes, err = l.join.kinds.classes(l.opt.Labels); err != nil {
				return nil, &Error{ins[0].Name, 0, err}
			}
		}
		all.Classes.mapLabels(all.Label, l.opt.Labels)
	}
	if l.opt.Drop != nil && !l.knows {
		if err := l.drop(func(y float32) float32 { return y }); err != nil {
			return nil, err
		}
	}
	switch {
	case l.opt.Hash > 0:
		all.dim = l.opt.Hash
	case l.opt.Dim > 0:
		all.dim = l.opt.Dim
	case l.opt.Columns != nil:
		all.dim = l.opt.Columns.Hi
	}
	if all.Fields = l.opt.Fields.count(all.Fields); all.Transform != nil {
		all.dim, all.Fields = all.Transform.Dim(), all.Transform.Fields()
	}
	return all, nil
}

// Stdin is the path that stands for standard input.
const Stdin = "-"

// LoadFiles is LoadAll of files of the operating system, and objects of opt.Store. What is no regular file, such as a pipe, is read to
// its end; in is what Stdin stands for.
func LoadFiles(ctx context.Context, paths []string, in io.Reader, opt Options) (*Examples, error) {
	ins, err := inputs(ctx, opt.Store, paths, in)
	if err != nil {
		return nil, err
	}
	return LoadAll(ctx, ins, opt)
}

// inputs are the files as inputs, which are opened when they are read; in is what Stdin stands for.
func inputs(ctx context.Context, store blob.Bucket, paths []string, in io.Reader) ([]Input, error) {
	ins := make([]Input, len(paths))
	err := eachAhead(len(paths), func(i int) (err error) {
		path := paths[i]
		ins[i] = Input{Name: path, file: path != Stdin}
		if path == Stdin {
			ins[i].Stream = in
			return nil
		}
		ins[i].Size, err = Size(ctx, store, path) // below 0: found out by reading it
		return err
	})
	if err != nil {
		return nil, err
	}
	return ins, nil
}

// LoadFile is Load of a file of the operating system.
func LoadFile(ctx context.Context, path string, opt Options) (*Batch, error) {
	all, err := LoadFiles(ctx, []string{path}, os.Stdin, opt)
	if err != nil {
		return nil, err
	}
	return all.Batch(), nil
}
