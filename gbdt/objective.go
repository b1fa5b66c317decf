package gbdt

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"thole.example/internal/spell"
	"thole.example/kernel"
	"thole.example/metric"
	"thole.example/tree"
)

// Objective is what trees make small, with its first and second derivatives by the score.
type Objective struct {
	Name string
	Help string
	Task metric.Task
	Link tree.Link
	// Settings are the names of those that it has, with their defaults.
	Settings map[string]float64
	// Check says what is wrong with a label; "": nothing.
	Check func(label float64) string
	// Start is the best score for rows of the same features; nil: 0.
	Start func(o *Objective, y *Labels) float64
	// Grad writes the derivatives for rows, without their weights, to g and h.
	Grad func(o *Objective, score []float64, label []float32, g, h []float32)
	// Several writes those of all classes; scores and derivatives of class c are in element c.
	Several func(scores [][]float64, label []float32, g, h [][]float32)
	// Rank writes those of the rows of one group, which belong together.
	Rank func(o *Objective, score []float64, label []float32, g, h []float32)
	// Quantile, if not nil, is the quantile of what is left (label less score) that leaves have as their value, as the derivatives do not
	// tell how far the minimum is.
	Quantile func(o *Objective) float64
	// Step is the default of Config.MaxStep.
	Step float64
}

// Objectives is the table of them, a new slice on every call.
func Objectives() []Objective {
	return []Objective{logistic, squared, absolute, huber, quantile, poisson, multiclass, lambdarank}
}

// FindObjective is the objective of the name.
func FindObjective(name string) (Objective, error) {
	var names []string
	for _, o := range Objectives() {
		if strings.EqualFold(o.Name, name) {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return Objective{}, spell.Unknown("objective", name, names)
}

// With is the objective with settings over its own.
func (o Objective) With(set map[string]float64) (Objective, error) {
	all := map[string]float64{}
	maps.Copy(all, o.Settings)
	known := slices.Sorted(maps.Keys(all))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if _, has := all[name]; !has {
			return o, fmt.Errorf("%s has no setting %s%s", o.Name, name, spell.Hint(name, known))
		}
		all[name] = set[name]
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch v := all[name]; {
		case name == "norm":
			if v != 0 && v != 1 {
				return o, fmt.Errorf("%s: norm %v, want 1, or 0 for none", o.Name, v)
			}
		case name == "cut" && !(v >= 1 && v <= math.MaxInt32 && v == math.Trunc(v)):
			return o, fmt.Errorf("%s: %s %v, want a whole number from 1 on", o.Name, name, v)
		case !(v > 0) || math.IsInf(v, 0) || o.Quantile != nil && v >= 1:
			return o, fmt.Errorf("%s: %s %v, want a number above 0, and below 1 for a share", o.Name, name, v)
		}
	}
	o.Settings = all
	return o, nil
}

// twoClasses, number, count and so on check labels.
func twoClasses(v float64) string {
	if v != -1 && v != 0 && v != 1 {
		return "want -1 or 0, and 1"
	}
	return ""
}

func number(float64) string { return "" }

func count(v float64) string {
	if v < 0 {
		return "want a number from 0 on"
	}
	return ""
}

func class(v float64) string {
	if v < 0 || v != math.Trunc(v) || v >= tree.ClassLimit {
		return "want the number of a class"
	}
	return ""
}

func grade(v float64) string {
	if v < 0 || v != math.Trunc(v) || v > GradeLimit {
		return fmt.Sprintf("want a whole number from 0 to %d: how much the row matters", GradeLimit)
	}
	return ""
}

// GradeLimit is the largest label of a ranking.
const GradeLimit = metric.GradeLimit

// positive is 1 of a label of the positive class.
func positive(label float64) float64 {
	if label > 0 {
		return 1
	}
	return 0
}

// leastSecond is the least second derivative of a probability.
const leastSecond = 1e-16

var logistic = Objective{
	Name: "binary", Help: "two classes by the log loss: g = p - y, h = p (1-p), p = 1/(1+exp(-s))",
	Task: metric.Classification, Link: tree.Logistic,
	Check: twoClasses,
	Start: func(_ *Objective, y *Labels) float64 {
		p := mean(y, positive)
		p = min(max(p, 1e-12), 1-1e-12)
		return math.Log(p / (1 - p))
	},
	Grad: func(_ *Objective, score []float64, label []float32, g, h []float32) {
		// With t = 1 of a positive label and -1 of another one, g = -t v and h = v (1-v) where v = 1/(1+exp(t s)), which keeps its
		// digits where an example is predicted well.
		for i, s := range score {
			g[i] = float32(s) * side(label[i])
		}
		kernel.Sigmoid(g, h)
		for i, v := range h {
			g[i], h[i] = v*side(label[i]), max(float32(v*(1-v)), leastSecond)
		}
	},
}

// side is -1 of a positive label, else 1, without a branch.
func side(label float32) float32 {
	const sign, one = 1 << 31, 0x3f800000
	return math.Float32frombits(^math.Float32bits(label-math.SmallestNonzeroFloat32)&sign | one)
}

var squared = Objective{
	Name: "l2", Help: "numbers by half of the squared error: g = s - y, h = 1; leaves are means",
	Task: metric.Regression, Link: tree.Identity, Check: number,
	Start: func(_ *Objective, y *Labels) float64 { return mean(y, func(v float64) float64 { return v }) },
	Grad: func(_ *Objective, score []float64, label []float32, g, h []float32) {
		for i, s := range score {
			g[i], h[i] = float32(s-float64(label[i])), 1
		}
	},
}

var absolute = Objective{
	Name: "l1", Help: "numbers by the absolute error: g = sign(s - y), h = 1; leaves are medians",
	Task: metric.Regression, Link: tree.Identity, Check: number,
	Start: func(_ *Objective, y *Labels) float64 { return quantileOf(y, 0.5) },
	Grad: func(_ *Objective, score []float64, label []float32, g, h []float32) {
		for i, s := range score {
			g[i], h[i] = float32(sign(s-float64(label[i]))), 1
		}
	},
	Quantile: func(*Objective) float64 { return 0.5 },
}

var huber = Objective{
	Name: "huber", Help: "numbers by the squared error up to alpha, by the absolute one beyond: g = s - y, at most alpha in size, h = 1",
	Task: metric.Regression, Link: tree.Identity, Check: number, Settings: map[string]float64{"alpha": 0.9},
	Start: func(o *Objective, y *Labels) float64 { return huberOf(y, o.Settings["alpha"]) },
	Grad: func(o *Objective, score []float64, label []float32, g, h []float32) {
		alpha := o.Settings["alpha"]
		for i, s := range score {
			g[i], h[i] = float32(min(max(s-float64(label[i]), -alpha), alpha)), 1
		}
	},
}

var quantile = Objective{
	Name: "quantile", Help: "the number below which a share alpha of the labels is: g = (y < s) - alpha, h = 1; leaves are quantiles",
	Task: metric.Regression, Link: tree.Identity, Check: number, Settings: map[string]float64{"alpha": 0.5},
	Start: func(o *Objective, y *Labels) float64 { return quantileOf(y, o.Settings["alpha"]) },
	Grad: func(o *Objective, score []float64, label []float32, g, h []float32) {
		alpha := o.Settings["alpha"]
		for i, s := range score {
			if g[i], h[i] = float32(-alpha), 1; float64(label[i]) < s {
				g[i] = float32(1 - alpha)
			}
		}
	},
	Quantile: func(o *Objective) float64 { return o.Settings["alpha"] },
}

var poisson = Objective{
	Name: "poisson", Help: "counts, of which scores are logarithms: g = exp(s) - y, h = exp(s)",
	Task: metric.Regression, Link: tree.Exp, Check: count, Step: 0.7,
	Start: func(_ *Objective, y *Labels) float64 {
		return math.Log(max(mean(y, func(v float64) float64 { return v }), 1e-12))
	},
	Grad: func(_ *Objective, score []float64, label []float32, g, h []float32) {
		for i, s := range score {
			e := kernel.Exp(min(s, 80))
			g[i], h[i] = float32(e-float64(label[i])), float32(max(e, leastSecond))
		}
	},
}

var multiclass = Objective{
	Name: "multiclass", Help: "K classes by the log loss: g = p - y, h = K/(K-1) p (1-p), p = softmax(s)",
	Task: metric.Multiclass, Link: tree.Softmax, Check: class,
	Several: func(scores [][]float64, label []float32, g, h [][]float32) {
		// The scores of a row have K-1 degrees of freedom, and a tree for each of the K moves them. LightGBM has this factor, XGBoost 2.
		p, times := make([]float64, len(scores)), float64(len(scores))/float64(max(1, len(scores)-1))
		for i, y := range label {
			most, all := math.Inf(-1), 0.0
			for _, s := range scores {
				most = max(most, s[i])
			}
			for c, s := range scores {
				p[c] = kernel.Exp(s[i] - most)
				all += p[c]
			}
			for c, e := range p {
				e /= all
				if g[c][i], h[c][i] = float32(e), float32(max(times*e*(1-e), leastSecond)); c == int(y) {
					g[c][i] = float32(e - 1)
				}
			}
		}
	},
}

// huberOf is the number with the least Huber loss of the labels: where what pulls it up and down, alpha at most of each row, comes to 0.
// LightGBM begins with the mean, which labels far away pull along, and from which trees come back by the rate times alpha at most.
func huberOf(y *Labels, alpha float64) float64 {
	if len(y.Label) == 0 {
		return 0
	}
	lo, hi := float64(slices.Min(y.Label)), float64(slices.Max(y.Label))
	s := quantileOf(y, 0.5)
	for range 100 { // a few by Newton's method, as the pull is made of straight lines; else by halves
		pull := mean(y, func(v float64) float64 { return min(max(v-s, -alpha), alpha) })
		near := mean(y, func(v float64) float64 {
			if math.Abs(v-s) < alpha {
				return 1
			}
			return 0
		})
		if pull > 0 {
			lo = s
		} else {
			hi = s
		}
		next := s + pull/near
		if !(next > lo && next < hi) {
			next = lo/2 + hi/2
		}
		if pull == 0 || math.Abs(next-s) <= 1e-12*(math.Abs(s)+alpha) {
			break
		}
		s = next
	}
	return s
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// mean is the mean of a function of the labels by their weights, each product and sum in the order of rows.
func mean(y *Labels, of func(label float64) float64) float64 {
	var all, weights kernel.Exact
	values := make([]float64, 0, blockRows)
	ws := make([]float64, 0, blockRows)
	for i, l := range y.Label {
		w := float64(y.weight(i))
		values, ws = append(values, of(float64(l))*w), append(ws, w)
		if len(values) == blockRows || i == len(y.Label)-1 {
			kernel.AddAll(&all, values)
			kernel.AddAll(&weights, ws)
			values, ws = values[:0], ws[:0]
		}
	}
	if weights.Value() == 0 {
		return 0
	}
	return all.Value() / weights.Value()
}
