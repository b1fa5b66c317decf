package tree

import (
	"fmt"
	"math"
	"strings"
)

// Link is what turns the scores of a row into what is predicted.
type Link string

// The links.
const (
	Identity Link = "identity"
	Logistic Link = "logistic" // 1 / (1 + exp(-sigmoid * score)), the probability of the second class
	Exp      Link = "exp"
	Softmax  Link = "softmax"  // exp(score) over the sum of those of all classes
	Each     Link = "each"     // logistic of each class by itself (LightGBM's multiclassova)
	Square   Link = "square"   // sign(score) * score^2 (LightGBM's reg_sqrt)
	Step     Link = "step"     // 1 if the score is above 0, else 0 (XGBoost's binary:hinge)
	SoftPlus Link = "softplus" // log(1 + exp(score)) (LightGBM's cross_entropy_lambda)
)

// Links are all of them.
func Links() []Link { return []Link{Identity, Logistic, Exp, Softmax, Each, Square, Step, SoftPlus} }

// Objective says what was learned: the name is ours where training knows it (package gbdt), else as the file has it.
type Objective struct {
	Name string `json:"name"`
	Link Link   `json:"link"`
	// Sigmoid is the steepness of the logistic link; 0 is 1.
	Sigmoid float64 `json:"sigmoid,omitempty"`
	// Set are its other settings by our names (alpha of quantile and huber).
	Set map[string]float64 `json:"set,omitempty"`
	// Alphas are the quantiles of the scores of a row, where each predicts another one; else there are none.
	Alphas []float64 `json:"alphas,omitempty"`
	// Foreign is the objective as the file of another program said it, for the way back.
	Foreign string `json:"foreign,omitempty"`
}

// Check refuses a link that is none, or that is not one of so many scores.
func (o *Objective) Check(classes int) error {
	switch o.Link {
	case Softmax, Each:
	case Identity, Exp, Step: // scores of several classes or targets, too
	case Logistic, Square, SoftPlus:
		if classes != 1 {
			return fmt.Errorf("the link %s of %d scores, want one", o.Link, classes)
		}
	default:
		return fmt.Errorf("the link %q, want one of %s", o.Link, strings.Trim(fmt.Sprint(Links()), "[]"))
	}
	if s := o.Sigmoid; s < 0 || s != s || math.IsInf(s, 0) {
		return fmt.Errorf("the sigmoid %v, want a number above 0", s)
	}
	if n := len(o.Alphas); n > 0 && n != classes {
		return fmt.Errorf("%d quantiles of %d scores, want one for each", n, classes)
	}
	for _, a := range o.Alphas {
		if !(a > 0 && a < 1) {
			return fmt.Errorf("the quantile %v, want a number between 0 and 1", a)
		}
	}
	return nil
}

// Predict turns the scores of one row into predictions, in place.
func (o *Objective) Predict(scores []float64) {
	switch o.Link {
	case Softmax:
		most := math.Inf(-1)
		for _, s := range scores {
			most = max(most, s)
		}
		sum := 0.0
		for i, s := range scores {
			scores[i] = math.Exp(s - most)
			sum += scores[i]
		}
		for i := range scores {
			scores[i] /= sum
		}
	case Identity:
	default:
		for i, s := range scores {
			scores[i] = o.predict(s)
		}
	}
}

func (o *Objective) predict(s float64) float64 {
	switch o.Link {
	case Logistic, Each:
		if o.Sigmoid > 0 {
			s *= o.Sigmoid
		}
		return 1 / (1 + math.Exp(-s))
	case Exp:
		return math.Exp(s)
	case Square:
		return math.Copysign(s*s, s)
	case Step:
		if s > 0 {
			return 1
		}
		return 0
	case SoftPlus:
		return math.Log1p(math.Exp(-math.Abs(s))) + max(s, 0)
	}
	return s
}
