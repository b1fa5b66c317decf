package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"sync"

	"thole.example/feature"
)

// errStop ends a run without being an error.
var errStop = errors.New("stop")

// Read parses the input and yields batches of Options.BatchRows examples (the last may be shorter), then ends; or it
// yields one error, an *Error where the input is at fault, and ends. Memory is bounded by a few chunks of about 1 MiB
// for each processor, or of the longest line, and the batch. Batches belong to the caller. Where Options.Dim is not
// given, the columns of a batch reach as far as its own highest index.
func Read(ctx context.Context, in Input, opt Options) iter.Seq2[*Batch, error] {
	return ReadAll(ctx, []Input{in}, opt)
}

// ReadAll is Read of all inputs, one after the other, as one run of examples; what gzip or zstd packed is unpacked. Progress is as that
// of LoadAll.
func ReadAll(ctx context.Context, ins []Input, opt Options) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		switch { // labels are mapped before the last one is seen
		case opt.Classes != nil:
		case opt.Labels == AutoTrans:
			opt.Classes = Standard()
		case opt.Labels == ClassTrans:
			yield(nil, fmt.Errorf("data: label mapping classes without Options.Classes, want them all: %w", ErrOption))
			return
		}
		b := batcher{rows: newRows(0, 0, false), emit: func(b *Batch) bool { return yield(b, nil) }}
		r := reader{step: chunkLen, limit: LineLimit, fitted: true}
		err := r.all(ctx, ins, opt, b.take)
		if err == nil && len(b.rows.label) > 0 {
			err = b.flush()
		}
		if err == nil && opt.Left != nil {
			left := b.unseen.count()
			left.Table = r.plan != nil
			opt.Left(left)
		}
		if err == nil && opt.LeftOut != nil {
			opt.LeftOut(r.join.skipped)
		}
		if err != nil && err != errStop {
			yield(nil, err)
		}
	}
}

// ReadFiles is ReadAll of files, as LoadFiles takes them.
func ReadFiles(ctx context.Context, paths []string, in io.Reader, opt Options) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		ins, err := inputs(ctx, opt.Store, paths, in)
		if err != nil {
			yield(nil, err)
			return
		}
		ReadAll(ctx, ins, opt)(yield)
	}
}

// batcher cuts the rows of chunks into batches.
type batcher struct {
	s      *settings // of the input that was read last
	rows   rows
	first  int64   // number of the first of rows
	row    []int64 // where lines may be left out, of the rows and those after them
	next   int64
	minus  bool // some label of two classes was -1
	unseen unseen
	emit   func(*Batch) bool
}

func (b *batcher) take(s *settings, c *chunk) error {
	b.s = s
	if c.part != nil {
		return fmt.Errorf("data: a table without Options.Table.Transform, want that of a model: %w", ErrOption)
	}
	b.minus = b.minus || s.Labels == AutoTrans && c.kinds.has(-1)
	s.Classes.mapLabels(c.rows.label, s.Labels)
	b.unseen.add(&c.unseen)
	if s.SkipBad > 0 {
		b.row, b.next = c.number(b.row, b.next)
	}
	for lo := 0; lo < len(c.label); {
		hi := min(len(c.label), lo+s.BatchRows-len(b.rows.label))
		b.rows.add(&c.rows, lo, hi)
		lo = hi
		if len(b.rows.label) == s.BatchRows {
			if err := b.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *batcher) flush() error {
	out, dim, fields := b.rows, b.s.Dim, 0
	if t := b.s.Table; b.s.table && t != nil {
		dim, fields = t.Transform.Dim(), t.Transform.Fields()
	} else {
		fields = b.s.Fields.count(out.fields())
	}
	if dim == 0 {
		dim = out.dim()
	}
	n := int64(len(out.label))
	b.rows = newRows(len(out.label), len(out.idx), b.s.fielded())
	b.first += n
	batch := out.batch(b.first-n, dim, fields)
	batch.Zero = b.s.Labels == AutoTrans && !b.minus && b.s.Classes.IsStandard()
	if b.s.kept != nil {
		batch.Kept = &Kept{b.s.kept, out.kept}
	}
	if b.s.SkipBad > 0 {
		batch.Row = slices.Clone(b.row[:n])
		b.row = append(b.row[:0], b.row[n:]...)
	}
	if !b.emit(batch) {
		return errStop
	}
	return nil
}

// reader reads one input after the other.
type reader struct {
	step, limit int // of a chunk, and of a line, in bytes
	join        joiner
	plan        *feature.Plan // of the tables so far; nil: there was none
	idle        *feature.Plan // of a table without rows, which counts where no other has some
	fitted      bool          // tables are read as they were learned, and not found out about
	ends        []int64       // rows up to the end of each input
	rows        int64         // that were given to use
	folders     folders
}

// all reads the inputs one after the other, and gives their chunks to use in order. Progress is of all of them, its total 0 where
// the length of one is not known.
func (r *reader) all(ctx context.Context, ins []Input, opt Options, use func(*settings, *chunk) error) error {
	var total, before int64
	known := true
	for _, in := range ins {
		total += max(in.Size, 0)
		known = known && in.Stream == nil && in.Size >= 0
	}
	if !known {
		total = 0
	}
	fielded, table := false, false
	var kept []string // columns whose cells are kept, which all tables have
	files := newOpener(ctx, opt.Store, ins)
	defer files.close()
	var err error
	if r.folders, err = foldersOf(ins); err != nil {
		return err
	}
	for i, in := range ins {
		s, err := opt.settings(in.Name)
		if err != nil {
			return err
		}
		s.folders, s.samples = r.folders.of[i], r.folders.samples
		if i == 0 {
			fielded, table = s.fielded(), s.table
		} else if s.table != table {
			return &Error{in.Name, 0, errKinds(s.table)}
		} else if s.fielded() != fielded {
			return &Error{in.Name, 0, errMixed}
		}
		if i > 0 {
			s.Keep, s.KeepGroup = kept, false
		}
		end := before
		if tell := opt.Progress; tell != nil {
			s.Progress = func(done, _ int64) {
				end = before + done
				tell(end, total)
			}
		}
		open := func() (file, error) { return files.open(i) }
		if err := r.one(ctx, in, s, open, func(c *chunk) error { return use(s, c) }); err != nil {
			return err
		}
		before, kept = end, s.kept
		r.ends = append(r.ends, r.rows)
	}
	if r.plan == nil {
		r.plan = r.idle
	}
	return r.checkCounts(&opt)
}

// one reads an input, and has its file open only while it does.
func (r *reader) one(ctx context.Context, in Input, s *settings, open func() (file, error), use func(*chunk) error) error {
	if in.file {
		f, err := open()
		if err != nil {
			return err
		}
		defer f.Close()
		if in.R = f; in.Size < 0 {
			in.Stream, in.Size = f, 0
		}
	}
	if in.Stream != nil || in.Size > 0 {
		if err := in.unpack(); err != nil {
			return &Error{in.Name, 0, err}
		}
		if !s.cells {
			if err := in.foreign(); err != nil {
				return &Error{in.Name, 0, err}
			}
		}
	}
	if s.cells {
		t, err := r.openCells(ctx, &in, s)
		if err != nil {
			return err
		}
		defer t.Close()
		in.Stream, in.Size = nil, t.Rows()
	} else if !s.table {
		if err := s.checkLines(); err != nil {
			return &Error{in.Name, 0, err}
		}
		if len(s.Keep) > 0 {
			return &Error{in.Name, 0, fmt.Errorf("lines of %s have no column %q to keep, want a table: %w", s.Name, s.Keep[0], ErrOption)}
		}
		r.folders.tell(s, in.Name, s.folders)
	} else {
		if err := r.open(&in, s); err != nil {
			if at := (*Error)(nil); errors.As(err, &at) {
				return err
			}
			return &Error{in.Name, 1, err}
		}
		if s.sheet == nil {
			return nil
		}
	}
	return r.run(ctx, in, s, use)
}

// run parses the input's chunks on all processors and gives them to use in order, in the caller's goroutine. When it
// returns, its goroutines have ended; but after an error, or the end of ctx, not before a stream that they read from gives
// something or ends.
func (r *reader) run(ctx context.Context, in Input, s *settings, use func(*chunk) error) error {
	if in.Size < 0 {
		return &Error{in.Name, 0, fmt.Errorf("size %d, want 0 or more", in.Size)}
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wait := in.Stream == nil // nobody knows when a stream goes on
	defer func() {
		if stop(); wait {
			wg.Wait()
		}
	}()
	parsers := runtime.GOMAXPROCS(0)
	if in.Stream == nil {
		step := int64(r.step)
		if s.cells {
			step = cellRows
		}
		parsers = int(min(int64(parsers), 1+in.Size/step))
	}
	n := 2*parsers + 1
	free, work, order := make(chan *chunk, n), make(chan *chunk, n), make(chan *chunk, n)
	for range n {
		free <- &chunk{done: make(chan struct{}, 1)}
	}
	wg.Go(func() {
		if s.cells {
			feedCells(ctx, in.Size, free, work, order)
			return
		}
		f := feeder{in: in, limit: r.limit, step: r.step, sheet: s.sheet}
		f.feed(ctx, free, work, order)
	})
	for range parsers {
		wg.Go(func() {
			parse := s.parser(ctx)
			for c := range work {
				if ctx.Err() == nil {
					parse(c)
				}
				c.done <- struct{}{}
			}
		})
	}
	r.join.begin(in.Name, s)
	for {
		var c *chunk
		select {
		case c = <-order:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if c == nil {
			wait = true
			return context.Cause(ctx)
		}
		<-c.done
		if s.SkipBad > 0 && r.join.rows && c.widthLine > 0 && c.width != r.join.width {
			c.again(s, r.join.width)
		}
		if err := r.join.join(c); err != nil {
			return err
		}
		if err := r.accompany(s, c); err != nil {
			return err
		}
		if err := use(c); err != nil {
			return err
		}
		if s.Progress != nil {
			s.Progress(c.end, in.Size)
		}
		free <- c
	}
}
