package main

import (
	"context"
	"errors"

	"thole.example/ps"
	"thole.example/rpc"
)

// treeOrder is a checkpoint that somebody waits for who is about to end. It is called with the path of one, or why there is none.
type treeOrder func(ctx context.Context, path string, why error) error

// treeOrders is how task 0 of a training of trees hears of orders, between two trees: of its own process, and by the servers of all others.
// What is not order is for the goroutine of the task; a nil one is of a task that hears of none.
type treeOrders struct {
	here  chan treeOrder
	grown chan struct{} // closed when no tree is grown any more

	client  *ps.Client
	servers *ps.Orders // nil: there are none, or the job has no attempts
	asked   []treeOrder
}

func newTreeOrders() *treeOrders {
	return &treeOrders{here: make(chan treeOrder), grown: make(chan struct{})}
}

// listen hears of what the servers are asked for, too.
func (o *treeOrders) listen(p *plan, client *ps.Client) *treeOrders {
	if p.checkpoint != "" && p.attempt > 0 {
		o.client, o.servers = client, client.Orders()
	}
	return o
}

// order orders a checkpoint, and waits until it is there. It is empty if all trees have been grown.
func (o *treeOrders) order(ctx context.Context) (path string, err error) {
	type answer struct {
		path string
		err  error
	}
	answers := make(chan answer, 1)
	asked := func(_ context.Context, path string, why error) error {
		answers <- answer{path, why}
		return nil
	}
	select {
	case o.here <- asked:
	case <-o.grown:
		return "", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	select {
	case a := <-answers:
		return a.path, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// hear takes the orders that have come, and reports whether there are some.
func (o *treeOrders) hear(ctx context.Context) (bool, error) {
	if o == nil {
		return false, nil
	}
	select {
	case asked := <-o.here:
		o.asked = append(o.asked, asked)
	default:
	}
	for o.servers != nil {
		order, err := o.servers.Poll(ctx)
		if err != nil {
			return false, err
		}
		if order == nil {
			break
		}
		answer := func(ctx context.Context, path string, why error) error {
			if why != nil {
				return o.client.Stays(ctx, order, why)
			}
			return o.client.Moved(ctx, order, path)
		}
		if order.Servers == nil {
			o.asked = append(o.asked, answer)
		} else if err := answer(ctx, "", errors.New("boosted trees do not move")); err != nil && !errors.Is(err, rpc.ErrNotFound) {
			return false, err
		}
	}
	return len(o.asked) > 0, nil
}

// answer answers all that were heard.
func (o *treeOrders) answer(ctx context.Context, path string, why error) error {
	asked := o.asked
	o.asked = nil
	for _, to := range asked {
		if err := to(ctx, path, why); err != nil && !errors.Is(err, rpc.ErrNotFound) { // whoever asked has given up
			return err
		}
	}
	return nil
}

// end says that all trees have been grown.
func (o *treeOrders) end(f *farewell) {
	if o != nil {
		f.leaving()
		close(o.grown)
	}
}
