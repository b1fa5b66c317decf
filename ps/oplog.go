package ps

import (
	"slices"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// delta is something that was pushed and not sent.
type delta struct {
	m      *Matrix
	at     matrix.Rect  // of what it is; of keys all columns
	block  matrix.Block // of a dense matrix, cut along the partitions when it is sent; without data the shares are all
	sent   bool         // it was sent once, and is not added to: a server may still look at it
	wire   matrix.DType // its values were rounded for that; Invalid: those of keys may be when they are sent
	exact  bool         // its values are sent as they are
	fixed  bool         // a staged function or assignment, or what was pushed before one: nothing is added to it
	assign bool         // cells become the values
	shares []share
}

// share is what one server gets of a delta. Keys and values lie in the arena of the server, or in memory of their own.
type share struct {
	server int
	part   rpc.Part
	keys   span
	values span
}

// drain empties the oplog into one push for each server that something is for.
func (c *Client) drain(r *round) []*rpc.Request {
	c.fold()
	qs := c.requests(rpc.OpPush)
	r.deltas, c.oplog = c.oplog, nil
	return qs
}

// requests is what the oplog has, as one request for each server that something is for.
func (c *Client) requests(op rpc.Op) []*rpc.Request {
	qs := make([]*rpc.Request, len(c.links))
	for i := range c.oplog {
		if d := &c.oplog[i]; d.block.Data != nil {
			d.shares = d.m.cut(d.block, d.wire)
		}
	}
	for i := range c.oplog {
		d := &c.oplog[i]
		c.lay(d)
		for k := range d.shares {
			s := &d.shares[k]
			if qs[s.server] == nil {
				qs[s.server] = &rpc.Request{Op: op}
			}
			s.part.Clock, s.part.Assign = int32(d.m.clock), d.assign
			qs[s.server].Parts = append(qs[s.server].Parts, s.part)
		}
		d.sent = true
	}
	for i, a := range c.arenas {
		switch {
		case a.buffer == nil:
		case qs[i] == nil: // what lay there was collected
			a.used = 0
		default:
			qs[i].Memory = a.leave()
		}
	}
	return qs
}

// lay points the delta's parts to their bytes, once these do not move any more, and has values of keys be as they cross the wire.
func (c *Client) lay(d *delta) {
	for i := range d.shares {
		s := &d.shares[i]
		a := c.arenas[s.server]
		if s.keys.n > 0 {
			s.part.Keys, _ = wire.Numbers[int64](a.in(s.keys))
		}
		if s.values.n > 0 {
			s.part.Values = a.in(s.values)
		}
	}
	switch {
	case d.block.Data != nil || d.sent:
	case d.wire == matrix.Invalid:
		d.m.round(d)
	default:
		for i := range d.shares {
			narrowKeys(&d.shares[i].part, d.wire)
		}
	}
}

// directLimit is how many deltas of one matrix wait as they came, for places of their own.
const directLimit = 64

// direct reports whether a delta for the place may wait as it came, one of so many keys, or with 0 a dense one: no other waits for a
// part of it. A dense one for the very same place is given to a dense delta, to be added to.
func (m *Matrix) direct(at matrix.Rect, keys int) (same *delta, ok bool) {
	if m.meta.DType.StorageOnly() {
		return nil, true
	}
	if m.gather != gatherAuto || m.filter >= 0 || m.sums != nil && !m.sums.empty() {
		return nil, false
	}
	dense := keys == 0
	if m.wire != matrix.Invalid && (dense || !m.oneBand() || sentDense(&m.meta, int64(keys))) { // it is rounded another way
		return nil, false
	}
	n := 0
	for i := range m.c.oplog {
		d := &m.c.oplog[i]
		switch {
		case d.m != m || d.fixed:
			continue
		case dense && !d.sent && d.block.Data != nil && d.at == at:
			return d, true
		case !d.at.Intersect(at).Empty():
			return nil, false
		}
		n++
	}
	return nil, n < directLimit
}

// append puts a dense block, which is the client's, into the oplog.
func (m *Matrix) append(b matrix.Block) {
	m.c.oplog = append(m.c.oplog, delta{m: m, at: b.At, block: b})
}

// gathered is the sums of the matrix, with what waited as it came.
func (m *Matrix) gathered() sums {
	if m.sums == nil {
		m.sums = newSums(m)
	}
	m.collect()
	return m.sums
}

// collect moves what waits as it came into the sums.
func (m *Matrix) collect() {
	c := m.c
	if !slices.ContainsFunc(c.oplog, func(d delta) bool { return d.m == m && !d.fixed }) {
		return
	}
	var others []delta
	laid := false // something of others lies in the arenas
	for i := range c.oplog {
		d := &c.oplog[i]
		if d.m != m || d.fixed {
			others = append(others, *d)
			laid = laid || d.block.Data == nil
			continue
		}
		if err := m.collectOne(d); err != nil {
			_ = c.fail(err) // it was taken before
		}
	}
	c.oplog = others
	if !laid {
		for _, a := range c.arenas {
			a.used = 0
		}
	}
}

func (m *Matrix) collectOne(d *delta) error {
	if d.block.Data != nil {
		return m.sums.block(d.block)
	}
	for i := range d.shares {
		s := &d.shares[i]
		keys, values := s.part.Keys, s.part.Values
		if a := m.c.arenas[s.server]; s.keys.n > 0 {
			keys, _ = wire.Numbers[int64](a.in(s.keys))
			values = a.in(s.values)
		}
		groups := slices.Clone(s.part.Groups)
		for i := range groups {
			groups[i].Partition %= uint32(m.parts.Beside()) // that of the first band
		}
		if s.part.DType != m.meta.DType { // it was sent, and refused
			var err error
			if values, err = widened(&s.part, m.meta.DType); err != nil {
				return err
			}
		}
		if err := m.sums.keyed(s.part.Rows, keys, groups, values); err != nil {
			return err
		}
	}
	return nil
}

// pending reports whether something was pushed and not sent.
func (c *Client) pending() bool {
	return len(c.oplog) > 0 || slices.ContainsFunc(c.order, func(m *Matrix) bool { return m.sums != nil && !m.sums.empty() })
}

// barrier keeps what is pushed later from being added to what was pushed to the matrix so far.
func (m *Matrix) barrier() error {
	if m.sums != nil && !m.sums.empty() {
		m.collect()
		if err := m.sums.fold(m.filter); err != nil {
			return err
		}
	}
	for i := range m.c.oplog {
		d := &m.c.oplog[i]
		d.fixed = d.fixed || d.m == m
	}
	return nil
}

// function reports whether it is a staged function.
func (d *delta) function() bool { return len(d.shares) > 0 && d.shares[0].part.Kind == rpc.KindFunc }

// restore makes a delta that was refused one that is not sent yet: its bytes leave the buffer that was sent.
func (d *delta) restore() {
	if d.block.Data != nil {
		d.shares = nil // it is cut again
		return
	}
	for i := range d.shares {
		s := &d.shares[i]
		s.part.Keys, s.part.Values = slices.Clone(s.part.Keys), copied(s.part.Values)
		s.keys, s.values = span{}, span{}
	}
}

// copied is the bytes at a multiple of 8.
func copied(b []byte) []byte {
	words := make([]uint64, (len(b)+7)/8)
	out := wire.View(words)[:len(b)]
	copy(out, b)
	return out
}

// cut cuts a dense delta along the partitions. What lies together is sent from where it is, if it is sent as it is.
func (m *Matrix) cut(b matrix.Block, as matrix.DType) []share {
	values, size := wire.ViewAny(b.Data.Values())
	width := b.At.Cols.Len()
	var shares []share
	for p, at := range m.parts.Route(b.At) {
		server := m.parts.Owners[p]
		s := share{server: server, part: m.part(rpc.KindDense, server, at)}
		s.part.Groups = []rpc.Group{{Partition: uint32(p)}}
		from := ((at.Rows.Lo-b.At.Rows.Lo)*width + at.Cols.Lo - b.At.Cols.Lo) * int64(size)
		line, stride := at.Cols.Len()*int64(size), width*int64(size)
		rows := at.Rows.Len()
		if as != matrix.Invalid {
			s.values = m.c.arenas[server].reserve(int(narrowest(&s.part, as)))
			dst, one := m.c.arenas[server].in(s.values), s.part
			for r := range rows {
				one.Rows = matrix.Range{Hi: 1}
				n, _ := one.NarrowBytes(one.DType)
				narrow(&one, dst[:n], values[from+r*stride:][:line], m.meta.DType)
				dst = dst[n:]
			}
		} else if s.part.Values = values[from : from+(rows-1)*stride+line]; (rows > 1 && line < stride) || from%8 != 0 {
			a := m.c.arenas[server]
			s.values = a.reserve(int(rows * line))
			dst := a.in(s.values)
			for r := range rows {
				copy(dst[r*line:(r+1)*line], values[from+r*stride:])
			}
		}
		shares = append(shares, s)
	}
	return shares
}

// part is the head of a part of the matrix for a server.
func (m *Matrix) part(kind rpc.Kind, server int, at matrix.Rect) rpc.Part {
	return rpc.Part{Kind: kind, DType: m.meta.DType, Matrix: m.numbers[server], Version: m.parts.Version, Rows: at.Rows, Cols: at.Cols}
}
