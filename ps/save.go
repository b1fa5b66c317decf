package ps

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"thole.example/blob"
	"thole.example/rpc"
)

// SaveOptions say how to save.
type SaveOptions struct {
	Codec    string            // format
	Path     string            // within the servers' bucket
	Matrices []string          // nil: all that this client created, in that order
	Lossy    bool              // allow the format to lose what it cannot hold
	Set      map[string]string // the format's own options
	Files    map[string][]byte // small files beside the matrices
	Replace  bool              // Rehearse: a model at the path may be replaced
	State    bool              // the state of the training was saved before it; else one at Path.state goes with what is replaced
	Same     string            // Rehearse: so may one of the same job, which has this one of Files beside it, as it is here
}

// Save writes matrices as of the task's clock: every server puts its own partitions, then one makes all of them visible
// at once. If anything goes wrong, or ctx ends, nothing becomes visible. One task of the job calls it.
func (c *Client) Save(ctx context.Context, o SaveOptions) error {
	if err := c.begin(ctx, "save", nil); err != nil {
		return err
	}
	defer c.end()
	return c.whole(ctx, func() error { return c.save(ctx, o) })
}

func (c *Client) save(ctx context.Context, o SaveOptions) error {
	s, ms, err := c.saving(o)
	if err != nil {
		return err
	}
	xs, err := c.askSave(ctx, rpc.OpSave, ms, func(int) rpc.Save { return s })
	if err == nil {
		s.Parts, err = c.saved(xs, ms)
		release(xs)
	}
	if err == nil {
		err = c.commit(ctx, s, ms)
	}
	return c.abort(ctx, ms, func(int) rpc.Save { return s }, err)
}

// saving is a new save with the options, and the matrices of it.
func (c *Client) saving(o SaveOptions) (rpc.Save, []*Matrix, error) {
	ms := c.order
	if o.Matrices != nil {
		ms = nil
		for _, name := range o.Matrices {
			m, err := c.Matrix(name)
			if err != nil {
				return rpc.Save{}, nil, err
			}
			ms = append(ms, m)
		}
	}
	s := rpc.Save{
		Codec: o.Codec, Path: o.Path, Stage: rand.Text(), Lossy: o.Lossy, Set: o.Set, Files: o.Files, Replace: o.Replace, Same: o.Same,
		State: o.State,
	}
	for _, m := range ms {
		s.Matrices = append(s.Matrices, m.meta.Name)
	}
	return s, ms, nil
}

// askSave asks every server for its share of a save. The parts of the request have the task's clocks for the matrices.
func (c *Client) askSave(ctx context.Context, op rpc.Op, ms []*Matrix, settings func(server int) rpc.Save) ([]*exchange, error) {
	qs, err := c.saveRequests(op, ms, settings)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, qs)
}

func (c *Client) saveRequests(op rpc.Op, ms []*Matrix, settings func(server int) rpc.Save) (qs []*rpc.Request, err error) {
	qs = make([]*rpc.Request, len(c.links))
	for i := range qs {
		if qs[i], err = c.saveRequest(op, ms, i, settings(i)); err != nil {
			return nil, err
		}
	}
	return qs, nil
}

func (c *Client) saveRequest(op rpc.Op, ms []*Matrix, server int, settings rpc.Save) (*rpc.Request, error) {
	q, err := control(op, settings)
	if err != nil {
		return nil, err
	}
	q.Clock = int32(c.clock)
	for _, m := range ms {
		p := m.part(rpc.KindStored, server, m.meta.Rect())
		p.Clock = int32(m.clock)
		q.Parts = append(q.Parts, p)
	}
	return q, nil
}

// saved is what the servers put into a save: by matrix, by partition, and as the server gave it.
func (c *Client) saved(xs []*exchange, ms []*Matrix) ([][]byte, error) {
	type put struct {
		matrix, partition int
		data              []byte
	}
	var all []put
	for i, x := range xs {
		for _, r := range x.resp.Results {
			at := slices.IndexFunc(ms, func(m *Matrix) bool { return m.numbers[i] == r.Matrix })
			if at < 0 || int(r.Partition) >= len(ms[at].parts.Owners) || ms[at].parts.Owners[r.Partition] != i {
				return nil, x.link.lie("it saved partition %d of matrix %d, want one that it has", r.Partition, r.Matrix)
			}
			all = append(all, put{at, int(r.Partition), slices.Clone(r.Data)})
		}
	}
	slices.SortStableFunc(all, func(a, b put) int {
		return cmp.Or(cmp.Compare(a.matrix, b.matrix), cmp.Compare(a.partition, b.partition))
	})
	parts := make([][]byte, len(all))
	for i, p := range all {
		parts[i] = p.data
	}
	return parts, nil
}

func (c *Client) commit(ctx context.Context, s rpc.Save, ms []*Matrix) error {
	q, err := c.saveRequest(rpc.OpCommit, ms, 0, s)
	if err != nil {
		return err
	}
	xs, err := c.ask(ctx, []*rpc.Request{q})
	release(xs)
	if errors.Is(err, rpc.ErrNotFound) {
		err = &saveGone{err}
	}
	return err
}

// saveGone is why a save cannot be made visible of which the server knows nothing: it was started again meanwhile, or had made it visible
// and the answer was lost.
type saveGone struct{ error }

// Unwrap is the server's answer.
func (s *saveGone) Unwrap() error { return s.error }

// abort ends a save that went as err says, also if ctx has ended: the servers forget what is left of it. After an error the first
// one, which commits, may still be at it; it is asked first, and answers when that has ended, because the others' part could be
// removed while it is made visible.
func (c *Client) abort(ctx context.Context, ms []*Matrix, settings func(server int) rpc.Save, err error) error {
	ctx = context.WithoutCancel(ctx)
	qs, aerr := c.saveRequests(rpc.OpAbort, ms, settings)
	if aerr != nil {
		return cmp.Or(err, aerr)
	}
	if err != nil {
		xs, _ := c.ask(ctx, qs[:1]) // err says more
		release(xs)
		qs[0] = nil
	}
	xs, aerr := c.ask(ctx, qs)
	release(xs)
	return cmp.Or(err, aerr)
}

// Rehearse tells why Save would fail, as far as that can be known before: a path that is taken or cannot be written, a
// format that cannot hold the matrices, options that it does not have, servers that keep models in different places. lost
// says what the format loses (with Lossy). Nothing becomes visible; no other job of these servers gets the path from then
// on. One task of the job calls it.
func (c *Client) Rehearse(ctx context.Context, o SaveOptions) (lost []string, err error) {
	if err := c.begin(ctx, "rehearsal of a save", nil); err != nil {
		return nil, err
	}
	defer c.end()
	err = c.whole(ctx, func() error {
		lost, err = c.rehearse(ctx, o)
		return err
	})
	return lost, err
}

func (c *Client) rehearse(ctx context.Context, o SaveOptions) (lost []string, err error) {
	s, ms, err := c.saving(o)
	if err != nil {
		return nil, err
	}
	s.Rehearsal, s.Servers = true, len(c.links)
	own := func(server int) rpc.Save {
		mine := s
		mine.Index = server
		return mine
	}
	xs, err := c.askSave(ctx, rpc.OpSave, ms, own)
	if err == nil {
		for _, r := range xs[0].resp.Results {
			lost = append(lost, string(r.Data))
		}
		release(xs)
		err = c.commit(ctx, s, ms)
	}
	return lost, c.abort(ctx, ms, own, err)
}

// whole repeats what takes several requests if a connection is lost within, or what a server had of it: as long as the client tries to come
// back, and a few times whatever that takes, because one save may take longer.
func (c *Client) whole(ctx context.Context, do func() error) error {
	const attempts = 3
	within := ctx
	for try := 1; ; try++ {
		err := do()
		_, gone := errors.AsType[*saveGone](err)
		gone = gone || errors.Is(err, rpc.ErrLost) && !errors.Is(err, rpc.ErrClosed)
		if again := c.failed == nil && c.o.Retry > 0 && gone; !again || ctx.Err() != nil || try >= attempts && within.Err() != nil {
			return err
		}
		if try == 1 {
			var cancel context.CancelFunc
			within, cancel = context.WithTimeout(ctx, c.o.Retry)
			defer cancel()
		}
	}
}

// LoadOptions say what to load.
type LoadOptions struct {
	Path     string            // within the servers' bucket
	Codec    string            // format; "": found out
	Set      map[string]string // the format's own options
	Matrices []string          // nil: all that this client created
	Round    bool              // values to the type of the matrices; without, a value that does not fit is an error
	Partial  bool              // fewer rows than the matrices have are enough: the others begin anew
}

// Load fills matrices from a path in any format that the servers know. How many servers saved it does not matter. One
// task of the job calls it, before the others pull.
func (c *Client) Load(ctx context.Context, o LoadOptions) error {
	if err := c.begin(ctx, "load", nil); err != nil {
		return err
	}
	defer c.end()
	names := o.Matrices
	if names == nil {
		for _, m := range c.order {
			names = append(names, m.meta.Name)
		}
	}
	return blob.Again(ctx, func() error {
		before, err := c.statesOf(ctx, o.Path)
		if err != nil {
			return err
		}
		err = c.changeAlone(ctx, c.order, func(int) (*rpc.Request, error) {
			q, err := control(rpc.OpLoad, rpc.Load{Path: o.Path, Codec: o.Codec, Set: o.Set, Matrices: names, Round: o.Round, Partial: o.Partial})
			if err == nil {
				q.Clock = int32(c.clock)
			}
			return q, err
		})
		if err != nil {
			return err
		}
		after, err := c.statesOf(ctx, o.Path)
		if err == nil && !slices.Equal(before, after) {
			err = fmt.Errorf("ps: load %s: it was replaced while %d servers loaded it: %w", o.Path, len(c.links), blob.ErrChanged)
		}
		return err
	})
}

// statesOf is what each server sees at a path: if none of it changes while all load, they load the same. One server needs no comparison.
func (c *Client) statesOf(ctx context.Context, path string) ([]string, error) {
	states := make([]string, len(c.links))
	if len(states) == 1 {
		return states, nil
	}
	xs, err := c.askAll(ctx, rpc.OpLook, func(int) any { return rpc.Look{Path: path} })
	if err != nil {
		return nil, err
	}
	for i, x := range xs {
		var seen rpc.Looked
		if err := x.link.read(x.resp, &seen); err != nil {
			return nil, err
		}
		states[i] = seen.State
	}
	return states, nil
}
