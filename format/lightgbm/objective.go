package lightgbm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thole.example/tree"
)

// objectives is the table of what models learn: our name, that of the file, and the link. The first one of a link is what
// predicts the same as an objective that LightGBM does not have.
var objectives = []struct {
	name, file string
	link       tree.Link
	steep      bool // its line has a sigmoid
	old        []string
}{
	{"cross_entropy", "cross_entropy", tree.Logistic, false, []string{"xentropy"}},
	{"binary", "binary", tree.Logistic, true, nil},
	{"l2", "regression", tree.Identity, false, []string{"regression_l2", "l2", "mean_squared_error", "mse", "rmse"}},
	{"l1", "regression_l1", tree.Identity, false, []string{"l1", "mean_absolute_error", "mae"}},
	{"huber", "huber", tree.Identity, false, nil},
	{"fair", "fair", tree.Identity, false, nil},
	{"quantile", "quantile", tree.Identity, false, nil},
	{"mape", "mape", tree.Identity, false, []string{"mean_absolute_percentage_error"}},
	{"poisson", "poisson", tree.Exp, false, nil},
	{"gamma", "gamma", tree.Exp, false, nil},
	{"tweedie", "tweedie", tree.Exp, false, nil},
	{"multiclass", "multiclass", tree.Softmax, false, []string{"softmax"}},
	{"multiclassova", "multiclassova", tree.Each, true, []string{"multiclass_ova", "ova", "ovr"}},
	{"lambdarank", "lambdarank", tree.Identity, false, nil},
	{"rank_xendcg", "rank_xendcg", tree.Identity, false, []string{"xendcg"}},
	{"cross_entropy_lambda", "cross_entropy_lambda", tree.SoftPlus, false, []string{"xentlambda"}},
}

// settings are those of objectives that stand among the parameters, and only there.
var settings = []struct{ of, key string }{
	{"huber", "alpha"}, {"quantile", "alpha"}, {"fair", "fair_c"}, {"tweedie", "tweedie_variance_power"},
}

// rooted is the word of an objective whose labels were roots.
const rooted = "sqrt"

// known reports whether it is in the table, by our names.
func known(name string) bool {
	for i := range objectives {
		if objectives[i].name == name {
			return true
		}
	}
	return false
}

// objective reads the line of the header. One that is not in the table keeps its name, and its scores are predictions. The line itself
// is kept if we would write it otherwise.
func objective(line string, classes int) tree.Objective {
	line = strings.ToValidUTF8(line, "\ufffd")
	o := plainObjective(line)
	if own, _ := objectiveLine(&o, classes); own != line {
		o.Foreign = line
	}
	return o
}

func plainObjective(line string) tree.Objective {
	words := strings.Fields(line)
	o := tree.Objective{Link: tree.Identity}
	if len(words) == 0 {
		return o
	}
	o.Name = words[0]
	for i := range objectives {
		if t := &objectives[i]; t.file == words[0] || slices.Contains(t.old, words[0]) {
			o.Name, o.Link = t.name, t.link
		}
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, ":")
		if s, err := strconv.ParseFloat(value, 64); key == "sigmoid" && err == nil && s != 1 && (o.Link == tree.Logistic || o.Link == tree.Each) {
			o.Sigmoid = s
		}
		if w == rooted && o.Link == tree.Identity {
			o.Link = tree.Square
		}
	}
	return o
}

// objectiveLine is what the header says of it, "" for scores as they are; ok is false if its predictions cannot be said.
func objectiveLine(o *tree.Objective, classes int) (line string, ok bool) {
	if classes > 1 && o.Link != tree.Identity && o.Link != tree.Softmax && o.Link != tree.Each {
		return "", false // LightGBM applies other links to the first score only
	}
	if o.Foreign != "" {
		if was := plainObjective(o.Foreign); was.Name == o.Name && samePrediction(&was, o) {
			return o.Foreign, true
		}
	}
	for _, byName := range []bool{true, false} {
		for i := range objectives {
			t := &objectives[i]
			root := t.link == tree.Identity && o.Link == tree.Square
			if byName && t.name != o.Name || t.link != o.Link && !root || steepness(o) != 1 && !t.steep {
				continue
			}
			if !byName && o.Link == tree.Identity {
				return "", true
			}
			line := t.file
			switch {
			case o.Link == tree.Softmax || o.Link == tree.Each:
				line += fmt.Sprintf(" num_class:%d", classes)
			case root:
				line += " " + rooted
			}
			if t.steep {
				line += " sigmoid:" + strconv.FormatFloat(steepness(o), 'g', -1, 64)
			}
			return line, true
		}
	}
	return "", o.Link == tree.Identity
}

// steepness is the sigmoid, which 0 stands for 1 of.
func steepness(o *tree.Objective) float64 {
	if o.Sigmoid == 0 || o.Link != tree.Logistic && o.Link != tree.Each {
		return 1
	}
	return o.Sigmoid
}

func samePrediction(a, b *tree.Objective) bool {
	return a.Link == b.Link && steepness(a) == steepness(b)
}
