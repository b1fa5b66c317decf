package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
)

// create makes matrices of the job, with the partitions of them that are this server's. Those that are there already, and
// the same, stay as they are.
func (s *Server) create(m *member, x *rpc.Exchange) {
	var a rpc.Create
	err := json.Unmarshal(x.Arg, &a)
	if err != nil {
		err = fmt.Errorf("create: %w: %w", rpc.ErrMalformed, err)
	} else {
		err = checkCreate(&a)
	}
	c := creation{j: m.job, m: m, q: &request{x: x, durable: true}, known: a.Maps}
	for i := 0; i < len(a.Matrices) && err == nil; i++ {
		var made *store
		if made, err = s.newStore(m.job, &a, &a.Matrices[i]); err != nil {
			break
		}
		if made.number == 0 {
			made.accounts = m.job.accounts
		}
		c.stores = append(c.stores, made)
	}
	if err != nil {
		m.refuse(x, err)
		return
	}
	m.job.submit(&c)
}

// checkCreate says what is wrong with the number of the server.
func checkCreate(a *rpc.Create) error {
	if a.Servers < 1 || a.Index < 0 || a.Index >= a.Servers {
		return fmt.Errorf("create: server %d of %d: %w", a.Index, a.Servers, rpc.ErrMalformed)
	}
	return nil
}

// newStore is one matrix, without values, or the one that is there already if it is the same.
func (s *Server) newStore(j *job, a *rpc.Create, spec *rpc.Spec) (*store, error) {
	m := &spec.Meta
	choice, err := rpc.ParseNonFinite(spec.NonFinite)
	if err != nil {
		return nil, fmt.Errorf("matrix %q: non-finite %w: %w", m.Name, err, rpc.ErrMalformed)
	}
	spec.NonFinite = choice.String() // no name is one of them
	text, err := json.Marshal(struct {
		*rpc.Spec
		Servers, Index int
	}{spec, a.Servers, a.Index})
	if err != nil {
		return nil, err
	}
	if there := j.there(m.Name); there != nil && bytes.Equal(there.spec, text) { // all tasks but the first bring it
		return there, nil
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
	}
	if err := checkTexts(m); err != nil {
		return nil, err
	}
	cut, err := part.Lookup(spec.Partitioner, m)
	if err != nil {
		return nil, fmt.Errorf("matrix %q: %w: %w", m.Name, rpc.ErrRefused, err)
	}
	out := &store{job: j, spec: text, meta: m.Clone(), choice: choice}
	if m.Rule != "" {
		if out.rule, err = s.Funcs.Rule(m.Rule); err != nil {
			return nil, fmt.Errorf("matrix %q: %w: %w", m.Name, rpc.ErrNotFound, err)
		}
	}
	if out.parts, err = part.NewMap(m, cut, a.Servers, firstMap); err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
	}
	if m.Keep != (matrix.Keep{}) && out.parts.Bands() > 1 {
		return nil, fmt.Errorf("matrix %q: its rows are cut into %d bands, which would admit and expire columns apart, want the "+
			"partitioner hash or column: %w", m.Name, out.parts.Bands(), rpc.ErrRefused)
	}
	if len(m.Widths) > 0 && out.parts.Bands() > 1 {
		return nil, fmt.Errorf("matrix %q: its rows are cut into %d bands, and its columns have several widths, want the partitioner hash or "+
			"column: %w", m.Name, out.parts.Bands(), rpc.ErrRefused)
	}
	if m.Storage == matrix.I8 && out.parts.Bands() > 1 {
		return nil, fmt.Errorf("matrix %q: its rows are cut into %d bands, which would have scales of their own for int8, want the partitioner "+
			"hash or column: %w", m.Name, out.parts.Bands(), rpc.ErrRefused)
	}
	if err := shard.Check(m, out.rule); err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
	}
	if err := shard.CheckCut(m, out.rule, out.parts.Bits); err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
	}
	out.own = spec.Bound != nil
	if out.own {
		out.bound = *spec.Bound
	}
	out.partitions = make([]*partition, len(out.parts.Owners))
	for _, id := range out.parts.Owned(a.Index) {
		if _, err := shard.Need(m, out.parts.At(id), out.rule); err != nil {
			return nil, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
		}
		p := &partition{mailbox: mailbox{of: j}, id: id, at: len(out.owned), of: out}
		out.partitions[id], out.owned = p, append(out.owned, p)
	}
	out.blockRows, out.blockCols = cut.Block(m)
	out.digest = out.parts.Digest()
	return out, nil
}

// there is the matrix of the name, nil if there is none.
func (j *job) there(name string) *store {
	for _, s := range (*j.stores.Load())[1:] {
		if s.meta.Name == name {
			return s
		}
	}
	return nil
}

// firstMap is the version of the routing map of a matrix that was just made.
const firstMap = 1

// creation is matrices on their way into a job.
type creation struct {
	j      *job
	m      *member
	q      *request
	stores []*store // as they were asked for; those that are there already are replaced by those
	known  []string // digests of the maps that the sender has computed
}

// do implements work.
func (c *creation) do() {
	j := c.j
	all := slices.Clone(*j.stores.Load())
	before := len(all)
	e := ssp.Create[*request]{Req: c.q, Conn: c.m.conn}
	named := map[string]*store{}
	for _, s := range all[1:] {
		named[s.meta.Name] = s
	}
	var err error
	for i, s := range c.stores {
		if there := named[s.meta.Name]; there != nil {
			if !bytes.Equal(there.spec, s.spec) {
				err = fmt.Errorf("matrix %q of job %q is there, and is not the same: %w (start all workers alike, with the same servers "+
					"in the same order)", s.meta.Name, j.name, rpc.ErrExists)
				break
			}
			c.stores[i] = there
			continue
		}
		s.number = uint32(len(all))
		all, named[s.meta.Name] = append(all, s), s
		e.Matrices = append(e.Matrices, ssp.Matrix{
			ID: int(s.number), Name: s.meta.Name, Own: s.own, Bound: s.bound, Rule: s.rule != nil,
		})
	}
	fresh := all[before:]
	if err == nil {
		err = j.server.takeTables(fresh)
	}
	if err != nil {
		j.answer(c.q, nil, err)
		return
	}
	c.q.ready = func(ssp.Answer[*request]) { c.installed(all, fresh) }
	step{j, e, c.q}.do()
	if len(*j.stores.Load()) != len(all) { // refused
		release(fresh)
	}
}

// install makes matrices known, and has their partitions made, in the job's mailbox.
func (j *job) install(all, fresh []*store) {
	for _, s := range fresh {
		if !s.own {
			s.bound = j.bound
		}
		s.lasting = j.core.Attempt() > 0 || j.log != nil
		s.slowest.Store(int32(j.core.Slowest(int(s.number))))
	}
	j.stores.Store(&all)
	for _, s := range fresh {
		for _, p := range s.owned {
			p.bytes = s.reserved.Split(s.need(p.id))
			p.counted.Store(s.need(p.id))
			if p.post(p.deed(p.make)) {
				j.later.idle = append(j.later.idle, p)
			}
		}
		j.later.bytes += s.denseBytes()
	}
}

// installed answers when the matrices are there.
func (c *creation) installed(all, fresh []*store) {
	j := c.j
	j.install(all, fresh)
	if len(fresh) > 0 && j.log != nil {
		j.log.request(recordCreate, c.m.task, c.q.x.Request, c.q.x.Memory.Retain(), changes(c.q.x.Request))
	}
	var out rpc.Created
	for _, s := range c.stores {
		out.Numbers = append(out.Numbers, s.number)
		out.Clocks = append(out.Clocks, int32(max(0, j.core.ClockOf(c.m.task, int(s.number)))))
	}
	out.Maps = c.maps()
	j.answerJSON(c.q, out)
}

// maps are those that the sender does not know; none if it knows all.
func (c *creation) maps() []json.RawMessage {
	maps, unknown := make([]json.RawMessage, len(c.stores)), false
	for i, s := range c.stores {
		if i < len(c.known) && c.known[i] == s.digest {
			continue
		}
		maps[i], _ = json.Marshal(s.parts) // numbers alone
		unknown = true
	}
	if !unknown {
		return nil
	}
	return maps
}

// make gives the partition its initial values.
func (p *partition) make() {
	s := p.of
	sh, err := s.newShard(p.id)
	if err != nil {
		s.job.abort(err)
		return
	}
	p.shard = sh
	p.readyMark()
}

// readyMark has memory be found for the first mark of a job that will have some, if that leaves as much for others.
func (p *partition) readyMark() {
	if p.of.lasting {
		p.shard.ReadyMark(p.of.job.server.tablesLeft() / 2)
	}
	p.recount()
}

// newShard is a partition with its initial values.
func (s *store) newShard(id int) (*shard.Shard, error) {
	return shard.New(&s.meta, s.parts.At(id), s.parts.Bits, s.rule)
}

// denseBytes is about what the partitions here take from the start.
func (s *store) denseBytes() (total int64) {
	for _, p := range s.owned {
		total += s.need(p.id)
	}
	return total
}

// need is about what a partition takes from the start: nothing if it is sparse.
func (s *store) need(id int) int64 {
	n, _ := shard.Need(&s.meta, s.parts.At(id), s.rule) // it was checked
	return n
}
