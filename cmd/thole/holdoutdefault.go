package main

import (
	"fmt"

	"thole.example/algo"
)

// The default hold-out: which examples of a network are held out to stop its training early, if the user says nothing of that.
const (
	holdoutFrom     = 100_000 // training examples from which on there is one
	holdoutRows     = 20_000  // examples to hold out, within the shares below
	holdoutMinority = 500     // of them, at least so many are not of the most frequent class
	holdoutLeast    = 0.02    // shares of the training examples
	holdoutMost     = 0.05
	holdoutEpochs   = 10 // of a training that it stops, at most
	holdoutPatience = 1  // epochs without a better one
)

// chooseHoldout decides whether there may be a default hold-out: decideHoldout does when the examples are known.
func (p *plan) chooseHoldout() error {
	j := p.job
	d := p.recipe.For(nil, p.rule)
	p.mayHoldOut = p.recipe.Network() && p.recipe.Task != algo.Ranking && d.Rows > 0 && !j.asAngel && len(j.conf) == 0 && j.load == "" &&
		j.cv == 0 && len(j.valid) == 0 && j.epochs == 0 && !j.given("holdout") && !j.given("early-stop") && p.asked.schedule == ""
	return nil
}

// decideHoldout decides whether there are enough examples for the default hold-out, and chooses its share.
func (p *plan) decideHoldout(label []float32) {
	if !p.mayHoldOut {
		return
	}
	n := float64(len(label))
	share := min(holdoutMost, max(holdoutLeast, holdoutRows/n))
	if other := float64(others(label)); p.recipe.Task.Classes() {
		share = min(holdoutMost, max(share, holdoutMinority/other))
		p.mayHoldOut = share*other >= holdoutMinority
	}
	if p.mayHoldOut = p.mayHoldOut && n >= holdoutFrom; p.mayHoldOut {
		p.job.holdout, p.job.patience = share, holdoutPatience
	}
}

// sayHeldOut reports the default hold-out.
func (p *plan) sayHeldOut(e *env) {
	if p.mayHoldOut {
		n := p.valid.Len()
		fmt.Fprintf(e.err, "holdout: %d of %d examples are held out to stop the training early (--holdout 0 trains on all)\n", n, n+p.train.Len())
	}
}

// others is how many labels are not the most frequent one.
func others(label []float32) int {
	count := map[float32]int{}
	for _, y := range label {
		count[y]++
	}
	most := 0
	for _, n := range count {
		most = max(most, n)
	}
	return len(label) - most
}

// holdoutShare is the share of the examples that is held out; before the examples are known, the largest that it can be.
func (p *plan) holdoutShare() float64 {
	if p.holdout == 0 && p.mayHoldOut {
		return holdoutMost
	}
	return p.holdout
}
