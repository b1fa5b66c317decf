package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/data"
	"thole.example/matrix"
	"thole.example/train"
)

// holdOut moves every k-th example to the held-out ones, from the first on: one at least, which has to be what the share comes to. Of
// those of which some were left out it is known which.
func (p *plan) holdOut(thinned *thinning) error {
	if g := p.groups(); g != nil {
		return p.holdGroups(g)
	}
	n := float64(p.train.Len())
	if thinned != nil {
		n = float64(thinned.seen)
	}
	switch {
	case n < 2:
		return usageError{fmt.Errorf("--holdout %v of one example, want at least two: one has to be left to train on", p.holdout)}
	case p.holdout*n < 0.5:
		return usageError{fmt.Errorf("--holdout %v of %d examples is less than half of one, want a share from %.2g on, which is one example",
			p.holdout, int(n), 1/n)}
	}
	take := p.heldOut(int(n))
	if thinned != nil {
		take = func(i int) bool {
			_, held := slices.BinarySearch(thinned.held, i)
			return held
		}
	}
	out, err := p.train.Part(take)
	p.valid = &data.Examples{Set: out, Classes: p.train.Classes}
	return err
}

// heldOut is which of n examples are held out.
func (p *plan) heldOut(n int) func(i int) bool {
	k := int(math.Round(max(2, min(1/p.holdout, float64(n)))))
	return func(i int) bool { return i%k == 0 }
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
