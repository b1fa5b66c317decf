package server

import (
	"fmt"
	"sync"
	"sync/atomic"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
)

// pullLimit is how many bytes of values one request may ask for.
const pullLimit = 1 << 32

// gather is the answer to a request for values: each partition writes its share, and whoever brings the last sends it.
type gather struct {
	x     *rpc.Exchange
	r     *rpc.Response
	parts []answered // of each part of the answer
	reads []read
	size  int64 // of all values
	// withOwn says that values come with what the task itself has pushed: what own has, once the job's core has told.
	withOwn bool
	own     []*delta
	// log is what the answer waits for: the values come with the answer to a change, or columns are made for them, or what others have
	// changed is seen at once and must not be gone when it is looked at again.
	log  *jobLog
	left atomic.Int32
	err  atomic.Pointer[error]
	few  shard.Few // of readFew
}

// answered is where the values of a part come from, and where they lie in the memory of the answer.
type answered struct {
	from   *store
	lo, hi int64
}

// read is one partition's share of an answer: some of the values of a part.
type read struct {
	g      *gather
	from   *partition
	part   int
	keys   []int64
	make   bool        // columns that are not there
	own    bool        // with what the task itself has pushed
	lo, hi int64       // in the memory of the answer
	memory *rpc.Buffer // of stored columns, whose number is known only when they are read
}

var gathers = sync.Pool{New: func() any { return new(gather) }}

// newGather checks what a request asks for and says what each partition reads. Nothing is read and no memory taken yet.
func (j *job) newGather(x *rpc.Exchange) (*gather, error) {
	g := gathers.Get().(*gather)
	g.x, g.r, g.size = x, &rpc.Response{}, 0
	g.r.Parts = make([]rpc.Part, 0, len(x.Parts))
	for i := range x.Parts {
		if x.Parts[i].Values != nil {
			continue
		}
		if err := g.ask(j, &x.Parts[i]); err != nil {
			g.free()
			return nil, err
		}
	}
	return g, nil
}

// ask adds a part that is asked for.
func (g *gather) ask(j *job, p *rpc.Part) error {
	s, err := j.store(p.Matrix)
	if err == nil {
		err = s.check(p)
	}
	if err != nil {
		return err
	}
	if s.bound == ssp.ASP {
		g.log = j.log
	}
	part, keys, lo, as := len(g.r.Parts), p.Keys, g.size, s.answerType(p)
	for _, group := range p.Groups {
		r := read{g: g, from: s.partitions[group.Partition], part: part, keys: keys[:group.Keys:group.Keys], make: p.Make, own: p.Own, lo: g.size}
		keys = keys[group.Keys:]
		cells, ok := int64(0), true
		switch p.Kind {
		case rpc.KindDense:
			cells, ok = matrix.Rect{Rows: p.Rows, Cols: p.Cols}.Cells()
		case rpc.KindKeys:
			cells, ok = matrix.Cells(p.Rows.Len(), int64(len(r.keys)))
		}
		if g.size += cells * int64(as.Size()); !ok || cells > pullLimit || g.size > pullLimit {
			return fmt.Errorf("matrix %q: more than 4 GiB of values asked for at once: %w", s.meta.Name, rpc.ErrTooLarge)
		}
		r.hi = g.size
		g.reads = append(g.reads, r)
	}
	g.parts = append(g.parts, answered{s, lo, g.size})
	g.size = (g.size + 7) &^ 7 // where the next part's values begin
	if p.Own && s.rule != nil {
		return fmt.Errorf("matrix %q: reading one's own writes, which are gradients for rule %s: %w", s.meta.Name, s.rule.Name, rpc.ErrMalformed)
	}
	g.withOwn = g.withOwn || p.Own
	if p.Make && (p.Kind != rpc.KindKeys || s.parts.Bits > 0 && s.foreign(p)) {
		return fmt.Errorf("matrix %q: columns to be made that are not keys of their partitions: %w", s.meta.Name, rpc.ErrMalformed)
	}
	g.r.Parts = append(g.r.Parts, rpc.Part{Kind: p.Kind, DType: as, Matrix: p.Matrix, Rows: p.Rows, Cols: p.Cols})
	return nil
}

// begin takes memory for the answer.
func (g *gather) begin(j *job) {
	g.r.Clock = int32(j.slowest.Load())
	g.r.Memory = g.x.Buffer(int(g.size))
	for i, a := range g.parts {
		p := &g.r.Parts[i]
		p.Clock = int32(a.from.slowest.Load())
		if a.hi > a.lo {
			p.Values = g.r.Memory.Bytes()[a.lo:a.hi:a.hi]
		}
	}
}

// post gives every partition its share to read; it adds those that somebody must run to idle.
func (g *gather) post(j *job, idle []*partition) []*partition {
	g.begin(j)
	reads := g.reads
	g.left.Store(int32(len(reads)) + 1)
	if len(reads) > 1 {
		still := j.still.of(g.x.From)
		still.RLock()
		defer still.RUnlock()
	}
	for i := range reads {
		if r := &reads[i]; r.from.post(r) {
			idle = append(idle, r.from)
		}
	}
	return idle
}

// do implements work.
func (r *read) do() {
	if err := r.read(); err != nil {
		r.g.fail(err)
	}
	r.g.done()
}

// fail keeps why the answer is an error. (A function of its own, so that a read which goes well allocates nothing.)
func (g *gather) fail(err error) { g.err.Store(&err) }

func (r *read) read() (err error) {
	defer r.from.of.job.server.recovered(&err)
	from, p := r.from.shard, &r.g.r.Parts[r.part]
	if from == nil {
		return r.from.gone()
	}
	if err := r.from.makeRoom(0); err != nil {
		return err
	}
	defer r.from.looked()
	dst := r.g.r.Memory.Bytes()[r.lo:r.hi:r.hi]
	narrow := p.DType != r.from.of.meta.DType
	if r.own && len(r.g.own) > 0 {
		return r.readOwn(from, p, dst)
	}
	switch p.Kind {
	case rpc.KindDense:
		if narrow {
			return r.readNarrow(dst, p)
		}
		return from.ReadRect(dst, matrix.Rect{Rows: p.Rows, Cols: p.Cols})
	case rpc.KindKeys:
		if r.make {
			if err := r.from.create(r.keys); err != nil {
				return err
			}
		}
		if narrow {
			return r.readNarrow(dst, p)
		}
		return from.Read(dst, p.Rows, r.keys)
	case rpc.KindStored:
		if from.Absent() != nil {
			return fmt.Errorf("matrix %q: columns that are not stored have values: %w", r.from.of.meta.Name, errAbsent)
		}
		p.Keys, p.Values, err = from.Stored(p.Rows, p.Cols, func(columns, bytes int) []byte {
			r.memory = r.g.x.More(bytes, 8*columns)
			return r.memory.Bytes()
		})
		return err
	}
	return nil
}

// create makes the columns that are not there.
func (p *partition) create(keys []int64) error {
	if err := p.enough([]shard.Delta{{Keys: keys}}); err != nil {
		return err
	}
	defer p.recount()
	return p.shard.Make(keys)
}

// foreign reports whether some keys of the part are not of the partitions that it says.
func (s *store) foreign(p *rpc.Part) bool {
	keys := p.Keys
	for _, g := range p.Groups {
		for _, k := range keys[:g.Keys] {
			if s.parts.Of(k) != int(g.Partition) {
				return true
			}
		}
		keys = keys[g.Keys:]
	}
	return false
}

// done is called once for each share, and once by who posted them.
func (g *gather) done() {
	if g.left.Add(-1) > 0 {
		return
	}
	x, r, log, err := g.x, g.r, g.log, g.err.Load()
	for _, d := range g.own {
		d.end()
	}
	for i := range g.reads {
		if memory := g.reads[i].memory; memory != nil {
			r.Memory.Hold(memory)
		}
	}
	g.free()
	a := answer{x: x, r: r}
	if err != nil {
		r.Release()
		a.r, a.err = nil, *err
	}
	if !log.hold(&a) {
		a.send()
	}
}

// free keeps the memory of g for another answer.
func (g *gather) free() {
	clear(g.reads)
	clear(g.parts)
	g.x, g.r, g.reads, g.parts = nil, nil, g.reads[:0], g.parts[:0]
	g.withOwn, g.own, g.log = false, nil, nil
	g.err.Store(nil)
	gathers.Put(g)
}
