package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/internal/number"
)

// starting is the settings of what scores of examples are before the first tree.
type starting struct {
	starts, validStarts []string // paths
}

func (s *starting) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&s.starts, "start-scores", nil, "scores that the trees are grown from, in place of one for all: files with a line for "+
		"each example, of one number, or of one for each class, as margins are; the model has the trees alone, and predict and evaluate "+
		"want start scores, too")
	f.StringArrayVar(&s.validStarts, "validate-start-scores", nil, "start scores of the examples of --validate")
}

// startFlag is that of commands that score examples.
func (s *starting) startFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.starts, "start-scores", nil, "of a model of trees: scores that it is added to, in place of its own start: "+
		"files with a line for each example, as thole train --start-scores has them")
}

// checkStarts checks what can be checked before there are examples.
func (p *plan) checkStarts() error {
	j := p.job
	switch {
	case len(j.validStarts) > 0 && len(j.valid) == 0:
		return errors.New("--validate-start-scores without --validate, want both (examples that --holdout holds out keep their --start-scores)")
	case len(j.validStarts) > 0 && len(j.starts) == 0:
		return errors.New("--validate-start-scores without --start-scores, want both: trees are added to those of all examples, or none")
	case len(j.starts) > 0 && len(j.valid) > 0 && len(j.validStarts) == 0:
		return errors.New("--start-scores and --validate without --validate-start-scores, want all three: trees are added to those of all " +
			"examples, or none")
	case len(j.starts) == 0 && p.before != nil && p.before.trees.NeedsStart:
		return fmt.Errorf("--load %s was grown from start scores, want --start-scores to go on from it", p.load)
	}
	return nil
}

// readStarts reads the start scores of the examples that the paths name beside them, nil if they name none.
func readStarts(ctx context.Context, e *env, paths []string) (*data.Starts, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	files, err := data.Files(ctx, e.paths, paths)
	if err != nil {
		return nil, err
	}
	return data.LoadStarts(ctx, e.paths, files, e.in)
}

// checkWidth refuses start scores that are not as many as each example has scores.
func checkWidth(flag string, have, want int) error {
	if have == want {
		return nil
	}
	return fmt.Errorf("--%s: %s of each example, want %d%s", flag, number.Of(have, "start score"), want,
		map[bool]string{true: ", one for each class"}[want > 1])
}

// checkStartsOf refuses start scores that are not of these examples.
func (p *plan) checkStartsOf(flag string, of *data.Examples) error {
	if of == nil || of.Start == nil {
		return nil
	}
	return checkWidth(flag, len(of.Start)/of.Len(), p.scores())
}

// startScores are those of all examples, class after class: from files, and by the trees that go before; nil if there are neither.
func (p *plan) startScores() (all []float64, err error) {
	from, classes := p.forest.from, p.scores()
	if from == nil && p.train.Start == nil {
		return nil, nil
	}
	of := func(x *data.Examples) ([][]float64, error) {
		switch {
		case x == nil:
			return make([][]float64, classes), nil
		case from != nil:
			return p.scoresOf(from, x)
		}
		return byClass(x.Start, classes), nil
	}
	learned, err := of(p.train)
	if err != nil {
		return nil, err
	}
	held, err := of(p.valid)
	if err != nil {
		return nil, err
	}
	for k := range learned {
		all = append(append(all, learned[k]...), held[k]...)
	}
	return all, nil
}
