package ps

import (
	"context"

	"thole.example/rpc"
)

// Checkpoints lists the checkpoints right below a folder of the servers' bucket, by their names, as the first server sees it. One that
// cannot be read says why. What is not complete is none.
func (c *Client) Checkpoints(ctx context.Context, folder string) (all []rpc.Kept, err error) {
	return c.checkpoints(ctx, rpc.Catalog{Path: folder})
}

// ClaimCheckpoints is Checkpoints for a job that is going to write there: no other job may do the same until it has ended. If one has done
// so before, it is refused with whose the folder is.
func (c *Client) ClaimCheckpoints(ctx context.Context, folder string) ([]rpc.Kept, error) {
	return c.checkpoints(ctx, rpc.Catalog{Path: folder, Claim: true})
}

func (c *Client) checkpoints(ctx context.Context, of rpc.Catalog) (all []rpc.Kept, err error) {
	if err := c.begin(ctx, "list of checkpoints", nil); err != nil {
		return nil, err
	}
	defer c.end()
	x, err := c.askFirst(ctx, rpc.OpCatalog, of)
	if err != nil {
		return nil, err
	}
	return all, x.link.read(x.resp, &all)
}

// RemoveCheckpoints removes checkpoints of a folder of the servers' bucket, by their names within it: all of them, or none if one is not
// there, cannot be read, or is what others of the folder are based on that stay.
func (c *Client) RemoveCheckpoints(ctx context.Context, folder string, names []string) error {
	if err := c.begin(ctx, "removal of checkpoints", nil); err != nil {
		return err
	}
	defer c.end()
	x, err := c.askFirst(ctx, rpc.OpPrune, rpc.Catalog{Path: folder, Names: names})
	if err == nil {
		x.release()
	}
	return err
}

// askFirst asks the first server.
func (c *Client) askFirst(ctx context.Context, op rpc.Op, settings any) (*exchange, error) {
	q, err := control(op, settings)
	if err != nil {
		return nil, err
	}
	xs, err := c.ask(ctx, []*rpc.Request{q})
	if err != nil {
		return nil, err
	}
	return xs[0], nil
}
