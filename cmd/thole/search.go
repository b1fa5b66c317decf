package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/internal/spell"
	"thole.example/search"
)

// searching is the flags of search beside those of train, and the search at work.
type searching struct {
	*job
	trials, parallel                   int
	method, resource, space, out, best string
	params                             []string

	env     *env
	before  []setting      // what the user gave, and what a search has beside it
	base    *plan          // with the examples, which all trials share
	all     *data.Examples // its training examples, of which a cross-validation may have drawn some
	drawn   [][]search.Setting
	bracket *search.Bracket
	tried   []*tried // in the order of the runs' ends
	bar     *progress
}

// How a search is made where nobody says it.
const (
	trialsDefault  = 20
	trialsLimit    = 10000
	eta            = 3   // of successive halving: one of so many goes on, with so many times the resource
	halvingFrom    = 27  // trials, from which on there are three full rungs before the last
	leastExamples  = 500 // of the first rung
	manyEpochs     = 9   // from which on they are the resource
	holdoutDefault = "0.1"
)

func searchCommand(e *env) *cobra.Command {
	s := &searching{env: e}
	c := &cobra.Command{
		Use:   "search",
		Short: "Search the settings of a training: random search or successive halving",
		Long: `Trains a model many times with settings drawn at random, measures each by held-out examples, and tells which are best. It takes
the flags of thole train: what is given there stays, the others are searched in a default space (docs/search.md), or in that of
--param and --space. The first trial leaves everything as thole train has it. The examples are read once. The same seed gives the
same table, however many trials run at a time.`,
		Example: `  thole search --algo deepfm --data clicks.ffm --model out/best
  thole search --algo fm --data clicks.ffm --validate valid.ffm --trials 9 --method halving --out trials.csv
  thole search --data clicks.ffm --param rate=0.001..0.3 --param l2=0,1e-5,1e-4 --early-stop-metric auc
  thole search --algo dnn --data clicks.ffm --param 'hidden=64,32|128,64' --param factors=8,16 --cv 3
  thole search --algo lr --data train.libsvm --space space.yaml --best best.yaml --json`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			s.before = given(c)
			if err := s.files(c.Context(), e); err != nil {
				return err
			}
			defer func() { err = s.placed(err) }()
			return s.search(c.Context())
		},
	}
	s.job = trainFlags(e, c)
	f := c.Flags()
	f.Lookup("json").Usage = "print the trials as JSON"
	f.Lookup("holdout").Usage += " (default: " + holdoutDefault + " without --validate and --cv)"
	f.IntVar(&s.trials, "trials", trialsDefault, "trials, the first of which is the defaults")
	f.StringVar(&s.method, "method", "", fmt.Sprintf("random: every trial in full, or halving: of %d trials on few epochs or examples the "+
		"best goes on to %[1]d times as many (default: halving from %d trials on, else random)", eta, halvingFrom))
	f.StringVar(&s.resource, "resource", "", "what halving gives little of at first: epochs or examples (default: epochs if there are "+
		fmt.Sprintf("%d or more)", manyEpochs))
	f.StringArrayVar(&s.params, "param", nil, "setting to search, NAME=VALUES: rate=0.001..0.3, factors=8,16, 'hidden=64,32|128,64', "+
		"rate=0.1x..3x for multiples of the default; :log or :linear behind a range")
	f.StringVar(&s.space, "space", "", "file of settings to search, in YAML or JSON (see docs/search.md)")
	f.IntVar(&s.parallel, "parallel", 0, "trials at a time (default: by the processors and the memory)")
	f.StringVar(&s.out, "out", "", "write the trials to this file, as .csv or as JSON lines, .jsonl")
	f.StringVar(&s.best, "best", "", "write the job of the best trial to this file, as thole train --job takes it")
	return c
}

// check refuses what a search cannot do.
func (s *searching) check() error {
	methods, resources := []string{"random", "halving"}, []string{"epochs", "examples"}
	for _, one := range [][2]string{{"resume", s.job.resume}, {"checkpoint", s.checkpoint}, {"load", s.load}, {"load-state", s.loadState}} {
		if one[1] != "" {
			return usageError{fmt.Errorf("--%s %s: a trial is a training from the start", one[0], one[1])}
		}
	}
	switch {
	case s.trials < 1 || s.trials > trialsLimit:
		return usageError{fmt.Errorf("--trials %d, want 1 to %d", s.trials, trialsLimit)}
	case s.method != "" && !slices.Contains(methods, s.method):
		return usageError{fmt.Errorf("--method %q, want random or halving%s", s.method, spell.Hint(s.method, methods))}
	case s.resource != "" && !slices.Contains(resources, s.resource):
		return usageError{fmt.Errorf("--resource %q, want epochs or examples%s", s.resource, spell.Hint(s.resource, resources))}
	case s.parallel < 0 || s.given("parallel") && s.parallel == 0:
		return usageError{fmt.Errorf("--parallel %d, want 1 trial at a time or more", s.parallel)}
	case s.log != "" && s.model == "":
		return usageError{errors.New("--log without --model, want both: the training of the best model is logged; --out has the trials")}
	case s.out != "" && tableFormat(s.out) == "":
		return usageError{fmt.Errorf("--out %s, want a file that ends in .csv or .jsonl, or -", s.out)}
	case s.staleness != 0 && s.tasks > 1:
		return usageError{fmt.Errorf("--staleness %d: such trainings come out differently each time, want 0 (BSP) to compare them", s.staleness)}
	}
	if s.method == "" {
		if s.method = "random"; s.trials >= halvingFrom {
			s.method = "halving"
		}
	}
	if s.resource != "" && s.method == "random" {
		return usageError{fmt.Errorf("--resource %s, want it with --method halving: random search gives all of it to every trial", s.resource)}
	}
	if s.cv != 0 || s.given("cv") {
		return s.checkCross()
	}
	return nil
}

// add gives a flag to the search and to all trials.
func (s *searching) add(flag, text string) error {
	one := setting{flag, []string{text}}
	s.before = append(s.before, one)
	return setFlag(s.command.Flags(), one)
}

func (s *searching) search(ctx context.Context) error {
	if err := s.checkHere(); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if s.holdout == 0 && len(s.valid) == 0 && s.cv == 0 {
		if err := s.add("holdout", holdoutDefault); err != nil {
			return err
		}
	}
	if s.holdout > 0 && !s.given("holdout-seed") && s.heldBy() == holdRandom { // trials have seeds of their own
		if err := s.add("holdout-seed", strconv.FormatUint(s.seed, 10)); err != nil {
			return err
		}
	}
	patient := s.given("early-stop")
	if !patient {
		s.patience, s.command.Flags().Lookup("early-stop").Changed = patience, true
	}
	space, err := s.asked(ctx)
	if err != nil {
		return err
	}
	if s.base, err = s.choose(ctx); err != nil {
		return err
	}
	s.base.tell(s.env)
	path, err := s.target(ctx, s.env)
	if err != nil {
		return err
	}
	defer path.release()
	table, best, err := s.sinks(ctx)
	if err != nil {
		return err
	}
	if err := s.read(ctx, patient); err != nil {
		return err
	}
	if err := s.draw(ctx, space); err != nil {
		return err
	}
	if s.dryRun {
		return s.printDrawn()
	}
	s.run(ctx)
	return s.finish(ctx, path.name, table, best)
}

// asked is the space of --param and --space; nil: the default one.
func (s *searching) asked(ctx context.Context) ([]search.Param, error) {
	r := newSpaceReader()
	for _, text := range s.params {
		if err := r.text(text); err != nil {
			return nil, usageError{fmt.Errorf("--param %w", err)}
		}
	}
	if s.space != "" {
		if err := r.file(ctx, s.env, s.space); err != nil {
			return nil, err
		}
	}
	for _, p := range r.space {
		if flag, _, nested := strings.Cut(p.Name, "."); !nested && gives(s.before, flag) {
			return nil, usageError{fmt.Errorf("--%s is given and searched, want one of them", flag)}
		}
	}
	return r.space, nil
}

// read reads the examples, which all trials share, and finds how patient they are if the user did not say it.
func (s *searching) read(ctx context.Context, patient bool) error {
	p := s.base
	o, err := p.readTraining(ctx, s.env)
	if err == nil {
		all := *p.train
		s.all = &all
	}
	if err == nil && s.cv > 0 && s.sample > 0 {
		err = p.draw(s.sample)
	}
	if err == nil {
		err = p.settle(ctx, s.env, o)
	}
	if err != nil {
		return err
	}
	if n := p.train.Len(); s.cv > n {
		return usageError{fmt.Errorf("--cv %d of %d examples, want at most as many folds as examples", s.cv, n)}
	}
	if patient {
		return nil
	}
	n := p.usualPatience()
	switch {
	case p.forest != nil:
	case p.open && s.by == "": // the loss says when it no longer falls, and epochs may be very many: none is kept
		n = 0
	case p.epochs <= 2: // of so many examples an epoch is long, and the best is among the first
		n = 1
	}
	s.before = append(s.before, setting{"early-stop", []string{strconv.Itoa(n)}})
	return nil
}

// finish tells what came out, also of a search that was interrupted, and saves the best job and model.
func (s *searching) finish(ctx context.Context, path string, table, best *sink) error {
	ranked := s.bracket.Ranked()
	interrupted := ctx.Err()
	whole := context.WithoutCancel(ctx) // what is finished is told
	if err := s.print(ranked); err != nil {
		return err
	}
	if table != nil {
		if err := s.writeTable(whole, table); err != nil {
			return err
		}
	}
	if len(ranked) == 0 {
		if interrupted != nil {
			return interrupted
		}
		return fmt.Errorf("all %d trials failed; the first: %s", len(s.tried), s.tried[0].failed)
	}
	first := ranked[0]
	first.Share = 1
	if best != nil {
		q, err := s.again(whole, first)
		if err == nil {
			err = writeAll(whole, best, q.settings)
		}
		if err != nil {
			return err
		}
	}
	if interrupted != nil || s.model == "" {
		return interrupted
	}
	return s.save(ctx, first, path)
}
