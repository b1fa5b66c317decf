package coord

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options are how a role is claimed. The zero value is that of most.
type Options struct {
	Lease time.Duration // how long a holder that is silent keeps the role; 0: LeaseDefault
	// ID tells the claim from all others that ever were, also from those of this process's former lives; "": a random one. Who sends a
	// copy of what it holds to this process names it by this.
	ID string
	// Log is the identity of the log on this process's disk, if that has all that the holder has acknowledged who had it under this
	// identity; "": there is no such log.
	Log string
	// NewLog is the identity that the log gets when the role is held and what is in it was not continued; "": the server keeps none. It
	// must not be on the disk before all is that the new holder begins with: a process that is started again would take for whole what is not.
	// One that continues what was held says with [Held.Own] when it is.
	NewLog string
	// Sole says that nobody else can be at the address, as for somebody who listens there already and whose address is the
	// same from everywhere (not 127.0.0.1, if the cluster has several machines). A holder that was there is dead then, and its
	// lease is not waited for: a server that is started again is back at once.
	Sole bool
	// Standbys, if there is one, is called whenever the record is written by its holder, for [Holder.Standbys]. It must not block.
	Standbys func() []Standby
	// Say, if there is one, is told who is waited for and why the store does not answer. It must not block.
	Say func(text string)
}

// Held is a role that was claimed. All methods may be called by any number of goroutines.
type Held struct {
	role    Role
	first   Hold
	span    atomic.Pointer[span] // nil: not now
	given   atomic.Bool          // it is given back: never again
	release chan struct{}
	once    sync.Once
	asks    chan asking
	lost    chan struct{}
	err     error // why it was lost; set before lost is closed
}

// span is from when a claim was sent that the store has kept, and for how long it counts.
type span struct {
	from time.Time
	hold time.Duration
}

// asking is a request to change what the record says; done is closed when that is recorded.
type asking struct {
	event Event
	done  chan struct{}
}

// Claim waits until this process has the role, and keeps it from then on in the background, until Release, the end of ctx, or
// until somebody else takes it over because this process or the store were silent for a lease. When ctx ends the role is not given back: it
// lapses. Who has the role is found with [Find] at addr.
func Claim(ctx context.Context, s Store, cluster string, role Role, addr string, o Options) (*Held, error) {
	if err := errors.Join(checkCluster(cluster), CheckKey(role.key(cluster))); err != nil {
		return nil, err
	}
	me := Holder{ID: cmp.Or(o.ID, rand.Text()), Addr: addr, Lease: cmp.Or(o.Lease, LeaseDefault), Log: o.NewLog}
	machine, err := NewClaimant(role, me, o.Log, o.Sole)
	if err != nil {
		return nil, err
	}
	h := &Held{role: role, release: make(chan struct{}), asks: make(chan asking), lost: make(chan struct{})}
	k := &keeper{Held: h, machine: machine, store: s, key: role.key(cluster), say: o.Say, standbys: o.Standbys, hold: machine.hold(),
		begin: time.Now(), answers: make(chan Event), has: make(chan struct{}), forget: func() {}}
	go k.run(ctx)
	select {
	case <-k.has:
		return h, nil
	case <-h.lost:
		return nil, h.err
	}
}

// Epoch is how often the role has changed hands: a fencing token, higher than those of all who held the role before.
func (h *Held) Epoch() uint64 { return h.first.Epoch }

// Role is the role that is held.
func (h *Held) Role() Role { return h.role }

// Continues is how this process came to what was held before, when it got the role.
func (h *Held) Continues() Continuation { return h.first.Continues }

// Since is the first epoch of the role from which on nothing was lost that was acknowledged: Epoch, if this process began [Anew].
func (h *Held) Since() uint64 { return h.first.Since }

// Copied reports whether others had a copy of what was held before when this process got the role: each of them can continue that, should
// this one not be able to, and give the role back before [Held.Own].
func (h *Held) Copied() bool { return h.first.Copied }

// Valid reports whether nobody else can hold the role at a time, which is that of [time.Now]. If not, nothing may be done under it. It
// may be valid again later, when the store answers again and nobody has taken the role over.
//
// It asks the clock of the wall, too: that counts while the machine sleeps.
func (h *Held) Valid(now time.Time) bool {
	s := h.span.Load()
	return s != nil && !h.given.Load() && now.Sub(s.from) < s.hold && now.Round(0).Sub(s.from.Round(0)) < s.hold
}

// Lost is closed when the role is lost for good, or given back.
func (h *Held) Lost() <-chan struct{} { return h.lost }

// Err is why the role was lost: ErrFenced if somebody else has it, nil if it was given back or is held.
func (h *Held) Err() error {
	select {
	case <-h.lost:
		return h.err
	default:
		return nil
	}
}

// SetCopies has the record name the claims that have a copy of all that this holder has acknowledged, each of which can take the role over
// and continue. It returns nil once the store has said that it names exactly these, so that whoever takes the role over knows of it. Of
// several calls the last one counts, and each returns when its copies or those of a later one are recorded. The error is why the role
// was lost, ErrFenced if somebody else has it or it was given back, or that of ctx, which says nothing: the record may name these, or those
// from before.
//
// So a claim has to have all that was acknowledged from the call on that names it, and nothing may be acknowledged that it has not, until
// the last call is one without it and has returned nil.
func (h *Held) SetCopies(ctx context.Context, ids []string) error {
	if err := checkCopies(ids); err != nil {
		return fmt.Errorf("coord: %s: %w", h.role, err)
	}
	return h.ask(ctx, Copies{slices.Clone(ids)})
}

// Own says that what this holder has lies whole in its own log: under Options.NewLog if it continues [FromCopy], and under Options.Log if
// [FromLog], when it has read that. It comes before SetCopies. It returns nil once the store has said that the record names that log and no
// copies, and at once for a holder that began [Anew], whose record does so already. Errors are those of SetCopies: the record may say
// so then, or be as it was.
//
// Until then the record has the log and the other copies of the holder before: should this one fail, and give the role back or end,
// whoever has one of them goes on with all that was acknowledged. So nothing may be acknowledged before Own has returned nil.
func (h *Held) Own(ctx context.Context) error {
	if h.Continues() == Anew {
		return nil
	}
	return h.ask(ctx, Own{})
}

// ask has the record say something, and waits until it does.
func (h *Held) ask(ctx context.Context, e Event) error {
	n := asking{e, make(chan struct{})}
	asks := h.asks
	for {
		select {
		case asks <- n:
			asks = nil
		case <-n.done:
			return nil
		case <-h.lost:
			if h.err == nil {
				return fmt.Errorf("coord: %s was given back: %w", h.role, ErrFenced)
			}
			return h.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Release gives the role back, so that others need not wait for the lease, and waits until that is done or was given up, or ctx ends.
// From its call on, the role is not valid. What is given back keeps the log and the copies, for those who have them.
func (h *Held) Release(ctx context.Context) error {
	h.once.Do(func() { h.given.Store(true); close(h.release) })
	select {
	case <-h.lost:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keeper is the shell around a Claimant. It has the goroutine that run is in, and one for each request to the store.
type keeper struct {
	*Held
	machine  *Claimant
	store    Store
	key      string
	say      func(string)
	standbys func() []Standby
	hold     time.Duration
	begin    time.Time // from which the machine's times are
	sent     time.Time // when the last Put was
	answers  chan Event
	has      chan struct{} // closed when the role is held for the first time
	forget   context.CancelFunc
	asked    []asking // that wait until they are recorded
	last     string   // what was said last
}

func (k *keeper) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer close(k.lost)
	defer k.span.Store(nil)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	release := k.release
	var e Event = Deadline{}
	for {
		for _, effect := range k.machine.Step(time.Since(k.begin), e) {
			k.do(ctx, effect)
		}
		at, ok := k.machine.Next()
		if !ok {
			return
		}
		timer.Reset(at - time.Since(k.begin))
		select {
		case <-timer.C:
			e = Deadline{}
		case e = <-k.answers:
		case <-release:
			e, release = Release{}, nil
		case n := <-k.asks:
			k.asked = append(k.asked, n)
			e = n.event
		case <-ctx.Done():
			k.err = fmt.Errorf("coord: %s: %w%s", k.role, ctx.Err(), k.last)
			return
		}
	}
}

func (k *keeper) do(ctx context.Context, effect Effect) {
	switch e := effect.(type) {
	case Get:
		k.ask(ctx, func(ctx context.Context) Event { return k.read(e.Seq)(k.store.Get(ctx, k.key)) })
	case Watch:
		k.ask(ctx, func(ctx context.Context) Event { return k.read(e.Seq)(k.store.Watch(ctx, k.key, e.Seen)) })
	case Put:
		k.sent = time.Now()
		k.ask(ctx, func(ctx context.Context) Event {
			if e.Holder.ID != "" && k.standbys != nil {
				e.Holder.Standbys = k.standbys()
			}
			data, err := encode(k.key, &e.Holder)
			if err != nil {
				return Wrote{Seq: e.Seq, Err: err}
			}
			v, err := k.store.Put(ctx, k.key, data, e.Old)
			return Wrote{e.Seq, v, err}
		})
	case Hold:
		k.holds(e)
	case Recorded:
		for _, n := range k.asked {
			close(n.done)
		}
		k.asked = nil
	case Stop:
		k.span.Store(nil)
	case End:
		k.err = e.Err
	case Say:
		k.last = " (" + e.Text + ")"
		if k.say != nil {
			k.say(e.Text)
		}
	}
}

// holds is when the role is held, for the first time or longer.
func (k *keeper) holds(e Hold) {
	k.span.Store(&span{k.sent, k.hold})
	k.last = ""
	if k.first.Epoch == 0 {
		k.first = e
		close(k.has)
	}
}

// read makes an event of what the store answered.
func (k *keeper) read(seq uint64) func([]byte, Version, error) Event {
	return func(data []byte, v Version, err error) Event {
		if err != nil {
			return Read{Seq: seq, Err: err}
		}
		h, err := decodeHolder(k.key, data)
		return Read{seq, h, v, err}
	}
}

// ask makes a request to the store, and gives up the one before.
func (k *keeper) ask(ctx context.Context, request func(context.Context) Event) {
	k.forget()
	ctx, k.forget = context.WithCancel(ctx)
	go func() {
		e := request(ctx)
		select {
		case k.answers <- e:
		case <-ctx.Done():
		}
	}()
}
