package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/graph"
	"thole.example/matrix"
)

// job is the settings of a training job: the flags of train, and of every worker of a job.
type job struct {
	paths                                          *blob.Paths // where they lead
	algo, model, load, format, to, log, runs, note string
	data, valid                                    []string // paths, globs, folders
	labels, base, separator, fields                string
	labelWeights                                   bool
	taken                                          []string // settings of the saved job of the model of --load
	holdBy                                         string   // which examples; "": as the job trains
	scaling                                        string   // of the values of lines; "": auto
	classes                                        []string // how many, or their labels
	threshold, holdout                             float64
	dim, hash                                      int64
	sparse, strict                                 bool
	keep                                           matrix.Keep
	maxBytes                                       string
	storage                                        string // type in which servers keep weights; "": f32

	loss                 string            // function; "": the algorithm's
	lossSet              map[string]string // its settings
	factors, depth, rank int               // of the network
	fieldDims            map[string]string // factors of the features of fields, as the user gave them,
	dims                 fieldFactors      // and as they were read
	hidden               []int
	dropout              float64

	rule, schedule, per, initKind string
	nonFinite                     string // what becomes of gradients that are not finite; "": refuse
	hyper, decay                  map[string]string
	rate, l1, l2, tolerance       float64
	initScale                     float64
	epochs, batch                 int
	seed                          uint64
	holdSeed                      uint64 // of the held-out examples, if it is given
	inOrder                       bool
	partitioner                   string
	keyCache                      string // bytes of a task's cache of hot keys; "": none
	keyStaleness                  int    // and for how many steps it uses a value under ASP
	prefetch                      bool   // under SSP and ASP
	set                           map[string]string
	values                        flagValues // of the saved model

	here
	tasks, staleness int
	name             string
	force, lossy     bool
	asAngel          bool          // --compat angel: batches, biases and defaults as in Angel's trainer
	retry            time.Duration // to reach a server again
	noChecksum       bool          // of what is sent
	wait             time.Duration // for the tasks of other processes; 0: as long as it takes
	noLabel          bool
	columnFlags
	skipBad int // lines that may be of no use

	jobFile, graphFile  string // files of settings
	strictGraph, dryRun bool
	network             *graph.File // that a file describes, in place of the algorithm's; nil: none
	atServers           bool        // models to go on from lie in the servers' folder, and not here
	elsewhere           bool        // task 0 is of another process; of trees it reads the examples, and the trees to go on from
	numField            int         // fields of the examples by a job without layers; 0 or less: it does not say
	own                 *algo.Algo  // its recipe
	ownAt               string      // the file that own is of
	sample, posNeg      float64
	clip                float64
	updates             int                      // steps of an epoch; 0: by the batch
	watching                                     // the held-out examples
	lasting                                      // states
	absence                                      // workers
	weighing                                     // examples
	starting                                     // what trees are added to
	launched                                     // as a worker by thole launch
	penalties                                    // of layers
	large                                        // examples
	treeSettings                                 // trees
	conf                map[string]string        // keys of Angel's configuration
	ofConf              *settings                // what they say; nil if there are none
	class               string                   // that they name beside a graph
	expected            int64                    // columns that they say will occur; 0 or less: any number
	optimizers          map[string]*graph.Choice // of the kinds of a recipe's layers, by them
	places              map[string]string        // where files say what flags are

	command *cobra.Command // whose flags these are, to tell what the user gave; nil if they are no flags
}

func (j *job) flags(e *env, c *cobra.Command) {
	j.command = c
	f := c.Flags()
	f.StringVar(&j.algo, "algo", "lr", "algorithm (see thole algos)")
	f.StringVar(&j.graphFile, "graph", "", "network in place of an algorithm's, as a graph.json of Angel's grammar describes it, with the "+
		"settings in it that no flag gives (see docs/graph.md)")
	pairsVar(f, &j.conf, "conf", "keys of Angel's configuration, KEY=VALUE, such as in which formats layers are saved (see "+
		"docs/graph.md)")
	f.BoolVar(&j.strictGraph, "strict-graph", false, "refuse a --graph with keys that are not in the grammar, which otherwise are reported")
	f.StringVar(&j.model, "model", "", "where to save the model; nothing is saved without")
	f.StringVar(&j.load, "load", "", "stored model to go on from, in any format")
	f.StringVar(&j.to, "to", "", "format of the saved model (default: by the ending of --model, else angel)")
	pairsVar(f, &j.set, "set", "options of the format, NAME=VALUE")
	f.BoolVar(&j.lossy, "lossy", false, "save even if the format loses something")
	f.BoolVar(&j.force, "force", false, "replace the model if it exists")
	f.StringVar(&j.log, "log", "", "write progress as JSON lines to this file")
	f.StringVar(&j.runs, "runs", "", "folder where this run gets a folder of its own, with its job, its progress and its environment, for "+
		"thole runs; none records nothing (default: of train the variable "+runsVariable+", else "+runsFolder+"; of worker none)")
	f.StringVar(&j.note, "note", "", "text that is recorded with the run, to tell it from others")

	f.StringArrayVar(&j.data, "data", nil, "training examples: "+pathsHelp)
	f.StringArrayVar(&j.valid, "validate", nil, "held-out examples, named as in --data; given several times, several sets, "+
		"of which the first one decides")
	f.Float64Var(&j.holdout, "holdout", 0, "share of the training examples to hold out, drawn by the seed (default: 0.02 to 0.05 "+
		"for networks with 100000 examples or more, at least 10000 of them not of the most frequent class, without --epochs, --validate "+
		"and --load; else 0)")
	f.StringVar(&j.holdBy, "holdout-by", "", "which examples --holdout selects: random, or interval: every k-th one (default: random; "+
		"interval with --compat angel)")
	f.Uint64Var(&j.holdSeed, "holdout-seed", 0, "seed by which --holdout draws (default: that of --seed)")
	f.StringVar(&j.scaling, "scaling", "", scalingHelp)
	f.Float64Var(&j.sample, "sample", 0, "share of the training examples to train on, drawn by the seed (default: all)")
	f.Float64Var(&j.posNeg, "pos-neg", 0, "positive examples in a batch for each negative one (default: as they come)")
	j.watching.flags(c)
	j.lasting.flags(c)
	j.columnFlags.flags(c)
	j.weighing.flags(c)
	j.starting.flags(c)
	j.penalties.flags(c)
	j.large.flags(c)
	j.treeSettings.flags(c)
	j.dataFlags(e, c)
	f.BoolVar(&j.sparse, "sparse", false, "keep only the columns that occur, by key")
	f.Int64Var(&j.keep.AdmitAfter, "admit-after", 0, "with --sparse: steps that have to name a column before it is made (default: 1)")
	f.Int64Var(&j.keep.ForgetAfter, "forget-after", 0, "with --admit-after: steps without a column after which it is counted from 0 again "+
		"(default: never)")
	f.Int64Var(&j.keep.ExpireAfter, "expire-after", 0, "with --sparse: steps without a column after which it is removed (default: never)")
	f.StringVar(&j.maxBytes, "max-bytes", "", "with --sparse: bytes that the columns of each matrix may take on all servers, such as 2GiB; "+
		"those that nothing names for longest, or of the lowest scores, are removed for others (default: no bound)")

	f.Float64Var(&j.keep.ShowWeight, "show-weight", 0, "with --sparse: weight of the examples with a column in its score, by which columns "+
		"are removed (default: they are not counted)")
	f.Float64Var(&j.keep.ClickWeight, "click-weight", 0, "with --sparse: weight of the positive examples with a column in its score")
	f.Int64Var(&j.keep.HalfLife, "count-half-life", 0, "with --show-weight or --click-weight: steps after which counts are half as much "+
		"(default: they do not decay)")
	f.Float64Var(&j.keep.EvictBelow, "evict-below", 0, "with --show-weight or --click-weight: score below which a column is removed "+
		"(default: none is)")
	f.StringVar(&j.storage, "storage", "", "keep the weights of features on the servers as f16, bf16, or with --sparse int8 (default: f32)")

	f.StringVar(&j.loss, "loss", "", "loss function in place of the algorithm's, such as l2loss to learn values with fm "+
		"(see docs/algorithms.md)")
	pairsVar(f, &j.lossSet, "loss-set", "settings of the loss, NAME=VALUE")
	f.IntVar(&j.factors, "factors", 0, "numbers of an embedded vector (default: of the algorithm)")
	pairsVar(f, &j.fieldDims, "field-dims", fieldDimsHelp)
	f.IntSliceVar(&j.hidden, "hidden", nil, "outputs of the hidden layers, such as 128,64 (default: of the algorithm)")
	f.Float64Var(&j.dropout, "dropout", 0, "probability of dropping a hidden output in training")
	f.IntVar(&j.depth, "cross-layers", 0, "cross layers of dcn (default: 2)")
	f.IntVar(&j.rank, "rank", 0, "rank of their weights (default: full)")

	f.IntVar(&j.epochs, "epochs", 0, "passes over the examples (default: of linear models until the loss no longer falls, within a limit "+
		"that is printed; of networks and of many features enough to see 150,000 to 300,000 examples, at most 7; with many features and the "+
		"default of --holdout at most 10, the best of which is kept)")
	f.IntVar(&j.batch, "batch", 0, "examples of a step, over all tasks, at most (default: of the algorithm; of networks by the examples)")
	f.IntVar(&j.updates, "updates", 0, "steps of an epoch, in place of --batch: a batch is the examples by this number")
	f.Float64Var(&j.clip, "clip", 0, "largest norm of the gradient of a task's batch; longer ones are scaled down (default: no bound)")
	f.Float64Var(&j.rate, "rate", 0, "learning rate (default: of the algorithm)")
	f.StringVar(&j.schedule, "schedule", "", "how the rate changes (default: of the algorithm)")
	f.StringVar(&j.per, "schedule-per", "", "the rate changes by epoch or by batch (default: of the algorithm)")
	pairsVar(f, &j.decay, "schedule-set", "settings of the schedule, NAME=VALUE")
	f.StringVar(&j.rule, "rule", "", "update rule (default: of the algorithm)")
	pairsVar(f, &j.hyper, "hyper", "settings of the update rule, NAME=VALUE")
	f.Float64Var(&j.l1, "l1", 0, "weight of the L1 penalty (default: of the algorithm)")
	f.Float64Var(&j.l2, "l2", 0, "weight of the L2 penalty (default: of the algorithm)")
	f.Float64Var(&j.tolerance, "tolerance", 0, "stop when an epoch changes the loss by less than this share")
	f.StringVar(&j.nonFinite, "non-finite", "refuse", "what servers do with gradients that are infinite or no number: refuse them, which "+
		"ends the training, skip them, or allow them; those are counted")
	f.StringVar(&j.initKind, "init", "", "initial weights: "+strings.Join(matrix.Inits(), ", ")+" (default: those of the layers)")
	f.Float64Var(&j.initScale, "init-scale", 0.01, "deviation of initial weights that are normal, half width of uniform, "+
		"width of positive ones, value of constant ones")
	f.Uint64Var(&j.seed, "seed", 1, "seed of shuffling and initial weights")
	f.BoolVar(&j.inOrder, "in-order", false, "take the examples in the order of the file")

	f.IntVar(&j.tasks, "tasks", 1, "tasks that share the examples")
	f.IntVar(&j.staleness, "staleness", 0, "steps a task may run ahead: 0 is BSP, -1 is ASP")
	f.StringVar(&j.keyCache, "key-cache", "", "with --staleness other than 0: size of each task's cache of hot keys, such as 64MiB "+
		"(default: none)")
	f.IntVar(&j.keyStaleness, "key-cache-staleness", 2, "with --key-cache and --staleness -1: steps for which a task uses a value "+
		"of the cache")
	f.BoolVar(&j.prefetch, "prefetch", true, "with --staleness other than 0: pull the parameters of the next batch while one is computed")
	f.StringVar(&j.partitioner, "partitioner", "", "how matrices are cut: range, column or hash (default: hash with --sparse, else column)")
	f.BoolVar(&j.noChecksum, "no-checksum", false, noChecksumHelp)
	j.values.flags(c, false, true)
	c.Flags().Lookup("compat").Usage += "; or angel: train as Angel does"
}

// noChecksumHelp says what --no-checksum does. Each end chooses for what it sends.
const noChecksumHelp = "send messages without checksums"

// pathsHelp says what may name examples.
const pathsHelp = "files, folders, quoted globs or URLs of a store, - for standard input; given several times or with commas"

// weightsFlag is the flag of files of weights.
func (j *job) weightsFlag(f *pflag.FlagSet) {
	f.StringArrayVar(&j.weights, "weights", nil, "how much each example counts: files with a number a line, as many as there are examples, "+
		"named as in --data (default: all 1)")
}

// dataFlags are the flags that say how to read examples.
func (j *job) dataFlags(e *env, c *cobra.Command) {
	j.paths = e.paths
	f := c.Flags()
	f.StringVar(&j.format, "format", "", "format of the examples: libsvm, libffm, dummy, dense, csv, tsv, parquet or arrow (default: by the "+
		"ending, else libsvm)")
	j.weightsFlag(f)
	f.Int64Var(&j.dim, "dim", 0, "number of feature columns (default: as many as occur)")
	f.Int64Var(&j.hash, "hash", 0, "hash the features to so many columns, for ids without end (default: ids are columns)")
	f.StringVar(&j.fields, "fields", "", "fields of the features: how many, for lines with a feature of each in order, or their first "+
		"columns, such as 0,9,18, or their first and last ones, such as 0-8,9-17 (default: what libffm says, else none)")
	f.StringVar(&j.base, "index-base", "auto", "what column indices count from: auto, 0 or 1")
	f.BoolVar(&j.labelWeights, "label-weights", false, "lines begin with label:weight where the weight is not 1, as XGBoost reads libsvm")
	f.StringVar(&j.labels, "labels", "", "label mapping: auto, classes, NoTrans, PosNegTrans, ZeroOneTrans, AddOneTrans, SubOneTrans")
	f.StringSliceVar(&j.classes, "classes", nil, "classes of an algorithm with several: how many, or their labels (default: those that occur)")
	f.Float64Var(&j.threshold, "label-threshold", 0, "threshold of PosNegTrans and ZeroOneTrans")
	f.BoolVar(&j.strict, "strict", false, "refuse features that were not in training, which otherwise count as zero")
	f.StringVar(&j.separator, "separator", "", "separator between tokens beside blanks, or between the cells of tables "+
		"(default: found out)")
	f.IntVar(&j.skipBad, "skip-bad", 0, "skip and report up to N malformed lines")
	j.columnFlags.nameFlags(c)
}

// numbers reads NAME=VALUE settings.
func numbers(flag string, set map[string]string) (map[string]float64, error) {
	out := map[string]float64{}
	for name, text := range set {
		var v float64
		if _, err := fmt.Sscanf(text+"\n", "%g\n", &v); err != nil {
			return nil, fmt.Errorf("--%s %s=%q, want a number", flag, name, text)
		}
		out[name] = v
	}
	return out, nil
}
