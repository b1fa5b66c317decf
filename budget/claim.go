package budget

import (
	"cmp"
	"context"
	"slices"
)

// Claim is a message that grows as its bytes arrive, up to a size that was announced. The announced size costs nothing:
// only what has arrived is counted. But when there is little room the claims see to it that messages which are half there
// do not block each other: bytes are given only if, in some order, all claims that could be completed before still can,
// each with what is free and what those before it give back (Dijkstra's algorithm of the banker, for one resource). So a
// sender who announces much and brings little comes last in that order and is in nobody's way.
type Claim struct {
	Charge
	left   int64 // still to come
	urgent bool
}

// Claim announces n bytes of a class; a *TooLarge if they never have room. Who makes a claim ends it with Done.
func (l *Ledger) Claim(c Class, n int64) (*Claim, error) {
	k := &Claim{Charge: Charge{ledger: l, class: c}, left: n}
	if l == nil {
		return k, nil
	}
	if most := l.Most(c); n > most {
		return nil, &TooLarge{Class: c, Wanted: n, Most: most}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims = append(l.claims, k)
	return k, nil
}

// Take waits for room for n of the bytes, as Ledger.Take does.
func (k *Claim) Take(ctx context.Context, n int64, urgent func() bool) error {
	l := k.ledger
	if l == nil {
		return nil
	}
	w := &waiter{charge: &k.Charge, claim: k, class: k.class, n: min(n, k.left), again: make(chan struct{}, 1)}
	l.mu.Lock()
	now := w.n <= l.room(k.class, false) && l.turn(w) && l.safe(w)
	if now {
		l.grant(w)
	}
	l.mu.Unlock()
	if now {
		return nil
	}
	return l.wait(ctx, w, urgent)
}

// Done ends the claim. The charge is what was taken, and the caller's.
func (k *Claim) Done() Charge {
	l := k.ledger
	if l == nil {
		return Charge{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims = slices.DeleteFunc(l.claims, func(o *Claim) bool { return o == k })
	l.serve()
	out := k.Charge
	k.Charge = Charge{}
	return out
}

// safe reports whether w may have its bytes without keeping a claim from being completed. The ledger is locked.
func (l *Ledger) safe(w *waiter) bool {
	free := l.room(w.class, w.urgent)
	w.claim.urgent = w.urgent
	sum := int64(0)
	for _, k := range l.claims {
		if k.class == w.class {
			sum += k.left
		}
	}
	if sum <= free {
		return true
	}
	before, _ := l.complete(w, free, 0)
	after, self := l.complete(w, free, w.n)
	return self && after >= before
}

// complete is how many claims can be completed one after the other, the smallest rest first, once w has n more bytes, and
// whether its own is among them. The reserve counts only for those who may use it.
func (l *Ledger) complete(w *waiter, free, n int64) (count int, self bool) {
	type rest struct{ left, has int64 }
	var rests []rest
	own := rest{w.claim.left - n, w.claim.n + n}
	for _, k := range l.claims {
		if k.class == w.class && k != w.claim && (k.urgent || !w.urgent) {
			rests = append(rests, rest{k.left, k.n})
		}
	}
	rests = append(rests, own)
	slices.SortStableFunc(rests, func(a, b rest) int { return cmp.Compare(a.left, b.left) })
	free -= n
	for _, r := range rests {
		if r.left > free {
			break
		}
		free += r.has
		count++
		self = self || r.left >= own.left
	}
	return count, self
}
