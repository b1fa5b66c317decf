package ps

import (
	"context"

	"thole.example/matrix"
	"thole.example/rpc"
)

// Sizes of what is read at once.
const (
	windowBytes  = 1<<20 - 4<<10 // of a server's answer, about
	windowsAhead = 2             // under way beside the one that is waited for
)

// windows cuts a batch of many values into batches of some. Most batches are one window.
func (b *batch) windows() windows {
	out, large := b.cut[:0], false
	for i := range b.asks {
		size := 0
		for k := range b.asks[i].parts {
			size += b.asks[i].parts[k].bytes()
		}
		large = large || size > windowBytes
	}
	if !large {
		return append(out, b)
	}
	for server := range b.asks {
		all := &b.asks[server]
		for window, i := 0, 0; i < len(all.parts); window++ {
			n, size := i, 0
			for ; n < len(all.parts) && (n == i || size+all.parts[n].bytes() <= windowBytes); n++ {
				size += all.parts[n].bytes()
			}
			if window == len(out) {
				w := b.c.batch(nil)
				w.reads = b.reads
				out = append(out, w)
			}
			k := &out[window].asks[server]
			k.q = rpc.Request{Op: rpc.OpPull, Parts: all.q.Parts[i:n]}
			k.parts = all.parts[i:n]
			i = n
		}
	}
	return out
}

// bytes is how many bytes answer it. How many columns a partition has stored is not known: if all that it could have are too
// many for a window it is asked for alone.
func (a *asked) bytes() int {
	m, rows := a.r.m, a.at.Rows.Len()
	size := int64(a.as.Size())
	switch a.kind {
	case rpc.KindKeys:
		return int(rows*size) * (a.run.hi - a.run.lo)
	case rpc.KindStored:
		cols := a.at.Cols.Len() >> m.parts.Bits
		if n, ok := matrix.Cells(cols, rows); !ok || n > windowBytes || n*size+8*cols > windowBytes {
			return windowBytes
		}
		return int((rows*size + 8) * cols)
	}
	return int(rows * a.at.Cols.Len() * size)
}

// windows are batches of one call.
type windows []*batch

// start sends the requests of all.
func (ws windows) start(ctx context.Context) error {
	for i, b := range ws {
		if err := b.start(ctx); err != nil {
			ws[:i].leave()
			return err
		}
	}
	return nil
}

// finish waits for the answers and takes them.
func (ws windows) finish(ctx context.Context) error {
	for i, b := range ws {
		if err := b.finish(ctx); err != nil {
			ws[i+1:].leave()
			return err
		}
	}
	return nil
}

// leave gives them up.
func (ws windows) leave() {
	for _, b := range ws {
		b.leave()
	}
}

// takeAll takes the answers to the windows of the batch, of which the first begun were sent; it sends the others, some ahead. The batch is
// free then.
func (b *batch) takeAll(ctx context.Context, ws windows, begun int) error {
	for i := range ws {
		for ; begun < min(len(ws), i+1+windowsAhead); begun++ {
			if err := ws[begun].start(ctx); err != nil {
				ws[i:begun].leave()
				return err
			}
		}
		if err := ws[i].finish(ctx); err != nil {
			ws[i+1 : max(begun, i+1)].leave()
			return err
		}
	}
	b.complete()
	b.free(ws)
	return nil
}
