package state

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// Compact makes a whole checkpoint of the increment at a path and all that it is based on, and puts it in the increment's place in one
// step. It says the same: identity, moment and Sum stay, so what is based on it stays valid; what the increment was based on is
// free to go. A whole checkpoint stays as it is. Until the end the increment stays there, also after an error; who is reading it in
// the moment of the change finds other files than its head says, and has to begin again. read, which may be nil, is told how many
// bytes were read. Memory holds a band of each of the checkpoints, twice of increments, and some MiB to be written.
func Compact(ctx context.Context, b blob.Bucket, at string, read func(bytes int64)) error {
	if read == nil {
		read = func(int64) {}
	}
	over, err := b.State(ctx, at)
	if err != nil {
		return err
	}
	chain, err := OpenChain(ctx, b, at)
	if err != nil {
		return err
	}
	last := chain[len(chain)-1]
	defer last.Close()
	if last.Whole() {
		return nil
	}
	c := &compaction{chain: chain, last: last, read: read}
	save, err := Create(ctx, b, at, "", over)
	if err != nil {
		return err
	}
	defer save.Abort(context.WithoutCancel(ctx))
	head := *last.Checkpoint
	head.Base, head.Matrices = Link{}, slices.Clone(head.Matrices)
	var parts []Part
	for server := range last.Files {
		p := Part{Server: server}
		p.File, err = save.File(ctx, server, func(w *Writer) (err error) {
			p.Records, err = c.records(ctx, w, server)
			return err
		}, func(w *Writer) error { return c.job(ctx, w, server) })
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	for _, object := range last.Loose {
		data, err := last.Get(ctx, object)
		if err == nil {
			err = save.Loose(ctx, object, data)
		}
		if err != nil {
			return err
		}
	}
	return save.Commit(ctx, &head, parts, len(last.Files))
}

// compaction is an increment on its way to a whole checkpoint.
type compaction struct {
	chain []*Input // the oldest first
	last  *Input
	read  func(bytes int64)
}

// job copies the state of the job of a server.
func (c *compaction) job(ctx context.Context, w *Writer, server int) error {
	if _, err := c.last.Job(ctx, server); err != nil {
		return err
	}
	r, err := c.last.reader.Rest(c.last.Files[server].Job)
	for err == nil && r.More() {
		var k kind
		var body []byte
		if k, body, _, err = r.next("state of the job"); err == nil {
			err = w.frame(k, body)
		}
	}
	return err
}

// records writes those of a server's partitions.
func (c *compaction) records(ctx context.Context, w *Writer, server int) (all []Record, err error) {
	for i := range c.last.Matrices {
		m := &c.last.Matrices[i]
		owned := m.Map.Owned(server)
		if len(owned) == 0 {
			continue
		}
		of, err := c.sources(m)
		if err != nil {
			return nil, err
		}
		for _, id := range owned {
			r, err := of.record(ctx, w, m, id)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// source is a matrix in one of the checkpoints.
type source struct {
	*Matrix
	in *Input
	// ageless says that ages of its columns are not those that later ones count: they were named at the step named.
	ageless bool
	named   int64
}

// sources is a matrix in all checkpoints, the newest first.
type sources struct {
	of   []source
	read func(bytes int64)
}

func (c *compaction) sources(last *Matrix) (*sources, error) {
	s := &sources{read: c.read}
	ageless, named := false, int64(0)
	for _, in := range slices.Backward(c.chain) {
		m, err := in.Find(last.Meta.Name)
		if err == nil {
			err = m.Fits(&last.Meta)
		}
		if err == nil && !slices.Equal(m.Map.AllBands(), last.Map.AllBands()) {
			err = fmt.Errorf("the rows of matrix %q are cut into %v, want %v as in %s",
				m.Meta.Name, m.Map.AllBands(), last.Map.AllBands(), c.last.path)
		}
		if err == nil && m.Meta.Layout != last.Meta.Layout {
			err = fmt.Errorf("matrix %q is %v, and %v in %s: want a new whole checkpoint", m.Meta.Name, m.Meta.Layout, last.Meta.Layout, c.last.path)
		}
		if err == nil && last.Meta.Layout == matrix.RowDense && m.Meta.Cols != last.Meta.Cols {
			err = fmt.Errorf("matrix %q has %d columns, and %d in %s: what the others begin as is not known here; want a new whole checkpoint",
				m.Meta.Name, m.Meta.Cols, last.Meta.Cols, c.last.path)
		}
		if err != nil {
			return nil, format.Wrap(codec, in.path, err)
		}
		if m.Meta.Keep.ExpireAfter == 0 && !ageless {
			ageless, named = true, m.Steps()
		}
		s.of = append(s.of, source{m, in, ageless, named})
	}
	return s, nil
}

// piece is a band of a record of one of the checkpoints.
type piece struct {
	p *Partition
	b Band
}

// pieces are the bands of records, one after the other. Each walk has a file of its own open.
func (s *source) pieces(ctx context.Context, ids []int, read func(bytes int64)) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		own := Input{Checkpoint: s.in.Checkpoint, bucket: s.in.bucket, path: s.in.path, sparing: true}
		defer own.Close()
		for _, id := range ids {
			stopped := false
			err := own.Record(ctx, s.Matrix, id, func(p *Partition, b Band) error {
				if stopped = !yield(piece{p, b}, nil); stopped {
					return errEnough
				}
				return nil
			})
			if stopped {
				return
			}
			if err != nil {
				yield(piece{}, err)
				return
			}
			read(s.Records[id].Size)
		}
	}
}

// errEnough ends a walk.
var errEnough = fmt.Errorf("%s: enough was read", codec)

// common are those partitions of the source that may have something of a partition of the last checkpoint.
func (s *source) common(last *Matrix, id int) (ids []int) {
	at := last.Map.At(id)
	for from := range s.Records {
		both := min(last.Map.Bits, s.Map.Bits) // that begin the hashes of both
		apart := both > 0 && id>>(last.Map.Bits-both) != from>>(s.Map.Bits-both)
		if !apart && !at.Intersect(s.Map.At(from)).Empty() {
			ids = append(ids, from)
		}
	}
	return ids
}

// record writes a whole record of a partition of the last checkpoint, and tells where.
func (s *sources) record(ctx context.Context, w *Writer, m *Matrix, id int) (out Record, err error) {
	last := s.of[0]
	p, err := last.in.Head(ctx, last.Matrix, id)
	if err != nil {
		return out, err
	}
	p.Partial = false
	out = Record{Matrix: p.Matrix, Partition: id, Extent: Extent{Off: w.Off(), Steps: p.Steps}}
	if err := w.Begin(p); err != nil {
		return out, err
	}
	if p.Sparse {
		err = s.sparse(ctx, w, m, &p)
	} else {
		err = s.dense(ctx, w, m, &p)
	}
	if err == nil {
		err = w.End()
	}
	if err != nil {
		return out, err
	}
	out.Size, out.Columns, out.Candidates, out.Sum = w.Off()-out.Off, w.Columns(), w.Candidates(), w.Sum()
	if want := m.Records[id].Stored; p.Sparse && out.Columns != want {
		err = fmt.Errorf("partition %d of matrix %q has %d columns with what it is based on, want %d as the increment says: %w",
			id, p.Matrix, out.Columns, want, format.ErrCorrupt)
	}
	return out, format.Wrap(codec, last.in.path, err)
}
