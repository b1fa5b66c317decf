package journal

import "context"

const (
	// aheadLen is how many bytes a reader that reads ahead reads at once, if no record is longer.
	aheadLen = 1 << 20
	// aheadBatches is how many such pieces wait for being used.
	aheadBatches = 2
)

// AheadBytes is about how much memory a reader that reads ahead has, if no record is longer than a part of it.
const AheadBytes = (aheadBatches + 2) * aheadLen

// ahead is records that another goroutine reads and checks before they are asked for.
type ahead struct {
	by    *Reader // of that goroutine
	next  batch   // of that goroutine
	made  chan batch
	spare chan []byte // memory that is not needed any more
	stop  context.CancelFunc
	now   batch // of the caller
}

// batch is records that were read.
type batch struct {
	records []Record
	mem     []byte // in which only they, and those before them, lie; nil: others will lie there too
	err     error  // what comes after them
}

// ReadAhead has another goroutine read and check the records that are durable while the caller uses those before. It is called once, before
// Next, and ends with Close.
func (r *Reader) ReadAhead() {
	ctx, stop := context.WithCancel(context.Background())
	a := &ahead{
		by: &Reader{log: r.log, position: r.position, limit: r.position, window: aheadLen}, made: make(chan batch, aheadBatches),
		spare: make(chan []byte, aheadBatches+2), stop: stop,
	}
	a.by.renew = func(used []byte) []byte { return a.renew(ctx, used) }
	r.ahead = a
	go a.read(ctx)
}

// read reads until there is an error, or the context ends.
func (a *ahead) read(ctx context.Context) {
	defer close(a.made)
	for a.next.err == nil {
		if a.by.position >= a.by.limit { // Next may wait for more
			a.send(ctx, nil)
		}
		rec, err := a.by.Next(ctx)
		if a.next.err = err; err == nil {
			a.next.records = append(a.next.records, rec)
		}
	}
	if ctx.Err() == nil {
		a.send(ctx, nil)
	}
}

// send gives the records away that were read so far, with the memory in which no more will lie.
func (a *ahead) send(ctx context.Context, mem []byte) {
	a.next.mem = mem
	if len(a.next.records) == 0 && mem == nil && a.next.err == nil {
		return
	}
	select {
	case a.made <- a.next:
	case <-ctx.Done():
	}
	a.next = batch{err: a.next.err}
}

// renew gives memory for the next records, and those in the memory before away.
func (a *ahead) renew(ctx context.Context, used []byte) []byte {
	if used != nil {
		a.send(ctx, used)
	}
	select {
	case mem := <-a.spare:
		return mem
	default:
		return nil
	}
}

// take takes the next record.
func (a *ahead) take(ctx context.Context) (Record, error) {
	for len(a.now.records) == 0 {
		if a.now.err != nil {
			return Record{}, a.now.err
		}
		if a.now.mem != nil {
			a.spare <- a.now.mem // there is room for all
			a.now.mem = nil
		}
		select {
		case b, ok := <-a.made:
			if a.now = b; !ok {
				return Record{}, ErrClosed
			}
		case <-ctx.Done():
			return Record{}, ctx.Err()
		}
	}
	rec := a.now.records[0]
	a.now.records = a.now.records[1:]
	return rec, nil
}

// close ends the goroutine.
func (a *ahead) close() error {
	a.stop()
	for range a.made { // until it has ended
	}
	return a.by.Close()
}
