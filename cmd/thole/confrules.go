package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/graph"
	"thole.example/layer"
	"thole.example/optim"
)

// ruleNamed is the update rule of that name, which may be that of a class.
func ruleNamed(text string) (string, error) {
	name, _, _ := className(nil, strings.ToLower(text))
	if _, err := optim.Find(nil, name); err != nil {
		return "", fmt.Errorf("want the name of a rule: %w", err)
	}
	return name, nil
}

// namedRules are the update rules of the kinds of layers, as --conf has them, with their settings and penalties.
func (j *job) namedRules() map[string]*graph.Choice {
	all := map[string]*graph.Choice{}
	for _, k := range confKeys() {
		name, err := ruleNamed(j.conf[k.key])
		if k.ruleOf == nil || err != nil { // it is refused, or not given
			continue
		}
		c := &graph.Choice{Type: name, Num: j.ruleSettings(name)}
		for reg, key := range map[string]string{"reg1": "ml.reg.l1", "reg2": "ml.reg.l2"} {
			if v, err := numberOf(j.conf[key]); err == nil && v > 0 {
				c.Num[reg] = v
			}
		}
		for _, kind := range k.ruleOf {
			all[kind] = c
		}
	}
	return all
}

// ruleSettings are the settings of an update rule, as --conf has them, by Angel's names.
func (j *job) ruleSettings(rule string) map[string]float64 {
	all := map[string]float64{}
	for _, k := range confKeys() {
		if v, err := numberOf(j.conf[k.key]); k.rule == rule && k.setting != "" && err == nil {
			all[k.setting] = v
		}
	}
	return all
}

// learners are the kinds of the layers of a network that have parameters, by their places in it.
func learners(f *graph.File) map[int]string {
	all := map[int]string{}
	for i := range f.Layers {
		if kind, err := layer.Find(nil, f.Layers[i].Type); err == nil && slices.Contains(kind.Keys, "optimizer") {
			all[i] = kind.Name
		}
	}
	return all
}

// onlyRule is the rule of all of the kinds, nil if they have several, or some none.
func onlyRule(by map[string]*graph.Choice, kinds map[int]string) (one *graph.Choice) {
	for _, kind := range kinds {
		c := by[kind]
		if c == nil || one != nil && one.Type != c.Type {
			return nil
		}
		one = c
	}
	return one
}

// ruleFile gives the layers of a file that say no update rule those of --conf, and rules the settings that they do not say.
func (j *job) ruleFile(f *graph.File) {
	if j.ofConf == nil || j.rule != "" { // which is of all layers
		return
	}
	by, kinds := j.namedRules(), learners(f)
	silent := maps.Clone(kinds)
	maps.DeleteFunc(silent, func(i int, _ string) bool { return f.Layers[i].Optimizer != nil })
	if one := onlyRule(by, silent); one != nil {
		f.DefaultOptimizer = one // by which the rate is chosen
	} else {
		for i, kind := range silent {
			f.Layers[i].Optimizer = by[kind]
		}
	}
	all := []*graph.Choice{f.DefaultOptimizer}
	for i := range kinds {
		all = append(all, f.Layers[i].Optimizer, f.Layers[i].BiasOptimizer)
	}
	for _, c := range all {
		if c != nil {
			c.Num = merged(c.Num, j.ruleSettings(strings.ToLower(c.Type)))
		}
	}
}

// merged is the first with what only the second has.
func merged(a, b map[string]float64) map[string]float64 {
	all := map[string]float64{}
	maps.Copy(all, b)
	maps.Copy(all, a)
	return all
}

// ruleLayers gives the layers of a recipe the update rules of --conf, and the rule of the other layers its settings.
func (p *plan) ruleLayers() error {
	j := p.job
	if j.ofConf == nil {
		return nil
	}
	if j.own == nil && j.rule == "" {
		f := p.recipe.File(p.recipe.Sizes)
		by, kinds := j.namedRules(), learners(f)
		if one := onlyRule(by, kinds); one != nil {
			if err := j.ofConf.give("rule", "--conf", one.Type); err != nil {
				return err
			}
		} else {
			j.optimizers = map[string]*graph.Choice{}
			for i, kind := range kinds {
				j.optimizers[kind] = p.layerRule(by[kind], f.Layers[i].Optimizer)
			}
			maps.DeleteFunc(j.optimizers, func(_ string, c *graph.Choice) bool { return c == nil })
		}
	}
	if j.own == nil || j.rule != "" {
		rule := cmp.Or(j.rule, p.recipe.Defaults.Rule)
		hyper, err := algo.Hyper(nil, &graph.Choice{Type: rule, Num: j.ruleSettings(rule)})
		if err != nil {
			return fmt.Errorf("--conf: %w", err)
		}
		for name, v := range hyper {
			if j.hyper == nil {
				j.hyper = map[string]string{}
			}
			if _, said := j.hyper[name]; !said {
				j.hyper[name] = fmt.Sprint(v)
			}
		}
	}
	p.tellRules()
	return nil
}

// layerRule is the rule of a recipe's layer: what --conf names, with a rate that suits it unless --conf has one for all, or else the
// recipe's own with the settings of --conf; nil if there is nothing to say.
func (p *plan) layerRule(named, own *graph.Choice) *graph.Choice {
	if named == nil && own == nil {
		return nil
	}
	if named == nil {
		if set := p.ruleSettings(own.Type); len(set) > 0 {
			return &graph.Choice{Type: own.Type, Num: merged(set, own.Num)}
		}
		return nil
	}
	c := &graph.Choice{Type: named.Type, Num: maps.Clone(named.Num)}
	if p.job.conf["ml.learn.rate"] == "" {
		c.Num["lr"] = p.recipe.For(nil, c.Type).Rate
	}
	return c
}

// tellRules tells of rules and settings that no layer has.
func (p *plan) tellRules() {
	f, j := p.recipe.File(p.recipe.Sizes), p.job
	used := []string{cmp.Or(j.rule, p.recipe.Defaults.Rule)}
	present := learners(f)
	for i := range present {
		if c := f.Layers[i].Optimizer; c != nil && j.rule == "" {
			used = append(used, strings.ToLower(c.Type))
		}
	}
	for _, c := range j.optimizers {
		used = append(used, c.Type)
	}
	kinds := slices.Collect(maps.Values(present))
	for _, k := range confKeys() {
		if _, said := j.conf[k.key]; !said {
			continue
		}
		is := func(kind string) bool { return slices.Contains(kinds, kind) }
		named, _ := ruleNamed(j.conf[k.key])
		switch {
		case k.setting != "" && !slices.Contains(used, k.rule):
			j.ofConf.warn("--conf %s has no effect: no layer is updated by %s", k.key, k.rule)
		case k.setting == "beta" && k.rule == "adagrad":
			j.ofConf.warn("--conf %s has no effect: the sum of squares of adagrad does not decay (rmsprop's does)", k.key)
		case k.ruleOf != nil && !slices.ContainsFunc(k.ruleOf, is):
			j.ofConf.warn("--conf %s has no effect: there is no such layer", k.key)
		case k.ruleOf != nil && j.rule != "" && named != j.rule:
			j.ofConf.warn("--conf %s has no effect: rule %s is that of all layers", k.key, j.rule)
		}
	}
}

// rulesText is the update rules that --conf gives the layers of a recipe.
func (j *job) rulesText() string {
	text, _ := json.Marshal(j.optimizers) // of numbers that are finite
	return string(text)
}
