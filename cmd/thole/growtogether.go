package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"thole.example/boosting"
	"thole.example/format"
	"thole.example/gbdt"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/runlog"
	"thole.example/ssp"
	"thole.example/train"
	"thole.example/tree"
)

// together reports whether trees are grown by tasks that meet on servers, and not by the goroutines of this process alone.
func (p *plan) together() bool { return p.atServers || p.tasks > 1 || p.servers > 1 || p.overTCP }

// treeTasks is the tasks of this process, which grow trees together with those of others. The first of them gets for all what they have
// to know: it reads the examples, if it is task 0, or receives that.
type treeTasks struct {
	p     *plan
	c     *cluster
	tasks []int
	path  string
	w     *watcher // may be nil
	cores int      // of each task

	of      *treeData   // nil: until it is read, or for good, as another process reads
	orders  *treeOrders // that task 0 hears, if it is one of these
	scatter *boosting.Scatter
	from    *treeCheckpoint // of the process of task 0: what it goes on from; nil: from nothing
	known   chan struct{}   // closed when that is there
	all     taskRows        // which tasks share that divide features
	whole   chan struct{}   // closed when these are there
}

// taskRows is what a task learns from, and what is known of the rows of all.
type taskRows struct {
	setup  *gbdt.Setup
	binned *gbdt.Binned
	labels *gbdt.Labels
}

// growTogether grows trees by some tasks of the job, each of which has a share of the examples, which are read unless they are there, or by
// another process. What it answers with is of the task that came first; the trees of all are the same.
func (p *plan) growTogether(ctx context.Context, c *cluster, tasks []int, path string, w *watcher) (*train.Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := &treeTasks{p: p, c: c, tasks: tasks, path: path, w: w, of: p.forest.data, cores: max(1, runtime.GOMAXPROCS(0)/len(tasks)),
		orders: newTreeOrders(), known: make(chan struct{}), whole: make(chan struct{})}
	order := g.orders.order
	if tasks[0] > 0 {
		order = func(ctx context.Context) (string, error) { return orderCheckpoint(ctx, c.net, c.addrs, p.name) }
	}
	defer p.farewell.while(order)()
	reports, worker, agreed := make([]*train.Report, len(tasks)), rand.Text(), p.summary()
	var group sync.WaitGroup
	for i, task := range tasks {
		group.Go(func() {
			var err error
			if reports[i], err = g.task(ctx, ps.Options{Plan: agreed, Worker: worker, Mine: tasks, Task: task}); err != nil {
				cancel(err) // the others need not wait for an answer that never comes
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return reports[0], nil
}

// first reports whether the task is the one that gets for all what they have to know, and tells people how far they are.
func (g *treeTasks) first(task int) bool { return task == g.tasks[0] }

// task makes one task of those of the process, which o says.
func (g *treeTasks) task(ctx context.Context, o ps.Options) (_ *train.Report, err error) {
	p, w := g.p, g.w
	if !g.first(o.Task) {
		w = nil
	}
	o.Bound = ssp.BSP
	client, err := p.dial(ctx, g.c, o, w)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil || !p.quits(causeOf(ctx, err)) {
			client.Close()
			return
		}
		if p.attempt > 0 && ctx.Err() != nil && p.farewell.begun() { // the next of this task takes its place
			_ = client.Part()
			return
		}
		client.Quit(reason(ctx, err)) // also if a server said so: others may hear of this task first
	}()
	if o.Task == 0 {
		if _, err := g.c.begin(ctx, p, client); err != nil {
			return nil, err
		}
	}
	workers, err := boosting.Join(ctx, client, o.Task, p.tasks)
	if err != nil {
		return nil, err
	}
	rows, err := g.rows(ctx, client, workers, o.Task)
	if err != nil {
		return nil, err
	}
	if w != nil {
		p.met = true
	}
	run := p.newTreeRun(rows.labels, rows.binned.Len(), w)
	run.workers, run.task, run.grown = workers, o.Task, g.scatter.Grown
	if p.attempt > 0 {
		run.client = client
	}
	if o.Task == 0 {
		run.series, run.orders = p.forest.series, g.orders.listen(p, client)
		run.goOn(g.from)
	}
	conf, options, err := run.settings(ctx, rows.setup, len(g.c.addrs))
	if err != nil {
		return nil, err
	}
	conf.Cores = g.cores
	e, err := gbdt.Train(ctx, rows.binned, rows.labels, conf, options)
	if err != nil {
		return nil, err
	}
	report, err := run.end(ctx, client, e, o, g.path)
	if err == nil && o.Task == 0 {
		g.c.complete(ctx, p)
	}
	return report, err
}

// quits reports whether a task that fails for a reason tells the others that it has given up for good: there is no other attempt.
func (p *plan) quits(why error) bool { return p.attempt == 0 || !again(why) }

// settings are those of the training by one of several tasks.
func (g *treeRun) settings(ctx context.Context, setup *gbdt.Setup, servers int) (c gbdt.Config, o gbdt.Options, err error) {
	p, w := g.p, g.workers
	c, o = setup.Config, g.options(ctx)
	o.Setup = setup
	switch p.shared {
	case byFeatures:
		o.Division = &gbdt.Division{Task: g.task, Tasks: p.tasks, Agree: w.Agree}
		return c, o, nil
	case byVoting:
		o.Vote = &gbdt.Vote{Features: p.votes, Tasks: p.tasks, Agree: w.Agree, Add: w.Add}
	default:
		if o.Shape, err = setup.Layout.Shape(&c, boosting.Blocks(servers)); err == nil {
			err = w.Use(ctx, o.Shape)
		}
	}
	o.Workers = w
	return c, o, err
}

// end saves the trees, if the task is the first of the job, and tells what came out, if it is the first of the process. Only the first
// task of the job measures: the trees are the same for all.
func (g *treeRun) end(ctx context.Context, client *ps.Client, e *tree.Ensemble, o ps.Options, path string) (*train.Report, error) {
	p := g.p
	g.orders.end(p.farewell)
	if o.Task == 0 {
		p.label(e)
		var err error
		switch {
		case path == "":
		case p.atServers:
			err = p.saveTreesThere(ctx, client, e, path)
		default:
			err = p.saveTrees(ctx, e, path)
		}
		if err != nil {
			return nil, p.keptTrees(ctx, err, client, e, path)
		}
	}
	learned, err := g.collect(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := p.depart(ctx, client); err != nil || o.Task != o.Mine[0] {
		return nil, err
	}
	p.forest.traffic = g.workers.Traffic()
	if o.Task > 0 {
		g.count()
		return &g.report, nil
	}
	return g.finish(e, learned)
}

// collect gives task 0 the scores of all examples, class after class; nil where they are not those of the trees that were kept.
func (g *treeRun) collect(ctx context.Context, e *tree.Ensemble) ([][]float64, error) {
	p := g.p
	switch {
	case !g.lastScore(e):
		return nil, nil
	case p.shared == byFeatures:
		return g.last.Scores, nil
	}
	counts, err := g.workers.AllGather(ctx, []int64{int64(g.own.Len())})
	if err != nil {
		return nil, err
	}
	if err := checkCounts(counts, p.rows); err != nil {
		return nil, err
	}
	most := int(slices.MaxFunc(counts, slices.Compare)[0])
	own := make([]int64, most*len(g.last.Scores))
	for k, class := range g.last.Scores {
		for i, s := range class {
			own[k*most+i] = int64(math.Float64bits(s))
		}
	}
	all, err := g.workers.Gather(ctx, own)
	if err != nil || all == nil {
		return nil, err
	}
	learned := make([][]float64, len(g.last.Scores))
	for k := range learned {
		learned[k] = make([]float64, 0, p.rows)
		for t, n := range counts {
			for _, bits := range all[t][k*most:][:n[0]] {
				learned[k] = append(learned[k], math.Float64frombits(uint64(bits)))
			}
		}
	}
	return learned, nil
}

// checkCounts refuses numbers of the rows of tasks that are not those of all rows together.
func checkCounts(counts [][]int64, rows int) error {
	left := int64(rows)
	for task, n := range counts {
		if n[0] < 0 || n[0] > left {
			return fmt.Errorf("task %d has scores of %d rows, want at most %d, which the tasks before it leave of %d", task, n[0], left, rows)
		}
		left -= n[0]
	}
	if left > 0 {
		return fmt.Errorf("scores of %d rows, want those of %d", int64(rows)-left, rows)
	}
	return nil
}

// agree makes of the mean losses of all tasks, by the weights that they have, that of all, and of what task 0 measured the value by which
// all stop; it says also whether a checkpoint is to be written.
func (g *treeRun) agree(ctx context.Context, loss, weight, value float64, keep bool) (float64, float64, bool, error) {
	var own []int64
	for _, v := range []float64{loss, weight, value} {
		own = append(own, int64(math.Float64bits(v)))
	}
	own = append(own, map[bool]int64{true: 1}[keep])
	all, err := g.workers.AllGather(ctx, own)
	if err != nil {
		return 0, 0, false, err
	}
	sum, weights := 0.0, 0.0
	for _, of := range all {
		if w := math.Float64frombits(uint64(of[1])); w > 0 { // else there is no loss
			sum, weights = sum+w*math.Float64frombits(uint64(of[0])), weights+w
		}
	}
	if weights > 0 {
		sum /= weights
	}
	return sum, math.Float64frombits(uint64(all[0][2])), all[0][3] != 0, nil
}

// causeOf is why a task gives up: what fails once the context has ended fails for that.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reason is why a task gives up, as the others are told.
func reason(ctx context.Context, err error) error {
	err = causeOf(ctx, err)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return errors.New(runlog.RedactText(err.Error()))
}

// functions are the functions beside the data that this binary has.
func functions() []psf.Func { return slices.Concat(psf.Funcs(), gbdt.Funcs()) }

// wireText says what a task sent to the servers and got of them, by the depth of the nodes.
func wireText(all []boosting.Traffic) string {
	var levels []string
	var pushed, pulled int64
	for _, t := range all {
		levels = append(levels, fmt.Sprintf("%d: %s, %s", t.Depth, format.Bytes(t.Pushed), format.Bytes(t.Pulled)))
		pushed, pulled = pushed+t.Pushed, pulled+t.Pulled
	}
	return fmt.Sprintf("each task pushed %s and pulled %s; of nodes at depth %s", format.Bytes(pushed), format.Bytes(pulled),
		strings.Join(levels, "; "))
}

// wireEvent is what crossed the wire, in the log and the record of the run.
type wireEvent struct {
	Event  string             `json:"event"` // "wire"
	Tasks  int                `json:"tasks"`
	Levels []boosting.Traffic `json:"levels"` // of one task, by the depth of the nodes
}
