package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/ssp"
)

// codec is what errors call a checkpoint.
const codec = "checkpoint"

// Save is a checkpoint that is being written, by several servers with Saves of one path and stage. One of them commits.
type Save struct {
	bucket blob.Bucket
	path   string
	stage  *format.Stage
	let    func() // lets the stage go
}

// Create begins a checkpoint at the path, or joins one of the same stage. over is what may lie there when it is committed. What
// processes left there that were killed in the middle is removed.
func Create(ctx context.Context, b blob.Bucket, to, stage string, over blob.State) (*Save, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Save{bucket: b, path: to, stage: format.NewStage(b, to, stage)}
	s.stage.Over = over
	if sweeper, can := b.(blob.Sweeper); can {
		if _, err := blob.Swept(ctx, b, to); err != nil {
			return nil, s.final("", err)
		}
		var err error
		if s.let, err = sweeper.Hold(ctx, s.stage.Tree); err != nil {
			return nil, s.final("", err)
		}
	}
	return s, nil
}

// object is the name of an object of the checkpoint in the stage.
func (s *Save) object(name string) string { return s.stage.Name(blob.Base(s.path) + "/" + name) }

// final makes an error speak of the path, and of the object in it if there is one.
func (s *Save) final(object string, err error) error {
	return format.Wrap(codec, blob.Join(s.path, object), s.stage.Final(blob.Base(s.path), err))
}

// File writes the file of a server: records writes what comes before the state of the job, and job that.
func (s *Save) File(ctx context.Context, server int, records, job func(w *Writer) error) (File, error) {
	f := File{}
	err := s.write(ctx, name(server), func(w *Writer) error {
		if err := records(w); err != nil {
			return err
		}
		f.Job = w.Off()
		w.heads.Reset()
		err := job(w)
		f.Size, f.Sum = w.Off(), w.Sum()
		return err
	})
	return f, err
}

func (s *Save) write(ctx context.Context, object string, body func(w *Writer) error) error {
	out, err := s.bucket.Create(ctx, s.object(object))
	if err != nil {
		return s.final(object, err)
	}
	defer out.Abort()
	to := newBehind(out)
	defer to.end() // before Abort
	if err = body(NewWriter(to)); err == nil {
		err = to.end()
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = out.Commit()
	}
	return s.final(object, err)
}

// Commit makes the checkpoint visible: the matrices without their records, which parts tell, of all servers. Every file has to be
// in this server's bucket. Nothing is visible before, and after an error.
func (s *Save) Commit(ctx context.Context, c *Checkpoint, parts []Part, servers int) error {
	if err := c.collect(parts, servers); err != nil {
		return s.final("", err)
	}
	head := *c
	if err := errors.Join(s.sumLoose(ctx, &head), s.link(ctx, &head)); err != nil {
		return s.final("", err)
	}
	if err := s.write(ctx, HeadName, func(w *Writer) error { return writeCheckpoint(w, &head) }); err != nil {
		return err
	}
	if _, err := open(ctx, s.bucket, s.object("")); err != nil {
		return s.final("", fmt.Errorf("what was written cannot be read; nothing was replaced: %w", err))
	}
	// Only now: a server whose job has ended removes what all have written, and the head may have been put where that was.
	for i, f := range c.Files {
		if err := s.there(ctx, i, f); err != nil {
			return s.final(name(i), err)
		}
	}
	return s.final("", s.bucket.Publish(ctx, s.stage.Name(blob.Base(s.path)), s.path, s.stage.Over))
}

// there wants the file of a server.
func (s *Save) there(ctx context.Context, server int, f File) error {
	o, err := s.bucket.Open(ctx, s.object(name(server)))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("server %d keeps it elsewhere: %w (give all servers the same --store)", server, err)
	}
	if err != nil {
		return err
	}
	defer o.Close()
	if o.Size() != f.Size {
		return fmt.Errorf("%d bytes, want %d: %w", o.Size(), f.Size, format.ErrCorrupt)
	}
	return nil
}

// Abort removes what was written and is not visible. It ends every Save, also one that was committed.
func (s *Save) Abort(ctx context.Context) {
	s.stage.Abort(ctx)
	if s.let != nil {
		s.let()
		s.let = nil
	}
}

// Open reads what a checkpoint has.
func Open(ctx context.Context, b blob.Bucket, at string) (*Checkpoint, error) {
	c, err := open(ctx, b, at)
	if err == nil && !c.Whole() {
		c.Base.Path = blob.Join(blob.Parent(at), c.Base.Path)
	}
	return c, format.Wrap(codec, blob.Join(at, HeadName), err)
}

func open(ctx context.Context, b blob.Bucket, at string) (*Checkpoint, error) {
	o, err := b.Open(ctx, blob.Join(at, HeadName))
	if err != nil {
		return nil, err
	}
	defer o.Close()
	r, err := NewReader(o, o.Size())
	if err != nil {
		return nil, err
	}
	return readCheckpoint(r)
}

// Input is a checkpoint that is being read. It is for one goroutine.
type Input struct {
	*Checkpoint
	bucket  blob.Bucket
	path    string
	server  int // whose file is open
	file    blob.Object
	reader  *Reader
	sparing bool // of memory: nothing is read ahead
}

// NewInput opens a checkpoint; it has to be closed.
func NewInput(ctx context.Context, b blob.Bucket, at string) (*Input, error) {
	c, err := Open(ctx, b, at)
	if err != nil {
		return nil, err
	}
	return &Input{Checkpoint: c, bucket: b, path: at}, nil
}

// Fork gives another reader of the same checkpoint, for another goroutine; it has to be closed too.
func (in *Input) Fork() *Input {
	return &Input{Checkpoint: in.Checkpoint, bucket: in.bucket, path: in.path, sparing: in.sparing}
}

// Path is where the checkpoint is.
func (in *Input) Path() string { return in.path }

// Close closes what is open.
func (in *Input) Close() {
	if in.file != nil {
		in.file.Close()
		in.file = nil
	}
}

// open makes a server's file the one that is read.
func (in *Input) open(ctx context.Context, server int) error {
	if in.file != nil && in.server == server {
		return nil
	}
	in.Close()
	o, err := in.bucket.Open(ctx, blob.Join(in.path, name(server)))
	if err != nil {
		return err
	}
	in.file, in.server = o, server
	if want := in.Files[server].Size; o.Size() != want {
		err = fmt.Errorf("%d bytes, want %d: %w", o.Size(), want, format.ErrCorrupt)
	} else {
		in.reader, err = NewReader(o, o.Size())
	}
	if err != nil {
		in.Close()
	}
	return err
}

// Record reads the record of a partition of the matrix: band by band. If columns that it
// does not have are not zero (p.Absent) an empty band comes first. A band is valid until band returns.
func (in *Input) Record(ctx context.Context, m *Matrix, id int, band func(p *Partition, b Band) error) error {
	server := m.Map.Owners[id]
	err := in.open(ctx, server)
	if err == nil {
		err = in.record(ctx, m, id, band)
	}
	return format.Wrap(codec, blob.Join(in.path, name(server)), err)
}

// Head reads what the record of a partition of the matrix begins with.
func (in *Input) Head(ctx context.Context, m *Matrix, id int) (p Partition, err error) {
	server := m.Map.Owners[id]
	if err = in.open(ctx, server); err == nil {
		_, p, err = in.head(m, id)
	}
	return p, format.Wrap(codec, blob.Join(in.path, name(server)), err)
}

// head reads what the record of a partition begins with; the reader reads the rest.
func (in *Input) head(m *Matrix, id int) (r *Reader, p Partition, err error) {
	place := m.Records[id]
	if r, err = in.reader.Section(place.Off, place.Size); err == nil {
		p, err = r.Partition()
	}
	if err != nil {
		return nil, p, err
	}
	want := Partition{
		Matrix: m.Meta.Name, ID: id, At: m.Map.At(id), Sparse: m.Meta.Layout == matrix.RowSparse, Bits: m.Map.Bits, DType: m.Meta.DType,
		Slots: p.Slots, Steps: place.Steps, Aged: p.Aged, Stale: p.Stale, Ranked: p.Ranked, Partial: !in.Whole(), Absent: p.Absent,
	}
	if p != want {
		return nil, p, at(place.Off, "the record is %+v, want %+v", p, want)
	}
	return r, p, nil
}

func (in *Input) record(ctx context.Context, m *Matrix, id int, band func(p *Partition, b Band) error) error {
	place := m.Records[id]
	r, p, err := in.head(m, id)
	if err != nil {
		return err
	}
	if p.Absent != "" {
		if err := band(&p, Band{}); err != nil {
			return err
		}
	}
	if !in.sparing {
		defer r.ReadAhead()()
	}
	columns, candidates := int64(0), int64(0)
	for b, err := range r.Bands(&p) {
		if b.Counts == nil { // of what was removed it has none
			columns += int64(len(b.Keys))
		} else {
			candidates += int64(len(b.Keys))
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = band(&p, b)
		}
		if err != nil {
			return err
		}
	}
	if columns != place.Columns || candidates != place.Candidates {
		return at(place.Off, "the record has %d columns and %d candidates, want %d and %d", columns, candidates, place.Columns, place.Candidates)
	}
	return r.wantSum(place.Off, place.Sum, "the record")
}

// Job reads the state of the job as a server had it.
func (in *Input) Job(ctx context.Context, server int) (s *ssp.State[Delta], err error) {
	if err = in.open(ctx, server); err == nil {
		var r *Reader
		if r, err = in.reader.Rest(in.Files[server].Job); err == nil {
			if s, err = r.Job(); err == nil {
				err = r.wantSum(in.Files[server].Job, in.Files[server].Sum, "the state of the job")
			}
		}
	}
	return s, format.Wrap(codec, blob.Join(in.path, name(server)), err)
}
