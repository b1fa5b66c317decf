package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
	"thole.example/state"
)

// tracked is the checkpoints of a job since which its partitions remember what has changed, the oldest first: the one that the last
// was based on, which is needed again if that did not come about, and the last.
type tracked struct {
	mu sync.Mutex
	of []state.Link
	// sure are those that are known to be where they were written; of others the bucket has to be asked.
	sure []string
}

func (t *tracked) put(base, last state.Link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of = slices.DeleteFunc([]state.Link{base, last}, func(l state.Link) bool { return l.ID == "" })
}

// confirm says that a checkpoint is where it was written.
func (t *tracked) confirm(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sure = slices.DeleteFunc(t.sure, func(old string) bool { return !t.knows(old) })
	if t.knows(id) {
		t.sure = append(t.sure, id)
	}
}

func (t *tracked) knows(id string) bool {
	return slices.ContainsFunc(t.of, func(l state.Link) bool { return l.ID == id })
}

// doubt says that something is being written to a path.
func (t *tracked) doubt(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.of {
		if l.Path == path {
			t.sure = slices.DeleteFunc(t.sure, func(id string) bool { return id == l.ID })
		}
	}
}

// remembered finds out what the checkpoint is based on without the bucket, which is asked later (verify). It reports whether that is
// known.
func (c *checkpoint) remembered() bool {
	t := &c.j.tracked
	t.mu.Lock()
	defer t.mu.Unlock()
	c.known = slices.Clone(t.of)
	for _, l := range slices.Backward(t.of) {
		if c.save.Base == "" || l.Path == c.save.Base {
			c.since = l
			return slices.Contains(t.sure, l.ID)
		}
	}
	return c.save.Base == ""
}

// verify wants what the marks were based on to be in the bucket.
func (c *checkpoint) verify(ctx context.Context) error {
	marked := c.since
	if c.save.Base == "" || c.base.ID != "" {
		return nil
	}
	if err := c.follow(ctx); err != nil {
		return err
	}
	if c.since != marked {
		return fmt.Errorf("checkpoint %q was replaced while an increment of it was begun: %w", marked.Path, rpc.ErrRefused)
	}
	return nil
}

// follow finds out what the checkpoint is based on, or what has to be remembered beside a whole one until that is there. Which
// of the last two checkpoints came about is known from the bucket alone, and so to all servers alike, whatever they were told.
func (c *checkpoint) follow(ctx context.Context) error {
	bucket, known := c.j.bucket(), c.known
	if c.save.Base == "" {
		c.since = state.Link{}
		for _, l := range known {
			if head, err := state.Open(ctx, bucket, l.Path); err == nil && head.ID == l.ID {
				c.since = l
			}
		}
		return nil
	}
	chain, err := state.OpenChain(ctx, bucket, c.save.Base)
	if errors.Is(err, fs.ErrNotExist) {
		return &kindError{fmt.Errorf("%w: the base of an increment; %s", err, wholeOne), rpc.ErrNotFound}
	}
	if errors.Is(err, state.ErrBase) {
		return &kindError{fmt.Errorf("%w; %s", err, wholeOne), rpc.ErrRefused}
	}
	if err != nil {
		return err
	}
	head, before := chain[len(chain)-1], []string(nil)
	for _, in := range chain {
		before = append(before, in.Path())
	}
	c.since = state.Link{Path: c.save.Base, ID: head.ID}
	c.base = c.since
	switch {
	case head.ID == "" || !slices.Contains(known, c.since):
		return fmt.Errorf("what job %q has changed since checkpoint %q is not known: its last ones are %q; %s: %w",
			c.j.name, c.save.Base, paths(known), wholeOne, rpc.ErrRefused)
	case slices.Contains(before, c.save.Path):
		return fmt.Errorf("checkpoint %q is one that %q is based on: write the increment elsewhere, or %s: %w",
			c.save.Path, c.save.Base, wholeOne, rpc.ErrRefused)
	case len(chain) > state.BaseLimit:
		return fmt.Errorf("checkpoint %q is based on %d others, want fewer than %d: %s: %w",
			c.save.Base, len(chain)-1, state.BaseLimit, wholeOne, rpc.ErrRefused)
	}
	return errors.Join(c.sameMatrices(head.Checkpoint), c.sameSteps())
}

// wholeOne is what to do when there can be no increment.
const wholeOne = "write a whole one first, with an empty base"

func paths(all []state.Link) (out []string) {
	for _, l := range all {
		out = append(out, l.Path)
	}
	return out
}

// sameMatrices wants the base to have the matrices of the job, and no others.
func (c *checkpoint) sameMatrices(base *state.Checkpoint) error {
	var have, want []string
	for i := range base.Matrices {
		have = append(have, base.Matrices[i].Meta.Name)
	}
	for _, st := range c.stores {
		want = append(want, st.meta.Name)
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		return fmt.Errorf("checkpoint %q has matrices %q, the job %q: %s: %w", c.save.Base, have, want, wholeOne, rpc.ErrRefused)
	}
	return nil
}

// sameSteps wants partitions of matrices whose columns catch up to make their steps together: one of an older checkpoint is brought
// up to date by the steps of the last.
func (c *checkpoint) sameSteps() error {
	for _, st := range c.stores {
		if past, err := shard.NewPast(&st.meta, st.rule, 0, nil); err != nil || past != nil && st.bound == ssp.ASP {
			return fmt.Errorf("an increment of matrix %q, whose columns catch up on steps, under ASP: write whole checkpoints: %w",
				st.meta.Name, rpc.ErrRefused)
		}
	}
	return nil
}

// same wants the base to be what it was when the increment was begun.
func (c *checkpoint) same(ctx context.Context) error {
	if c.base.ID == "" {
		return nil
	}
	head, err := state.Open(ctx, c.j.bucket(), c.since.Path)
	if err == nil && head.ID != c.since.ID {
		err = fmt.Errorf("checkpoint %q was replaced while an increment of it was written: %w", c.since.Path, rpc.ErrRefused)
	}
	return err
}

// marking is how the partitions are marked, in the job's mailbox: from then on the job remembers what has changed since this one.
func (c *checkpoint) marking() marking {
	if !c.save.Track {
		return nil
	}
	id, since, whole := c.save.Stage, c.since, c.save.Base == ""
	c.j.tracked.put(since, state.Link{Path: c.save.Path, ID: id})
	return func(s *shard.Shard) (*shard.Mark, error) {
		if whole {
			return s.MarkAll(since.ID, id), nil
		}
		m, err := s.MarkSince(since.ID, id)
		if errors.Is(err, shard.ErrNotTracked) {
			err = fmt.Errorf("%w: checkpoint %q, as where something was loaded: %s: %w", err, since.Path, wholeOne, rpc.ErrRefused)
		}
		return m, err
	}
}

// stateRemoved gives away the columns that were removed. That needs no visit of the partition.
func (s *snapshot) stateRemoved(ctx context.Context, give func(state.Band) error) error {
	keys := s.mark.Removed()
	while := s.of.of.job.server.Ledger.Force(budget.Saves, int64(8*len(keys)))
	defer while.Release()
	for some := range slices.Chunk(keys, bandKeys) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := s.charged(state.Band{Removed: some}, give); err != nil {
			return err
		}
	}
	return nil
}
