package ps

import (
	"context"

	"thole.example/rpc"
)

// Roll waits until all tasks of the job have joined. Each time when it hears of more, and once at first, it tells how
// many have come and which are missing, some of them if they are many.
func (c *Client) Roll(ctx context.Context, tell func(came int, missing []int)) error {
	for came := 0; came < c.o.Tasks; {
		q := c.request(rpc.OpRoll, nil)
		q.Clock = int32(came)
		rs, err := c.send(ctx, []*rpc.Request{q}) // the first server, which all join first
		if err != nil {
			return err
		}
		came = int(rs[0].Clock)
		missing := make([]int, len(rs[0].Results))
		for i, r := range rs[0].Results {
			missing[i] = int(r.Part)
		}
		tell(came, missing)
	}
	return nil
}
