package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/spill"
	"thole.example/wire"
)

// stage is the deltas of a job that wait in memory for their clock.
type stage struct {
	mu     sync.Mutex
	deltas map[*delta]struct{}
}

// add remembers a delta that waits.
func (s *stage) add(d *delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deltas == nil {
		s.deltas = map[*delta]struct{}{}
	}
	s.deltas[d] = struct{}{}
}

// remove forgets a delta that waits no more.
func (s *stage) remove(d *delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.deltas, d)
}

// largest is the larger one of a delta and the largest of the stage.
func (s *stage) largest(most *delta) *delta {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.deltas {
		if most == nil || d.size > most.size {
			most = d
		}
	}
	return most
}

// scratch is where the deltas that wait for their clock go when there is no room for them: to disk, the largest first. They
// are read again when their clock is folded, one partition's share at a time.
type scratch struct {
	once   sync.Once
	staged chan struct{}

	mu   sync.Mutex
	disk *spill.Store // opened by the first that goes there
	last int          // number of the last that went
}

// open is the store on disk, and a name in it that nobody has.
func (s *scratch) open(dir string) (*spill.Store, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disk == nil {
		disk, err := spill.Open(spill.Options{Dir: dir})
		if err != nil {
			return nil, "", err
		}
		s.disk = disk
	}
	s.last++
	return s.disk, fmt.Sprintf("delta %d", s.last), nil
}

// largest is the largest delta of all jobs that waits in memory, nil if there is none. It waits there no more.
func (s *Server) largest() *delta {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	var most *delta
	for _, j := range jobs {
		most = j.stage.largest(most)
	}
	if most != nil {
		most.of.job.stage.remove(most)
	}
	return most
}

// Relieve sends deltas that wait for their clock to disk whenever those who would free memory find none, until ctx ends.
// Servers with a ledger need it running.
func (s *Server) Relieve(ctx context.Context) {
	starved := s.Ledger.Starved()
	for hungry := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-starved:
			hungry = true
		case <-s.staged():
		}
		if !hungry {
			continue
		}
		d := s.largest()
		if d == nil {
			continue // until something is staged
		}
		hungry = false // if that was not enough, the ledger says so when it gets the memory back
		if err := s.spill(d); err != nil {
			s.logger().Error("deltas that wait could not go to disk", "folder", s.Scratch, "err", err)
			d.of.job.abort(err)
		}
	}
}

// staged gets a token when a delta begins to wait.
func (s *Server) staged() chan struct{} {
	s.scratch.once.Do(func() { s.scratch.staged = make(chan struct{}, 1) })
	return s.scratch.staged
}

// wait keeps a delta until its clock is folded.
func (j *job) wait(d *delta) {
	if j.server.Ledger == nil {
		return
	}
	d.memory.Charge().Move(budget.Stage)
	j.stage.add(d)
	select {
	case j.server.staged() <- struct{}{}:
	default:
	}
}

// spill sends one delta to disk.
func (s *Server) spill(d *delta) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	disk, name, err := s.scratch.open(s.Scratch)
	if err != nil {
		return err
	}
	d.name = name
	values := d.part.Values
	size := d.valueBytes()
	for _, g := range d.part.Groups {
		n := len(values)
		if d.part.Kind == rpc.KindKeys {
			n = int(g.Keys) * size
		}
		at := matrix.At(int64(g.Partition), int64(g.Partition)+1, 0, int64(n))
		if err := disk.Put(spill.Key{Name: d.name, At: at}, matrix.Block{At: at, Data: &matrix.Dense[uint8]{Val: values[:n]}}); err != nil {
			return err
		}
		values = values[n:]
	}
	d.part.Keys, d.part.Values = slices.Clone(d.part.Keys), nil
	keys := s.Ledger.Force(budget.Stage, int64(8*len(d.part.Keys)))
	d.release()
	d.disk, d.memory, d.growth = disk, nil, keys
	return nil
}

// valueBytes is what a key of the delta brings.
func (d *delta) valueBytes() int { return d.part.DType.Size() * int(d.part.Rows.Len()) }

// forget removes what went to disk. The delta is locked.
func (d *delta) forget() {
	for _, g := range d.part.Groups {
		n := d.size
		if d.part.Kind == rpc.KindKeys {
			n = int(g.Keys) * d.valueBytes()
		}
		_ = d.disk.Delete(spill.Key{Name: d.name, At: matrix.At(int64(g.Partition), int64(g.Partition)+1, 0, int64(n))})
	}
}

// share is what a delta brings to a partition: some of its keys, and their values.
type share struct {
	d         *delta
	partition uint32
	first, n  int // of the keys
	lo, hi    int // of the values, in bytes
}

// shares calls f for what the delta brings to each of its partitions.
func (d *delta) shares(f func(s share)) {
	first, at, size := 0, 0, d.valueBytes()
	for _, g := range d.part.Groups {
		one := share{d: d, partition: g.Partition, first: first, n: int(g.Keys), lo: at, hi: at + d.size}
		if d.part.Kind == rpc.KindKeys {
			one.hi = at + int(g.Keys)*size
		}
		first, at = first+one.n, one.hi
		f(one)
	}
}

// with calls f with what the shares bring, in their order; the values are there until f returns.
func with(shares []share, into []shard.Delta, f func(deltas []shard.Delta) error) error {
	for i := len(into); i < len(shares); i++ {
		sh := &shares[i]
		d := sh.d
		d.mu.RLock()
		defer d.mu.RUnlock()
		one := shard.Delta{Rows: d.part.Rows, Cols: d.part.Cols.Intersect(d.of.parts.At(int(sh.partition)).Cols)}
		if d.part.Kind == rpc.KindKeys {
			one.Keys = d.part.Keys[sh.first:][:sh.n:sh.n]
		}
		if d.disk != nil {
			at := matrix.At(int64(sh.partition), int64(sh.partition)+1, 0, int64(sh.hi-sh.lo))
			return d.disk.View(spill.Key{Name: d.name, At: at}, func(b matrix.Block) error {
				one.Values = wire.View(b.Data.(*matrix.Dense[uint8]).Val)
				return with(shares, append(into, one), f)
			})
		}
		one.Values = d.part.Values[sh.lo:sh.hi:sh.hi]
		into = append(into, one)
	}
	return f(into)
}
