package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"thole.example/boosting"
	"thole.example/data"
	"thole.example/gbdt"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/runlog"
)

// rows are those that a task learns from, and those held out, which task 0 alone has. The process of task 0 codes its own, and sends the
// others theirs.
func (g *treeTasks) rows(ctx context.Context, client *ps.Client, w *boosting.Workers, task int) (r taskRows, err error) {
	reads := g.tasks[0] == 0
	switch {
	case task == 0:
		if err = g.read(ctx, client); err != nil {
			g.tellOthers(ctx, client, err)
			return r, err
		}
		err = g.send(ctx, client, w)
	case !reads:
		return g.receive(ctx, client, w, task)
	case len(g.tasks) < g.p.tasks: // what goes to others passes by
		var d *boosting.Scatter
		if d, err = w.AwaitScatter(ctx); err == nil {
			_, _, err = w.Receive(ctx, d, boosting.NoTask, nil)
		}
	}
	if err == nil {
		err = after(ctx, g.known)
	}
	switch {
	case err != nil:
		return r, err
	case g.p.shared == byFeatures:
		return g.allRows(ctx, task)
	case task == 0:
		return g.code(ctx, g.shardOf(task), g.of.held)
	}
	return g.code(ctx, g.shardOf(task), nil)
}

// after waits until a channel is closed.
func after(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// shardOf is the rows of a task.
func (g *treeTasks) shardOf(task int) boosting.Shard {
	p := g.p
	var groups []int64
	if p.forest.Objective.Rank != nil { // which compares the examples of a group
		groups = p.train.Group
	}
	lo, hi := gbdt.Shard(groups, p.rows, p.tasks, task)
	return boosting.Shard{Task: task, Lo: lo, Hi: hi}
}

// code makes codes of rows; held may be nil.
func (g *treeTasks) code(ctx context.Context, r boosting.Shard, held gbdt.Rows) (taskRows, error) {
	rows := gbdt.Rows(g.of.learn)
	if r.Task == 0 {
		told := g.w.watched(rows)
		defer told.bar.end()
		rows = told
	}
	b, err := g.of.layout.Code(ctx, rows, held, r.Lo, r.Hi, g.cores)
	return taskRows{g.scatter.Setup, b, g.of.labels.Part(r.Lo, r.Hi, g.p.rows, held != nil)}, err
}

// allRows are the rows where tasks divide features: of all tasks of the process the same.
func (g *treeTasks) allRows(ctx context.Context, task int) (taskRows, error) {
	if err := after(ctx, g.whole); err != nil {
		return taskRows{}, err
	}
	if task > 0 && g.of != nil {
		return g.learned(), nil
	}
	return g.all, nil
}

// learned is what task 0 has of all rows, without those held out.
func (g *treeTasks) learned() taskRows {
	return taskRows{g.all.setup, g.all.binned.Learned(), g.all.labels.Part(0, g.p.rows, g.p.rows, false)}
}

// read reads the examples, unless they are there, and finds what they decide. It tries whether the trees can be saved.
func (g *treeTasks) read(ctx context.Context, client *ps.Client) (err error) {
	p := g.p
	if g.of == nil {
		if !p.forest.read {
			if err := p.later(ctx); err != nil {
				return err
			}
			p.forest.read = true
		}
		if err := g.open(ctx); err != nil {
			return err
		}
		if g.of, err = p.treeData(ctx, g.w); err != nil {
			return err
		}
		p.forest.data = g.of
	}
	if g.from, err = p.beginSeries(ctx, g.of, g.w); err != nil {
		return err
	}
	setup, err := gbdt.NewSetup(g.of.layout, g.of.labels, p.forest.Config, p.forest.from)
	if err != nil {
		return err
	}
	g.scatter = &boosting.Scatter{Setup: setup}
	if g.from != nil {
		g.scatter.Grown = g.from.grown
	}
	if g.path != "" && p.atServers {
		if err := p.rehearseTrees(ctx, client, g.path); err != nil {
			return err
		}
	}
	if p.shared == byFeatures {
		if g.all, err = g.code(ctx, boosting.Shard{Hi: p.rows}, g.of.held); err != nil {
			return err
		}
		close(g.whole)
	}
	close(g.known)
	return nil
}

// tellTime is how long task 0 waits for others to join, if there is nothing to learn from: those who come later find no job, and wait
// for one.
const tellTime = 10 * time.Second

// tellOthers waits for the tasks of other processes, so that they hear why there is nothing to learn from.
func (g *treeTasks) tellOthers(ctx context.Context, client *ps.Client, why error) {
	if len(g.tasks) == g.p.tasks || ctx.Err() != nil {
		return
	}
	wait := tellTime
	if g.p.wait > 0 {
		wait = min(wait, g.p.wait)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	told := false
	_ = client.Members(ctx, func(now rpc.Membership) { // if it fails, nobody can be told
		if g.w != nil && now.Joined < g.p.tasks && !told {
			told = true
			g.w.bar.line("%s; waiting up to %v for the other tasks to join, who are to be told", runlog.RedactText(why.Error()), wait)
		}
	})
}

// send sends the tasks of other processes their rows, once they are there.
func (g *treeTasks) send(ctx context.Context, client *ps.Client, w *boosting.Workers) error {
	p, d := g.p, g.scatter
	if len(g.tasks) == p.tasks {
		return nil
	}
	if err := p.gather(ctx, client, g.w, false); err != nil {
		return err
	}
	if p.shared == byFeatures {
		d.Shards = []boosting.Shard{{Task: boosting.AllTasks, Hi: p.rows}}
		return w.Scatter(ctx, d, func(boosting.Shard) (*gbdt.Binned, *gbdt.Labels, error) {
			r := g.learned()
			return r.binned, r.labels, nil
		})
	}
	for t := range p.tasks {
		if !slices.Contains(g.tasks, t) {
			d.Shards = append(d.Shards, g.shardOf(t))
		}
	}
	bar := g.w.progress("send the examples", "tasks", int64(len(d.Shards)))
	defer bar.end()
	return w.Scatter(ctx, d, func(r boosting.Shard) (*gbdt.Binned, *gbdt.Labels, error) {
		bar.add(1)
		some, err := g.code(ctx, r, nil)
		return some.binned, some.labels, err
	})
}

// receive receives the rows of a task from the process of task 0, and if the task is the first here, what all tasks have to know.
func (g *treeTasks) receive(ctx context.Context, client *ps.Client, w *boosting.Workers, task int) (r taskRows, err error) {
	whole := g.p.shared == byFeatures
	if !g.first(task) {
		return g.receiveAfter(ctx, w, task, whole)
	}
	if err := g.await(ctx, client, w); err != nil {
		return r, err
	}
	if whole {
		task = boosting.AllTasks
	}
	bar := g.w.progress("receive examples", "B", 1)
	r.setup = g.scatter.Setup
	r.binned, r.labels, err = w.Receive(ctx, g.scatter, task, bar.read)
	if bar.end(); err == nil && whole {
		g.all = r
		close(g.whole)
	}
	return r, err
}

// receiveAfter is receive by a task that is not the first here: what all tasks have to know, the first has received.
func (g *treeTasks) receiveAfter(ctx context.Context, w *boosting.Workers, task int, whole bool) (r taskRows, err error) {
	d, err := w.AwaitScatter(ctx)
	if err != nil {
		return r, err
	}
	own := task
	if whole {
		own = boosting.NoTask
	}
	r.setup = d.Setup
	if r.binned, r.labels, err = w.Receive(ctx, d, own, nil); err == nil {
		err = after(ctx, g.known)
	}
	if err == nil && whole {
		return g.allRows(ctx, task)
	}
	return r, err
}

// await waits until task 0 has read the examples, and says so, and takes what all tasks of the process have to know.
func (g *treeTasks) await(ctx context.Context, client *ps.Client, w *boosting.Workers) (err error) {
	if err := g.p.gather(ctx, client, g.w, false); err != nil {
		return err
	}
	over := g.w.waiting(func() string { return fmt.Sprintf("task 0 of job %q to read the examples", g.p.name) })
	g.scatter, err = w.AwaitScatter(ctx)
	if over(); err != nil {
		return err
	}
	if err := g.p.adoptSetup(g.scatter.Setup); err != nil {
		return err
	}
	if err := g.open(ctx); err != nil {
		return err
	}
	close(g.known)
	return nil
}

// open begins to show the training, in the first attempt that comes so far.
func (g *treeTasks) open(ctx context.Context) error {
	f := g.p.forest
	if g.w == nil || f.opened {
		return nil
	}
	f.opened = true
	return g.w.open(ctx, g.p, g.tasks)
}

// adoptSetup takes what the process of task 0 has found by the examples.
func (p *plan) adoptSetup(s *gbdt.Setup) error {
	p.forest.Config = s.Config
	p.rows, p.conf.Classes = s.Layout.Rows(), s.Config.Classes
	p.recipe = p.recipe.WithObjective(&p.forest.Objective)
	return p.compare()
}

// marksOf are labels, weights and groups of so many examples, and nothing else.
func marksOf(of *gbdt.Labels, n int) *data.Examples {
	s := &data.Set{Label: of.Label[:n]}
	if of.Weight != nil {
		s.Weight = of.Weight[:n]
	}
	if of.Group != nil {
		s.Group = of.Group[:n]
	}
	return &data.Examples{Set: s}
}
