package coord_test

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"thole.example/coord"
	"thole.example/internal/seeds"
)

// TestClaims lets claimants whose clocks run at different speeds fight for a role while they freeze and die, and while the
// store loses, delays and repeats requests and answers: never do two believe at one moment to hold the role, epochs of new holders
// only grow, whoever continues what the role holds has all that was acknowledged, as has the log that the record names, while takeovers from
// copies fail, and when the faults are over somebody holds it soon.
func TestClaims(t *testing.T) {
	set := seeds.Of(t, "FAULT", 500, 500)
	var holds, stops, ends, named, lost, failed int
	var continued [coord.FromCopy + 1]int
	for seed := range set.All() {
		w := newWorld(seed)
		w.run()
		if w.wrong != "" {
			t.Fatalf("FAULT_SEED=%d: %s\n%s", seed, w.wrong, strings.Join(w.log, "\n"))
		}
		holds, stops, ends, named, lost, failed = holds+w.holds, stops+w.stops, ends+w.ends, named+w.named, lost+w.lost, failed+w.failed
		for i, n := range w.continued {
			continued[i] += n
		}
	}
	n := int(set.Count)
	if n >= 60 && (slices.Min(continued[:]) < n/4 || named < n || lost < n/8 || failed < n/8) {
		t.Errorf("%d seeds continued %v times, %d of them in vain, named copies %d times and lost changes %d times: nothing happens", n, continued, failed,
			named, lost)
	}
	if n >= 60 && (holds < 2*n || stops < n/4 || ends < n/4) {
		t.Errorf("%d seeds with %d first holds, %d stops and %d ends: nothing happens", n, holds, stops, ends)
	}
}

const (
	simLease = 12 * time.Second
	simAway  = 5 * time.Minute // until then there are faults
	simEnd   = simAway + 7*simLease
	slowest  = 0.82 // clock, and the fastest
	fastest  = 1.22
)

// world is true time, a store, and what happens next.
type world struct {
	rand    *rand.Rand
	now     time.Duration
	events  happenings
	count   int
	version int
	record  *coord.Holder
	changed time.Duration // when that was written
	watches []watch
	all     []*process
	away    time.Duration // the store answers nobody until then
	epochs  map[uint64]int
	top     uint64

	disks   map[int]*disk
	gone    map[string]bool // logs whose disks were replaced
	changes int             // that were made under the role
	acked   []int           // those that were acknowledged, and not lost since
	named   int
	lost    int
	failed  int // takeovers from a copy

	holds, stops, ends int
	continued          [coord.FromCopy + 1]int
	wrong              string
	log                []string
}

type watch struct {
	p    *process
	seq  uint64
	seen int
}

// process is a claimant with a clock of its own, which may stand still.
type process struct {
	content
	number, life int
	claim        *coord.Claimant
	rate         float64       // of its clock
	born         time.Duration // when its clock was 0
	frozen       time.Duration // until then nothing is done
	dead         bool
	until        time.Duration // by its clock
	epoch        uint64
	holds        bool
	timer        int // number of the last deadline
}

type happening struct {
	at    time.Duration
	order int
	do    func()
}

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func newWorld(seed uint64) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 1)), epochs: map[uint64]int{}, disks: map[int]*disk{}, gone: map[string]bool{}}
	for i := range 3 {
		w.after(w.upTo(simLease), func() { w.start(i, 0) })
	}
	w.after(simLease+w.upTo(time.Minute), w.fault)
	return w
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rand.Int64N(int64(d))) }
func (w *world) chance(percent int) bool            { return w.rand.IntN(100) < percent && w.now < simAway }

func (w *world) after(d time.Duration, do func()) {
	w.count++
	heap.Push(&w.events, happening{w.now + d, w.count, do})
}

func (w *world) say(p *process, text string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v %d.%d: ", w.now, p.number, p.life)+fmt.Sprintf(text, args...))
}

func (w *world) run() {
	for len(w.events) > 0 && w.wrong == "" && w.now < simEnd {
		next := heap.Pop(&w.events).(happening)
		w.now = next.at
		next.do()
	}
	for _, p := range w.all {
		if p.believes(w.now) {
			return
		}
	}
	if w.wrong == "" {
		w.wrong = "nobody holds the role at the end"
	}
}

// fault is one of what goes wrong, and then another.
func (w *world) fault() {
	if w.now >= simAway {
		return
	}
	p := w.all[max(0, len(w.all)-1-w.rand.IntN(4))]
	switch w.rand.IntN(5) {
	case 0:
		w.away = w.now + w.upTo(2*simLease)
	case 1:
		if !p.dead {
			w.die(p)
		}
	case 2:
		w.say(p, "is to end")
		w.step(p, coord.Release{})
	default:
		p.frozen = w.now + w.upTo(2*simLease)
		w.say(p, "frozen until %v", p.frozen)
	}
	w.after(w.upTo(2*simLease), w.fault)
}

func (w *world) start(number, life int) {
	p := &process{number: number, life: life, content: w.mount(number, life), rate: slowest + (fastest-slowest)*w.rand.Float64(), born: w.now}
	me := coord.Holder{ID: p.id(), Addr: fmt.Sprintf("host:%d", number), Lease: simLease, Log: p.fresh}
	claim, err := coord.NewClaimant(coord.Server(0), me, p.old, w.rand.IntN(2) == 0)
	if err != nil {
		w.wrong = err.Error()
		return
	}
	p.claim = claim
	w.all = append(w.all, p)
	w.work(p)
	w.step(p, coord.Deadline{})
}

// die ends a process, and starts it again later.
func (w *world) die(p *process) {
	w.say(p, "dead")
	p.dead, p.holds = true, false
	w.after(w.upTo(simLease/2), func() { w.start(p.number, p.life+1) })
}

func (p *process) id() string { return fmt.Sprintf("%d.%d", p.number, p.life) }
func (p *process) clock(now time.Duration) time.Duration {
	return time.Duration(float64(now-p.born) * p.rate)
}
func (p *process) believes(now time.Duration) bool { return p.holds && p.clock(now) < p.until }

// step is when something happens to a process: at once, or when it thaws.
func (w *world) step(p *process, e coord.Event) {
	if p.frozen > w.now {
		w.after(p.frozen-w.now, func() { w.step(p, e) })
		return
	}
	if p.dead {
		return
	}
	for _, effect := range p.claim.Step(p.clock(w.now), e) {
		w.effect(p, effect)
	}
	at, ok := p.claim.Next()
	if !ok {
		return
	}
	p.timer++
	timer := p.timer
	w.after(time.Duration(float64(max(0, at-p.clock(w.now)))/p.rate)+1, func() {
		if timer == p.timer {
			w.step(p, coord.Deadline{})
		}
	})
}

func (w *world) effect(p *process, effect coord.Effect) {
	w.say(p, "%T%+v", effect, effect)
	switch e := effect.(type) {
	case coord.Get:
		w.request(func() { w.answer(p, coord.Read{Seq: e.Seq, Holder: w.record, Version: w.v()}) }, func(err error) {
			w.answer(p, coord.Read{Seq: e.Seq, Err: err})
		})
	case coord.Watch:
		w.request(func() { w.watches = append(w.watches, watch{p, e.Seq, w.version}); w.tell(e.Seen != w.v()) }, func(err error) {
			w.answer(p, coord.Read{Seq: e.Seq, Err: err})
		})
	case coord.Put:
		w.request(func() { w.put(p, e) }, func(err error) { w.answer(p, coord.Wrote{Seq: e.Seq, Err: err}) })
	case coord.Hold:
		w.hold(p, e)
	case coord.Recorded:
		w.recorded(p)
	case coord.Stop:
		p.holds = false
		w.stops++
	case coord.End:
		w.ends++
		p.dead, p.holds = true, false
		w.after(w.upTo(simLease/2), func() { w.start(p.number, p.life+1) })
	}
}

// request takes a while to come to the store, where it may be lost, also after the caller was told so.
func (w *world) request(do func(), fail func(error)) {
	delay := w.upTo(100 * time.Millisecond)
	if w.chance(5) {
		delay = w.upTo(2 * simLease)
	}
	if w.chance(5) {
		w.after(w.upTo(simLease), func() { fail(errors.New("connection lost")) })
	}
	if w.chance(5) {
		return
	}
	w.after(delay, func() {
		if w.now >= w.away {
			do()
		} else if w.rand.IntN(2) == 0 {
			fail(errors.New("away"))
		}
	})
}

func (w *world) v() coord.Version {
	if w.version == 0 {
		return ""
	}
	return coord.Version(strconv.Itoa(w.version))
}

func (w *world) answer(p *process, e coord.Event) {
	if w.chance(5) {
		return
	}
	delay := w.upTo(100 * time.Millisecond)
	if w.chance(5) {
		delay = w.upTo(simLease)
	}
	w.after(delay, func() { w.step(p, e) })
}

func (w *world) put(p *process, e coord.Put) {
	if e.Old != w.v() {
		w.answer(p, coord.Wrote{Seq: e.Seq, Err: coord.ErrChanged})
		return
	}
	h := e.Holder
	_, had := w.logged(w.record)
	if h.ID != "" && (w.record == nil || w.record.ID != h.ID) {
		w.takeover(p, h)
	}
	if there, whole := w.logged(&h); there && !whole || had && !there && h.Log != "" && !w.gone[h.Log] && len(w.acked) > 0 {
		w.wrong = fmt.Sprintf("%s writes %+v over %+v: not all of %d acknowledged changes is in the log that it names", p.id(), h, w.record, len(w.acked))
	}
	w.version++
	w.record, w.changed = &h, w.now
	w.answer(p, coord.Wrote{Seq: e.Seq, Version: w.v()})
	w.tell(true)
}

// tell answers those who wait for another version.
func (w *world) tell(changed bool) {
	if !changed {
		return
	}
	for _, x := range w.watches {
		w.answer(x.p, coord.Read{Seq: x.seq, Holder: w.record, Version: w.v()})
	}
	w.watches = nil
}

// hold is when a process begins to believe that it holds the role: nobody else may.
func (w *world) hold(p *process, e coord.Hold) {
	for _, other := range w.all {
		if other != p && other.believes(w.now) {
			w.wrong = fmt.Sprintf("%d.%d holds the role at %v, and %d.%d does until %v of its clock, which is at %v",
				p.number, p.life, w.now, other.number, other.life, other.until, other.clock(w.now))
		}
	}
	if p.epoch == 0 {
		w.holds++
		if e.Epoch <= w.top {
			w.wrong = fmt.Sprintf("%d.%d holds the role with epoch %d after %d", p.number, p.life, e.Epoch, w.top)
		}
		w.top = e.Epoch
		w.continued[e.Continues]++
		if p.from = nil; e.Continues == coord.Anew {
			p.begin(nil)
		}
		p.owns, p.whole = e.Continues == coord.Anew, false
		p.fromLog = e.Continues == coord.FromLog
		if e.Epoch != w.record.Epoch || e.Since != w.record.Since || (e.Continues == coord.Anew) != (e.Since == e.Epoch) {
			w.wrong = fmt.Sprintf("%d.%d holds the role with %+v, and the record is %+v", p.number, p.life, e, w.record)
		}
	} else if p.epoch != e.Epoch {
		w.wrong = fmt.Sprintf("%d.%d has epochs %d and %d", p.number, p.life, p.epoch, e.Epoch)
	}
	p.epoch, p.until, p.holds = e.Epoch, e.Until, true
}
