package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/data"
	"thole.example/search"
	"thole.example/train"
)

// setting is what a flag was given: texts as its kind takes them, one for each item of a list, or NAME=VALUE.
type setting struct {
	flag  string
	texts []string
}

// given are the flags that a user gave to a command, before files and defaults say more.
func given(c *cobra.Command) (all []setting) {
	c.Flags().Visit(func(f *pflag.Flag) { all = append(all, setting{f.Name, textsOf(c.Flags(), f)}) })
	return all
}

func textsOf(flags *pflag.FlagSet, f *pflag.Flag) (texts []string) {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	if f.Value.Type() != "stringToString" {
		return []string{f.Value.String()}
	}
	all, _ := flags.GetStringToString(f.Name) // it is one
	for name, value := range all {
		texts = append(texts, name+"="+value)
	}
	return texts
}

// saves are the flags of what a training leaves behind, and single those that trainings of several do not have.
var (
	saves  = []string{"model", "log", "force", "save-state"}
	single = append([]string{"cv", "json", "dry-run"}, saves...)
)

// among are the settings of some flags.
func among(all []setting, flags []string) (some []setting) {
	for _, s := range all {
		if slices.Contains(flags, s.flag) {
			some = append(some, s)
		}
	}
	return some
}

// gives reports whether one of the settings is of the flag.
func gives(all []setting, flag string) bool { return len(among(all, []string{flag})) > 0 }

// again is another job with the settings that its user gave, less those of a training by itself, and with others over them. It is
// checked as every job is; what is told of its files was told before.
func (e *env) again(ctx context.Context, before []setting, over ...setting) (*plan, error) {
	j := trainFlags(e, &cobra.Command{Use: "train"})
	flags := j.command.Flags()
	for i, s := range append(slices.Clone(before), over...) {
		if flags.Lookup(s.flag) == nil || i < len(before) && slices.Contains(single, s.flag) { // of the command that tries
			continue
		}
		if err := setFlag(flags, s); err != nil {
			return nil, err
		}
	}
	if err := j.files(ctx, e.silent()); err != nil {
		return nil, err
	}
	if n := len(over); n > 0 && over[n-1].flag == "early-stop" {
		j.unwatched()
	}
	return j.choose(ctx)
}

// heldNone is the setting of a training without held-out examples, the last of those that it is given.
var heldNone = setting{"early-stop", []string{"0"}}

// unwatched takes from the job what it says of held-out examples: there are none.
func (j *job) unwatched() {
	j.watching = watching{}
	for _, flag := range []string{"early-stop-metric", "early-stop-mode", "early-stop-delta", "metrics"} {
		j.command.Flags().Lookup(flag).Changed = false
	}
}

// silent is what trainings have that tell nothing.
func (e *env) silent() *env {
	return &env{args: e.args, in: strings.NewReader(""), out: io.Discard, err: io.Discard, clock: e.clock, spooled: e.spooled, paths: e.paths}
}

// setFlag gives a flag what the setting says. Settings of rules, NAME=VALUE, are added to those that are there.
func setFlag(flags *pflag.FlagSet, s setting) error {
	f := flags.Lookup(s.flag)
	if list, ok := f.Value.(pflag.SliceValue); ok && f.Value.Type() != "intSlice" {
		f.Changed = true
		return list.Replace(s.texts)
	} else if ok {
		s.texts = []string{strings.Join(s.texts, ",")}
	}
	for _, text := range s.texts {
		if f.Value.Type() == "stringToString" {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"` // as a field of CSV, which the flag reads
		}
		if err := flags.Set(s.flag, text); err != nil {
			if want := kindOf(f).want; want != "" {
				return usageError{fmt.Errorf("--%s %q, want %s", s.flag, text, want)}
			}
			return usageError{err}
		}
	}
	return nil
}

// settingOfParam is a setting of a search as a flag has it: "hyper.eps" is eps of --hyper.
func settingOfParam(s search.Setting) setting {
	if flag, name, nested := strings.Cut(s.Name, "."); nested {
		return setting{flag, []string{name + "=" + s.Value}}
	}
	if s.Name == "hidden" {
		return setting{s.Name, strings.Split(s.Value, ",")}
	}
	return setting{s.Name, []string{s.Value}}
}

// adopt takes examples that were read before: sets may be shared, as training changes none. share below 1 trains on so many of them.
// cut says that the held-out ones have no features but those of the training examples.
func (p *plan) adopt(ctx context.Context, e *env, learn, valid *data.Examples, share float64, cut bool) error {
	own := *learn
	p.train = &own
	if valid != nil {
		held := *valid
		p.valid = &held
	}
	if p.cut = cut && share >= 1; share < 1 {
		if err := p.draw(share); err != nil {
			return err
		}
	}
	return p.settle(ctx, e.silent(), data.Options{})
}

// attempt is a training of several: what its settings are, and how much it gets.
type attempt struct {
	before, over []setting
	note         string  // what it is, for the record of its run
	epochs       float64 // share of those that it would make; 1: all
	examples     float64 // share of the training examples; 1: all
}

// plan is the training on examples that are read.
func (a *attempt) plan(ctx context.Context, e *env, learn, valid *data.Examples, cut bool, over ...setting) (*plan, error) {
	q, err := e.again(ctx, a.before, append(slices.Clone(a.over), over...)...)
	if err == nil {
		err = q.adopt(ctx, e, learn, valid, a.examples, cut)
	}
	if err == nil && a.epochs < 1 {
		q.epochs = max(1, int(math.Round(a.epochs*float64(q.epochs))))
		err = q.schedules()
	}
	return q, err
}

// alone makes the training on servers of its own, without a word, and saves nothing. The record of the run has the note.
func (p *plan) alone(ctx context.Context, e *env, note string) (*train.Report, error) {
	c, stop, err := p.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	w, err := newWatcher(ctx, e.silent(), "", false)
	if err != nil {
		return nil, err
	}
	w.runs = runsAt(p.runs)
	if p.note != "" {
		note += ": " + p.note
	}
	p.note = note
	return p.runWatched(ctx, c, nil, "", w)
}
