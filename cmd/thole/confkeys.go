package main

import (
	"fmt"
	"strings"

	"thole.example/algo"
)

// confKey is a key of Angel's configuration, with what it does here: it says what a flag says, or something of the layers or of the
// training that has no flag; or it has no effect; or it is refused.
type confKey struct {
	key  string
	flag string                                                              // of train, that says the same
	text func(s *settings, text string) (value string, said bool, err error) // nil: as it is
	// of says, when the algorithm is known, why the flag has no effect with it ("": it has), or refuses what is said. nil: it always has.
	of func(p *plan, text string) (why string, err error)

	formatOf, ruleOf []string // kinds of layers whose format or update rule it names; of ours the nearest of Angel's
	rule, setting    string   // a setting of an update rule, by Angel's name of it
	decay, schedule  string   // a setting of the schedule, of this one alone if it is named
	does             string   // what else it does, by text

	idle string // why it has no effect
	not  string // what to do in place of it
	same string // the number with which it changes nothing, so that it is not refused
}

// The kinds of layers that have parameters, by the kinds that Angel has.
var (
	inputKinds     = []string{"simpleinputlayer"}
	embeddingKinds = []string{"embedding", "fieldawareembedding"}
	fcKinds        = []string{"fclayer", "crosslayer", "batchnormlayer"}
)

// confKeys is the table of Angel's keys.
func confKeys() []confKey {
	return append([]confKey{
		{key: "action.type", does: "`train`, or `inctrain` with a model to go on from", text: (*settings).action},
		{key: "angel.app.submit.class", flag: "algo", does: "`GraphRunner` is what trains; `GBDTRunner` is `--algo gbdt`",
			text: (*settings).submit},
		{key: "angel.train.data.path", flag: "data"},
		{key: "angel.validate.data.path", flag: "validate"},
		{key: "angel.predict.data.path", not: "say thole predict --data FILE"},
		{key: "angel.predict.out.path", not: "say thole predict --out FILE"},
		{key: "angel.save.model.path", flag: "model"},
		{key: "angel.load.model.path", flag: "load"},
		{key: "angel.log.path", flag: "log"},
		{key: "angel.ml.conf", flag: "graph", text: (*settings).graph},
		{key: "angel.staleness", flag: "staleness"},
		{key: "angel.ps.number", flag: "servers", text: (*settings).servers},
		{key: "angel.workergroup.number", flag: "tasks", does: "`--tasks`, times `angel.worker.task.number`", text: (*settings).tasks},
		{key: "angel.worker.task.number", flag: "tasks", does: "`--tasks`, times `angel.workergroup.number`", text: (*settings).tasks},
		{key: "angel.worker.thread.num", idle: "a task has one thread; --tasks says how many there are"},
		{key: "angel.compress.bytes", idle: "numbers travel as they are"},

		{key: "ml.data.type", flag: "format"},
		{key: "ml.data.splitor", flag: "separator", text: separatorOf},
		{key: "ml.data.has.label", does: "`true` only", text: (*settings).labelled},
		{key: "ml.data.label.trans.class", flag: "labels", text: className},
		{key: "ml.data.label.trans.threshold", flag: "label-threshold"},
		{key: "ml.data.validate.ratio", flag: "holdout", does: "`--holdout` with `--holdout-by interval`", text: (*settings).ratio},
		{key: "ml.data.use.shuffle", flag: "in-order", text: untruth},
		{key: "ml.data.posneg.ratio", flag: "pos-neg", text: fromZero},
		{key: "ml.batch.sample.ratio", flag: "sample"},
		{key: "ml.feature.index.range", flag: "dim", text: fromZero},

		{key: "ml.model.class.name", flag: "algo", text: (*settings).algorithm},
		{key: "ml.model.type", flag: "sparse", text: (*settings).rowType},
		{key: "ml.model.size", does: "it is said when more columns occur", text: (*settings).columns},
		{key: "ml.model.is.classification", does: "checked: whether the algorithm learns classes", text: truth, of: learnsClasses},
		{key: "ml.block.size", idle: "--partitioner and --servers say how matrices are cut"},
		{key: "ml.matrix.dot.use.parallel.executor", idle: "--tasks says how many threads there are"},

		{key: "ml.epoch.num", flag: "epochs"},
		{key: "ml.num.update.per.epoch", flag: "updates"},
		{key: "ml.minibatch.size", idle: "predictions have batches of their own, and those of a training are of ml.num.update.per.epoch"},
		{key: "ml.learn.rate", flag: "rate"},
		{key: "ml.reg.l1", flag: "l1"},
		{key: "ml.reg.l2", flag: "l2"},

		{key: "ml.opt.decay.class.name", flag: "schedule", text: className},
		{key: "ml.opt.decay.on.batch", flag: "schedule-per", text: batchOrEpoch},
		{key: "ml.opt.decay.alpha", decay: "alpha"},
		{key: "ml.opt.decay.beta", decay: "beta"},
		{key: "ml.opt.decay.intervals", decay: "interval"},
		{key: "ml.learn.decay", decay: "alpha", schedule: "StandardDecay"},

		{key: "ml.inputlayer.optimizer", ruleOf: inputKinds},
		{key: "ml.embedding.optimizer", ruleOf: embeddingKinds},
		{key: "ml.fclayer.optimizer", ruleOf: fcKinds},
		{key: "ml.opt.momentum.momentum", rule: "momentum", setting: "momentum"},
		{key: "ml.opt.adagrad.beta", rule: "adagrad", setting: "beta"},
		{key: "ml.opt.adadelta.alpha", rule: "adadelta", setting: "alpha"},
		{key: "ml.opt.adadelta.beta", rule: "adadelta", setting: "beta"},
		{key: "ml.opt.adam.beta", rule: "adam", setting: "beta"},
		{key: "ml.opt.adam.gamma", rule: "adam", setting: "gamma"},
		{key: "ml.opt.ftrl.alpha", rule: "ftrl", setting: "alpha"},
		{key: "ml.opt.ftrl.beta", rule: "ftrl", setting: "beta"},
		{key: "ml.simpleinputlayer.matrix.output.format", formatOf: inputKinds},
		{key: "ml.embedding.matrix.output.format", formatOf: embeddingKinds},
		{key: "ml.fclayer.matrix.output.format", formatOf: fcKinds},

		{key: "ml.num.class", flag: "classes", of: hasClasses},
		{key: "ml.fm.field.num", flag: "fields", text: fromZero},
		{key: "ml.field.num", flag: "fields", text: fromZero},
		{key: "ml.fm.rank", flag: "factors", of: hasFactors},
		{key: "ml.mlr.rank", not: "mixed logistic regression is no recipe; docs/graph.md has its network, in which outputdim is the rank"},
		{key: "ml.robustregression.loss.delta", flag: "loss-set", does: "`--loss-set delta=`", text: asDelta},
		{key: "ml.lossfunction.huber.delta", flag: "loss-set", does: "`--loss-set delta=`", text: asDelta},
	}, treeKeys()...)
}

// meaning is what the key does, as docs/graph.md has it.
func (k *confKey) meaning() string {
	layers := strings.Join(append(k.formatOf, k.ruleOf...), ", ")
	switch {
	case k.does != "":
		return k.does
	case k.flag != "":
		return fmt.Sprintf("`--%s`", k.flag)
	case k.formatOf != nil:
		return "format of " + layers
	case k.ruleOf != nil:
		return "update rule of " + layers
	case k.setting != "":
		return fmt.Sprintf("`%s` of %s", k.setting, k.rule)
	case k.schedule != "":
		return fmt.Sprintf("`--schedule-set %s=` of %s", k.decay, k.schedule)
	case k.decay != "":
		return fmt.Sprintf("`--schedule-set %s=`", k.decay)
	case k.idle != "":
		return "no effect: " + k.idle
	case k.same != "":
		return fmt.Sprintf("refused but for %s: %s", k.same, k.not)
	}
	return "refused: " + k.not
}

// hasClasses is why the number of classes has no effect; that of an algorithm for two can be no other.
func hasClasses(p *plan, text string) (why string, err error) {
	switch {
	case p.recipe.Task == algo.Multiclass:
		return "", nil
	case text == "2":
		return p.recipe.Name + " has no other number of classes", nil
	}
	several := "--algo softmax"
	if p.recipe.Trees != "" {
		several = "--loss multiclass"
	}
	return "", fmt.Errorf("want 2, the classes that %s has, or an algorithm with several, such as %s", p.recipe.Name, several)
}

// hasFactors is why the length of vectors has no effect.
func hasFactors(p *plan, _ string) (why string, err error) {
	switch {
	case p.own != nil:
		return "the network is that of a file, which says how large it is", nil
	case !p.recipe.Network():
		return p.recipe.Name + " has no vectors", nil
	}
	return "", nil
}

// learnsClasses refuses to call numbers what are classes, and the other way around.
func learnsClasses(p *plan, text string) (why string, err error) {
	learns := p.recipe.Name + map[bool]string{true: " learns classes", false: " learns numbers"}[p.recipe.Task.Classes()]
	if is := fmt.Sprint(p.recipe.Task.Classes()); is != text {
		return "", fmt.Errorf("want %s, or another algorithm: %s", is, learns)
	}
	return learns, nil
}
