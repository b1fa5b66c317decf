package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thole.example/internal/spell"
)

// treePrefix is how Angel's keys of trees begin.
const treePrefix = "ml.gbdt."

// treeKeys are Angel's keys of trees: those of its trainer on parameter servers, and those of the one on Spark.
func treeKeys() []confKey {
	return []confKey{
		{key: "ml.gbdt.task.type", flag: "loss", text: (*settings).treeTask,
			does: "`--loss`: `classification` is binary, or multiclass of more than two classes; `regression` is l2"},
		{key: "ml.gbdt.loss.func", flag: "loss", does: "`--loss`: `binary:logistic` is binary, `multi:logistic` multiclass, `rmse` l2",
			text: nameIn(map[string]string{"binary:logistic": "binary", "multi:logistic": "multiclass", "rmse": "l2"})},
		{key: "ml.gbdt.class.num", flag: "classes", of: hasClasses},
		{key: "ml.gbdt.tree.num", flag: "trees"},
		{key: "ml.gbdt.tree.depth", flag: "depth", does: "`--depth` of one less: Angel counts levels of nodes, not of splits", text: splitLevels},
		{key: "ml.gbdt.max.node.num", flag: "leaves", does: "`--leaves` of half as many and one, with `--growth depth`",
			text: (*settings).treeNodes},
		{key: "ml.gbdt.split.num", flag: "bins"},
		{key: "ml.gbdt.sample.ratio", flag: "colsample"},
		{key: "ml.gbdt.feature.sample.ratio", flag: "colsample"},
		{key: "ml.gbdt.row.sample.ratio", flag: "subsample"},
		{key: "ml.gbdt.min.child.weight", flag: "min-child-weight"},
		{key: "ml.gbdt.min.split.gain", flag: "gamma"},
		{key: "ml.gbdt.max.leaf.weight", flag: "max-delta-step", does: "`--max-delta-step`, where it is above 0", text: aboveZero},
		{key: "ml.gbdt.reg.alpha", flag: "l1"},
		{key: "ml.gbdt.reg.lambda", flag: "l2"},
		{key: "ml.gbdt.parallel.mode", flag: "share", does: "`--share`: `data` is rows, `feature` is features",
			text: nameIn(map[string]string{"data": byRows, "feature": byFeatures})},
		{key: "ml.gbdt.eval.metric", flag: "metrics", does: "`--metrics`, by our names", text: (*settings).treeMetrics},
		{key: "ml.gbdt.cate.feat", does: "`none` only: columns of a table that are texts are categorical by themselves", text: onlyNamed("none",
			"columns of a table (--format csv) that are texts are categorical by themselves; numbers of libsvm are numbers")},
		{key: "ml.gbdt.multi.class.strategy", does: "`multi-tree` only: each class has trees of its own", text: onlyNamed("multi-tree",
			"each class has trees of its own")},
		{key: "ml.gbdt.full.hessian", does: "`false` only: of second derivatives those of a class by itself count", text: onlyNamed("false",
			"of the second derivatives only those of a class by itself count")},

		{key: "ml.gbdt.min.node.instance", same: "0", not: "--min-child-weight bounds the second derivatives on both sides of a split; " +
			"of l2 they are numbers of examples"},
		{key: "ml.gbdt.thread.num", idle: "all processors share the work of a task"},
		{key: "ml.gbdt.batch.size", idle: "processors take blocks of a size of their own"},
		{key: "ml.gbdt.server.split", idle: "servers always find the splits"},
		{key: "ml.gbdt.hist.subtraction", idle: "the larger child's histogram is always what is left of the parent's"},
		{key: "ml.gbdt.lighter.child.first", idle: "the smaller child is always the one that is summed up"},
		{key: "ml.gbdt.multi.class.grad.cache", idle: "derivatives of all classes are always kept"},
		{key: "ml.gbdt.feature.importance.type", idle: "thole inspect MODEL tells of the gain and the splits of features"},
	}
}

// nameIn is what a name stands for.
func nameIn(names map[string]string) func(*settings, string) (string, bool, error) {
	return func(_ *settings, text string) (string, bool, error) {
		is, ok := names[strings.ToLower(text)]
		if !ok {
			all := slices.Sorted(maps.Keys(names))
			return "", false, fmt.Errorf("want %s%s", strings.Join(all, " or "), spell.Hint(text, all))
		}
		return is, true, nil
	}
}

// onlyNamed refuses all but one text, for a reason.
func onlyNamed(name, why string) func(*settings, string) (string, bool, error) {
	return func(_ *settings, text string) (string, bool, error) {
		if !strings.EqualFold(text, name) {
			return "", false, fmt.Errorf("want %s: %s", name, why)
		}
		return "", false, nil
	}
}

// aboveZero is the number if it is above 0.
func aboveZero(_ *settings, text string) (string, bool, error) {
	v, err := numberOf(text)
	return text, v > 0, err
}

// treeTask is the loss of a kind of task.
func (s *settings) treeTask(text string) (string, bool, error) {
	loss, said, err := nameIn(map[string]string{"classification": "binary", "regression": "l2"})(nil, text)
	if loss != "binary" {
		return loss, said, err
	}
	if name := s.job.conf["ml.gbdt.loss.func"]; strings.EqualFold(name, "multi:logistic") {
		return "", false, nil // which says it more exactly
	}
	for _, key := range []string{"ml.gbdt.class.num", "ml.num.class"} {
		if n, err := strconv.Atoi(s.job.conf[key]); err == nil && n > 2 {
			loss = "multiclass"
		}
	}
	return loss, said, err
}

// splitLevels is how many levels of splits there are in a tree of so many levels of nodes.
func splitLevels(_ *settings, text string) (string, bool, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 {
		return "", false, errors.New("want a whole number from 2 on: levels of nodes, the leaves among them")
	}
	return strconv.Itoa(n - 1), true, nil
}

// treeNodes is how many leaves a tree of so many nodes has, which Angel splits level by level.
func (s *settings) treeNodes(text string) (string, bool, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 3 {
		return "", false, errors.New("want a whole number from 3 on: nodes of a tree, the leaves among them")
	}
	return strconv.Itoa((n + 1) / 2), true, s.give("growth", "--conf ml.gbdt.max.node.num", "depth")
}

// treeMetrics gives the metrics of the names that Angel has.
func (s *settings) treeMetrics(text string) (string, bool, error) {
	name := nameIn(map[string]string{"error": "accuracy", "rmse": "rmse", "log-loss": "logloss", "cross-entropy": "multi-logloss",
		"precision": "precision", "auc": "auc"})
	var all []string
	for one := range strings.SplitSeq(text, ",") {
		is, _, err := name(nil, strings.TrimSpace(one))
		if err != nil {
			return "", false, err
		}
		all = append(all, is)
	}
	return "", false, s.give("metrics", "--conf ml.gbdt.eval.metric", all...)
}

// checkConf refuses keys of --conf that are of the other kind of algorithm.
func (p *plan) checkConf() error {
	for _, key := range slices.Sorted(maps.Keys(p.job.conf)) {
		k, err := findConf(key)
		if err != nil {
			continue // it was refused
		}
		trees := p.recipe.Trees != ""
		layers := k.formatOf != nil || k.ruleOf != nil || k.setting != "" || k.decay != "" || slices.Contains(networkFlags, k.flag)
		switch of := strings.HasPrefix(key, treePrefix); {
		case of && !trees:
			return fmt.Errorf("--conf %s applies only to --algo gbdt, and --algo is %s", key, p.recipe.Name)
		case trees && key == "ml.epoch.num":
			return fmt.Errorf("--conf %s: trees have no epochs, want ml.gbdt.tree.num for how many there are", key)
		case trees && layers && k.of == nil:
			return fmt.Errorf("--conf %s applies only to networks, and --algo is %s: leave it out", key, p.recipe.Name)
		}
	}
	return nil
}
