package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"

	"thole.example/boosting"
	"thole.example/data"
	"thole.example/format"
	"thole.example/gbdt"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/ssp"
	"thole.example/train"
	"thole.example/tree"
)

// together reports whether trees are grown by tasks that meet on servers, and not by the goroutines of this process alone.
func (p *plan) together() bool { return p.atServers || p.tasks > 1 || p.servers > 1 || p.overTCP }

// growTogether grows trees by some tasks of the job, each of which has a share of the examples. What it answers with is of the task that
// came first; the trees of all are the same.
func (p *plan) growTogether(ctx context.Context, c *cluster, tasks []int, path string, w *watcher, of *treeData) (*train.Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reports, worker, cores := make([]*train.Report, len(tasks)), rand.Text(), max(1, p.forest.cores()/len(tasks))
	var group sync.WaitGroup
	for i, task := range tasks {
		group.Go(func() {
			g := p.newTreeRun(of, nil)
			if i == 0 {
				g.w = w
			}
			var err error
			if reports[i], err = g.task(ctx, c, ps.Options{Worker: worker, Mine: tasks, Task: task}, path, cores); err != nil {
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

// task makes one task of those of the process, which o says.
func (g *treeRun) task(ctx context.Context, c *cluster, o ps.Options, path string, cores int) (*train.Report, error) {
	p, f, conf := g.p, g.treeData, g.p.forest.Config
	o.Bound = ssp.BSP
	client, err := p.dial(ctx, c, o, g.w)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	options := g.options(ctx)
	if p.shared == byRows {
		if options.Shape, err = f.layout.Shape(&conf, boosting.Blocks(len(c.addrs))); err != nil {
			return nil, err
		}
	}
	if g.workers, err = boosting.Join(ctx, client, o.Task, p.tasks, options.Shape); err != nil {
		return nil, err
	}
	if o.Task == 0 && path != "" && p.atServers {
		if err := p.rehearseTrees(ctx, client, path); err != nil {
			return nil, err
		}
	}
	if len(o.Mine) < p.tasks {
		if err := p.gather(ctx, client, g.w); err != nil {
			return nil, err
		}
	}
	lo, hi := 0, p.rows
	switch p.shared {
	case byFeatures:
		options.Division = &gbdt.Division{Task: o.Task, Tasks: p.tasks, Agree: g.workers.Agree}
	case byVoting:
		options.Vote = &gbdt.Vote{Features: p.votes, Tasks: p.tasks, Agree: g.workers.Agree, Add: g.workers.Add}
	}
	if p.shared != byFeatures {
		options.Workers = g.workers
		lo, hi = p.share(o.Task)
		g.own, g.shown = marksOf(p.train, lo, hi), placesIn(g.shown, lo, hi)
	}
	binned, err := f.layout.Code(ctx, f.learn, f.held, lo, hi, cores)
	if err != nil {
		return nil, err
	}
	conf.Cores = cores
	e, err := gbdt.Train(ctx, binned, f.labels, conf, options)
	if err != nil {
		return nil, err
	}
	return g.end(ctx, client, e, o, path)
}

// share is the examples of a task.
func (p *plan) share(task int) (lo, hi int) {
	var groups []int64
	if p.forest.Objective.Rank != nil { // which compares the examples of a group
		groups = p.train.Group
	}
	return gbdt.Share(groups, p.rows, p.tasks, task)
}

// end saves the trees, if the task is the first of the job, and tells what came out, if it is the first of the process. Only the process of
// the job's first task measures it: trees are the same for all, and scoring all examples once is enough.
func (g *treeRun) end(ctx context.Context, client *ps.Client, e *tree.Ensemble, o ps.Options, path string) (*train.Report, error) {
	p := g.p
	p.label(e)
	if o.Task == 0 && path != "" {
		save := p.saveTrees
		if p.atServers {
			save = func(ctx context.Context, e *tree.Ensemble, path string) error {
				return p.saveTreesThere(ctx, client, e, path)
			}
		}
		if err := save(ctx, e, path); err != nil {
			return nil, err
		}
	}
	if err := client.Leave(ctx); err != nil || o.Task != o.Mine[0] {
		return nil, err
	}
	p.forest.traffic = g.workers.Traffic()
	if o.Task > 0 {
		g.count()
		return &g.report, nil
	}
	return g.finish(e)
}

// marksOf are labels, weights and groups of the examples lo to hi, and nothing else.
func marksOf(of *data.Examples, lo, hi int) *data.Examples {
	s := &data.Set{Label: of.Label[lo:hi]}
	if of.Weight != nil {
		s.Weight = of.Weight[lo:hi]
	}
	if of.Group != nil {
		s.Group = of.Group[lo:hi]
	}
	return &data.Examples{Set: s}
}

// placesIn are those of the places lo to hi, counted from lo; nil of nil.
func placesIn(places []int, lo, hi int) []int {
	if places == nil {
		return nil
	}
	some := []int{}
	for _, i := range places {
		if i >= lo && i < hi {
			some = append(some, i-lo)
		}
	}
	return some
}

// meanOf is the mean loss of the examples of all tasks, by those of each and their weights.
func (g *treeRun) meanOf(ctx context.Context, s *train.Scored, loss float64) (float64, error) {
	weight := float64(len(s.Label))
	if s.Group != nil && g.p.forest.Objective.Rank != nil { // a mean over groups
		weight = float64(len(slices.Compact(slices.Clone(s.Group))))
	} else if s.Weight != nil {
		weight = 0
		for _, w := range s.Weight {
			weight += float64(w)
		}
	}
	if weight == 0 {
		loss = 0
	}
	all, err := g.workers.Gather(ctx, []int64{int64(math.Float64bits(loss)), int64(math.Float64bits(weight))})
	if err != nil {
		return 0, err
	}
	sum, weights := 0.0, 0.0
	for _, of := range all {
		w := math.Float64frombits(uint64(of[1]))
		sum, weights = sum+w*math.Float64frombits(uint64(of[0])), weights+w
	}
	return sum / weights, nil
}

// treesText is the settings of trees as a word of what all workers must have alike; of a network it is empty.
func (p *plan) treesText() string {
	if p.forest == nil {
		return ""
	}
	return url.PathEscape(fmt.Sprintf("%v", p.treeSettings)) // maps are printed in the order of their keys
}

// heldSum is a checksum of the held-out examples of trees, by which every task decides when to stop.
func (p *plan) heldSum() uint32 {
	if p.forest == nil || p.valid == nil {
		return 0
	}
	return p.valid.Checksum()
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
