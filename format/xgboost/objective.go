package xgboost

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"thole.example/format"
	"thole.example/internal/spell"
	"thole.example/tree"
)

// scale is where base_score stands: what turns it into the score before the first tree.
type scale uint8

const (
	plain scale = iota // as it is
	logit              // log(b / (1-b)), as XGBoost computes it in float32
	logs               // log b
)

// objective is an objective of XGBoost.
type objective struct {
	name  string
	ours  string // in package tree
	link  tree.Link
	scale scale
	param string // its settings as JSON, which XGBoost wants when it loads a model
}

const regLoss = `{"reg_loss_param":{"scale_pos_weight":"1"}}`

// ranking has the settings of versions before and after 2.0.
const ranking = `{"lambda_rank_param":{"fix_list_weight":"0","num_pairsample":"1"},"lambdarank_param":{"lambdarank_bias_norm":"1",` +
	`"lambdarank_normalization":"1","lambdarank_num_pair_per_sample":"4294967295","lambdarank_pair_method":"topk",` +
	`"lambdarank_unbiased":"0","ndcg_exp_gain":"1"}}`

// objectives are those that are known; the first of a link stands for objectives that XGBoost does not have.
var objectives = []objective{
	{"reg:squarederror", "l2", tree.Identity, plain, regLoss},
	{"reg:linear", "l2", tree.Identity, plain, regLoss},
	{"reg:squaredlogerror", "reg:squaredlogerror", tree.Identity, plain, regLoss},
	{"reg:absoluteerror", "l1", tree.Identity, plain, `{}`},
	{"reg:pseudohubererror", "reg:pseudohubererror", tree.Identity, plain, `{"pseudo_huber_param":{"huber_slope":"1"}}`},
	{"reg:pseudohubererror", "huber", tree.Identity, plain, `{"pseudo_huber_param":{"huber_slope":"1"}}`},
	{"reg:quantileerror", "quantile", tree.Identity, plain, `{"quantile_loss_param":{"quantile_alpha":"[5E-1]"}}`},
	{"binary:logistic", "binary", tree.Logistic, logit, regLoss},
	{"reg:logistic", "reg:logistic", tree.Logistic, logit, regLoss},
	{"binary:logitraw", "binary:logitraw", tree.Identity, plain, regLoss},
	{"binary:hinge", "binary:hinge", tree.Step, plain, `{}`},
	{"count:poisson", "poisson", tree.Exp, logs, `{"poisson_regression_param":{"max_delta_step":"0.699999988"}}`},
	{"reg:gamma", "gamma", tree.Exp, logs, regLoss},
	{"reg:tweedie", "tweedie", tree.Exp, logs, `{"tweedie_regression_param":{"tweedie_variance_power":"1.5"}}`},
	{"survival:cox", "survival:cox", tree.Exp, logs, `{}`},
	{"survival:aft", "survival:aft", tree.Exp, logs,
		`{"aft_loss_param":{"aft_loss_distribution":"normal","aft_loss_distribution_scale":"1"}}`},
	{"multi:softprob", "multiclass", tree.Softmax, plain, `{"softmax_multiclass_param":{"num_class":"0"}}`},
	{"multi:softmax", "multiclass", tree.Softmax, plain, `{"softmax_multiclass_param":{"num_class":"0"}}`},
	{"rank:ndcg", "lambdarank", tree.Identity, plain, ranking},
	{"rank:pairwise", "lambdarank", tree.Identity, plain, ranking},
	{"rank:map", "lambdarank", tree.Identity, plain, ranking},
}

// lookup finds the objective of a name in a file.
func lookup(name string) (*objective, error) {
	var known []string
	for i := range objectives {
		if objectives[i].name == name {
			return &objectives[i], nil
		}
		known = append(known, objectives[i].name)
	}
	return nil, fmt.Errorf("%w: %w", spell.Unknown("the objective", name, known), format.ErrVersion)
}

// meaning is the objective of a file for so many scores of a row; said is the object of the file.
func (o *objective) meaning(said map[string]any, scores int) (tree.Objective, error) {
	t := tree.Objective{Name: o.ours, Link: o.link, Foreign: compact(said)}
	switch {
	case scores > 1 && o.link == tree.Logistic:
		t.Link = tree.Each
	case scores > 1 && strings.HasPrefix(o.name, "survival:"):
		return t, fmt.Errorf("%s of %d targets, want one: %w", o.name, scores, format.ErrVersion)
	}
	if key := map[string]string{"quantile": "quantile_alpha", "tweedie": "tweedie_variance_power"}[o.ours]; key != "" {
		all, err := numbersOf(find(said, key))
		switch {
		case err != nil || len(all) == 0:
		case len(all) == 1:
			t.Set = map[string]float64{"alpha": all[0]}
		case len(all) != scores || slices.ContainsFunc(all, func(a float64) bool { return !(a > 0 && a < 1) }):
			return t, fmt.Errorf("%s %.80s of %d scores, want a number between 0 and 1 for each", key, find(said, key), scores)
		default:
			t.Alphas = all
		}
	}
	return t, nil
}

// numbersOf are those of a setting: "0.5", or "[1E-1,9E-1]".
func numbersOf(text string) (all []float64, err error) {
	for part := range strings.SplitSeq(strings.Trim(text, "[] "), ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// find is a setting of an objective, whose object has an object of settings.
func find(said map[string]any, key string) string {
	for _, group := range said {
		if of, ok := group.(map[string]any); ok {
			if text, ok := of[key].(string); ok {
				return text
			}
		}
	}
	return ""
}

// objectiveFor is the objective for a file: that which the file had said from which it came, else the nearest. Other scores of the row are
// turned in no other way by it; err says that there is none.
func objectiveFor(t *tree.Objective, classes int) (o *objective, said map[string]any, err error) {
	if s := t.Sigmoid; s != 0 && s != 1 && (t.Link == tree.Logistic || t.Link == tree.Each) {
		return nil, nil, fmt.Errorf("a logistic link of steepness %v, which XGBoost does not have, want 1: %w", s, format.ErrVersion)
	}
	if json.Unmarshal([]byte(t.Foreign), &said) == nil {
		name, _ := said["name"].(string)
		if o, err := lookup(name); err == nil && o.fits(t, classes) && (o.ours == t.Name || name == "reg:pseudohubererror") {
			return o, o.complete(said, t, classes), nil
		}
	}
	for pass := range 2 { // by name, else by what it predicts
		for i := range objectives {
			if o := &objectives[i]; o.fits(t, classes) && (pass > 0 || o.ours == t.Name) {
				return o, o.complete(nil, t, classes), nil
			}
		}
	}
	return nil, nil, fmt.Errorf("the link %s of %d scores, which no objective of XGBoost has: %w", t.Link, classes, format.ErrVersion)
}

// fits reports whether the objective turns scores into predictions as the other does.
func (o *objective) fits(t *tree.Objective, classes int) bool {
	got, err := o.meaning(nil, classes)
	return err == nil && (got.Link == t.Link || classes == 1 && got.Link == tree.Logistic && t.Link == tree.Each)
}

// complete is the object of the file with all settings that versions of XGBoost ask for.
func (o *objective) complete(said map[string]any, t *tree.Objective, classes int) map[string]any {
	all := map[string]any{}
	_ = json.Unmarshal([]byte(o.param), &all) // a constant
	alpha, hasAlpha := t.Set["alpha"]
	for group, settings := range all {
		of := settings.(map[string]any)
		for key := range of {
			switch {
			case key == "num_class":
				of[key] = strconv.Itoa(classes)
			case key == "quantile_alpha" && len(t.Alphas) == classes && classes > 1:
				var list []string
				for _, a := range t.Alphas {
					list = append(list, single(a))
				}
				of[key] = "[" + strings.Join(list, ",") + "]"
			case key == "quantile_alpha" && classes > 1:
				of[key] = "[" + strings.TrimSuffix(strings.Repeat("5E-1,", classes), ",") + "]"
			case key == "quantile_alpha" && hasAlpha:
				of[key] = "[" + single(alpha) + "]"
			case (key == "huber_slope" || key == "tweedie_variance_power") && hasAlpha:
				of[key] = single(alpha)
			}
		}
		if was, ok := said[group].(map[string]any); ok {
			maps.Copy(of, was)
		}
	}
	for key, value := range said {
		if _, ok := all[key]; !ok {
			all[key] = value
		}
	}
	all["name"] = o.name
	return all
}

// single is a number as texts of the file have it.
func single(v float64) string { return string(appendSingle(nil, float32(v))) }

// margin is the score that base_score stands for; version decides where XGBoost changed its mind.
func (o *objective) margin(base float32, version [3]int) (float32, error) {
	s := o.scale
	if o.name == "binary:logitraw" && version[0] == 1 && version[1] < 3 {
		s = logit
	}
	if s == logit && base >= 0 && base <= 1 && (version[0] > 3 || version[0] == 3 && version[1] >= 1) {
		base = min(max(base, edge), 1-edge) // a training set of one class has 0 or 1
	}
	switch {
	case s == logit && !(base > 0 && base < 1):
		return 0, fmt.Errorf("%v, want a number between 0 and 1 for %s", base, o.name)
	case s == logs && !(base > 0):
		return 0, fmt.Errorf("%v, want a number above 0 for %s", base, o.name)
	case base != base || math.IsInf(float64(base), 0):
		return 0, fmt.Errorf("%v, want a number", base)
	}
	return s.margin(base), nil
}

// edge is how near to 0 and 1 XGBoost moves a probability before it takes the score of it, from 3.1 on.
const edge float32 = 1e-6

func (s scale) margin(base float32) float32 {
	switch s {
	case logit:
		return 0 - float32(math.Log(float64(1/base-1))) // and not -0
	case logs:
		return float32(math.Log(float64(base)))
	}
	return base
}

// nearby is how many neighbours of a number are tried.
const nearby = 8

// base is the base_score whose margin is nearest to the score, of those that mean the same to every version.
func (s scale) base(score float64) float32 {
	var base float32
	switch s {
	case plain:
		return float32(score)
	case logit:
		base = min(max(float32(1/(1+math.Exp(-score))), edge), 1-edge)
	case logs:
		base = float32(math.Exp(min(max(score, -87), 88)))
	}
	best, inf := base, float32(math.Inf(1))
	for _, towards := range [2]float32{inf, -inf} {
		b := base
		for range nearby {
			if b = math.Nextafter32(b, towards); s == logit && (b < edge || b > 1-edge) || b <= 0 || b > math.MaxFloat32 {
				break
			}
			if math.Abs(float64(s.margin(b))-score) < math.Abs(float64(s.margin(best))-score) {
				best = b
			}
		}
	}
	return best
}
