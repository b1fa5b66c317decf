package ps

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

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
	Replace  bool              // TrySave: a model at the path may be replaced
}

// Save writes matrices as of the task's clock: every server puts its own partitions, then one makes all of them visible
// at once. If anything goes wrong, or ctx ends, nothing becomes visible. One task of the job calls it.
func (c *Client) Save(ctx context.Context, o SaveOptions) error {
	return c.whole(ctx, func() error { return c.save(ctx, o) })
}

func (c *Client) save(ctx context.Context, o SaveOptions) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	a := c.saving(o)
	rs, err := c.all(ctx, rpc.OpSave, func(int) any { return a })
	if err == nil {
		var results []rpc.Result
		for _, r := range rs {
			results = append(results, r.Results...)
		}
		slices.SortStableFunc(results, func(x, y rpc.Result) int {
			if n := strings.Compare(x.Matrix, y.Matrix); n != 0 {
				return n
			}
			return int(x.Part - y.Part)
		})
		err = c.commit(ctx, a, results)
	}
	_, aerr := c.all(context.WithoutCancel(ctx), rpc.OpAbort, func(int) any { return a })
	if err != nil {
		return err
	}
	return aerr
}

// saving is a new save with the options.
func (c *Client) saving(o SaveOptions) rpc.Save {
	if o.Matrices == nil {
		o.Matrices = c.order
	}
	return rpc.Save{
		Codec: o.Codec, Path: o.Path, Stage: rand.Text(), Matrices: o.Matrices, Lossy: o.Lossy, Set: o.Set, Files: o.Files,
		Replace: o.Replace,
	}
}

func (c *Client) commit(ctx context.Context, a rpc.Save, results []rpc.Result) error {
	for _, r := range results {
		a.Parts = append(a.Parts, r.Data)
	}
	q, err := c.control(rpc.OpCommit, func(int) any { return a }, 0)
	if err != nil {
		return err
	}
	_, err = c.send(ctx, []*rpc.Request{q})
	return err
}

// TrySave tells why Save would fail, as far as that can be known before: a path that is taken or cannot be written, a
// format that cannot hold the matrices, options that it does not have, servers that keep models in different places. lost
// says what the format loses (with Lossy). Nothing becomes visible; no other job of these servers gets the path from then
// on. One task of the job calls it.
func (c *Client) TrySave(ctx context.Context, o SaveOptions) (lost []string, err error) {
	err = c.whole(ctx, func() error {
		lost, err = c.trySave(ctx, o)
		return err
	})
	return lost, err
}

func (c *Client) trySave(ctx context.Context, o SaveOptions) (lost []string, err error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	a := c.saving(o)
	a.Trial, a.Servers = true, len(c.conns)
	arg := func(server int) any {
		mine := a
		mine.Index = server
		return mine
	}
	rs, err := c.all(ctx, rpc.OpSave, arg)
	if err == nil {
		for _, r := range rs[0].Results {
			lost = append(lost, string(r.Data))
		}
		err = c.commit(ctx, a, nil)
	}
	_, aerr := c.all(context.WithoutCancel(ctx), rpc.OpAbort, arg)
	if err == nil {
		err = aerr
	}
	return lost, err
}

// LoadOptions say what to load.
type LoadOptions struct {
	Path     string            // within the servers' bucket
	Codec    string            // format; "": found out
	Set      map[string]string // the format's own options
	Matrices []string          // nil: all that this client created
	Round    bool              // values to the type of the matrices; without, a value that does not fit is an error
}

// Load fills matrices from a path in any format that the servers know. How many servers saved it does not matter. One
// task of the job calls it, before the others pull.
func (c *Client) Load(ctx context.Context, o LoadOptions) error {
	if o.Matrices == nil {
		o.Matrices = c.order
	}
	_, err := c.all(ctx, rpc.OpLoad, func(int) any {
		return rpc.Load{Path: o.Path, Codec: o.Codec, Set: o.Set, Matrices: o.Matrices, Round: o.Round}
	})
	for _, m := range c.mats {
		m.cache.forget()
	}
	return err
}
