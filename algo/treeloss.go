package algo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/gbdt"
	"thole.example/graph"
	"thole.example/tree"
)

// TreeLoss is what scores of trees are measured by: their objective as a loss, with scores of float64 (graph.Wide). It computes no
// gradients. Objectives of other programs are known by their names there; of one that is not known the link decides. The loss of a
// ranking is 1 less NDCG, which is of groups: no row has one. Several scores that are not classes make it a graph.Several.
func TreeLoss(o *tree.Objective, classes int) (graph.Loss, error) {
	row := rowLossOf(o)
	if row.task != Multiclass && classes != 1 {
		return newOutputsLoss(&treeLoss{o, row}, classes)
	}
	if row.task == Multiclass && classes < 2 {
		return nil, fmt.Errorf("%d score of an example by the objective %q, want one for each class", classes, o.Name)
	}
	return &treeLoss{o, row}, nil
}

// TreeTask is the task of trees with the objective, whether or not their scores can be measured.
func TreeTask(o *tree.Objective) Task { return rowLossOf(o).task }

// rowLoss is the loss of a row of scores.
type rowLoss struct {
	name string
	task Task
	of   func(o *tree.Objective, score []float64, y float64) float64
	// objectives are those that it belongs to: names of LightGBM, XGBoost and ours.
	objectives string
}

// rowLosses is the table of them.
func rowLosses() []rowLoss {
	return []rowLoss{
		{"logloss", Classification, logisticRow, "binary logistic binary:logistic binary:logitraw bce log_loss binary_crossentropy"},
		{"ndcgloss", Ranking, noRow, "lambdarank rank_xendcg xendcg rank:pairwise rank:ndcg rank:map"},
		{"hingeloss", Classification, hingeRow, "binary:hinge hinge"},
		{"crossentropyloss", Regression, crossEntropyRow, "cross_entropy xentropy reg:logistic"},
		{"softmaxloss", Multiclass, classRow, "softmax multiclass multi:softmax multi:softprob multinomial categorical_crossentropy"},
		{"ovaloss", Multiclass, classRow, "multiclassova ova ovr"},
		{"l1loss", Regression, absoluteRow, "l1 mae absolute_error regression_l1 reg:absoluteerror"},
		{"huberloss", Regression, huberRow, "huber reg:pseudohubererror"},
		{"quantileloss", Regression, quantileRow, "quantile reg:quantileerror"},
		{"mapeloss", Regression, mapeRow, "mape"},
		{"poissonloss", Regression, poissonRow, "poisson count:poisson"},
		{"gammaloss", Regression, gammaRow, "gamma reg:gamma"},
		{"tweedieloss", Regression, tweedieRow, "tweedie reg:tweedie"},
		{"l2loss", Regression, squareRow, "l2 mse rmse squared_error regression reg:squarederror reg:linear"},
	}
}

// LossElsewhere is the loss that other programs, or trees, know by that name, as a network names it; "" if none is known.
func LossElsewhere(name string) string {
	all := rowLosses()
	name = strings.ToLower(name)
	at := slices.IndexFunc(all, func(r rowLoss) bool { return r.name == name || slices.Contains(strings.Fields(r.objectives), name) })
	if at < 0 {
		return ""
	}
	return all[at].name
}

// ForeignLosses are the names that LossElsewhere knows.
func ForeignLosses() (names []string) {
	for _, r := range rowLosses() {
		names = append(append(names, r.name), strings.Fields(r.objectives)...)
	}
	return names
}

// rowLossOf is the loss of an objective: by its name, or by its link.
func rowLossOf(o *tree.Objective) rowLoss {
	all := rowLosses()
	named := func(name string) int {
		return slices.IndexFunc(all, func(r rowLoss) bool { return slices.Contains(strings.Fields(r.objectives), name) })
	}
	at := named(strings.ToLower(o.Name))
	if at < 0 {
		at = named(map[tree.Link]string{tree.Logistic: "binary", tree.Softmax: "softmax", tree.Each: "ova", tree.Step: "binary:hinge",
			tree.Identity: "l2", tree.Exp: "l2", tree.Square: "l2", tree.SoftPlus: "l2"}[o.Link])
	}
	return all[max(0, at)]
}

type treeLoss struct {
	o   *tree.Objective
	row rowLoss
}

// Name implements graph.Loss.
func (l *treeLoss) Name() string { return l.row.name }

// Task implements graph.Loss.
func (l *treeLoss) Task() graph.Task { return l.row.task }

// Check implements graph.Loss.
func (l *treeLoss) Check(label []float32, width int) error {
	for i, y := range label {
		want := ""
		switch l.row.name {
		case "softmaxloss", "ovaloss":
			if !(y >= 0 && y < float32(width) && y == float32(math.Trunc(float64(y)))) {
				want = fmt.Sprintf("a class, 0 to %d", width-1)
			}
		case "poissonloss", "tweedieloss":
			if !(y >= 0) {
				want = "0 or above"
			}
		case "gammaloss":
			if !(y > 0) {
				want = "a number above 0"
			}
		case "ndcgloss":
			if !(y >= 0 && y <= gbdt.GradeLimit) {
				want = fmt.Sprintf("a grade from 0 to %d: how much the example matters to its group", gbdt.GradeLimit)
			}
		case "crossentropyloss":
			if !(y >= 0 && y <= 1) {
				want = "a number from 0 to 1"
			}
		}
		if want != "" {
			return &graph.LabelError{Example: i + 1, Label: y, Want: want}
		}
	}
	return nil
}

// Threshold implements graph.Loss.
func (l *treeLoss) Threshold() float64 { return 0 }

// Loss implements graph.Loss, without gradients.
func (l *treeLoss) Loss(score *graph.Tensor, label []float32, _ *graph.Tensor) (sum float64) {
	for i, y := range label {
		sum += l.LossWide(doubles(score.Row(i)), y)
	}
	return sum
}

// Predict implements graph.Loss.
func (l *treeLoss) Predict(to []float64, score []float32) []float64 {
	return l.PredictWide(to, doubles(score))
}

func doubles(row []float32) []float64 {
	all := make([]float64, len(row))
	for i, v := range row {
		all[i] = float64(v)
	}
	return all
}

// LossWide implements graph.Wide.
func (l *treeLoss) LossWide(score []float64, label float32) float64 {
	if l.row.task == Multiclass && !(label >= 0 && int(label) < len(score)) {
		return math.NaN()
	}
	return l.row.of(l.o, score, float64(label))
}

// PredictWide implements graph.Wide: the value or probability; of several classes the number of the first one with the largest score, and
// the probabilities of all.
func (l *treeLoss) PredictWide(to, score []float64) []float64 {
	at := len(to)
	if l.row.task == Multiclass {
		best := 0
		for k, s := range score {
			if s > score[best] {
				best = k
			}
		}
		to = append(to, float64(best))
		at++
	}
	if to = append(to, score...); l.row.task != Ranking { // whose score is what is predicted
		l.o.Predict(to[at:])
	}
	return to
}

// predicted is what the objective predicts of one score.
func predicted(o *tree.Objective, score []float64) float64 {
	one := [1]float64{score[0]}
	o.Predict(one[:])
	return one[0]
}

// setting is that of the objective by the first of the names that it has.
func setting(o *tree.Objective, otherwise float64, names ...string) float64 {
	for _, name := range names {
		if v, ok := o.Set[name]; ok {
			return v
		}
	}
	return otherwise
}

// softPlus is log(1 + exp(s)).
func softPlus(s float64) float64 { return max(s, 0) + math.Log1p(math.Exp(-math.Abs(s))) }

// odds is the logarithm of the odds that a score is.
func odds(o *tree.Objective, score []float64) float64 {
	if o.Sigmoid > 0 {
		return float64(score[0] * o.Sigmoid)
	}
	return score[0]
}

// logisticRow is log(1 + exp(-s)) of an example above 0, else log(1 + exp(s)).
func logisticRow(o *tree.Objective, score []float64, y float64) float64 {
	if y > 0 {
		return softPlus(-odds(o, score))
	}
	return softPlus(odds(o, score))
}

// noRow is of rankings.
func noRow(*tree.Objective, []float64, float64) float64 { return math.NaN() }

// crossEntropyRow is -y log(p) - (1-y) log(1-p).
func crossEntropyRow(o *tree.Objective, score []float64, y float64) float64 {
	s := odds(o, score)
	return softPlus(s) - float64(y*s)
}

// hingeRow is max(0, 1 - s) of an example above 0, else max(0, 1 + s).
func hingeRow(_ *tree.Objective, score []float64, y float64) float64 {
	if y > 0 {
		return max(0, 1-score[0])
	}
	return max(0, 1+score[0])
}

// classRow is -log(p) of the class: of softmax from the scores, so that it is finite.
func classRow(o *tree.Objective, score []float64, y float64) float64 {
	if o.Link != tree.Softmax {
		return softPlus(-odds(o, score[int(y):]))
	}
	most, sum := slices.Max(score), 0.0
	for _, s := range score {
		sum += math.Exp(s - most)
	}
	return math.Log(sum) + (most - score[int(y)])
}

// squareRow is (p - y)^2 / 2.
func squareRow(o *tree.Objective, score []float64, y float64) float64 {
	d := predicted(o, score) - y
	return float64(d*d) / 2
}

// absoluteRow is |p - y|.
func absoluteRow(o *tree.Objective, score []float64, y float64) float64 {
	return math.Abs(predicted(o, score) - y)
}

// mapeRow is |p - y| / max(1, |y|).
func mapeRow(o *tree.Objective, score []float64, y float64) float64 {
	return math.Abs(predicted(o, score)-y) / max(1, math.Abs(y))
}

// huberRow is (p - y)^2 / 2, a straight line beyond alpha.
func huberRow(o *tree.Objective, score []float64, y float64) float64 {
	alpha, d := setting(o, 1, "alpha", "delta", "huber_slope"), math.Abs(predicted(o, score)-y)
	if d <= alpha {
		return float64(d*d) / 2
	}
	return float64(alpha * (d - alpha/2))
}

// quantileRow is alpha (y - p) where that is above 0, else (1 - alpha) (p - y).
func quantileRow(o *tree.Objective, score []float64, y float64) float64 {
	alpha, d := setting(o, 0.5, "alpha", "quantile_alpha"), y-predicted(o, score)
	return max(alpha*d, (alpha-1)*d)
}

// poissonRow is exp(s) - y s.
func poissonRow(_ *tree.Objective, score []float64, y float64) float64 {
	return math.Exp(score[0]) - float64(y*score[0])
}

// gammaRow is y exp(-s) + s.
func gammaRow(_ *tree.Objective, score []float64, y float64) float64 {
	return float64(y*math.Exp(-score[0])) + score[0]
}

// tweedieRow is exp((2-r) s) / (2-r) - y exp((1-r) s) / (1-r), r between 1 and 2.
func tweedieRow(o *tree.Objective, score []float64, y float64) float64 {
	r, s := setting(o, 1.5, "power", "tweedie_variance_power", "rho"), score[0]
	return math.Exp((2-r)*s)/(2-r) - float64(y*math.Exp((1-r)*s)/(1-r))
}

var _ graph.Wide = (*treeLoss)(nil)
