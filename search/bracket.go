package search

import (
	"cmp"
	"math"
	"slices"
)

// Run is a training that is to be made: a trial with a share of the resource (epochs, examples).
type Run struct {
	Trial, Rung int // from 0 on
	Share       float64
}

// Bracket says which runs are next. In each rung trials run with the same share; when all results of a rung are there, the best of
// eta trials go on to the next one with eta times as much. Trial 0, the defaults, goes on if it can, whatever it came to, so that
// the best of the last rung is no worse. A bracket of one rung is random search. It is a pure machine: what it says depends on the
// results alone, not on the order in which they come. It is for one goroutine.
type Bracket struct {
	shares  []float64
	eta     int
	trials  int
	rung    int
	entrant []int             // trials of the rung
	given   int               // of which so many were said to be next
	results []map[int]float64 // of each rung; NaN of those that failed
}

// NewBracket is a bracket of trials; eta below 2 is a single rung. There are as many rungs as leave one trial in the last one, but no
// more than give the first eta^-(rungs-1) of the resource at least 1 of most.
func NewBracket(trials, eta, most int) *Bracket {
	b := &Bracket{eta: eta, trials: trials, shares: []float64{1}}
	for n, left := trials, most; eta > 1 && n >= eta && left >= eta; n, left = n/eta, left/eta {
		b.shares = append(b.shares, 1/math.Pow(float64(eta), float64(len(b.shares))))
	}
	slices.Reverse(b.shares)
	for t := range trials {
		b.entrant = append(b.entrant, t)
	}
	b.results = []map[int]float64{{}}
	return b
}

// Rungs is how many there are.
func (b *Bracket) Rungs() int { return len(b.shares) }

// Work is what all runs take together, in units of one with the whole resource, if as many go on as can.
func (b *Bracket) Work() (all float64) {
	in := b.trials
	for _, share := range b.shares {
		all += share * float64(in)
		in = b.goOn(in)
	}
	return all
}

// goOn is how many of n trials go on, at most: the best ones, and the defaults beside them.
func (b *Bracket) goOn(n int) int { return min(n, max(1, n/max(2, b.eta))+1) }

// Next is the next run; ok is false if there is none until results come, or at all.
func (b *Bracket) Next() (r Run, ok bool) {
	if b.given == len(b.entrant) {
		return Run{}, false
	}
	b.given++
	return Run{Trial: b.entrant[b.given-1], Rung: b.rung, Share: b.shares[b.rung]}, true
}

// Done takes the result of a run that Next gave: smaller is better, NaN says that it failed. Other runs are no results.
func (b *Bracket) Done(r Run, value float64) {
	if r.Rung != b.rung || !slices.Contains(b.entrant[:b.given], r.Trial) {
		return
	}
	results := b.results[b.rung]
	if results[r.Trial] = value; len(results) < len(b.entrant) || b.rung == len(b.shares)-1 {
		return
	}
	ranked := b.ranked(b.rung)
	if len(ranked) == 0 {
		return
	}
	next := slices.Clone(ranked[:min(len(ranked), max(1, len(b.entrant)/b.eta))])
	if slices.Contains(ranked, 0) && !slices.Contains(next, 0) {
		next = append(next, 0)
	}
	slices.Sort(next)
	b.entrant, b.given, b.rung = next, 0, b.rung+1
	b.results = append(b.results, map[int]float64{})
}

// ranked are the trials of a rung that did not fail, the best one first.
func (b *Bracket) ranked(rung int) (all []int) {
	results := b.results[rung]
	for t, v := range results {
		if !math.IsNaN(v) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(x, y int) int { return cmp.Or(cmp.Compare(results[x], results[y]), x-y) })
	return all
}

// Ranked are the runs that did not fail, the best one first: those with more of the resource before others, as they are not to be
// compared, and of each trial the last one.
func (b *Bracket) Ranked() (all []Run) {
	seen := map[int]bool{}
	for rung := len(b.results) - 1; rung >= 0; rung-- {
		for _, t := range b.ranked(rung) {
			if !seen[t] {
				seen[t] = true
				all = append(all, Run{t, rung, b.shares[rung]})
			}
		}
	}
	return all
}

// Over reports whether no run is left or can come.
func (b *Bracket) Over() bool {
	return b.given == len(b.entrant) && len(b.results[b.rung]) == len(b.entrant)
}
