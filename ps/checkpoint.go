package ps

import (
	"bytes"
	"context"
	"encoding/json"

	"thole.example/rpc"
)

// Restored says what a checkpoint was of.
type Restored = rpc.Restored

// CheckpointOptions say what a checkpoint is and where.
type CheckpointOptions struct {
	// Path is where it is within the servers' bucket. A checkpoint that this job wrote or restored there is replaced, and if the Moment
	// says a run, one that an earlier attempt of that run wrote, or any of a series whose head cannot be read; anything else is an error.
	Path string
	// Base has only what has changed since the checkpoint at that path written, and which columns were removed since: an increment.
	// Restore reads both, so whatever it is based on has to stay where it is. It is the last checkpoint with Track, or the one before it,
	// or one that the job was restored from. After an error the base is the same as before. Where something was loaded or created
	// since, the base was replaced, or 100 are based on each other already, the error says that a whole one has to be written first.
	// "": everything is written.
	Base    string
	Track   bool              // later ones may be based on it: the servers remember what changes from now on. A Base implies it
	Interim bool              // it is removed when the job ends
	Keep    int               // above 0: once it is there the others beside it go, but for the last so many of its run with what they need
	Moment  json.RawMessage   // where the training is, a state.Moment as JSON; nil: it is not said
	Files   map[string][]byte // objects to be kept in its tree, by name, which are no names of state's own
}

// Checkpoint writes the state of training to a path within the servers' bucket: the values of all matrices, what their rules
// keep, the steps that were made, and the clocks, windows and staged deltas of the job. Every server writes its own share as
// of the task's clocks, then one makes all of it visible at once; other tasks go on meanwhile, and so may this one
// (BeginCheckpoint). If anything goes wrong, or ctx ends, nothing becomes visible. One task of the job calls it.
func (c *Client) Checkpoint(ctx context.Context, path string) error {
	return c.checkpoint(ctx, CheckpointOptions{Path: path})
}

// Interim is Checkpoint, but what it writes is removed when the job ends: a moment to come back to.
func (c *Client) Interim(ctx context.Context, path string) error {
	return c.checkpoint(ctx, CheckpointOptions{Path: path, Interim: true})
}

// CheckpointSince is Checkpoint with a base, or, if that is empty, of one that others may be based on ([CheckpointOptions]).
func (c *Client) CheckpointSince(ctx context.Context, path, base string) error {
	return c.checkpoint(ctx, CheckpointOptions{Path: path, Track: true, Base: base})
}

// WriteCheckpoint is Checkpoint with options.
func (c *Client) WriteCheckpoint(ctx context.Context, o CheckpointOptions) error {
	return c.checkpoint(ctx, o)
}

// checkpoint waits for a checkpoint, and writes it again if a connection is lost within.
func (c *Client) checkpoint(ctx context.Context, o CheckpointOptions) error {
	if err := c.begin(ctx, "checkpoint", nil); err != nil {
		return err
	}
	defer c.end()
	return c.whole(ctx, func() error {
		k, err := c.beginCheckpoint(ctx, o)
		if err != nil {
			return err
		}
		return k.wait(ctx)
	})
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
	}
	if err := c.waitAll(ctx); err != nil {
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
	r := &round{alone: true, results: true, changes: c.order}
	if err := c.launch(ctx, r, qs); err != nil {
		return nil, err
	}
	if err := c.waitAll(ctx); err != nil {
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
