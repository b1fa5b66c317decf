package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"thole.example/graph"
)

// unsaved are the flags that a saved job does not have: where it was saved, and what others say that are.
var unsaved = []string{"model", "graph", "log", "runs", "note", "force", "l1", "l2", "validate", "resume", "checkpoint", "checkpoint-every",
	"keep", "grace", "load-state", "cv", "json", "memory", "scratch", "sync"}

// entry is a key with its value. entries are an object whose keys have an order.
type entry struct {
	name  string
	value any
}
type entries []entry

// MarshalJSON implements json.Marshaler.
func (es entries) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, e := range es {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(e.name) // a string always can be
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// resolved is the job with everything that was chosen for it, as --job takes it again for the same training.
func (p *plan) resolved() ([]byte, error) {
	f := &graph.File{}
	if p.network != nil {
		*f = *p.network
	}
	f.Data.UseShuffle, f.Train.DecayAlpha, f.Train.DecayBeta = nil, nil, nil // their flags say it
	flags, done := p.command.Flags(), slices.Clone(unsaved)
	leave := p.leave()
	if p.forest != nil {
		leave = append(append(leave, networkFlags...), "conf") // whose keys flags say
	}
	for _, k := range jobKeys() {
		one := flags.Lookup(k.flag)
		if v, ok := k.in(f, false); ok {
			v.SetZero()
		}
		if k.flag == "in-order" || k.flag == "sparse" { // said by their flags
			continue
		}
		done = append(done, k.flag)
		if slices.Contains(leave, k.flag) || slices.Contains(unsaved, k.flag) || !told(one) {
			continue
		}
		if err := k.set(f, textOf(one)); err != nil {
			return nil, err
		}
	}
	if s := f.Train.EarlyStop; s != nil && *s == (graph.EarlyStop{}) {
		f.Train.EarlyStop = nil
	}
	f.Train.Checkpoint = nil
	p.says = f
	var all entries
	add := func(name string, value any, given bool) {
		if given {
			all = append(all, entry{name, value})
		}
	}
	add("algo", p.algo, p.network == nil)
	add("data", f.Data, true)
	add("validate", p.job.valid, len(p.job.valid) > 0)
	add("train", f.Train, true)
	add("model", f.Model, f.Model != graph.ModelPart{})
	add("default_optimizer", f.DefaultOptimizer, f.DefaultOptimizer != nil)
	add("default_transfunc", f.DefaultTransFunc, f.DefaultTransFunc != nil)
	add("default_lossfunc", f.DefaultLossFunc, f.DefaultLossFunc != nil)
	add("layers", f.Layers, p.network != nil)
	p.rest(flags, append(append(done, leave...), "algo"), add)
	comment := "# The settings of a training: thole train --job takes them for the same again."
	if p.open {
		comment += "\n# No epochs: as many as the examples need."
	}
	return yamlOf(all, comment)
}

// describeJob makes the description of the network that is saved say how it was trained, and not where its files lay.
func (p *plan) describeJob(f *graph.File) {
	if p.network == nil || p.says == nil {
		return
	}
	dim, fields, modelType := f.Data.IndexRange, f.Data.NumField, f.Model.ModelType
	f.Data, f.Train, f.Model = p.says.Data, p.says.Train, p.says.Model
	f.Data.IndexRange, f.Data.NumField, f.Model.ModelType = dim, fields, modelType
	f.Data.Path, f.Model.LoadPath = "", ""
}

// leave are the flags of which a saved job says nothing, because it is found out again from the examples.
func (p *plan) leave() (all []string) {
	if p.open {
		all = append(all, "epochs", "schedule", "schedule-per", "schedule-set")
	}
	if p.updates > 0 {
		all = append(all, "batch")
	}
	if p.forest != nil && !p.given("min-child-weight") {
		all = append(all, "min-child-weight")
	}
	if p.initKind == "" {
		all = append(all, "init-scale")
	}
	for _, name := range []string{"to", "set"} {
		if !p.given(name) {
			all = append(all, name)
		}
	}
	return all
}

// rest adds the flags that the grammar has no keys for.
func (p *plan) rest(flags *pflag.FlagSet, done []string, add func(string, any, bool)) {
	ours := trainCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}).Flags() // those of other commands are not
	rule, hyper, size := p.rule, p.conf.Hyper, p.conf.Size
	if p.forest != nil { // whose penalties are no settings of a rule
		add("l1", p.l1, p.l1 > 0)
		add("l2", p.l2, true)
	} else {
		done = append(done, treeFlags...)
	}
	if p.network == nil && p.forest == nil {
		d := p.recipe.For(nil, p.rule)
		if hyper = d.Settings(p.batch); p.own == nil { // else it is as large as that of the model to go on from
			size = p.recipe.Sized(size)
		}
		maps.Copy(hyper, p.conf.Hyper)
		if p.rule != "" || !p.recipe.Mixed() && len(p.optimizers) == 0 { // a rule that is said is that of all layers
			rule = d.Rule
		}
	}
	if len(p.fieldDims) > 0 && p.own == nil { // which say the size
		size.Factors = 0
		if p.dims.rest == 0 {
			size.Factors = p.otherFactors(p.recipe)
		}
	}
	flags.VisitAll(func(one *pflag.Flag) {
		own := ours.Lookup(one.Name)
		switch {
		case own == nil || own.Value.Type() != one.Value.Type() || slices.Contains(done, one.Name) || slices.Contains(notInFiles, one.Name):
		case one.Name == "rule":
			add(one.Name, rule, rule != "")
		case one.Name == "compat" && p.asAngel: // the flag was taken from the options of formats
			add(one.Name, "angel", true)
		case one.Name == "hyper":
			add(one.Name, hyper, len(hyper) > 0)
		case one.Name == "factors":
			add(one.Name, size.Factors, size.Factors > 0)
		case one.Name == "hidden":
			add(one.Name, size.Hidden, len(size.Hidden) > 0)
		case one.Name == "cross-layers":
			add(one.Name, size.Depth, size.Depth > 0)
		default:
			add(one.Name, settingOf(flags, one), told(one))
		}
	})
}

// told reports whether a flag says something.
func told(f *pflag.Flag) bool {
	return f.Changed || !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.Value.String())
}

// textOf is the value of a flag as a key of the grammar has it: a list with commas.
func textOf(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

// settingOf is the value of a flag as a file has it.
func settingOf(flags *pflag.FlagSet, f *pflag.Flag) any {
	switch f.Value.Type() {
	case "stringArray":
		return f.Value.(pflag.SliceValue).GetSlice()
	case "stringSlice":
		if text := f.Value.String(); json.Valid([]byte(text)) { // numbers
			return json.RawMessage(text)
		}
		return f.Value.(pflag.SliceValue).GetSlice()
	case "stringToString":
		texts, _ := flags.GetStringToString(f.Name) // it is one
		all := map[string]any{}
		for name, text := range texts {
			var number float64
			if all[name] = text; json.Unmarshal([]byte(text), &number) == nil && text != "null" {
				all[name] = json.RawMessage(text)
			}
		}
		return all
	case "string", "duration":
		return f.Value.String()
	}
	return json.RawMessage(f.Value.String()) // numbers, true and false
}
