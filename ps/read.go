package ps

import (
	"context"
	"iter"
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

// reading is something that is read, and where it goes: the cells of a rectangle, the columns of planned keys, or the
// stored columns of a sparse matrix.
type reading struct {
	m     *Matrix
	at    matrix.Rect
	clock int         // the reader's
	from  int         // its clock when it asked, which may be before that
	keys  *Keys       // nil: a rectangle, or stored columns
	make  bool        // of keys: columns that are not there are made
	out   []byte      // row-major for a rectangle, input after input for keys; nil: stored columns
	data  matrix.Data // whose values out is, if it is not the caller's
	found []column    // the stored columns so far: those of each answer ascend
	ends  []int       // of the answers' columns in found
	bytes []byte      // and their values
	asOf  int         // the slowest clock of the answers

	cached *cachedPull // what a cache has of the keys; nil: keys are all that is read
}

// column is a stored column of some rows, whose values begin at a byte of the reading's.
type column struct {
	key  int64
	rows matrix.Range
	at   int
}

// readRect is a reading of all columns of some rows.
func (m *Matrix) readRect(at matrix.Rect) *reading {
	r := &reading{m: m, at: at, clock: m.clock, from: m.clock, asOf: ssp.Finished}
	if m.meta.Layout == matrix.RowDense {
		r.data = matrix.NewDense(m.meta.DType, at).Data
		r.out, _ = wire.ViewAny(r.data.Values())
	}
	return r
}

// listed reports whether the reading is of stored columns, whichever they are: there may be values that cannot be listed.
func (r *reading) listed() bool { return r.keys == nil && r.m.meta.Layout == matrix.RowSparse }

// readKeys is a reading of planned keys for all rows into out.
func (m *Matrix) readKeys(k *Keys, out []byte) reading {
	return reading{m: m, at: m.meta.Rect(), clock: m.clock, from: m.clock, keys: k, out: out, asOf: ssp.Finished}
}

// asked is a part of a request, and what its answer is for.
type asked struct {
	r    *reading
	kind rpc.Kind
	at   matrix.Rect
	part int          // partition, unless keys are asked for
	run  run          // of the plan
	as   matrix.DType // of the values in the answer
}

// batch is what one call reads.
type batch struct {
	c     *Client
	reads []*reading
	asks  []ask       // of each server
	xs    []*exchange // of those that are asked for something, nil for others
	cut   windows     // memory of windows
	ahead bool        // the answers depend on no change after the first changes
	after int         // so many
}

// ask is what a batch asks of one server.
type ask struct {
	x     exchange
	q     rpc.Request
	parts []asked // what the answers to q's parts are for

	room struct { // memory of parts, and of the groups of those that are rectangles
		parts  []rpc.Part
		asked  []asked
		groups []rpc.Group
	}
}

// batch is a batch of readings, of which the memory is used again after free.
func (c *Client) batch(reads []*reading) *batch {
	var b *batch
	if n := len(c.batches); n > 0 {
		b, c.batches = c.batches[n-1], c.batches[:n-1]
	} else {
		b = &batch{c: c, asks: make([]ask, len(c.links)), xs: make([]*exchange, len(c.links))}
	}
	b.reads = reads
	for _, r := range reads {
		switch {
		case r.keys != nil:
			if r.m.hot != nil && !r.m.own {
				r.m.hot.split(r)
			}
			b.addKeys(r)
		default:
			b.addRect(r)
		}
	}
	return b
}

func (b *batch) add(server int, p rpc.Part, a asked) {
	k := &b.asks[server]
	p.Clock, p.Own = int32(a.r.clock), a.r.m.own
	a.as = a.r.m.answers(a.kind)
	p.DType = a.as
	k.room.parts = append(k.room.parts, p)
	k.room.asked = append(k.room.asked, a)
	k.q = rpc.Request{Op: rpc.OpPull, Parts: k.room.parts}
	k.parts = k.room.asked
}

// free gives the memory of the batch and of its windows, which were all answered, to those that come, unless some server may still
// look at it.
func (b *batch) free(ws windows) {
	if b.cut = ws[:0]; slices.ContainsFunc(ws, func(w *batch) bool { return again(w.xs) }) {
		return
	}
	for _, w := range ws {
		if w != b {
			w.clear()
		}
	}
	b.clear()
}

func (b *batch) clear() {
	for i := range b.asks {
		k := &b.asks[i]
		clear(k.room.parts)
		clear(k.room.asked)
		k.room.parts, k.room.asked, k.room.groups = k.room.parts[:0], k.room.asked[:0], k.room.groups[:0]
		k.x, k.q, k.parts = exchange{}, rpc.Request{}, nil
	}
	clear(b.xs)
	clear(b.cut[:cap(b.cut)])
	b.reads, b.ahead = nil, false
	b.c.batches = append(b.c.batches, b)
}

func (b *batch) addRect(r *reading) {
	kind := rpc.KindDense
	if r.m.meta.Layout == matrix.RowSparse {
		kind = rpc.KindStored
	}
	for p, at := range r.m.parts.Route(r.at) {
		server := r.m.parts.Owners[p]
		cells := windowBytes / r.m.meta.DType.Size()
		if kind == rpc.KindStored {
			cells = math.MaxInt // how many of them there are is not known
		}
		for at := range strips(at, int64(cells)) {
			part := r.m.part(kind, server, at)
			room := &b.asks[server].room.groups
			*room = append(*room, rpc.Group{Partition: uint32(p)})
			part.Groups = (*room)[len(*room)-1 : len(*room) : len(*room)]
			b.add(server, part, asked{r: r, kind: kind, at: at, part: p})
		}
	}
}

// strips cuts a rectangle into some of at most so many cells: of whole rows, or of a part of one row if that has more.
func strips(at matrix.Rect, cells int64) iter.Seq[matrix.Rect] {
	return func(yield func(matrix.Rect) bool) {
		width := min(at.Cols.Len(), cells)
		high := min(max(1, cells/max(1, width)), at.Rows.Len())
		for lo := at.Rows.Lo; lo < at.Rows.Hi; {
			rows := matrix.Range{Lo: lo, Hi: min(lo+high, at.Rows.Hi)}
			for col := at.Cols.Lo; col < at.Cols.Hi; {
				cols := matrix.Range{Lo: col, Hi: min(col+width, at.Cols.Hi)}
				if !yield(matrix.Rect{Rows: rows, Cols: cols}) {
					return
				}
				col = cols.Hi
			}
			lo = rows.Hi
		}
	}
}

func (b *batch) addKeys(r *reading) {
	for band := range r.m.parts.Bands() {
		at := matrix.Rect{Rows: r.m.parts.Band(band).Intersect(r.at.Rows), Cols: r.at.Cols}
		if at.Rows.Len() == 0 {
			continue
		}
		for run := range r.keys.runs(r.m.parts, band, windowBytes/(int(at.Rows.Len())*r.m.meta.DType.Size())) {
			part := r.m.part(rpc.KindKeys, run.server, at)
			part.Groups, part.Keys, part.Make = run.groups, r.keys.unique[run.lo:run.hi], r.make
			b.add(run.server, part, asked{r: r, kind: rpc.KindKeys, at: at, run: run})
		}
	}
}

// start sends the requests, and before them what the task has pushed, if it wants to see that.
func (b *batch) start(ctx context.Context) error {
	if slices.ContainsFunc(b.reads, func(r *reading) bool { return r.m.own }) && b.c.pending() {
		if _, err := b.c.change(ctx, ticks{}, nil); err != nil {
			return err
		}
	}
	for i := range b.asks {
		if k := &b.asks[i]; k.parts != nil {
			k.x = exchange{link: b.c.links[i], q: &k.q}
			b.xs[i] = &k.x
		}
	}
	err := b.c.start(ctx, b.xs)
	if err != nil {
		b.leave()
	}
	return err
}

// finish waits for the answers and takes them.
func (b *batch) finish(ctx context.Context) error {
	through := math.MaxInt
	if b.ahead {
		through = b.after
	}
	err := b.c.wait(ctx, b.xs, through)
	if err == nil {
		err = b.take(b.xs)
	}
	if err != nil {
		b.leave()
		return err
	}
	b.leaveAgain(b.xs)
	release(b.xs)
	return nil
}

// leaveAgain leaves the keys to servers that were asked for them over connections that were lost.
func (b *batch) leaveAgain(xs []*exchange) {
	if again(xs) {
		b.leaveKeys()
	}
}

// again reports whether something was asked for twice: then a server may still look at what was sent first.
func again(xs []*exchange) bool {
	return slices.ContainsFunc(xs, func(x *exchange) bool { return x != nil && x.again })
}

// leave gives up the answers.
func (b *batch) leave() {
	if !abandon(b.xs) {
		b.leaveKeys()
	}
}

// leaveKeys leaves the keys to servers that may still read them.
func (b *batch) leaveKeys() {
	for _, r := range b.reads {
		if r.keys != nil {
			r.keys.leave()
		}
	}
}

// take takes the answers to what was asked of each server. Those of a change come with it.
func (b *batch) take(xs []*exchange) error {
	for i, x := range xs {
		switch {
		case x == nil:
			continue
		case x.err != nil:
			return x.err
		case len(x.resp.Parts) != len(b.asks[i].parts):
			return x.link.lie("%d parts answered to %d", len(x.resp.Parts), len(b.asks[i].parts))
		}
		for k := range b.asks[i].parts {
			if err := x.link.take(&b.asks[i].parts[k], &x.resp.Parts[k]); err != nil {
				return err
			}
		}
	}
	for _, r := range b.reads {
		r.m.asOf = r.asOf
	}
	return nil
}

// take checks an answer like a request, and puts its values where they go.
func (l *link) take(a *asked, got *rpc.Part) error {
	r := a.r
	m := r.m
	what := m.meta.Name
	switch {
	case got.Kind != a.kind:
		return l.lie("matrix %s: answer of kind %d, want %d", what, got.Kind, a.kind)
	case got.Matrix != m.numbers[l.index]:
		return l.lie("matrix %s: answer of matrix %d, want %d", what, got.Matrix, m.numbers[l.index])
	case got.DType != a.as:
		return l.lie("matrix %s: values of %v, want %v", what, got.DType, a.as)
	case !m.bound.Fresh(int(got.Clock), r.clock):
		return l.lie("matrix %s: values as of clock %d, want %d or later", what, got.Clock, m.bound.Need(r.clock))
	}
	r.asOf = min(r.asOf, int(got.Clock))
	size, rows := a.as.Size(), int(a.at.Rows.Len())
	n := len(got.Keys)
	switch a.kind {
	case rpc.KindDense:
		n = int(a.at.Cols.Len())
	case rpc.KindKeys:
		n = a.run.hi - a.run.lo
	}
	if a.kind != rpc.KindStored && len(got.Keys) > 0 {
		return l.lie("matrix %s: %d keys with the values of %d that were asked for", what, len(got.Keys), n)
	}
	if want, ok := matrix.Cells(int64(n), int64(rows*size)); !ok || want != int64(len(got.Values)) {
		return l.lie("matrix %s: %d bytes of values, want %d for %d columns of %d rows", what, len(got.Values), want, n, rows)
	}
	values := got.Values
	if a.as != m.meta.DType {
		if !a.widen(values) {
			return l.lie("matrix %s: values of %v that do not begin at a multiple of their size", what, a.as)
		}
		return nil
	}
	switch a.kind {
	case rpc.KindDense:
		r.putRect(a.at, values, size)
	case rpc.KindKeys:
		at := lumps{k: r.keys, run: a.run, lump: int(r.at.Rows.Len()) * size, lo: int(a.at.Rows.Lo-r.at.Rows.Lo) * size, n: rows * size}
		at.scatter(r.out, values)
	case rpc.KindStored:
		return l.takeStored(a, got, rows*size)
	}
	return nil
}

// putRect puts the cells of a rectangle within the reading's.
func (r *reading) putRect(at matrix.Rect, values []byte, size int) {
	line, stride := int(at.Cols.Len())*size, int(r.at.Cols.Len())*size
	from := int(at.Rows.Lo-r.at.Rows.Lo)*stride + int(at.Cols.Lo-r.at.Cols.Lo)*size
	for i := range int(at.Rows.Len()) {
		copy(r.out[from+i*stride:][:line], values[i*line:])
	}
}

// widen puts halves where they go. It reports whether they lie as numbers do.
func (a *asked) widen(values []byte) bool {
	switch {
	case a.as == matrix.F16 && a.r.m.meta.DType == matrix.F32:
		return widen[matrix.Float16, float32](a, values)
	case a.as == matrix.F16:
		return widen[matrix.Float16, float64](a, values)
	case a.r.m.meta.DType == matrix.F32:
		return widen[matrix.BFloat16, float32](a, values)
	}
	return widen[matrix.BFloat16, float64](a, values)
}

func widen[H kernel.Half, T kernel.Float](a *asked, values []byte) bool {
	src, ok := wire.Numbers[H](values)
	if !ok {
		return false
	}
	r, rows := a.r, int(a.at.Rows.Len())
	out, _ := wire.Numbers[T](r.out)
	if a.kind == rpc.KindKeys {
		at := lumps{k: r.keys, run: a.run, lump: int(r.at.Rows.Len()), lo: int(a.at.Rows.Lo - r.at.Rows.Lo), n: rows}
		scatterHalves(&at, out, src)
		return true
	}
	line, stride := int(a.at.Cols.Len()), int(r.at.Cols.Len())
	from := int(a.at.Rows.Lo-r.at.Rows.Lo)*stride + int(a.at.Cols.Lo-r.at.Cols.Lo)
	for i := range rows {
		kernel.Widen(out[from+i*stride:][:line], src[i*line:][:line])
	}
	return true
}

// takeStored keeps stored columns, each of n bytes, until all are there.
func (l *link) takeStored(a *asked, got *rpc.Part, n int) error {
	r := a.r
	parts := r.m.parts
	r.found = slices.Grow(r.found, len(got.Keys))
	for i, key := range got.Keys {
		switch {
		case i > 0 && key <= got.Keys[i-1]:
			return l.lie("matrix %s: stored column %d after %d, want ascending ones", r.m.meta.Name, key, got.Keys[i-1])
		case !a.at.Cols.Has(key) || parts.Bits > 0 && parts.Of(key) != a.part:
			return l.lie("matrix %s: stored column %d, want one of partition %d in %v", r.m.meta.Name, key, a.part, a.at.Cols)
		}
		r.found = append(r.found, column{key, a.at.Rows, len(r.bytes) + i*n})
	}
	r.ends = append(r.ends, len(r.found))
	r.bytes = append(r.bytes, got.Values...)
	return nil
}

// merge sorts columns of which those up to each of the ends ascend.
func merge(all []column, ends []int) []column {
	spare := make([]column, len(all))
	for len(ends) > 1 {
		from, left := 0, ends[:0]
		for i := 0; i < len(ends); i += 2 {
			mid, to := ends[i], ends[min(i+1, len(ends)-1)]
			a, b, out := all[from:mid], all[mid:to], spare[from:to]
			for k := range out {
				if len(b) == 0 || len(a) > 0 && a[0].key <= b[0].key {
					out[k], a = a[0], a[1:]
				} else {
					out[k], b = b[0], b[1:]
				}
			}
			left = append(left, to)
			from = to
		}
		all, spare, ends = spare, all, left
	}
	return all
}

// block is what was read, once all of it is there.
func (r *reading) block() matrix.Block {
	if r.data != nil {
		return matrix.Block{At: r.at, Data: r.data}
	}
	r.found = merge(r.found, r.ends)
	var keys []int64
	for i, c := range r.found { // a column comes once from each band of rows
		if i == 0 || c.key != r.found[i-1].key {
			keys = append(keys, c.key)
		}
	}
	size := r.m.meta.DType.Size()
	data := matrix.KindOf(r.m.meta.DType).Cols(keys, int(r.at.Rows.Len()))
	out, _ := wire.ViewAny(data.Values())
	lump := int(r.at.Rows.Len()) * size
	at := -lump
	for i, c := range r.found {
		if i == 0 || c.key != r.found[i-1].key {
			at += lump
		}
		n := int(c.rows.Len()) * size
		copy(out[at+int(c.rows.Lo-r.at.Rows.Lo)*size:][:n], r.bytes[c.at:])
	}
	return matrix.Block{At: r.at, Data: data}
}
