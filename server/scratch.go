package server

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/spill"
	"thole.example/wire"
)

// scratch is where the deltas that wait for their clock go when there is no room for them: to disk, the largest first. They
// are read again when their clock is folded, one partition's share at a time. Rows of partitions go to another store (paging.go).
type scratch struct {
	once   sync.Once
	staged chan struct{}
	hungry atomic.Bool // somebody looks for memory, and nothing waited that could go to disk

	mu           sync.Mutex
	deltas, rows *spill.Store // opened by the first that go there
	last         int          // number of the last name
}

// open is one of the stores on disk, and a name in it that nobody has.
func (s *scratch) open(store **spill.Store, o spill.Options, what string) (*spill.Store, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *store == nil {
		disk, err := spill.Open(o)
		if err != nil {
			return nil, "", err
		}
		*store = disk
	}
	s.last++
	return *store, fmt.Sprintf("%s %d", what, s.last), nil
}

// spill sends the deltas of a message to disk, and gives its memory back.
func (s *Server) spill(m *message) error {
	for _, d := range m.deltas {
		if err := s.spillDelta(d); err != nil {
			return err
		}
	}
	return nil
}

// spillDelta sends one delta to disk: a record for each partition, of its keys and then their values.
func (s *Server) spillDelta(d *delta) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	disk, name, err := s.scratch.open(&s.scratch.deltas, spill.Options{Dir: s.Scratch}, "delta")
	if err != nil {
		return err
	}
	d.disk, d.name = disk, name // from here on drop removes what is there
	keys, values := d.part.Keys, d.part.Values
	for sh := range d.shares() {
		record := values[sh.lo:sh.hi]
		if sh.n > 0 {
			record = slices.Concat(wire.View(keys[sh.first:][:sh.n]), record)
		}
		key := sh.key()
		if err := disk.Put(key, matrix.Block{At: key.At, Data: &matrix.Dense[uint8]{Val: record}}); err != nil {
			return err
		}
	}
	d.part.Keys, d.part.Values = nil, nil
	d.memory.Release()
	d.memory = nil
	return nil
}

// share is what a delta brings to a partition: some of its keys, and their values.
type share struct {
	d         *delta
	partition uint32
	first, n  int // of the keys
	lo, hi    int // of the values, in bytes
}

// shares are what the delta brings to each of its partitions.
func (d *delta) shares() iter.Seq[share] {
	return func(yield func(share) bool) {
		if d.call != nil {
			d.visits(yield)
			return
		}
		first, at, each := 0, 0, d.part.DType.Size()*int(d.part.Rows.Len())
		for _, g := range d.part.Groups {
			sh := share{d: d, partition: g.Partition, first: first, n: int(g.Keys), lo: at, hi: at + d.size}
			if d.part.Kind == rpc.KindKeys {
				sh.hi = at + int(g.Keys)*each
			}
			if !yield(sh) {
				return
			}
			first, at = first+sh.n, sh.hi
		}
	}
}

// visits are the partitions that a function has to do with.
func (d *delta) visits(yield func(share) bool) {
	for _, p := range d.of.owned {
		if d.call.Touches(d.of.parts.At(p.id).Rows) && !yield(share{d: d, partition: uint32(p.id)}) {
			return
		}
	}
}

// key is where the share is on disk: keys, and then values.
func (sh *share) key() spill.Key {
	p := int64(sh.partition)
	return spill.Key{Name: sh.d.name, At: matrix.At(p, p+1, 0, int64(8*sh.n+sh.hi-sh.lo))}
}

// forget removes what went to disk. The delta is locked.
func (d *delta) forget() {
	for sh := range d.shares() {
		_ = d.disk.Delete(sh.key())
	}
}

// onDisk is how many bytes of the shares have to be read from disk.
func onDisk(shares []share) (n int64) {
	for i := range shares {
		sh := &shares[i]
		sh.d.mu.RLock()
		if sh.d.disk != nil {
			n += int64(8*sh.n + sh.hi - sh.lo)
		}
		sh.d.mu.RUnlock()
	}
	return n
}

// taker takes what shares bring.
type taker interface {
	take(deltas []shard.Delta) error
}

// takes is a taker that is a function.
type takes func(deltas []shard.Delta) error

func (f takes) take(deltas []shard.Delta) error { return f(deltas) }

// with has t take what the shares bring, in their order; the values are there until it has.
func with(shares []share, into []shard.Delta, t taker) error {
	from, held := len(into), len(into)
	defer func() {
		for i := from; i < held; i++ {
			shares[i].d.mu.RUnlock()
		}
	}()
	for held < len(shares) {
		sh := &shares[held]
		d := sh.d
		d.mu.RLock()
		held++
		cols := d.of.parts.At(int(sh.partition)).Cols
		if d.disk != nil {
			return withDisk(shares, into, sh.empty(cols), t)
		}
		into = append(into, sh.inMemory(cols))
	}
	return t.take(into)
}

// empty is the share without its keys and values; cols are those of the partition.
func (sh *share) empty(cols matrix.Range) shard.Delta {
	return shard.Delta{Rows: sh.d.part.Rows, Cols: sh.d.part.Cols.Intersect(cols)}
}

// inMemory is the share, of a delta that does not lie on disk; cols are those of the partition.
func (sh *share) inMemory(cols matrix.Range) shard.Delta {
	one, p := sh.empty(cols), &sh.d.part
	if p.Kind == rpc.KindKeys {
		one.Keys = p.Keys[sh.first:][:sh.n:sh.n]
	}
	one.Values = p.Values[sh.lo:sh.hi:sh.hi]
	return one
}

// withDisk is with for shares of which the first that into has not lies on disk; one is that without its keys and values. (A
// function of its own, so that nothing is allocated for what lies in memory.)
func withDisk(shares []share, into []shard.Delta, one shard.Delta, t taker) error {
	sh := &shares[len(into)]
	return sh.d.disk.View(sh.key(), func(b matrix.Block) error {
		raw := wire.View(b.Data.(*matrix.Dense[uint8]).Val)
		if sh.d.part.Kind == rpc.KindKeys {
			one.Keys, _ = wire.Numbers[int64](raw[:8*sh.n]) // records are aligned
		}
		one.Values = raw[8*sh.n:]
		return with(shares, append(into, one), t)
	})
}
