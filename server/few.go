package server

import (
	"thole.example/rpc"
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
