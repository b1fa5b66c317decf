package budget

import (
	"sync"
	"testing"
	"testing/synctest"
)

// Small charges come from the credit and go back to it; the ledger sees steps.
func TestCredit(t *testing.T) {
	l := New(10_000)
	c := l.NewCredit(Queues, 100)
	used := func(want int64) {
		t.Helper()
		if got := l.Used()[Queues]; got != want {
			t.Errorf("%d bytes used, want %d", got, want)
		}
	}
	first, _ := c.TryTake(30)
	second, _ := c.TryTake(70)
	used(100)
	third := c.Force(250)
	used(350)
	first.Release()
	second.Release()
	used(350)
	third.Release() // 350 are left, and one step is kept
	used(100)
	c.Trim()
	used(0)
	last, _ := c.TryTake(10)
	last.Move(Stage)
	if got := l.Used(); got != (Usage{Queues: 90, Stage: 10}) {
		t.Errorf("used %v after the move", got)
	}
	last.Release()
	kept, _ := c.TryTake(10)
	c.Close()
	used(10)
	kept.Release()
	used(0)
	none := l.NewCredit(Queues, 100)
	if _, ok := none.TryTake(l.Most(Queues) + 1); ok {
		t.Error("more than there is")
	}
	over := none.Force(l.Most(Queues) + 1)
	used(l.Most(Queues) + 1)
	over.Release()
	none.Close()
	used(0)
}

// A credit does not keep for itself what somebody waits for, and waits itself.
func TestCreditShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger(t)
		c := l.NewCredit(Queues, 10)
		charges := make([]Charge, 30)
		for i := range charges {
			charges[i], _ = c.TryTake(1)
		}
		var mine, other Charge
		go func() { mine, _ = c.Take(t.Context(), 3, nil) }()
		synctest.Wait()
		go func() { other, _ = l.Take(t.Context(), Queues, 4, nil) }()
		synctest.Wait()
		for i := range charges[:7] {
			charges[i].Release()
		}
		synctest.Wait()
		if mine.Bytes() != 3 || other.Bytes() != 4 {
			t.Errorf("%d and %d bytes got, want 3 and 4", mine.Bytes(), other.Bytes())
		}
		for i := range charges {
			charges[i].Release()
		}
		mine.Release()
		other.Release()
		c.Close()
		if used := l.Used(); used != (Usage{}) {
			t.Errorf("used %v after all was given back", used)
		}
	})
}

func TestCreditConcurrently(t *testing.T) {
	l := New(1 << 20)
	c := l.NewCredit(Queues, 1000)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			var under [4]Charge
			for i := range 2000 {
				at := i % len(under)
				under[at].Release()
				if i%3 == g%3 {
					under[at] = c.Force(int64(i % 500))
				} else {
					under[at], _ = c.TryTake(int64(i % 700))
				}
				if g == 0 && i%100 == 0 {
					c.Trim()
				}
				if g == 1 && i == 1000 {
					c.Close()
				}
			}
			for i := range under {
				under[i].Release()
			}
		})
	}
	all.Wait()
	if used := l.Used(); used != (Usage{}) {
		t.Errorf("used %v after all was given back", used)
	}
}

// The small path: how long a charge from a credit takes, beside one from the ledger.
func BenchmarkCharge(b *testing.B) {
	l := New(1 << 30)
	b.Run("credit", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			c := l.NewCredit(Frames, 64<<10)
			defer c.Close()
			for pb.Next() {
				charge, _ := c.TryTake(100)
				charge.Release()
			}
		})
	})
	b.Run("ledger", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				charge, _ := l.TryTake(Frames, 100)
				charge.Release()
			}
		})
	})
}

// What room costs an answer or a request: one of up to 1 MiB comes from the credit of its connection; a larger one takes the
// ledger's mutex, which all connections share, once for taking and once for giving back.
func BenchmarkTakeParallel(b *testing.B) {
	l := New(1 << 40)
	for name, size := range map[string]int64{"640KiB": 640 << 10, "4MiB": 4 << 20} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				c := l.NewCredit(Queues, 512<<10)
				defer c.Close()
				for pb.Next() {
					charge, ok := c.TryTake(size)
					if !ok {
						b.Error("no room")
					}
					charge.Release()
				}
			})
		})
	}
}
