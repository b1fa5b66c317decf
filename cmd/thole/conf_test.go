package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// angelKeys are the keys that Angel's documents have for what all of its algorithms share, and for schedules.
const angelKeys = `action.type angel.train.data.path angel.predict.data.path angel.validate.data.path angel.save.model.path
	angel.load.model.path angel.predict.out.path angel.log.path ml.data.type ml.data.splitor ml.data.has.label ml.data.label.trans.class
	ml.data.label.trans.threshold ml.data.validate.ratio ml.feature.index.range ml.model.size ml.model.type ml.block.size
	ml.data.use.shuffle ml.data.posneg.ratio ml.epoch.num ml.num.update.per.epoch ml.minibatch.size ml.batch.sample.ratio ml.learn.rate
	ml.reg.l1 ml.reg.l2 ml.inputlayer.optimizer ml.embedding.optimizer ml.fclayer.optimizer ml.simpleinputlayer.matrix.output.format
	ml.embedding.matrix.output.format ml.fclayer.matrix.output.format ml.num.class ml.model.is.classification ml.fm.field.num ml.field.num
	ml.fm.rank ml.mlr.rank ml.robustregression.loss.delta ml.lossfunction.huber.delta ml.matrix.dot.use.parallel.executor
	angel.worker.thread.num angel.compress.bytes angel.staleness ml.model.class.name angel.ml.conf angel.app.submit.class angel.ps.number
	angel.workergroup.number angel.worker.task.number
	ml.opt.decay.class.name ml.opt.decay.on.batch ml.opt.decay.alpha ml.opt.decay.beta ml.opt.decay.intervals ml.learn.decay
	ml.opt.momentum.momentum ml.opt.adadelta.alpha ml.opt.adadelta.beta ml.opt.adagrad.beta ml.opt.adam.beta ml.opt.adam.gamma
	ml.opt.ftrl.alpha ml.opt.ftrl.beta`

// TestConfKeys wants each key of Angel's documents in one group of the table, and each flag of the table to be one.
func TestConfKeys(t *testing.T) {
	for _, key := range strings.Fields(angelKeys) {
		if _, err := findConf(key); err != nil {
			t.Error(err)
		}
	}
	flags := trainCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}).Flags()
	seen := map[string]bool{}
	for _, k := range confKeys() {
		groups := 0
		for _, is := range []bool{k.flag != "" || k.does != "", k.formatOf != nil, k.ruleOf != nil, k.setting != "", k.decay != "", k.idle != "",
			k.not != ""} {
			if is {
				groups++
			}
		}
		if groups != 1 || seen[k.key] {
			t.Errorf("%s is in %d groups, twice %v, want it in one", k.key, groups, seen[k.key])
		}
		seen[k.key] = true
		if k.flag != "" && flags.Lookup(k.flag) == nil {
			t.Errorf("%s: there is no flag %s", k.key, k.flag)
		}
	}
}

// TestConfIsDocumented holds the tables of docs/graph.md to the keys of Angel's configuration.
func TestConfIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/graph.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Angel's configuration\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented, known []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\| ([^|]*) \\|$").FindAllStringSubmatch(section, -1) {
		documented = append(documented, row[1]+" "+row[2])
	}
	for _, k := range confKeys() {
		known = append(known, fmt.Sprintf("`%s` %s", k.key, k.meaning()))
	}
	slices.Sort(documented)
	slices.Sort(known)
	if !slices.Equal(documented, known) {
		t.Errorf("documented keys\n%s\nwant\n%s", strings.Join(documented, "\n"), strings.Join(known, "\n"))
	}
}

// trained is what train --dry-run says of a few examples, with the keys given as --conf.
func trained(t *testing.T, keys []string, args ...string) (job, said string, err error) {
	t.Helper()
	data := write(t, "x.libsvm", "1 1:1 3:0.5\n-1 2:1\n1 1:0.5\n-1 2:0.5 3:1\n")
	var out, told bytes.Buffer
	all := append([]string{"--data", data, "--dry-run"}, args...)
	for _, key := range keys {
		all = append(all, "--conf", key)
	}
	c := trainCommand(&env{in: strings.NewReader(""), out: &out, err: &told})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(all)
	err = c.ExecuteContext(t.Context())
	return out.String(), told.String(), err
}

// Each key says what it should: of the job that comes of it, or of what is told.
func TestConfSays(t *testing.T) {
	for _, c := range []struct {
		keys, args string // with blanks between them
		want       string // in the job
		told       string
	}{
		{"ml.learn.decay=0.3", "", "decayclass: StandardDecay", ""},
		{"ml.learn.decay=0.3", "", "alpha: 0.3", ""},
		{"ml.opt.decay.alpha=0.2", "", "alpha: 0.2", ""},
		{"ml.opt.decay.alpha=0.2 ml.learn.decay=0.5", "", "alpha: 0.5", "ml.opt.decay.alpha has no effect: ml.learn.decay goes before it"},
		{"ml.opt.decay.class.name=WarmRestarts ml.opt.decay.alpha=0.2 ml.opt.decay.intervals=7", "", "interval: 7", ""},
		{"ml.opt.decay.class.name=WarmRestarts ml.learn.decay=0.2", "", "schedule-per: epoch", "ml.learn.decay has no effect: schedule WarmRestarts"},
		{"ml.opt.decay.class.name=CorrectionDecay ml.opt.decay.beta=0.8 ml.opt.decay.on.batch=True", "", "schedule-per: batch", ""},
		{"ml.opt.decay.class.name=com.tencent.angel.ml.core.optimizer.decayer.StandardDecay", "", "decayclass: StandardDecay", ""},
		{"ml.opt.decay.intervals=7", "", "algo: lr", "ml.opt.decay.intervals has no effect"},
		{"ml.opt.decay.class.name=WarmRestarts ml.opt.decay.alpha=0.2", "--schedule constant", "decayclass: constant", ""},
		{`ml.data.splitor=\s+`, "", "data:", ""},
		{`ml.data.splitor=\|`, "", `separator: '|'`, ""},
		{"ml.model.class.name=com.tencent.angel.ml.classification.SupportVectorMachine", "", "algo: svm", ""},
		{"ml.model.class.name=LogisticRegression", "--algo svm", "algo: svm", ""},
		{"ml.model.size=2", "", "algo: lr", "ml.model.size is 2, and the training examples have 3 different columns"},
		{"ml.model.size=-1", "", "algo: lr", ""},
		{"angel.ps.number=3", "", "servers: 3", ""},
		{"angel.workergroup.number=2", "", "tasks: 2", ""},
		{"angel.workergroup.number=2 angel.worker.task.number=2", "", "tasks: 4", ""},
		{"angel.worker.task.number=2", "--tasks 3", "tasks: 3", ""},
		{"ml.inputlayer.optimizer=Momentum", "", "rule: momentum", ""},
		{"ml.inputlayer.optimizer=Momentum ml.opt.momentum.momentum=0.5", "", "mu: 0.5", ""},
		{"ml.inputlayer.optimizer=FTRL ml.opt.ftrl.alpha=0.05 ml.reg.l1=0.1", "", "alpha: 0.05", ""},
		{"ml.inputlayer.optimizer=FTRL", "", "lr: 1\n", ""},
		{"ml.inputlayer.optimizer=FTRL", "--rule sgd", "rule: sgd", "ml.inputlayer.optimizer has no effect: rule sgd is that of all layers"},
		{"ml.inputlayer.optimizer=AdaDelta ml.opt.adadelta.alpha=0.8 ml.opt.adadelta.beta=0.8", "", "rho: 0.8", ""},
		{"ml.inputlayer.optimizer=AdaGrad ml.opt.adagrad.beta=0.8", "", "rule: adagrad", "the sum of squares of adagrad does not decay"},
		{"ml.opt.adam.gamma=0.99", "", "beta2: 0.99", ""},
		{"ml.opt.ftrl.alpha=0.1", "", "rule: adam", "ml.opt.ftrl.alpha has no effect: no layer is updated by ftrl"},
		{"ml.embedding.optimizer=Adam", "", "rule: adam", "ml.embedding.optimizer has no effect: there is no such layer"},
		{"ml.block.size=1000", "", "algo: lr", "ml.block.size has no effect: --partitioner"},
		{"angel.worker.thread.num=4", "", "algo: lr", "angel.worker.thread.num has no effect"},
		{"angel.compress.bytes=8", "", "algo: lr", "angel.compress.bytes has no effect"},
		{"ml.matrix.dot.use.parallel.executor=false", "", "algo: lr", "executor has no effect"},
		{"ml.minibatch.size=128", "", "algo: lr", "ml.minibatch.size has no effect"},
		{"ml.data.has.label=TRUE", "", "algo: lr", "ml.data.has.label has no effect"},
		{"ml.model.is.classification=true", "", "algo: lr", "ml.model.is.classification has no effect: lr learns classes"},
		{"ml.model.is.classification=False", "--algo linreg", "algo: linreg", "linreg learns numbers"},
		{"action.type=train angel.app.submit.class=com.tencent.angel.ml.core.graphsubmit.GraphRunner", "", "algo: lr", ""},
		{"ml.num.class=2", "", "algo: lr", "ml.num.class has no effect: lr has no other number of classes"},
		{"ml.num.class=3", "--algo softmax --labels NoTrans", "", "want an algorithm with several classes, or --labels classes"},
		{"ml.reg.l1=0.0 ml.reg.l2=0.0", "", "l2: 0", ""},
		{"ml.fm.rank=8", "", "algo: lr", "ml.fm.rank has no effect: lr has no vectors"},
		{"ml.fm.rank=3 ml.fm.field.num=-1", "--algo fm", "factors: 3", ""},
		{"ml.robustregression.loss.delta=1.0 ml.lossfunction.huber.delta=1", "--algo robust", "algo: robust", ""},
		{"ml.model.type=T_DOUBLE_SPARSE_LONGKEY", "", "sparse: true", "weights are kept as float32"},
		{"ml.model.type=t_float_sparse", "", "sparse: true", ""},
		{"ml.data.use.shuffle=False", "", "in-order: true", ""},
		{"ml.data.use.shuffle=TRUE", "", "in-order: false", ""},
		{"ml.feature.index.range=-1 ml.data.posneg.ratio=-1.0", "", "algo: lr", ""},
	} {
		job, told, err := trained(t, strings.Fields(c.keys), strings.Fields(c.args)...)
		if c.want == "" { // only that it is refused so
			if err == nil || !strings.Contains(err.Error(), c.told) {
				t.Errorf("%s %s: %v, want %q", c.keys, c.args, err, c.told)
			}
			continue
		}
		if err != nil || !strings.Contains(job, c.want) || !strings.Contains(told, c.told) || c.told == "" && strings.Contains(told, "--conf") {
			t.Errorf("%s %s: %v\n%stold %q\nwant %q, told %q", c.keys, c.args, err, job, told, c.want, c.told)
		}
	}
}

// What is refused says what to say instead.
func TestConfRefused(t *testing.T) {
	for _, c := range []struct{ keys, args, want string }{
		{"action.type=predict", "", "say thole predict"},
		{"action.type=dance", "", `--conf action.type is "dance", want train or inctrain`},
		{"action.type=inctrain", "", "want angel.load.model.path or --load beside it"},
		{"angel.app.submit.class=com.tencent.angel.ml.lr.LRRunner", "", "want GraphRunner"},
		{"ml.gbdt.tree.num=10", "", "--conf ml.gbdt.tree.num applies only to --algo gbdt, and --algo is lr"},
		{"ml.gbdt.reg.lambda=10", "--algo fm", "--conf ml.gbdt.reg.lambda applies only to --algo gbdt"},
		{"ml.gbdt.tree.nun=10", "--algo gbdt", "did you mean ml.gbdt.tree.num?"},
		{"ml.gbdt.tree.depth=1", "--algo gbdt", "want a whole number from 2 on"},
		{"ml.gbdt.split.num=1000", "--algo gbdt", "bins 1000, want 2 to 255"},
		{"ml.gbdt.max.node.num=2", "--algo gbdt", "want a whole number from 3 on"},
		{"ml.gbdt.cate.feat=all", "--algo gbdt", "want none: columns of a table"},
		{"ml.gbdt.multi.class.strategy=one-tree", "--algo gbdt", "want multi-tree: each class has trees"},
		{"ml.gbdt.full.hessian=true", "--algo gbdt", "want false"},
		{"ml.gbdt.min.node.instance=1024", "--algo gbdt", "--min-child-weight bounds the second derivatives"},
		{"ml.gbdt.loss.func=rsme", "--algo gbdt", "did you mean rmse?"},
		{"ml.gbdt.task.type=ranking", "--algo gbdt", "want classification or regression"},
		{"ml.gbdt.parallel.mode=model", "--algo gbdt", "want data or feature"},
		{"ml.gbdt.eval.metric=auc,eror", "--algo gbdt", "did you mean error?"},
		{"ml.gbdt.class.num=3 ml.gbdt.loss.func=binary:logistic", "--algo gbdt", "--loss multiclass"},
		{"ml.gbdt.reg.alpha=1 ml.reg.l1=2", "--algo gbdt", "also said by another key"},
		{"ml.epoch.num=10", "--algo gbdt", "--conf ml.epoch.num: trees have no epochs, want ml.gbdt.tree.num"},
		{"ml.inputlayer.optimizer=FTRL", "--algo gbdt", "applies only to networks, and --algo is gbdt"},
		{"ml.data.posneg.ratio=0.5", "--algo gbdt", "applies only to networks, and --algo is gbdt"},
		{"angel.predict.data.path=x", "", "say thole predict --data"},
		{"angel.predict.out.path=x", "", "say thole predict --out"},
		{"ml.mlr.rank=5", "", "docs/graph.md has its network"},
		{"ml.robustregression.loss.delta=2", "", `loss function logloss: no setting "delta"`},
		{"ml.lossfunction.huber.delta=x", "--algo robust", `want a number`},
		{`ml.data.splitor=a+`, "", `want \s+ (blanks)`},
		{"ml.data.has.label=no", "", `ml.data.has.label is "no", want true`},
		{"ml.data.use.shuffle=yes", "", `ml.data.use.shuffle is "yes", want true or false`},
		{"ml.opt.decay.on.batch=1", "", `is "1", want true or false`},
		{"ml.model.is.classification=maybe", "", "want true or false"},
		{"ml.model.is.classification=true", "--algo linreg", "linreg learns numbers"},
		{"ml.model.is.classification=false", "", "lr learns classes"},
		{"ml.model.type=T_NONSENSE", "", "want T_FLOAT_DENSE, T_FLOAT_SPARSE or"},
		{"ml.model.type=T_FLOAT_SPARCE", "", "did you mean T_FLOAT_SPARSE?"},
		{"ml.model.type=T_INT_DENSE", "", "want T_FLOAT_DENSE"},
		{"ml.model.size=many", "", `ml.model.size is "many", want a whole number`},
		{"ml.model.class.name=com.tencent.angel.ml.classification.MixedLogisticRegression", "", "a graph describes its network"},
		{"ml.model.class.name=com.tencent.angel.ml.core.graphsubmit.GraphModel", "", "--graph FILE"},
		{"ml.model.class.name=LogisticRegresion", "", "did you mean LogisticRegression?"},
		{"ml.num.class=3", "", "softmax"},
		{"ml.inputlayer.optimizer=Adamax", "", `ml.inputlayer.optimizer is "Adamax", want the name of a rule`},
		{"ml.opt.adam.beta=x", "", `ml.opt.adam.beta is "x", want a number`},
		{"ml.learn.decay=x", "", `ml.learn.decay is "x", want a number`},
		{"ml.opt.decay.class.name=Sometimes", "", "want one of constant"},
		{"ml.feature.index.range=-x", "", "want a number"},
		{"angel.worker.task.number=0", "", "want a whole number from 1"},
		{"ml.reg.l1=0.1", "", `no setting "l1"`},
		{"ml.learn.rat=0.1", "", "did you mean ml.learn.rate?"},
		{"ml.epochs.num=3", "", "did you mean ml.epoch.num?"},
	} {
		if _, _, err := trained(t, strings.Fields(c.keys), strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.keys, c.args, err, c.want)
		}
	}
}

// Rules of layers come to the layers of a graph that say none, and a class beside it must be that of its network.
func TestConfOfAGraph(t *testing.T) {
	net := write(t, "net.json", `{"layers":[{"name":"a","type":"simpleinputlayer","outputdim":4},
		{"name":"b","type":"fclayer","outputdims":[1],"transfuncs":["identity"],"inputlayer":"a","optimizer":"adam"},
		{"name":"o","type":"losslayer","inputlayer":"b","lossfunc":"logloss"}]}`)
	job, told, err := trained(t, []string{"ml.inputlayer.optimizer=FTRL", "ml.fclayer.optimizer=sgd", "ml.opt.adam.beta=0.8",
		"ml.opt.ftrl.alpha=0.2", "angel.ml.conf=" + net, "ml.model.class.name=com.tencent.angel.ml.core.graphsubmit.GraphModel"})
	if err != nil || told != "" {
		t.Fatalf("%v, told %q", err, told)
	}
	for _, want := range []string{"default_optimizer:", "type: ftrl", "alpha: 0.2", "type: adam", "beta: 0.8", "ml.inputlayer.optimizer: FTRL"} {
		if !strings.Contains(job, want) {
			t.Errorf("%s\nwant %q", job, want)
		}
	}
	if strings.Contains(job, "type: sgd") {
		t.Errorf("%s\nwant the graph's own rule of fclayer", job)
	}
	lr := write(t, "lr.json", `{"layers":[{"name":"a","type":"simpleinputlayer","outputdim":1},{"name":"o","type":"losslayer","inputlayer":"a"}]}`)
	if _, _, err := trained(t, []string{"ml.model.class.name=SVM"}, "--graph", lr); err == nil || !strings.Contains(err.Error(), "that of lr") {
		t.Errorf("the class of another network: %v", err)
	}
}
