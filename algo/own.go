package algo

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/layer"
	"thole.example/psf"
)

// OwnName is what a recipe is called whose network is that of none in the table.
const OwnName = "graph"

// Own is the recipe of a network that a graph.json describes. Its defaults are those of the recipe with the same network if
// there is one, else those of lr; the update rule is the network's default_optimizer, with a table of rules as in Conf.
func Own(f *graph.File, rules []psf.Rule) (*Algo, error) {
	a := lr
	a.Name, a.Help = OwnName, "the network of a graph.json"
	if recipe, err := Find(NameOf(f)); err == nil {
		a = *recipe
	}
	a.Task, a.own = TaskOf(f), true
	a.File = func(Size) *graph.File {
		own := *f
		own.Layers = slices.Clone(f.Layers)
		return &own
	}
	all := []*Defaults{&a.Defaults}
	if a.Wide != nil {
		wide := *a.Wide
		a.Wide = &wide
		all = append(all, a.Wide)
	}
	for _, d := range all {
		d.Hyper, d.Eps = nil, 0
		if c := f.DefaultOptimizer; c != nil {
			u, err := update(rules, c, 0)
			if err != nil {
				return nil, fmt.Errorf("default_optimizer: %w", err)
			}
			delete(u.Hyper, "warm") // Compose sets it again
			d.Rule, d.Hyper, d.Rate = u.Rule, u.Hyper, 0
		}
		if rate := cmp.Or(f.Train.LR, rateOf(f)); rate > 0 {
			d.Rate = rate
		}
	}
	return &a, nil
}

// rateOf is the first rate that an optimizer of the network has, 0 if none has one.
func rateOf(f *graph.File) float64 {
	for _, c := range optimizers(f) {
		if c.Num["lr"] > 0 {
			return c.Num["lr"]
		}
	}
	return 0
}

// optimizers are the optimizers that the network names, by their places in the file.
func optimizers(f *graph.File) iter.Seq2[string, *graph.Choice] {
	return func(yield func(string, *graph.Choice) bool) {
		if f.DefaultOptimizer != nil && !yield("default_optimizer", f.DefaultOptimizer) {
			return
		}
		for i := range f.Layers {
			if c := f.Layers[i].Optimizer; c != nil && !yield(fmt.Sprintf("layers[%d].optimizer", i), c) {
				return
			}
		}
	}
}

// Unused says what the network's optimizers ask for that a training does not do.
func Unused(f *graph.File) (all []string) {
	for path, c := range optimizers(f) {
		if _, ok := c.Num["beta"]; ok && strings.EqualFold(c.Type, "adagrad") {
			all = append(all, fmt.Sprintf("%s.beta has no effect: the sum of squares of adagrad does not decay (rmsprop's does)", path))
		}
	}
	return all
}

// Idle says which keys of the network's layers mean nothing to their kinds, of the table kinds (nil: that of package layer), and which
// the key may be meant to be.
func Idle(f *graph.File, kinds []layer.Kind) (all []string) {
	for text := range idle(f, kinds) {
		all = append(all, text)
	}
	return all
}

// Drop takes such keys out of the network: its file is then one that nothing has to be said of.
func Drop(f *graph.File, kinds []layer.Kind) {
	for _, v := range idle(f, kinds) {
		v.SetZero()
	}
}

// idle are keys of layers that have no effect: what is said of each, and its value.
func idle(f *graph.File, kinds []layer.Kind) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range f.Layers {
			e := &f.Layers[i]
			known, name := []string{"lossfunc"}, e.Type
			if !endsInLoss(e) {
				kind, err := layer.Find(kinds, e.Type)
				if err != nil {
					continue // which is said elsewhere
				}
				known, name = kind.Keys, kind.Name
			}
			v := reflect.ValueOf(e).Elem()
			for k := range v.NumField() {
				key, _, _ := strings.Cut(v.Type().Field(k).Tag.Get("json"), ",")
				text := fmt.Sprintf("layers[%d].%s has no effect: ", i, key)
				switch {
				case v.Field(k).IsZero() || slices.Contains(known, key):
					continue
				case key == "outputdim" && len(e.OutputDims) > 0 && slices.Contains(known, "outputdims"):
					text += fmt.Sprintf("%q has outputdims beside it, want one of them", e.Name)
				case slices.Contains([]string{"name", "type", "outputdim", "inputlayer", "inputlayers"}, key):
					continue
				default:
					text += fmt.Sprintf("%s %q has none%s", name, e.Name, spell.Hint(key, known))
				}
				if !yield(text, v.Field(k)) {
					return
				}
			}
		}
	}
}
