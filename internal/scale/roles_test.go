package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"thole.example/coord"
)

const cluster = "c"

// nowhere is the context of requests that take no time by themselves.
var nowhere = context.Background()

// place is where the process of a server runs, again and again, and its claim of the role.
type place struct {
	w       *world
	index   int
	life    int
	server  *server // that runs there; nil: none, or it has no role yet
	before  *server // the process before, whose log is on the disk
	claim   *coord.Claimant
	version int // of what the claim waits for
	alarm   time.Duration
}

func (p *place) logs() bool { return p.w.setup.logs }

func (p *place) addr() string { return fmt.Sprintf("host-%d", p.index) }

// start starts a process, which claims the role.
func (p *place) start() {
	p.life++
	p.alarm = 0
	log, fresh := "", ""
	if p.logs() {
		if fresh = fmt.Sprintf("log-%d-%d", p.index, p.life); p.before != nil {
			log = fmt.Sprintf("log-%d", p.index)
			fresh = log
		} else {
			fresh = fmt.Sprintf("log-%d", p.index)
		}
	}
	me := coord.Holder{ID: fmt.Sprintf("claim-%d-%d", p.index, p.life), Addr: p.addr(), Lease: lease, Log: fresh}
	var err error
	if p.claim, err = coord.NewClaimant(coord.Server(p.index), me, log, p.w.seed%3 > 0); err != nil {
		p.w.fail("%v", err)
		return
	}
	p.step(coord.Deadline{})
}

// kill ends the process, without a word.
func (p *place) kill() {
	s := p.server
	if s == nil || p.w.finishing() || p.index >= p.w.saved.servers {
		return
	}
	p.w.count.kills++
	p.w.blame("a server")
	s.dead, p.server, p.claim, p.before = true, nil, nil, s
	for _, id := range slices.Sorted(maps.Keys(s.conns)) { // in an order, or one seed would be several stories
		s.conns[id].end()
	}
	p.w.after(restart, p.start)
}

// step lets an event happen to the claim.
func (p *place) step(e coord.Event) {
	w, claim := p.w, p.claim
	for _, effect := range claim.Step(w.now, e) {
		switch e := effect.(type) {
		case coord.Get:
			p.read(claim, e.Seq)
		case coord.Watch:
			w.store.watch(coord.Server(p.index), e.Seen, func() { p.read(claim, e.Seq) })
		case coord.Put:
			p.write(claim, e)
		case coord.Hold:
			p.holds(e)
		case coord.End:
			w.fail("the claim of server %d has ended: %v", p.index, e.Err)
		}
	}
	if at, ok := claim.Next(); ok && (p.alarm <= w.now || at < p.alarm) {
		p.alarm = at
		w.at(at, func() { p.event(claim, coord.Deadline{}) })
	}
}

// event lets an event happen if the process is still that of the claim.
func (p *place) event(claim *coord.Claimant, e coord.Event) {
	if p.claim == claim {
		p.step(e)
	}
}

func (p *place) read(claim *coord.Claimant, seq uint64) {
	w := p.w
	w.after(w.delay(), func() {
		w.count.storeRequests++
		h, v, err := coord.Who(nowhere, &w.store, cluster, coord.Server(p.index))
		w.after(w.delay(), func() { p.event(claim, coord.Read{Seq: seq, Holder: h, Version: v, Err: err}) })
	})
}

func (p *place) write(claim *coord.Claimant, e coord.Put) {
	w := p.w
	w.after(w.delay(), func() {
		w.count.storeRequests++
		text, err := json.Marshal(e.Holder)
		if err != nil {
			w.fail("%v", err)
		}
		v, err := w.store.Put(nowhere, cluster+"/"+string(coord.Server(p.index)), text, e.Old)
		if w.rnd.IntN(1000) == 0 {
			v, err = "", errors.New("the answer was lost")
		}
		w.after(w.delay(), func() { p.event(claim, coord.Wrote{Seq: e.Seq, Version: v, Err: err}) })
	})
}

// holds is that the process has the role, for the first time or still.
func (p *place) holds(e coord.Hold) {
	if p.server != nil {
		return
	}
	s := p.w.newServer(p, p.w.saved.servers)
	if p.before != nil && e.Continues == coord.FromLog {
		s = p.w.newServer(p, p.before.servers())
		s.replay(p.before)
	}
	p.server = s
	if e.Continues != coord.Anew {
		claim := p.claim
		p.w.after(0, func() { p.event(claim, coord.Own{}) })
	}
}

// roles is the store of roles and jobs.
type roles struct {
	w *world
	*coord.Memory
	watching map[string][]func()
}

// Put implements coord.Store, and tells those who watch.
func (r *roles) Put(ctx context.Context, key string, data []byte, old coord.Version) (coord.Version, error) {
	v, err := r.Memory.Put(ctx, key, data, old)
	if err == nil {
		all := r.watching[key]
		delete(r.watching, key)
		for _, do := range all {
			do()
		}
	}
	return v, err
}

// watch calls do when the record of a role has another version than seen.
func (r *roles) watch(role coord.Role, seen coord.Version, do func()) {
	key := cluster + "/" + string(role)
	if _, v, _ := r.Get(nowhere, key); v != seen {
		do()
		return
	}
	r.watching[key] = append(r.watching[key], do)
}

// impatient is a store that waits for nobody.
type impatient struct{ *roles }

var errMissing = errors.New("somebody is missing")

func (impatient) Watch(context.Context, string, coord.Version) ([]byte, coord.Version, error) {
	return nil, "", errMissing
}

// find is the servers of the job, nil if not all roles are held.
func (r *roles) find(n int) []coord.Member {
	r.w.count.storeRequests++
	all, err := coord.Find(nowhere, impatient{r}, cluster, n)
	if err != nil && !errors.Is(err, errMissing) {
		r.w.fail("%v", err)
	}
	return all
}

// job is what the catalogue has of the job.
func (r *roles) job() coord.Job {
	r.w.count.storeRequests++
	j, err := coord.Last(nowhere, r, cluster, "j")
	if err != nil {
		r.w.fail("%v", err)
	}
	return j
}

// begin says that an attempt has begun; whoever is in an earlier one hears of it, and the first task of what becomes of the servers.
func (r *roles) begin(t *task) error {
	w := r.w
	w.count.storeRequests += 3
	if before := r.job(); before.Attempt >= t.attempt && !t.goesOn {
		return fmt.Errorf("attempt %d has begun", before.Attempt)
	}
	if _, err := coord.Begin(nowhere, r, cluster, "j", t.attempt, t.members); err != nil {
		return err
	}
	for _, o := range w.tasks {
		w.after(w.delay(), func() {
			if !o.dead && o.number > 0 && o.attempt < t.attempt && o.phase != finding {
				o.fail(t.attempt, "a later attempt has begun")
			}
		})
	}
	for i, m := range t.members {
		r.follow(t, t.gen, i, m.Epoch)
	}
	return nil
}

// follow watches a role for the first task, until what its server held is lost.
func (r *roles) follow(t *task, gen, server int, epoch uint64) {
	role := coord.Server(server)
	r.w.count.storeRequests++
	h, v, err := coord.Who(nowhere, r, cluster, role)
	switch {
	case err != nil:
		r.w.fail("%v", err)
	case t.dead || t.gen != gen:
	case !h.Holds(epoch):
		t.fail(t.attempt+1, fmt.Sprintf("server %d was replaced", server))
	default:
		r.watch(role, v, func() { r.w.after(r.w.delay(), func() { r.follow(t, gen, server, epoch) }) })
	}
}

// commit makes a checkpoint the one to go on from.
func (r *roles) commit(t *task, clock int) error {
	r.w.count.storeRequests += 3
	return coord.Commit(nowhere, r, cluster, "j",
		coord.Checkpoint{Path: fmt.Sprintf("ck/%d", clock), ID: fmt.Sprint(clock), Step: int64(clock), Attempt: t.attempt})
}
