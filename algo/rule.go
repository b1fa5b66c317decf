package algo

import (
	"fmt"
	"strings"

	"thole.example/graph"
	"thole.example/layer"
	"thole.example/optim"
	"thole.example/psf"
)

// angelSettings are Angel's names of our settings: "" for all rules.
var angelSettings = map[string]map[string]string{
	"":         {"reg1": "l1", "reg2": "l2"},
	"momentum": {"momentum": "mu"},
	"adam":     {"beta": "beta1", "gamma": "beta2"},
}

// optimizer is how graph.json spells a rule with its settings.
func optimizer(rule string, hyper map[string]float64) *graph.Choice {
	c := graph.Named(rule)
	for name, v := range hyper {
		for _, names := range []map[string]string{angelSettings[""], angelSettings[rule]} {
			for angel, ours := range names {
				if ours == name {
					name = angel
				}
			}
		}
		if c.Num == nil {
			c.Num = map[string]float64{}
		}
		c.Num[name] = v
	}
	return c
}

// update is the rule that the choice names, with our names of its settings. A rate in it has no meaning here: the rate
// comes with each step. So has the decay of Angel's adagrad, whose sum we do not let decay.
func update(rules []psf.Rule, c *graph.Choice) (layer.Update, error) {
	rule, err := optim.Find(rules, strings.ToLower(c.Type))
	if err != nil {
		return layer.Update{}, err
	}
	u := layer.Update{Rule: rule.Name, Hyper: map[string]float64{}}
	if rule.Name == "ftrl" {
		u.Hyper["warm"] = 1 // a model loaded without its slots goes on from where it is
	}
	for _, name := range settings(c.Num) {
		v := c.Num[name]
		skip := name == "lr" || name == "beta" && rule.Name == "adagrad"
		if ours := angelSettings[rule.Name][name]; ours != "" {
			name = ours
		} else if ours := angelSettings[""][name]; ours != "" {
			name = ours
			skip = v == 0 // no penalty, of which also rules without it are capable
		}
		if v < 0 || v-v != 0 { // also of those that are not used
			return u, fmt.Errorf("update rule %s: setting %s = %v, want a finite number from 0 on", rule.Name, name, v)
		}
		if !skip {
			u.Hyper[name] = v
		}
	}
	if _, err := rule.Bind(u.Hyper); err != nil {
		return u, err
	}
	return u, nil
}

// ofBias is the update of a bias beside weights updated by u: the same without penalties.
func ofBias(u layer.Update) layer.Update {
	b := layer.Update{Rule: u.Rule, Hyper: map[string]float64{}}
	for name, v := range u.Hyper {
		if name != "l1" && name != "l2" {
			b.Hyper[name] = v
		}
	}
	return b
}
