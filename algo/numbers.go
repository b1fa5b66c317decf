package algo

import (
	"maps"
	"math"
	"slices"

	"thole.example/graph"
	"thole.example/loss"
	"thole.example/psf"
)

// labels is what the labels of the training examples are like. The zero value is those that rates were chosen for.
type labels struct {
	loss  graph.Loss // what start is about the best for
	start []float64  // scores that are about the best for all examples alike; nil: 0
	// Of labels that are numbers, of any size:
	spread   int // power of two nearest to their deviation, over that of labels around 10
	gradient int // power of two nearest to the root mean square of the gradients by that score, over that of labels 0 and 1
}

// What the deviation and the gradients of the labels were for which rates were chosen: abalone's, and those of clicks.
const (
	spreadChosen   = 2
	gradientChosen = -1
)

// suit changes settings by powers of two, which round nothing: rates by the deviation of the labels, and by how large gradients are what
// stands beside them.
func (n labels) suit(rule *psf.Rule, d *Defaults) {
	d.Eps = math.Ldexp(d.Eps, n.gradient)
	by := map[string]int{}
	if n.spread != 0 && rule.Rates.Steady {
		d.Rate = math.Ldexp(d.Rate, n.spread)
		by["decay"] = -n.spread // which the rate multiplies
	}
	if g := n.gradient + gradientChosen; n.gradient != 0 && g < 0 && rule.Name == "ftrl" {
		by["beta"] = g // 1 suits gradients up from 1
	}
	for _, h := range rule.Hyper {
		if _, own := d.Hyper[h.Name]; by[h.Name] != 0 && !own {
			hyper := map[string]float64{h.Name: math.Ldexp(h.Default, by[h.Name])}
			maps.Copy(hyper, d.Hyper)
			d.Hyper = hyper
		}
	}
}

// Far is by what labels would have to be divided for the rates of a network, which do not follow them, if that is far from 1; else 0.
func (a *Algo) Far() float64 {
	if n := a.of.spread; a.Network() && (n < -4 || n > 4) {
		return math.Ldexp(1, n)
	}
	return 0
}

// ForLabels is the recipe with defaults for these labels of the training examples and their weights (nil: all are 1), with losses as in
// Conf: the scores begin with those of all examples alike, which are the base rate of classes and the midst of numbers, and the rates of
// linear models suit the deviation of numbers. Of networks of a graph.json only the start suits the labels. No label is NaN; there are so
// many classes, where there are several.
func (a *Algo) ForLabels(losses []loss.Kind, label, weight []float32, classes int) *Algo {
	other := *a
	other.of = labels{}
	f := a.File(a.Sizes)
	i := slices.IndexFunc(f.Layers, func(e graph.Entry) bool { return endsInLoss(&e) })
	if i < 0 || len(label) == 0 {
		return &other
	}
	c := lossOf(f, &f.Layers[i])
	kind, err := loss.Find(losses, c.Type)
	if err != nil || kind.Start == nil {
		return &other
	}
	width := kind.Width
	if width == 0 {
		width = max(2, classes)
	}
	set, err := psf.Fill(kind.Hyper, c.Num)
	if err != nil { // which others report, as what Check finds
		return &other
	}
	l := kind.New(set)
	if l.Check(label, width) != nil {
		return &other
	}
	other.of.loss = l
	if other.of.start = kind.Start(set, label, weight, width); a.own || l.Task() != Regression {
		return &other
	}
	if !a.Log {
		other.of.spread = exponent(deviation(label), len(label), spreadChosen)
	}
	other.of.gradient = exponent(steepness(gradients(l, other.of.start[0], label)), len(label), gradientChosen)
	return &other
}

// Shift is the recipe with scores that begin higher than those that suit the labels, by so much.
func (a *Algo) Shift(by float64) *Algo {
	other := *a
	other.of.start = slices.Clone(a.of.start)
	for k := range other.of.start {
		other.of.start[k] += by
	}
	return &other
}

// deviation is the sum of the squared differences of the labels from their mean.
func deviation(label []float32) (sum float64) {
	mean := 0.0
	for _, y := range label {
		mean += float64(y) / float64(len(label))
	}
	for _, y := range label {
		d := float64(y) - mean
		sum += float64(d * d)
	}
	return sum
}

// gradients are those of the labels by the same score.
func gradients(l graph.Loss, score float64, label []float32) []float32 {
	var out, grad graph.Tensor
	out.Resize(len(label), 1)
	grad.Resize(len(label), 1)
	for i := range out.Val {
		out.Val[i] = float32(score)
	}
	l.Loss(&out, label, &grad)
	return grad.Val
}

// steepness is the sum of the squares of the gradients.
func steepness(gradients []float32) (sum float64) {
	for _, g := range gradients {
		sum += float64(float64(g) * float64(g))
	}
	return sum
}

// exponent is the power of two that is nearest to the root of sum/n, over the one given; 0 if there is none.
func exponent(sum float64, n, over int) int {
	root := math.Sqrt(sum / float64(n))
	if !(root > 0) || math.IsInf(root, 1) {
		return 0
	}
	part, e := math.Frexp(root)
	if part < math.Sqrt2/2 {
		e--
	}
	return e - over
}
