package budget

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// body is a message on its way: its bytes come in steps.
func body(t *testing.T, l *Ledger, name string, size, step int64, done func(string)) {
	k, err := l.Claim(Frames, size)
	if err != nil {
		t.Error(err)
		return
	}
	for come := int64(0); come < size; come += step {
		if err := k.Take(t.Context(), min(step, size-come), nil); err != nil {
			t.Error(err)
		}
	}
	charge := k.Done()
	if charge.Bytes() != size {
		t.Errorf("%s has %d bytes, want %d", name, charge.Bytes(), size)
	}
	done(name)
	charge.Release()
}

// Bodies of random sizes, many more than there is room for and each in small steps, all come through: none is left half
// there because the others are.
func TestClaimsComeThrough(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 50), 1, 20).Draw(r, "sizes")
		step := rapid.Int64Range(1, 10).Draw(r, "step")
		synctest.Test(t, func(t *testing.T) {
			l := ledger(t)
			var all sync.WaitGroup
			through := make(chan string, len(sizes))
			for i, size := range sizes {
				all.Go(func() { body(t, l, fmt.Sprint("body ", i), size, step, func(name string) { through <- name }) })
			}
			all.Wait() // a bubble whose goroutines all wait for each other fails the test
			if used := l.Used(); len(through) != len(sizes) || used != (Usage{}) || len(l.claims) > 0 {
				t.Errorf("%d of %d came through, used %v", len(through), len(sizes), used)
			}
		})
	})
}

// Without the claims two bodies of 40 bytes, with room for 50, would stop at 25 each.
func TestClaimsDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger(t)
		one, _ := l.Claim(Frames, 40)
		two, _ := l.Claim(Frames, 40)
		var mu sync.Mutex
		var order []string
		step := func(k *Claim, name string, n int64) {
			go func() {
				if err := k.Take(t.Context(), n, nil); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			}()
			synctest.Wait()
		}
		step(one, "one", 25)
		step(two, "two", 10)
		step(two, "two more", 10) // then 5 were left, and neither could go on
		step(one, "one more", 15)
		if got := fmt.Sprint(order); got != "[one two one more]" {
			t.Errorf("%s got theirs, want the first to be completed before the second has more", got)
		}
		charge := one.Done()
		charge.Release()
		synctest.Wait()
		step(two, "two ends", 20)
		if got := fmt.Sprint(order); got != "[one two one more two more two ends]" {
			t.Errorf("%s got theirs, want the second to go on after the first", got)
		}
		charge = two.Done()
		charge.Release()
	})
}

// Those who announce all there is and bring little are in nobody's way.
func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger(t)
		var strangers []*Claim
		for range 10 {
			k, err := l.Claim(Frames, 50)
			if err != nil {
				t.Fatal(err)
			}
			strangers = append(strangers, k)
			go func() { _ = k.Take(t.Context(), 1, nil) }()
			synctest.Wait()
		}
		through := make(chan string, 3)
		for i := range 3 {
			go body(t, l, fmt.Sprint("honest ", i), 30, 7, func(name string) { through <- name })
		}
		synctest.Wait()
		if len(through) != 3 {
			t.Errorf("%d came through, want all 3; used %v", len(through), l.Used())
		}
		if used := l.Used(); used.Total() > 10 {
			t.Errorf("the strangers brought 10 bytes at most and cost %v", used)
		}
		for _, k := range strangers {
			charge := k.Done()
			charge.Release()
			synctest.Wait()
		}
	})
}
