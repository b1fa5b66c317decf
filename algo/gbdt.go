package algo

import (
	"thole.example/gbdt"
	"thole.example/tree"
)

// Trees is the recipe of boosted trees, which is no network and so not in the table.
func Trees() Algo {
	return Algo{Name: "gbdt", Also: []string{"gbdtrunner", "trees", "boosting", "gbt", "gbm", "xgboost", "lightgbm"},
		Task: Classification, Trees: "binary",
		Help: "boosted decision trees; --loss binary, l2, l1, huber, quantile, poisson, multiclass or lambdarank"}
}

// WithObjective is the recipe of trees by another objective.
func (a *Algo) WithObjective(o *gbdt.Objective) *Algo {
	other := *a
	other.Trees, other.Task = o.Name, Task(o.Task)
	return &other
}

// TreeObjective is the objective of trained trees as it is saved with them.
func TreeObjective(o *gbdt.Objective) *tree.Objective {
	return &tree.Objective{Name: o.Name, Link: o.Link, Set: o.Settings}
}
