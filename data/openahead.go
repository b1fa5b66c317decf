package data

import (
	"context"
	"sync"

	"thole.example/blob"
)

// requestsAhead is how many objects of stores are looked up or opened at once: each takes a few requests, and a store may be far away.
const requestsAhead = 16

// opener opens files one after the other, and objects of stores before it is their turn.
type opener struct {
	store  blob.Bucket
	ins    []Input
	ctx    context.Context
	cancel context.CancelFunc
	ready  []chan openedFile // of inputs that are being opened; nil: not yet, or taken
	next   int               // input to begin to open
}

type openedFile struct {
	file file
	err  error
}

func newOpener(ctx context.Context, store blob.Bucket, ins []Input) *opener {
	o := &opener{store: store, ins: ins, ready: make([]chan openedFile, len(ins))}
	o.ctx, o.cancel = context.WithCancel(ctx)
	return o
}

// open gives input i, of which each is asked for once, in order.
func (o *opener) open(i int) (file, error) {
	for o.next = max(o.next, i); o.next < min(i+requestsAhead, len(o.ins)); o.next++ {
		in := o.ins[o.next]
		if !in.file || !blob.IsURL(in.Name) || o.store == nil {
			continue
		}
		to := make(chan openedFile, 1)
		o.ready[o.next] = to
		go func() {
			f, err := openFile(o.ctx, o.store, in.Name)
			to <- openedFile{f, err}
		}()
	}
	if from := o.ready[i]; from != nil {
		o.ready[i] = nil
		got := <-from
		return got.file, got.err
	}
	return openFile(o.ctx, o.store, o.ins[i].Name)
}

// close closes what was opened and not given.
func (o *opener) close() {
	o.cancel()
	for _, from := range o.ready {
		if from == nil {
			continue
		}
		if got := <-from; got.err == nil {
			got.file.Close()
		}
	}
}

// eachAhead calls do for 0 to n-1, some at once, and answers with the first error by number.
func eachAhead(n int, do func(i int) error) error {
	errs := make([]error, n)
	turn := make(chan struct{}, requestsAhead)
	var wg sync.WaitGroup
	for i := range n {
		turn <- struct{}{}
		wg.Go(func() {
			errs[i] = do(i)
			<-turn
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
