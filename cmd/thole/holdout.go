package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/internal/number"
	"thole.example/matrix"
	"thole.example/train"
)

// holdOut moves a share of the examples to the held-out ones (heldOut). Rankings hold out whole groups.
func (p *plan) holdOut(thinned *thinning) error {
	if p.holdout == 0 { // what might have been held out is trained on
		_, err := thinned.end(p.train.Set, p.heldOut(0))
		return err
	}
	units, of := p.train.Len(), func(i int) int { return i }
	what := "example"
	if g := p.groups(); g != nil {
		units, of, what = g.Count, func(i int) int { return g.Of[i] }, "group"
	} else if thinned != nil {
		units = int(thinned.seen)
	}
	switch n := float64(units); {
	case units < 2:
		return usageError{fmt.Errorf("--holdout %v of one %s, want at least two: one has to be left to train on", p.holdout, what)}
	case p.holdout*n < 0.5:
		return usageError{fmt.Errorf("--holdout %v of %d %ss is less than half of one, want a share from %.2g on, which is one %[3]s",
			p.holdout, units, what, math.Ceil(100/n)/100)}
	}
	held := p.heldOut(units)
	take := func(i int) bool { return held(of(i)) }
	if thinned != nil && what == "example" {
		var err error
		if take, err = thinned.end(p.train.Set, held); err != nil {
			return err
		}
	}
	out, err := p.train.Part(take)
	p.valid = &data.Examples{Set: out, Classes: p.train.Classes}
	return err
}

// Which examples --holdout-by holds out.
const (
	holdRandom   = "random"   // drawn by the seed
	holdInterval = "interval" // every k-th one from the first on, as Angel does
)

// intervalMost is the largest share that every k-th example can be.
const intervalMost = 0.5

// heldBy is how examples are held out.
func (j *job) heldBy() string {
	angel := j.asAngel
	for _, v := range j.values {
		angel = angel || v.flag == "compat" && v.value == "angel" // which is still to be taken from the options of formats
	}
	return cmp.Or(j.holdBy, map[bool]string{true: holdInterval}[angel], holdRandom)
}

// heldOut selects which of n examples or groups are held out.
func (p *plan) heldOut(n int) func(i int) bool {
	if p.holdout == 0 {
		return func(int) bool { return false }
	}
	if p.heldBy() == holdInterval {
		k := p.interval(n)
		return func(i int) bool { return i%k == 0 }
	}
	k := int(math.Round(p.holdout * float64(n)))
	return data.Draw(p.drawSeed(), n, max(1, min(k, n-1)))
}

// drawSeed is the seed by which examples are held out.
func (j *job) drawSeed() uint64 {
	if j.given("holdout-seed") {
		return j.holdSeed
	}
	return j.seed
}

// interval is the distance of held-out examples.
func (p *plan) interval(n int) int { return int(math.Round(max(2, min(1/p.holdout, float64(n))))) }

// heldRows selects which rows of a table are held out, or are negative examples that are left out. group has the group of each row, if
// there is one.
func (p *plan) heldRows(thinned *thinning) func(label []float32, group []int64) func(i int) bool {
	return func(label []float32, group []int64) func(i int) bool {
		p.decideHoldout(label)
		switch {
		case p.holdout == 0 && thinned == nil:
			return nil
		case thinned != nil:
			return thinned.apart(p.heldOut(int(thinned.seen)))
		case p.recipe.Task != algo.Ranking || len(group) == 0:
			return p.heldOut(len(label))
		}
		g := data.GroupBy(group)
		held := p.heldOut(g.Count)
		return func(i int) bool { return held(g.Of[i]) }
	}
}

// checkHeldOut warns of held-out examples that cannot measure a classifier.
func (p *plan) checkHeldOut(e *env) {
	v := p.valid
	if v == nil || v.Len() == 0 || !p.recipe.Task.Classes() {
		return
	}
	for _, y := range v.Label {
		if y != v.Label[0] {
			return
		}
	}
	from := "--validate " + strings.Join(p.job.valid, ", ")
	if p.holdout > 0 {
		from = fmt.Sprintf("--holdout %g", p.holdout)
	}
	fmt.Fprintf(e.err, "warning: %s: %s, all of the same label; auc is undefined and early stopping is unreliable; hold out more examples\n",
		from, number.Of(v.Len(), "held-out example"))
}

// readHoldout reads the examples of --validate. What was not in training counts as zero there, and in those held out.
func (p *plan) readHoldout(ctx context.Context, e *env, o data.Options, params []matrix.Meta) (err error) {
	if p.cut {
		return nil
	}
	columns := &data.Columns{Hi: p.conf.Dim}
	for _, m := range params {
		if m.Layout == matrix.RowSparse {
			columns.Keys = append(p.train.Keys(), p.loaded.keys...)
			slices.Sort(columns.Keys)
			break
		}
	}
	if len(p.job.valid) > 0 && p.valid == nil {
		o.Takes = taking(p.compares, max(1, p.conf.Classes))
		o.Classes, o.Columns, o.Dim = p.train.Classes, columns, 0
		o.Table = &data.Table{Spec: o.Table.Spec, Transform: p.train.Transform}
		if n := p.conf.Size.Fields; n > 0 && p.fields == "" && o.Fields.First == nil {
			o.Fields = data.Fields{Number: n, Sorted: true}
		}
		if o.Weight, err = readWeights(ctx, e, p.validWeights); err != nil {
			return err
		}
		if o.Start, err = readStarts(ctx, e, p.validStarts); err != nil {
			return err
		}
		if p.valid, err = p.job.examples(ctx, e, p.job.valid, o); err != nil {
			return err
		}
		if p.valid.Len() == 0 {
			return fmt.Errorf("%s: no examples in the held-out set; want at least one in --validate", strings.Join(p.job.valid, ", "))
		}
		if p.valid.Transform != nil && p.train.Transform == nil {
			return fmt.Errorf("%s: a table, and the training examples are none", strings.Join(p.job.valid, ", "))
		}
		if err := p.splitHoldout(ctx); err != nil {
			return err
		}
		if has, want := p.valid.Fields, p.train.Fields; has > want || has == 0 && want > 0 && p.valid.Values() > 0 {
			return fmt.Errorf("%s: examples of %d fields, want %d as in training (see --fields)", strings.Join(p.job.valid, ", "), has, want)
		}
		p.valid.Fields = p.train.Fields
	} else if p.valid != nil {
		if p.valid.Set, p.valid.Unseen, err = p.valid.Keep(columns); err != nil {
			return err
		}
		switch left := p.valid.Unseen; {
		case left.Features > 0 && p.strict:
			return fmt.Errorf("--holdout: %s (not with --strict)", left.Text(p.valid.Len()))
		case left.Features > 0:
			fmt.Fprintf(e.err, "--holdout: %s\n", left.Text(p.valid.Len()))
		}
	}
	return nil
}

// splitHoldout finds out which held-out examples are of which --validate: each one is a set of its own.
func (p *plan) splitHoldout(ctx context.Context) error {
	if len(p.job.valid) < 2 {
		return nil
	}
	file, from := 0, int64(0)
	for _, pattern := range p.job.valid {
		files, err := data.Files(ctx, p.paths, []string{pattern})
		if err != nil {
			return err
		}
		file += len(files)
		to := p.valid.Ends[file-1]
		if to == from {
			return fmt.Errorf("%s: no examples", pattern)
		}
		p.sets, from = append(p.sets, train.HeldOut{Name: pattern, Rows: int(to - from)}), to
	}
	return nil
}

// validation is the held-out examples, nil if there are none.
func (p *plan) validation() *data.Set {
	if p.valid == nil {
		return nil
	}
	return p.valid.Set
}
