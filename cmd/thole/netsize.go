package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/layer"
	"thole.example/optim"
)

// size is how large a network the user wants, without the fields of the examples; what the recipe does not have is refused.
func (j *job) size(recipe *algo.Algo) (algo.Size, error) {
	s := algo.Size{Factors: j.vectorSize(recipe), Hidden: j.hidden, Depth: j.depth, Rank: j.rank, Dropout: j.dropout}
	for _, n := range []struct {
		flag   string
		least  int // 0 leaves it to the recipe
		values []int
	}{{"factors", 0, []int{s.Factors}}, {"hidden", 1, s.Hidden}, {"cross-layers", 0, []int{s.Depth}}, {"rank", 0, []int{s.Rank}}} {
		if i := slices.IndexFunc(n.values, func(v int) bool { return v < n.least }); i >= 0 {
			return s, fmt.Errorf("--%s %d, want %d or more", n.flag, n.values[i], n.least)
		}
	}
	if !(s.Dropout >= 0 && s.Dropout < 1) {
		return s, fmt.Errorf("--dropout %v, want 0 or more and below 1", s.Dropout)
	}
	has := recipe.Sizes
	for _, f := range []struct {
		flag       string
		given, has bool
	}{
		{"factors", s.Factors > 0, has.Factors > 0}, {"hidden", s.Hidden != nil, has.Hidden != nil},
		{"dropout", s.Dropout > 0, has.Hidden != nil}, {"cross-layers", s.Depth > 0 || j.given("cross-layers"), has.Depth > 0},
		{"rank", s.Rank > 0, has.Depth > 0},
	} {
		if f.given && j.own != nil {
			return s, fmt.Errorf("--%s, and the network is that of a file, which says how large it is: want a new one (--algo) or no --%[1]s",
				f.flag)
		}
		if f.given && !f.has {
			return s, fmt.Errorf("--%s: %s has none", f.flag, recipe.Name)
		}
	}
	if s.Depth == 0 && j.given("cross-layers") {
		return s, fmt.Errorf("--cross-layers 0, want at least 1 (--algo dnn is a network without them)")
	}
	return s, nil
}

// countFields finds how many fields the examples have, if the network has to know: what they say, or as many as each has values.
func (p *plan) countFields() error {
	if p.recipe.Sizes.Fields == 0 && (p.network == nil || !byField(p.network)) {
		return nil
	}
	if p.train.Fields == 0 {
		for _, some := range []*data.Examples{p.train, p.valid} {
			if some == nil || some.Len() == 0 {
				continue
			}
			placed, err := some.Place(p.train.Fields) // of the training examples first, whose number all have to have
			if err != nil {
				return fmt.Errorf("%s wants fields: %w", p.recipe.Name, err)
			}
			some.Set = placed
		}
	}
	switch has, want := p.train.Fields, p.loaded.number; {
	case want == 0:
	case has > want:
		return fmt.Errorf("%s: field %d is new (%s has weights of fields 0 to %d); remove the field from the examples, "+
			"or train a new model without --load", strings.Join(p.job.data, ", "), has-1, p.load, want-1)
	default: // examples of some fields alone
		p.train.Fields = want
	}
	p.conf.Size.Fields = p.train.Fields
	return nil
}

// byField reports whether a layer of the network has vectors for the fields of an example. Where none has, rows may have any
// number of values, and a number of fields says nothing: Angel reads over it there.
func byField(f *graph.File) bool {
	return slices.ContainsFunc(f.Layers, func(e graph.Entry) bool {
		kind, err := layer.Find(nil, e.Type)
		return err == nil && e.NumFactors > 0 && (e.OutputDim > 0 || kind.Name != "embedding")
	})
}

// fieldsOf are the fields of the examples that a network is for, as far as its file says. Lines of libffm say it themselves.
func fieldsOf(f *graph.File) data.Fields {
	switch known := f.Data.Fields; {
	case known != nil:
		return known.Fields
	case f.Data.NumField > 0 && byField(f):
		return data.Fields{Number: f.Data.NumField, Sorted: true}
	}
	return data.Fields{}
}

// likelyFields are the fields of the examples where neither the user nor their lines say them: those of the model to go on from, of the
// network's file, or of a job.
func (p *plan) likelyFields() data.Fields {
	known := p.loaded.fields
	switch none := known.Number == 0 && known.First == nil; {
	case none && p.network != nil:
		return fieldsOf(p.network)
	case none && p.recipe.Sizes.Fields > 0 && p.numField > 0:
		return data.Fields{Number: p.numField, Sorted: true}
	}
	return known
}

// scaleRates sets the rate of the network, and those of layers that have their own, which are shares of it.
func scaleRates(f *graph.File, rate float64) {
	was := f.Train.LR
	if f.Train.LR = rate; was == rate || was == 0 || rate == 0 {
		return
	}
	scaled := func(c *graph.Choice) *graph.Choice {
		if c == nil || c.Num["lr"] == 0 {
			return c
		}
		one := *c
		one.Num = maps.Clone(c.Num)
		share := c.Num["lr"] / was
		own := share * rate
		for _, near := range []float64{math.Nextafter(own, 0), math.Nextafter(own, math.Inf(1))} {
			if own/rate != share && near/rate == share { // the same bits when the training continues
				own = near
			}
		}
		one.Num["lr"] = own
		return &one
	}
	f.DefaultOptimizer = scaled(f.DefaultOptimizer)
	f.Layers = slices.Clone(f.Layers)
	for i := range f.Layers {
		e := &f.Layers[i]
		e.Optimizer, e.BiasOptimizer = scaled(e.Optimizer), scaled(e.BiasOptimizer)
	}
}

// describe says in the model's file what the examples are like, and how a recipe was trained.
func (p *plan) describe(f *graph.File) {
	plain := data.Standard() // what a graph.json without classes means
	if width := len(p.train.Classes); p.recipe.Task == algo.Multiclass {
		plain = data.Numbered(width)
	}
	if !slices.Equal(p.train.Classes, plain) {
		f.Data.Classes = p.train.Classes
	}
	f.Data.Hash, f.Data.Scaling = p.hash, p.train.Scaling
	if p.network == nil { // else its file said it, or the job beside it
		f.Train.Epoch = p.epochs
		scaleRates(f, p.rate)
		if p.open { // as many as the examples need, which other ones need not
			f.Train.Epoch = 0
		}
		if s, err := optim.FindSchedule(p.schedule); err == nil { // it was found before
			f.Train.DecayClass = s.Angel
		}
	}
	if known, err := data.ParseFields(p.fields); err == nil && known.Number+len(known.First) > 0 { // it was checked
		f.Data.Fields = &graph.Fields{Fields: known}
	}
}
