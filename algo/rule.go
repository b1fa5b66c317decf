package algo

import (
	"fmt"
	"slices"
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
	"adadelta": {"alpha": "rho"},
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

// update is the rule that the choice names, with our names of its settings. A rate in it is a share of that of the job, which
// comes with each step (0: that is not known). The decay of Angel's adagrad has no meaning here, as its sum does not decay. Angel's
// adadelta has a decay for each of its means, ours one for both.
func update(rules []psf.Rule, c *graph.Choice, rate float64) (layer.Update, error) {
	rule, err := optim.Find(rules, strings.ToLower(c.Type))
	if err != nil {
		return layer.Update{}, err
	}
	u := layer.Update{Rule: rule.Name, Hyper: map[string]float64{}}
	if own := c.Num["lr"]; own > 0 && rate > 0 && own != rate {
		u.Rate = own / rate
	}
	if rule.Name == "ftrl" {
		u.Hyper["warm"] = 1 // a model loaded without its slots goes on from where it is
	}
	for _, name := range settings(c.Num) {
		v := c.Num[name]
		skip := name == "lr" || name == "beta" && rule.Name == "adagrad"
		if name == "beta" && rule.Name == "adadelta" {
			if alpha, ok := c.Num["alpha"]; !ok || alpha != v {
				return u, fmt.Errorf("update rule adadelta: setting beta = %v, want the same as alpha: both means decay alike", v)
			}
			skip = true
		}
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

// Hyper are the settings of an update rule that a graph.json spells so, by our names, with a table of rules as in Conf.
func Hyper(rules []psf.Rule, c *graph.Choice) (map[string]float64, error) {
	u, err := update(rules, c, 0)
	delete(u.Hyper, "warm") // Compose sets it
	return u.Hyper, err
}

// penalties are the settings that draw weights towards zero.
var penalties = []string{"l1", "l2", "decay"}

// ofBias is the update of a bias beside weights updated by u, with a rule of the table: the same without penalties, also
// without those that the rule has by default.
func ofBias(rules []psf.Rule, u layer.Update) (layer.Update, error) {
	rule, err := optim.Find(rules, u.Rule)
	if err != nil {
		return layer.Update{}, err
	}
	b := layer.Update{Rule: u.Rule, Hyper: map[string]float64{}, Rate: u.Rate}
	for name, v := range u.Hyper {
		if !slices.Contains(penalties, name) {
			b.Hyper[name] = v
		}
	}
	for _, h := range rule.Hyper {
		if h.Default != 0 && slices.Contains(penalties, h.Name) {
			b.Hyper[h.Name] = 0
		}
	}
	return b, nil
}
