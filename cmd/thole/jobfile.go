package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"thole.example/algo"
	"thole.example/graph"
	"thole.example/optim"
	"thole.example/psf"
)

// jobFileName is what the settings of a training are called beside the model that came of it.
const jobFileName = "job.yaml"

// yamlLimit is the largest job file in YAML, in bytes: its nodes take some hundred times as much.
const yamlLimit = 1 << 20

// notInFiles are the flags that no file can give.
var notInFiles = []string{"job", "job-file", "dry-run", "strict-graph", "help", "task", "cv", "json", "trials", "method",
	"resource", "space", "param", "parallel", "out", "best", "dir", "detach", "attempt", "append-log", "asked", tiedFlag}

// outdoes is a table of flags that decide what others mean: where the user gives one, files say nothing about the other.
var outdoes = map[string][]string{"rule": {"hyper"}, "loss": {"loss-set"}, "schedule": {"schedule-set", "schedule-per"},
	"updates": {"batch"}, "batch": {"updates"}, "validate": {"holdout"}, "holdout": {"validate", "holdout-by"}, "algo": {"graph", "loss-set"}}

// settings are what the files of a job say, on their way to the flags.
type settings struct {
	job    *job
	flags  *pflag.FlagSet
	user   map[string]bool   // flags that the user gave, and those that these outdo
	said   map[string]string // where the file says what a flag is
	name   string            // of the file
	lines  map[string]int    // of it, where keys stand, by their paths in small letters
	strict bool              // unknown keys are errors
	warn   func(format string, args ...any)
	not    []string // flags that the file cannot give
}

// files reads the files of --job and --graph and gives the flags what they say where the user did not.
func (j *job) files(ctx context.Context, e *env) error {
	if j.command == nil {
		return nil
	}
	j.places = map[string]string{}
	s := &settings{job: j, flags: j.command.Flags(), user: map[string]bool{}, not: notInFiles, warn: func(format string, args ...any) {
		fmt.Fprintln(e.err, escaped(fmt.Sprintf(format, args...)))
	}}
	s.firm()
	if j.given("algo") && j.given("graph") {
		return usageError{errors.New("--algo and --graph, want one of them: both say what the network is")}
	}
	if err := s.configure(); err != nil { // what is given to the command comes before what files say
		return err
	}
	s.firm()
	if j.jobFile != "" {
		before := len(j.conf)
		if err := s.read(ctx, e, j.jobFile, true); err != nil {
			return err
		}
		if before == 0 {
			if err := s.configure(); err != nil {
				return fmt.Errorf("%s: %w", j.jobFile, err)
			}
		}
	}
	if j.graphFile == "" {
		return s.complete()
	}
	s.firm()
	if j.network != nil {
		return usageError{fmt.Errorf("%s has layers, and the network is that of %s: want one of them", j.jobFile, j.graphFile)}
	}
	if err := s.read(ctx, e, j.graphFile, j.strictGraph); err != nil {
		return err
	}
	if j.network == nil {
		return fmt.Errorf("%s: no layers, want at least an input layer and a loss layer", j.graphFile)
	}
	return s.complete()
}

// firm makes what the flags are until now stay, whatever files say.
func (s *settings) firm() {
	s.flags.Visit(func(f *pflag.Flag) {
		s.user[f.Name] = true
		for _, other := range outdoes[f.Name] {
			s.user[other] = true
		}
	})
}

// parse reads a file, about whose keys s is from then on.
func (s *settings) parse(ctx context.Context, e *env, path string, strict bool) (*graph.File, error) {
	src, err := e.small(ctx, path)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) { // else it is JSON
		if len(src) > yamlLimit {
			return nil, fmt.Errorf("%s: %d bytes, want at most %d of YAML", path, len(src), yamlLimit)
		}
		if src, err = jsonOf(path, src); err != nil {
			return nil, err
		}
	}
	f, err := graph.Parse(path, src)
	if err != nil {
		return nil, err
	}
	s.name, s.said, s.lines, s.strict = path, map[string]string{}, f.Lines, strict
	return f, nil
}

// read reads a file and gives the flags what it says.
func (s *settings) read(ctx context.Context, e *env, path string, strict bool) error {
	f, err := s.parse(ctx, e, path, strict)
	if err != nil {
		return err
	}
	if err := s.others(f); err != nil {
		return err // with its line
	}
	for _, step := range []func(*graph.File) error{s.keys, s.schedule, s.storage, s.network} {
		if err := step(f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// small reads a file of settings.
func (e *env) small(ctx context.Context, path string) ([]byte, error) {
	file, err := e.readable(ctx, path)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, graph.FileLimit+1)) // which is refused
}

// keys gives the flags what the keys of the grammar say.
func (s *settings) keys(f *graph.File) error {
	for _, k := range jobKeys() {
		text, ok := k.get(f)
		if !ok {
			continue
		}
		if err := s.give(k.flag, k.path, strings.Split(text, "\x00")...); err != nil {
			return err
		}
		if k.flag == "holdout" && s.name == s.job.graphFile {
			if err := s.holdsInterval(k.path); err != nil {
				return err
			}
		}
	}
	last := s.job.graphFile == "" || s.job.graphFile == s.name
	if c := f.Train.Checkpoint; last && c != nil && c.Every != "" && s.job.checkpoint == "" {
		return fmt.Errorf("train.checkpoint.every is %s, want a train.checkpoint.path beside it: where checkpoints are written", c.Every)
	}
	if s.said["updates"] != "" && s.said["batch"] != "" {
		s.warn("%s: train.batchsize has no effect beside train.numupdateperepoch: a batch is the examples by that number", s.name)
	}
	return nil
}

// others gives the flags what keys of their own names say, and refuses or tells of those that nobody knows.
func (s *settings) others(f *graph.File) error {
	var names []string
	s.flags.VisitAll(func(one *pflag.Flag) {
		if !slices.Contains(s.not, one.Name) {
			names = append(names, one.Name)
		}
	})
	launches := s.flags.Lookup("on") != nil
	for _, k := range f.Unknown {
		if !launches && s.name == s.job.jobFile && slices.Contains(launchKeys(), k.Path) {
			continue // it says where the processes of a launch run, and not what they do
		}
		at := fmt.Sprintf("%s:%d: ", s.name, k.Line)
		if slices.Contains(names, k.Path) && s.name == s.job.jobFile {
			s.lines[strings.ToLower(k.Path)] = k.Line
			texts, err := s.texts(k.Path, k.Value)
			if err == nil {
				err = s.give(k.Path, k.Path, texts...)
			}
			if err != nil {
				return fmt.Errorf("%s%w", at, err)
			}
			continue
		}
		near := k.Nearest()
		if !strings.Contains(k.Path, ".") && s.name == s.job.jobFile {
			near = k.Nearest(names...)
		}
		if s.strict {
			return fmt.Errorf("%s%s is no setting%s", at, k.Path, near)
		}
		s.warn("%s%s has no effect: it is not in the grammar%s", at, k.Path, near)
	}
	for _, k := range f.Respelt {
		if s.name == s.job.graphFile {
			s.warn("%s:%d: %s is read; Angel ignores it, because of its capital letters", s.name, k.Line, k.Path)
		}
	}
	return nil
}

// texts are a value of a file as the flag takes it: one text, or one for each item of a list, or NAME=VALUE for each setting.
func (s *settings) texts(flag string, src json.RawMessage) ([]string, error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	kind := s.flags.Lookup(flag).Value.Type()
	_, many := s.flags.Lookup(flag).Value.(pflag.SliceValue)
	switch v := v.(type) {
	case []any:
		if many {
			if len(v) == 0 {
				return nil, fmt.Errorf("%s is an empty list, want at least one value, or no %[1]s", flag)
			}
			var all []string
			for _, item := range v {
				all = append(all, fmt.Sprint(item))
			}
			return all, nil
		}
	case map[string]any:
		if kind == "stringToString" {
			var all []string
			for _, name := range slices.Sorted(maps.Keys(v)) {
				switch v[name].(type) {
				case []any, map[string]any, nil:
					text, _ := json.Marshal(v[name]) // it was read from such text
					return nil, fmt.Errorf("%s.%s is %.60s, want one value", flag, name, text)
				}
				all = append(all, fmt.Sprintf("%s=%v", name, v[name]))
			}
			return all, nil
		}
	case string, bool, json.Number:
		if kind != "stringToString" {
			return []string{fmt.Sprint(v)}, nil
		}
	}
	want := "one value"
	if many {
		want = "a value or a list of values"
	} else if kind == "stringToString" {
		want = "settings, NAME: VALUE"
	}
	return nil, fmt.Errorf("%s is %.60s, want %s", flag, src, want)
}

// give sets a flag to what the file says under the key, unless the user did, or an earlier file.
func (s *settings) give(flag, key string, texts ...string) error {
	f := s.flags.Lookup(flag)
	if f == nil { // of a command that has no such flag
		return fmt.Errorf("%s is no setting of this command", key)
	}
	value := strings.Join(texts, "\x00")
	if old, twice := s.said[flag]; twice && old != value {
		return fmt.Errorf("%s is also said by another key, with another value", key)
	}
	s.said[flag] = value
	if s.user[flag] || f.Changed {
		return nil
	}
	if line := s.lines[strings.ToLower(key)]; line > 0 { // what --conf says has none
		s.job.places[flag] = fmt.Sprintf("%s:%d: %s", s.name, line, key)
	}
	if list, ok := f.Value.(pflag.SliceValue); ok && len(texts) > 0 {
		f.Changed = true
		if err := list.Replace(texts); err != nil {
			return fmt.Errorf("%s is %q, want %s", key, strings.Join(texts, ","), kindOf(f).want)
		}
		return nil
	}
	for _, text := range texts {
		if f.Value.Type() == "stringToString" {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"` // as a field of CSV, which the flag reads
		}
		if err := s.flags.Set(flag, text); err != nil {
			if want := kindOf(f).want; want != "" {
				return fmt.Errorf("%s is %q, want %s", key, text, want)
			}
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// angelSchedules are the schedules that Angel asks for the rate once an epoch.
var angelSchedules = []string{"StandardDecay", "WarmRestarts", "CorrectionDecay"}

// schedule gives the schedule its settings. Without a name they belong to Angel's StandardDecay, as there.
func (s *settings) schedule(f *graph.File) error {
	t := &f.Train
	if t.DecayAlpha == nil && t.DecayBeta == nil && t.DecayClass == "" || s.user["schedule"] {
		return nil
	}
	if t.DecayClass == "" {
		t.DecayClass = angelSchedules[0]
		if err := s.give("schedule", "train.decayclass", t.DecayClass); err != nil {
			return err
		}
	}
	if slices.Contains(angelSchedules, t.DecayClass) && s.said["schedule-per"] == "" {
		if err := s.give("schedule-per", "train.decayclass", "epoch"); err != nil {
			return err
		}
	}
	schedule, err := optim.FindSchedule(t.DecayClass)
	if err != nil {
		return fmt.Errorf("train.decayclass: %w", err)
	}
	for _, one := range []struct {
		name string
		v    *float64
	}{{"alpha", t.DecayAlpha}, {"beta", t.DecayBeta}} {
		if one.v == nil {
			continue
		}
		if !hasSetting(schedule.Hyper, one.name) {
			s.warn("%s: train.decay%s has no effect: schedule %s has no setting %s", s.name, one.name, t.DecayClass, one.name)
			continue
		}
		if s.said["schedule-set"] != "" {
			return fmt.Errorf("train.decay%s and schedule-set, want one of them", one.name)
		}
		if !s.user["schedule-set"] {
			if s.job.decay == nil {
				s.job.decay = map[string]string{}
			}
			s.job.decay[one.name] = fmt.Sprint(*one.v)
		}
	}
	return nil
}

// hasSetting reports whether a rule or schedule with these settings has one of that name.
func hasSetting(all []psf.Hyper, name string) bool {
	return slices.ContainsFunc(all, func(h psf.Hyper) bool { return h.Name == name })
}

// storage checks how the model is to be kept, and tells of what has no effect.
func (s *settings) storage(f *graph.File) error {
	if t := f.Model.ModelType; t != "" {
		if _, err := rowType(t); err != nil {
			return fmt.Errorf("model.modeltype %q, %w", t, err)
		}
	}
	if f.Model.BlockSize != 0 {
		s.warn("%s: model.blockSize has no effect: --partitioner and --servers say how matrices are cut", s.name)
	}
	if strings.Contains(strings.ToUpper(f.Model.ModelType), "DOUBLE") {
		s.warn("%s: model.modeltype %s: weights are kept as float32", s.name, f.Model.ModelType)
	}
	return nil
}

// network takes the network of the file, if it has one.
func (s *settings) network(f *graph.File) error {
	if len(f.Layers) == 0 {
		s.job.numField = f.Data.NumField
		if f.DefaultOptimizer != nil || f.DefaultTransFunc != nil || f.DefaultLossFunc != nil {
			return errors.New("defaults of layers and no layers, want both or none")
		}
		return nil
	}
	if s.said["algo"] != "" || s.user["algo"] {
		return usageError{errors.New("layers, and an algorithm by name, want one of them: both say what the network is")}
	}
	if s.user["sparse"] {
		f.Model.ModelType = "" // which would say what the user overrides
	}
	recipe, err := algo.Own(f, nil)
	if err != nil {
		return err
	}
	if wrong := algo.Unfit(f, nil, nil); wrong != nil {
		return errors.New(wrong[0])
	}
	for _, text := range algo.Idle(f, nil) {
		if s.strict {
			return errors.New(text)
		}
		s.warn("%s: %s", s.name, text)
	}
	algo.Drop(f, nil) // the job that is saved is one that can be read
	s.job.network, s.job.own, s.job.ownAt, s.job.algo = f, recipe, s.name, recipe.Name
	return nil
}
