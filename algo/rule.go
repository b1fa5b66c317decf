package algo

import (
	"fmt"
	"maps"
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
	"adadelta": {"alpha": "rho", "beta": "rho2"},
	"adam":     {"beta": "beta1", "gamma": "beta2"},
}

// spelt is how graph.json spells a setting of a rule: as Angel does, if it has it.
func spelt(rule, setting string) string {
	for _, names := range []map[string]string{angelSettings[""], angelSettings[rule]} {
		for angel, ours := range names {
			if ours == setting {
				return angel
			}
		}
	}
	return setting
}

// optimizer is how graph.json spells a rule with its settings.
func optimizer(rule string, hyper map[string]float64) *graph.Choice {
	c := graph.Named(rule)
	for name, v := range hyper {
		if c.Num == nil {
			c.Num = map[string]float64{}
		}
		c.Num[spelt(rule, name)] = v
	}
	return c
}

// update is the rule that the choice names, with our names of its settings. A rate in it is a share of that of the job, which
// comes with each step (0: that is not known). The decay of Angel's adagrad has no meaning here, as its sum does not decay.
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
	err = optimized(rule, c, &u)
	if err == nil {
		_, err = rule.Bind(u.Hyper)
	} else {
		err = fmt.Errorf("update rule %s: %w", rule.Name, err)
	}
	return u, err
}

// optimized takes the settings of an optimizer. They may have the names that graph.json has for them, which errors name, or ours.
func optimized(rule *psf.Rule, c *graph.Choice, u *layer.Update) error {
	known, hypers := []string{"lr"}, map[string]*psf.Hyper{}
	for i := range rule.Hyper {
		h := &rule.Hyper[i]
		name := spelt(rule.Name, h.Name)
		known, hypers[name], hypers[h.Name] = append(known, name), h, h
	}
	others := slices.Collect(maps.Keys(hypers))
	if rule.Name == "adagrad" {
		others = append(others, "beta")
	}
	for name := range angelSettings[""] {
		if c.Num[name] == 0 {
			others = append(others, name) // no penalty, of which also rules without it are capable
		}
	}
	if err := c.Check(known, others...); err != nil {
		return err
	}
	for _, name := range settings(c.Num) {
		h, v := psf.Hyper{Name: name}, c.Num[name]
		ours := hypers[name]
		if ours != nil {
			h = *ours
			h.Name = name // as the user has it
		}
		if err := h.Check(v); err != nil { // also of those that are not used
			return err
		}
		if ours == nil || angelSettings[""][name] != "" && v == 0 {
			continue
		}
		if _, twice := u.Hyper[ours.Name]; twice && ours.Name != "warm" {
			return fmt.Errorf("settings %s and %s, want one of them: they are the same", spelt(rule.Name, ours.Name), ours.Name)
		}
		u.Hyper[ours.Name] = v
	}
	return nil
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
