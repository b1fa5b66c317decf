package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/search"
	"thole.example/train"
)

// draw draws the trials.
func (s *searching) draw(ctx context.Context, space []search.Param) (err error) {
	if space == nil {
		if space, err = s.base.spaceOf(s.before); err != nil {
			return err
		}
	}
	if len(space) == 0 {
		return usageError{errors.New("every setting of the default space is given, want --param for those to search")}
	}
	s.drawn = search.Draw(space, s.seed, s.trials)
	if err := s.multiply(ctx); err != nil {
		return err
	}
	rungs, most := 1, 1
	if s.method == "halving" {
		if rungs, most = eta, s.base.train.Len()/leastExamples; s.resource == "" {
			if s.resource = "examples"; s.base.epochs >= manyEpochs {
				s.resource = "epochs"
			}
		}
		if s.resource == "epochs" {
			most = s.base.epochs
		}
	}
	s.bracket = search.NewBracket(len(s.drawn), rungs, most)
	return nil
}

// multiply makes multiples of defaults numbers: of those that the training has with the rule of the trial.
func (s *searching) multiply(ctx context.Context) error {
	plans := map[string]*plan{}
	for _, settings := range s.drawn {
		rule := setting{"rule", []string{search.Default}}
		for _, one := range settings {
			if one.Name == "rule" {
				rule.texts[0] = one.Value
			}
		}
		for i, one := range settings {
			times, is := strings.CutSuffix(one.Value, "x")
			by, err := strconv.ParseFloat(times, 64)
			if !is || err != nil {
				continue
			}
			p := plans[rule.texts[0]]
			if p == nil {
				a := s.attempt(search.Run{Share: 1}) // the defaults
				a.over = append(a.over, chosen([]setting{rule})...)
				if p, err = a.plan(ctx, s.env, s.base.train, s.base.valid, s.cv == 0); err != nil {
					return err
				}
				plans[rule.texts[0]] = p
			}
			switch whole := func(n int) string { return strconv.Itoa(max(1, int(math.Round(by*float64(n))))) }; one.Name {
			case "rate":
				settings[i].Value = strconv.FormatFloat(by*p.rate, 'g', 3, 64)
			case "batch":
				settings[i].Value = whole(p.batch)
			case "epochs", "trees": // which are the epochs of a forest
				settings[i].Value = whole(p.epochs)
			}
		}
	}
	return nil
}

// chosen are the settings but for those that stay as they are.
func chosen(all []setting) []setting {
	return slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return s.texts[0] == search.Default })
}

// attempt is a run's training: each trial has a seed of its own.
func (s *searching) attempt(r search.Run) *attempt {
	a := &attempt{before: s.before, epochs: 1, examples: 1, note: fmt.Sprintf("trial %d of a search", r.Trial+1)}
	if s.cv == 0 && s.sample > 0 { // of folds it is drawn already
		a.examples = s.sample
	}
	if s.resource == "epochs" {
		a.epochs = r.Share
	} else {
		a.examples *= r.Share
	}
	for _, one := range s.drawn[r.Trial] {
		if one.Value != search.Default {
			a.over = append(a.over, settingOfParam(one))
		}
	}
	if s.cv > 0 {
		a.over = append(a.over, setting{"cv", []string{strconv.Itoa(s.cv)}})
	}
	a.over = append(a.over, setting{"seed", []string{strconv.FormatUint(s.seed+uint64(r.Trial), 10)}})
	return a
}

// tried is what came of a run.
type tried struct {
	run       search.Run
	settings  []search.Setting
	epochs    int
	kept      int // the best epoch; 0: the last
	metrics   train.Metrics
	deviation train.Metrics // over folds; nil: there are none
	seconds   float64
	failed    string // why; "": it did not
	median    int    // of the folds' best epochs
}

// try makes a run.
func (s *searching) try(ctx context.Context, r search.Run) *tried {
	t, start := &tried{run: r, settings: s.drawn[r.Trial]}, s.env.now()
	defer func() { t.seconds = s.env.now().Sub(start).Seconds() }()
	a := s.attempt(r)
	if s.cv > 0 {
		folds, err := s.base.cross(ctx, s.env, a, 1, nil)
		if err != nil {
			t.failed = err.Error()
			return t
		}
		t.metrics, t.deviation, t.median = folds.Mean, folds.Deviation, folds.Epochs
		for _, f := range folds.Folds {
			t.epochs = max(t.epochs, f.Epochs)
		}
		t.kept = folds.Epochs
		return t
	}
	q, err := a.plan(ctx, s.env, s.base.train, s.base.valid, true)
	if err != nil {
		t.failed = err.Error()
		return t
	}
	report, err := q.alone(ctx, s.env, a.note)
	if err != nil {
		t.failed = err.Error()
		return t
	}
	t.epochs, t.kept, t.metrics = report.Epochs, report.Best, report.Valid
	return t
}

// by is the metric that the trials are compared by.
func (s *searching) metric(m train.Metrics) train.Metric {
	if s.by == "" {
		return m[0]
	}
	return train.Metric{Name: s.by, Value: m.Get(s.by)}
}

// value is what a bracket compares: smaller is better, NaN is a failure.
func (s *searching) value(t *tried) float64 {
	if t.failed != "" {
		return math.NaN()
	}
	m := s.metric(t.metrics)
	switch {
	case math.IsNaN(m.Value):
		t.failed = m.Name + " is no number"
	case s.mode == "max" || s.mode == "" && train.Larger(s.by):
		return -m.Value
	}
	return m.Value
}

// run makes the runs, some at a time, until there are none or the user ends it.
func (s *searching) run(ctx context.Context) {
	parallel := s.parallel
	if parallel == 0 {
		parallel = atOnce(s.base, s.largest(ctx), len(s.drawn))
	}
	s.bar = s.env.progress("search "+s.algo, "trials", 1)
	defer s.bar.end()
	start, work, done := s.env.now(), s.bracket.Work(), 0.0
	results, running := make(chan *tried), 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for running < parallel && ctx.Err() == nil {
			r, ok := s.bracket.Next()
			if !ok {
				break
			}
			running++
			go func() { results <- s.try(ctx, r) }()
		}
		if running == 0 {
			return
		}
		select {
		case t := <-results:
			if running--; t.failed != "" && ctx.Err() != nil {
				continue // it was cut off
			}
			s.bracket.Done(t.run, s.value(t))
			s.tried = append(s.tried, t)
			done += t.run.Share
			passed := s.env.now().Sub(start)
			s.tell(t, time.Duration(float64(passed)*(max(work, done)-done)/done))
		case <-tick.C:
			passed := s.env.now().Sub(start)
			s.bar.during(fmt.Sprintf("%d done, %d running", len(s.tried), running), passed, time.Duration(float64(passed)*work/max(done, 0.1)))
		}
	}
}

// largest is the plan of the trial that takes the most memory, as far as that is known before it is made.
func (s *searching) largest(ctx context.Context) *plan {
	most, bytes := s.base, 0.0
	if s.base.forest != nil {
		return most
	}
	for i := range s.drawn {
		q, err := s.env.again(ctx, s.before, s.attempt(search.Run{Trial: i, Share: 1}).over...)
		if err != nil {
			continue // which the trial says
		}
		q.train = s.base.train
		q.conf.Dim, q.conf.Classes, q.conf.Size.Fields = s.base.conf.Dim, s.base.conf.Classes, s.base.conf.Size.Fields
		if q.fieldWidths() != nil {
			continue
		}
		model, err := q.recipe.Build(q.conf)
		if err != nil {
			continue
		}
		if tables, batch, outputs := q.takes(model); tables+batch+outputs > bytes {
			most, bytes = q, tables+batch+outputs
		}
	}
	return most
}
