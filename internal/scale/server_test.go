package scale

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/shard"
	"thole.example/ssp"
)

// request is what a task asks of a server.
type request struct {
	conn *conn
	keys []int64 // that a pull reads
	mark bool    // it is for a checkpoint: all that the server has is read
	join *ssp.Join[*request]
	from func(e ssp.Effect, values map[int64]int64) // takes the answer, on the task's side
}

// delta is what a push brings to a server.
type delta struct{ keys []int64 }

type (
	job = ssp.Job[*delta, *request]
	// entry is an event in the log of a server.
	entry struct {
		conn  int64
		event ssp.Event
	}
)

// server is a process that has a share of the job: the job's machine and the partitions that are its own.
type server struct {
	w      *world
	place  *place
	index  int
	job    *job
	parts  *part.Map
	shards map[int]*shard.Shard
	conns  map[int64]*conn
	dead   bool
	busy   time.Duration
	alarm  time.Duration
	base   base
	log    []entry // since base
	synced int     // of log
	shown  int     // clock that is folded
	held   []func()
	syncs  bool
}

// base is where a log begins.
type base struct {
	clock int // of the checkpoint that the attempt goes on from
	state *ssp.State[*delta]
	cells map[int64]int64
	seats map[int]int64 // connections by task
}

func (w *world) newServer(p *place, servers int) *server {
	s := &server{w: w, place: p, index: p.index, conns: map[int64]*conn{}}
	s.cut(servers)
	s.clear()
	return s
}

// cut makes the partitions that are the server's, of so many servers.
func (s *server) cut(servers int) {
	s.parts, _ = part.NewMap(&s.w.meta, s.w.cut, servers, 1)
	s.empty()
}

// empty makes partitions without cells.
func (s *server) empty() {
	for _, sh := range s.shards {
		sh.Close()
	}
	s.shards = map[int]*shard.Shard{}
	for _, p := range s.parts.Owned(s.index) {
		sh, err := shard.New(&s.w.meta, s.parts.At(p), s.parts.Bits, nil)
		if err != nil {
			s.w.fail("partition %d: %v", p, err)
		}
		s.shards[p] = sh
	}
}

// clear begins with a job that nobody has joined and partitions without cells.
func (s *server) clear() {
	s.job = ssp.NewJob[*delta, *request]("j")
	s.job.Record()
	s.log, s.synced, s.base, s.shown = nil, 0, base{}, 0
	s.empty()
}

// step lets an event happen to the job's machine, and does what follows.
func (s *server) step(conn int64, e ssp.Event) {
	effects := slices.Clone(s.job.Step(s.w.now, e))
	s.w.count.steps++
	if s.place.logs() {
		s.record(conn, e)
	}
	for _, e := range effects {
		s.do(e)
	}
	if at, ok := s.job.Next(); ok && (s.alarm <= s.w.now || at < s.alarm) {
		s.alarm = at
		s.w.at(at, func() {
			if next, ok := s.job.Next(); !s.dead && ok && next <= s.w.now {
				s.step(0, ssp.Deadline{})
			}
		})
	}
}

func (s *server) do(e ssp.Effect) {
	switch e := e.(type) {
	case ssp.Apply[*delta]:
		s.apply(e.Deltas)
	case ssp.Published:
		s.w.published(s, e)
	case ssp.Answer[*request]:
		if j := e.Req.join; j != nil {
			s.reply(e.Req, joined{e, s.job.LastChange(j.Task), s.job.ClockOf(j.Task, 0), s.base.clock}, nil)
			return
		}
		s.reply(e.Req, e, s.read(e.Req))
	case ssp.Refuse[*request]:
		s.reply(e.Req, e, nil)
	case ssp.Later[*request]:
		s.reply(e.Req, e, nil)
	case ssp.Roster[*request]:
		s.w.count.rosters++
		s.reply(e.Req, e, nil)
	case ssp.Ordered[*request]:
		s.reply(e.Req, e, nil)
	case ssp.Anew[*request]:
		s.join(*e.Req.join)
	case ssp.DropConn:
		if c := s.conns[e.Conn]; c != nil {
			delete(s.conns, e.Conn)
			c.end()
		}
	}
}

// join brings a Join to the job, which begins anew if it has ended.
func (s *server) join(j ssp.Join[*request]) {
	if s.job.Ended() {
		s.clear()
	}
	s.conns[j.Conn] = j.Req.conn
	s.step(j.Conn, j)
}

// reply sends an answer, with a log once what it tells of is in that.
func (s *server) reply(r *request, e ssp.Effect, values map[int64]int64) {
	send := func() { r.conn.answer(func() { r.from(e, values) }) }
	if r.from == nil {
		return
	}
	if !s.place.logs() {
		send()
		return
	}
	s.held = append(s.held, send)
}

// record writes an event to the log. Answers wait until that is on the disk.
func (s *server) record(conn int64, e ssp.Event) {
	switch e.(type) {
	case ssp.Pull[*request], ssp.Members[*request], ssp.Deadline, ssp.Await[*request], ssp.Move[*request]:
	default:
		s.log = append(s.log, entry{conn, e})
	}
	if s.syncs {
		return
	}
	s.syncs = true
	s.w.after(syncTime, func() {
		if s.dead {
			return
		}
		held := s.held
		s.syncs, s.held, s.synced = false, nil, len(s.log)
		for _, send := range held {
			send()
		}
	})
}

// apply adds the deltas of a clock.
func (s *server) apply(all []*delta) {
	by := map[int][]int64{}
	for _, d := range all {
		for _, k := range d.keys {
			p := s.parts.Of(k)
			by[p] = append(by[p], k)
		}
	}
	for p, keys := range by {
		s.add(p, keys)
	}
}

// add counts keys of a partition, of which some may come several times.
func (s *server) add(p int, keys []int64) {
	slices.Sort(keys)
	d := shard.Delta{Rows: matrix.Range{Hi: 1}, Cols: s.w.meta.Rect().Cols}
	for i := 0; i < len(keys); {
		n := i
		for i < len(keys) && keys[i] == keys[n] {
			i++
		}
		d.Keys = append(d.Keys, keys[n])
		d.Values = binary.NativeEndian.AppendUint64(d.Values, uint64(i-n))
	}
	s.put(p, d)
}

func (s *server) put(p int, d shard.Delta) {
	if s.shards[p] == nil {
		s.w.fail("server %d is asked for partition %d, which is another's", s.index, p)
		return
	}
	if err := s.shards[p].Apply([]shard.Delta{d}, 0, 0); err != nil {
		s.w.fail("%v", err)
	}
}

// read is what a pull asks for, as of now.
func (s *server) read(r *request) map[int64]int64 {
	out := map[int64]int64{}
	if r.mark {
		s.each(func(k, v int64) { out[k] = v })
		return out
	}
	word := make([]byte, 8)
	for _, k := range r.keys {
		sh := s.shards[s.parts.Of(k)]
		if sh == nil {
			s.w.fail("key %d is asked of server %d, which has it not", k, s.index)
			return nil
		}
		if err := sh.Read(word, matrix.Range{Hi: 1}, []int64{k}); err != nil {
			s.w.fail("%v", err)
		}
		out[k] = int64(binary.NativeEndian.Uint64(word))
	}
	return out
}

// each gives all cells of the server.
func (s *server) each(f func(key, value int64)) {
	for _, sh := range s.shards {
		keys, values, err := sh.Stored(matrix.Range{Hi: 1}, matrix.Range{Hi: math.MaxInt64}.Intersect(s.w.meta.Rect().Cols),
			func(columns, bytes int) []byte { return make([]byte, bytes) })
		if err != nil {
			s.w.fail("%v", err)
		}
		for i, k := range keys {
			f(k, int64(binary.NativeEndian.Uint64(values[8*i:])))
		}
	}
}

// load gives the server its share of cells.
func (s *server) load(cells map[int64]int64) {
	by := map[int]*shard.Delta{}
	for k, v := range cells {
		p := s.parts.Of(k)
		if s.parts.Owners[p] != s.index {
			continue
		}
		d := by[p]
		if d == nil {
			d = &shard.Delta{Rows: matrix.Range{Hi: 1}, Cols: s.w.meta.Rect().Cols}
			by[p] = d
		}
		d.Keys, d.Values = append(d.Keys, k), binary.NativeEndian.AppendUint64(d.Values, uint64(v))
	}
	for p, d := range by {
		s.put(p, *d)
	}
}

// servers is of how many the server is one.
func (s *server) servers() int { return s.parts.Owners[len(s.parts.Owners)-1] + 1 }

func (s *server) gone(c *conn) {
	if s.conns[c.id] == c {
		delete(s.conns, c.id)
		s.step(c.id, ssp.Gone{Conn: c.id})
	}
}

// replay is a process that goes on where the log of another ends.
func (s *server) replay(from *server) {
	s.w.count.replays++
	if from.base.state != nil {
		j, err := ssp.FromState[*delta, *request](*from.base.state, s.w.now)
		if err != nil {
			s.w.fail("base of server %d: %v", s.index, err)
			return
		}
		s.job = j
		s.job.Record()
		for _, task := range slices.Sorted(maps.Keys(from.base.seats)) {
			s.job.Seat(task, from.base.seats[task])
		}
		s.load(from.base.cells)
	}
	s.base, s.log = from.base, from.log[:from.synced:from.synced]
	s.synced = len(s.log)
	open := map[int64]bool{}
	for _, c := range from.base.seats {
		open[c] = true
	}
	for _, e := range s.log {
		if e.conn > 0 {
			open[e.conn] = true
		}
		for _, effect := range slices.Clone(s.job.Step(s.w.now, e.event)) {
			if a, ok := effect.(ssp.Apply[*delta]); ok {
				s.apply(a.Deltas)
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(open)) { // nobody is connected to this process yet
		s.job.Step(s.w.now, ssp.Gone{Conn: c})
	}
}
