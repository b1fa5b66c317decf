package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// play runs a bracket to its end, so many runs at a time, which end in an order drawn by the seed.
func play(b *Bracket, parallel int, seed uint64, value func(Run) float64) (all []Run) {
	rng := rand.New(rand.NewPCG(seed, 0))
	var running []Run
	for {
		for len(running) < parallel {
			r, ok := b.Next()
			if !ok {
				break
			}
			running, all = append(running, r), append(all, r)
		}
		if len(running) == 0 {
			return all
		}
		i := rng.IntN(len(running))
		b.Done(running[i], value(running[i]))
		running = slices.Delete(running, i, i+1)
	}
}

// TestTranscript is brackets from beginning to end: trial/rung*share in the order in which they are given, and who is best.
func TestTranscript(t *testing.T) {
	byTrial := func(values ...float64) func(Run) float64 {
		return func(r Run) float64 { return values[r.Trial] }
	}
	nan := math.NaN()
	for _, c := range []struct {
		name              string
		trials, eta, most int
		value             func(Run) float64
		runs, ranked      string
	}{
		{"random", 3, 1, 1, byTrial(5, 3, 4), "0/0*1 1/0*1 2/0*1", "1 2 0"},
		{"the defaults go on beside the best third", 9, 3, 1000, byTrial(9, 8, 1, 7, 6, 2, 5, 3, 4),
			"0/0*0.11 1/0*0.11 2/0*0.11 3/0*0.11 4/0*0.11 5/0*0.11 6/0*0.11 7/0*0.11 8/0*0.11 0/1*0.33 2/1*0.33 5/1*0.33 7/1*0.33 " +
				"0/2*1 2/2*1", "2 0 5 7 8 6 4 3 1"},
		{"the defaults are the best", 3, 3, 9, byTrial(1, 2, 3), "0/0*0.33 1/0*0.33 2/0*0.33 0/1*1", "0 1 2"},
		{"equal ones by their numbers", 3, 3, 9, byTrial(4, 4, 4), "0/0*0.33 1/0*0.33 2/0*0.33 0/1*1", "0 1 2"},
		{"the resource has no more rungs", 9, 3, 3, byTrial(1, 2, 3, 4, 5, 6, 7, 8, 9),
			"0/0*0.33 1/0*0.33 2/0*0.33 3/0*0.33 4/0*0.33 5/0*0.33 6/0*0.33 7/0*0.33 8/0*0.33 0/1*1 1/1*1 2/1*1", "0 1 2 3 4 5 6 7 8"},
		{"those that failed do not go on", 3, 3, 9, byTrial(nan, nan, 3), "0/0*0.33 1/0*0.33 2/0*0.33 2/1*1", "2"},
		{"all failed", 3, 3, 9, byTrial(nan, nan, nan), "0/0*0.33 1/0*0.33 2/0*0.33", ""},
		{"one trial", 1, 3, 9, byTrial(1), "0/0*1", "0"},
	} {
		for parallel := range 4 {
			b := NewBracket(c.trials, c.eta, c.most)
			var runs, ranked []string
			for _, r := range play(b, parallel+1, 3, c.value) {
				runs = append(runs, fmt.Sprintf("%d/%d*%.2g", r.Trial, r.Rung, r.Share))
			}
			for _, r := range b.Ranked() {
				ranked = append(ranked, fmt.Sprint(r.Trial))
			}
			if got, best := strings.Join(runs, " "), strings.Join(ranked, " "); got != c.runs || best != c.ranked || !b.Over() {
				t.Errorf("%s, %d at a time: %s; %s; want %s; %s", c.name, parallel+1, got, best, c.runs, c.ranked)
			}
		}
	}
}

// TestBracket holds brackets to what they promise: every trial once in the first rung, the same runs and ranks however many run at a
// time and in whichever order they end, the whole resource in the last rung, no more work than was said, and the defaults among the
// last unless they failed.
func TestBracket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials, eta := rapid.IntRange(1, 60).Draw(t, "trials"), rapid.IntRange(1, 4).Draw(t, "eta")
		most, seed := rapid.IntRange(1, 100).Draw(t, "most"), rapid.Uint64().Draw(t, "seed")
		value := func(r Run) float64 {
			if v := uniform("value", seed, uint64(r.Trial), uint64(r.Rung)); v > 0.1 {
				return v
			}
			return math.NaN()
		}
		one, many := NewBracket(trials, eta, most), NewBracket(trials, eta, most)
		runs := play(one, 1, seed, value)
		if other := play(many, rapid.IntRange(2, 8).Draw(t, "parallel"), seed, value); !slices.Equal(runs, other) {
			t.Fatalf("%v at once, %v one after the other", other, runs)
		}
		if !slices.Equal(one.Ranked(), many.Ranked()) || !one.Over() || !many.Over() {
			t.Fatalf("%v at once, %v one after the other", many.Ranked(), one.Ranked())
		}
		first, work, defaults := 0, 0.0, 0
		for _, r := range runs {
			if work += r.Share; r.Rung == 0 {
				first++
			}
			if r.Trial == 0 {
				if defaults = r.Rung; math.IsNaN(value(r)) {
					defaults = one.Rungs() // it failed
				}
			}
			if (r.Rung == one.Rungs()-1) != (r.Share == 1) {
				t.Fatalf("%v of %d rungs", r, one.Rungs())
			}
		}
		if first != trials || work > one.Work()+1e-9 {
			t.Fatalf("%d of %d trials in the first rung, work %v of %v", first, trials, work, one.Work())
		}
		if last := runs[len(runs)-1].Rung; defaults < last {
			t.Fatalf("the defaults came to rung %d of %d", defaults, last)
		}
	})
}

// TestStrangers holds a bracket to its own runs: results of others, of runs that were not given, or twice change nothing.
func TestStrangers(t *testing.T) {
	b := NewBracket(3, 3, 9)
	b.Done(Run{Trial: 0, Rung: 0}, 1) // not given yet
	r, _ := b.Next()
	b.Done(Run{Trial: 7, Rung: 0}, 1)
	b.Done(Run{Trial: 0, Rung: 1}, 1)
	if got := b.Ranked(); got != nil {
		t.Fatalf("%v before any result", got)
	}
	b.Done(r, 2)
	if got := b.Ranked(); len(got) != 1 || b.Over() {
		t.Fatalf("%v, want the run that is done", got)
	}
}
