package ps

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"

	"thole.example/rpc"
)

// Restored says what a checkpoint was of.
type Restored = rpc.Restored

// Checkpoint writes the state of training to a path within the servers' bucket: the values of all matrices, what their rules
// keep, the steps that were made, and the clocks, windows and staged deltas of the job. Every server writes its own share as
// of the task's clocks, then one makes all of it visible at once; other tasks go on meanwhile. If anything goes wrong, or ctx
// ends, nothing becomes visible. A checkpoint that this job wrote or restored there is replaced; anything else is an error. One
// task of the job calls it.
func (c *Client) Checkpoint(ctx context.Context, path string) error {
	if err := c.begin(ctx, "checkpoint", nil); err != nil {
		return err
	}
	defer c.end()
	return c.whole(ctx, func() error { return c.checkpoint(ctx, rpc.Save{Path: path}) })
}

// Interim is Checkpoint, but what it writes is removed when the job ends: a moment to come back to.
func (c *Client) Interim(ctx context.Context, path string) error {
	if err := c.begin(ctx, "checkpoint", nil); err != nil {
		return err
	}
	defer c.end()
	return c.whole(ctx, func() error { return c.checkpoint(ctx, rpc.Save{Path: path, Interim: true}) })
}

// CheckpointSince writes an increment: a Checkpoint of only what has changed since the one at base, and of which columns were
// removed since. Restore reads both, so whatever it is based on has to stay where it is. With an empty base it writes a whole
// one, and from then on the servers track what changes, which plain checkpoints do not ask for. A base is the last checkpoint that
// this has written, or the one before it, or one that this has written and the job was restored from. After an error the base is
// the same as before. Where something was loaded or created since, the base was replaced, or 100 are based on each other already,
// the error says that a whole one has to be written first. One task of the job calls it.
func (c *Client) CheckpointSince(ctx context.Context, path, base string) error {
	if err := c.begin(ctx, "checkpoint", nil); err != nil {
		return err
	}
	defer c.end()
	return c.whole(ctx, func() error { return c.checkpoint(ctx, rpc.Save{Path: path, Track: true, Base: base}) })
}

func (c *Client) checkpoint(ctx context.Context, s rpc.Save) error {
	s.Stage, s.Checkpoint, s.Servers = rand.Text(), true, len(c.links)
	for _, m := range c.order {
		s.Matrices = append(s.Matrices, m.meta.Name)
	}
	own := func(server int) rpc.Save {
		mine := s
		mine.Index = server
		return mine
	}
	xs, err := c.askSave(ctx, rpc.OpSave, c.order, own)
	if err == nil {
		for _, x := range xs {
			if len(x.resp.Results) != 1 {
				err = x.link.lie("%d results of a checkpoint, want 1", len(x.resp.Results))
				break
			}
			s.Parts = append(s.Parts, bytes.Clone(x.resp.Results[0].Data))
		}
		release(xs)
	}
	if err == nil {
		err = c.commit(ctx, s, c.order)
	}
	return c.abort(ctx, c.order, own, err)
}

// Restore fills all matrices that this client created from a checkpoint, and those that it is based on, with what their rules
// keep and the steps that were made, whatever the number of servers and the partitioner were then. The matrices have to be the
// same but for the settings of their rules. Clocks stay as they are: training that goes on from there gives the same bits as if it
// had not been interrupted. It says what the clocks were. One task of the job calls it, before the others pull.
func (c *Client) Restore(ctx context.Context, path string) (*Restored, error) {
	if err := c.begin(ctx, "restore", nil); err != nil {
		return nil, err
	}
	defer c.end()
	a := rpc.Load{Path: path, Checkpoint: true}
	for _, m := range c.order {
		a.Matrices = append(a.Matrices, m.meta.Name)
		m.cache.forget()
	}
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	qs := make([]*rpc.Request, len(c.links))
	for i := range qs {
		q, err := control(rpc.OpLoad, a)
		if err != nil {
			return nil, err
		}
		q.Clock = int32(c.clock)
		qs[i] = q
	}
	r := &round{alone: true, results: true}
	if err := c.launch(ctx, r, qs); err != nil {
		return nil, err
	}
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	return c.restored(r.of)
}

// restored takes the answers to a Restore, which all have to say the same.
func (c *Client) restored(xs []*exchange) (*Restored, error) {
	defer release(xs)
	var first []byte
	out := &Restored{}
	for i, x := range xs {
		if len(x.resp.Results) != 1 {
			return nil, c.fail(x.link.lie("%d results of a restore, want 1", len(x.resp.Results)))
		}
		text := x.resp.Results[0].Data
		if i == 0 {
			first = text
			if err := json.Unmarshal(text, out); err != nil {
				return nil, c.fail(x.link.lie("%v", err))
			}
		}
		if !bytes.Equal(text, first) {
			return nil, c.fail(x.link.lie("it restored %s, the first server %s: they keep checkpoints in different places", text, first))
		}
	}
	return out, nil
}
