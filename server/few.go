package server

import (
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
)

// fewKeys is up to how many keys of several partitions are read by who brings the request, all at once. More are so many for each partition
// that nothing is gained.
const fewKeys = 256

// readFew reads what a gather wants where that is few keys, and all their partitions are idle: it is the owner of all for that time, in
// place of posting work to each. It reports whether it did; then the answer is for done to send.
func (j *job) readFew(g *gather) bool {
	if !g.isFew() {
		return false
	}
	reads := g.reads
	still := j.still.of(g.x.From)
	still.RLock()
	owned := 0
	for owned < len(reads) && reads[owned].from.try() {
		owned++
	}
	still.RUnlock()
	if owned == len(reads) {
		g.begin(j)
		g.left.Store(1)
		if err := g.readAll(); err != nil {
			g.fail(err)
		}
	}
	for i := range reads[:owned] {
		reads[i].from.run()
	}
	return owned == len(reads)
}

// isFew reports whether it asks for few columns by their keys, as they are.
func (g *gather) isFew() bool {
	keys := 0
	for i := range g.reads {
		r := &g.reads[i]
		p := &g.r.Parts[r.part]
		keys += len(r.keys)
		if p.Kind != rpc.KindKeys || r.make || p.DType != r.from.of.meta.DType || keys > fewKeys {
			return false
		}
	}
	return len(g.reads) > 1 && !g.withOwn
}

// readAll reads all shares; the caller is the owner of their partitions.
func (g *gather) readAll() (err error) {
	defer g.reads[0].from.of.job.server.recovered(&err)
	defer g.few.Reset()
	memory := g.r.Memory.Bytes()
	for i := range g.reads {
		r := &g.reads[i]
		if r.from.shard == nil {
			return r.from.gone()
		}
		if err := r.from.makeRoom(0); err != nil {
			return err
		}
		if err := g.few.Add(r.from.shard, memory[r.lo:r.hi:r.hi], g.r.Parts[r.part].Rows, r.keys); err != nil {
			return err
		}
	}
	if err := g.few.Read(); err != nil {
		return err
	}
	for i := range g.reads {
		g.reads[i].from.looked()
	}
	return nil
}

// own makes the caller the owner of partitions that the fold is for, up to the first that is not idle. It answers with how many of all
// it has come to.
func (f *fold) own() int {
	for i := range f.applies {
		if to := f.applies[i].to; to != nil && !to.try() {
			return i
		}
	}
	return len(f.applies)
}

// isFew reports whether the fold has few columns of one delta by their keys, and no more partitions than that is worth.
func (f *fold) isFew() bool {
	if len(f.deltas) != 1 || len(f.applies) > fewKeys || f.over != nil || f.of.meta.Layout != matrix.RowSparse || f.of.canPage() {
		return false
	}
	d := f.deltas[0]
	return d.call == nil && !d.part.Assign && d.part.Kind == rpc.KindKeys && d.keys <= fewKeys
}

// doFew applies the fold, whose partitions the caller owns, and then does what others have posted to them meanwhile.
func (f *fold) doFew() {
	applies := f.applies
	f.fail(f.of.job.server.try(f.applyFew))
	for i := range applies {
		if a := &applies[i]; a.to != nil && !a.made {
			f.fail(a.apply())
		}
	}
	for i := range applies {
		if to := applies[i].to; to != nil {
			to.run()
		}
	}
	f.left.Store(1)
	f.done()
}

// applyFew applies what the partitions have to apply where nothing is made by it but changes of columns that are there.
func (f *fold) applyFew() {
	d := f.deltas[0]
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.disk != nil {
		return
	}
	var room [64]*apply
	some := room[:0]
	for i := range f.applies {
		a := &f.applies[i]
		if a.to == nil || a.to.shard == nil || len(a.work) > 1 {
			continue
		}
		one := shard.Delta{Keys: []int64{}}
		if len(a.work) == 1 {
			one = a.work[0].inMemory(a.to.shard.At().Cols)
		}
		if a.made = f.few.Add(a.to.shard, one, int64(f.clock)); a.made {
			some = append(some, a)
		}
	}
	f.few.Apply(f.weight, f.rate, func(i int) { some[i].made = false })
}
