package boosting_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"thole.example/boosting"
	"thole.example/gbdt"
	"thole.example/kernel"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/tree"
)

// rows are made by a seed: a number that all rows have, one that may be missing, a sparse family of columns of which at most one is 1, and
// levels.
type rows struct {
	n        int
	features []tree.Feature
}

const sparse = 12

func newRows(n int) *rows {
	f := []tree.Feature{{Name: "a"}, {Name: "b"}, {Name: "few", Categorical: true}, {Name: "many", Categorical: true},
		{Name: "wide", Categorical: true}}
	for i := range sparse {
		f = append(f, tree.Feature{Name: fmt.Sprint("s", i)})
	}
	return &rows{n, f}
}

func random(row, of int) float32 { return float32(kernel.Hash(uint64(row*64+of))>>40) / (1 << 24) }

func (r *rows) Len() int                { return r.n }
func (r *rows) Features() tree.Features { return tree.FeaturesOf(r.features...) }
func (r *rows) Missing(f int) bool      { return f == 0 || r.features[f].Categorical }

func (r *rows) Read(lo, hi int, into *gbdt.Block) {
	for i := lo; i < hi; i++ {
		add := func(f int, v float32) {
			into.Feature, into.Value = append(into.Feature, int32(f)), append(into.Value, float64(v))
		}
		add(0, random(i, 0))
		if v := random(i, 1); v < 0.2 {
			add(1, float32(math.NaN()))
		} else {
			add(1, v*v)
		}
		if random(i, 2) > 0.1 {
			add(2, float32(int(random(i, 3)*3)))
		}
		add(3, float32(int(random(i, 4)*random(i, 4)*90)))
		add(4, float32(int(random(i, 8)*900))) // more than a byte tells apart
		if at := int(random(i, 5) * sparse * 1.5); at < sparse {
			add(5+at, 1)
		}
		into.Ptr = append(into.Ptr, len(into.Feature))
	}
}

// labels are numbers by all of that.
func (r *rows) labels(classes int) *gbdt.Labels {
	y := &gbdt.Labels{}
	for i := range r.n {
		v := random(i, 0) + random(i, 1)*float32(int(random(i, 4)*random(i, 4)*90)%3) + random(i, 6)
		if classes > 0 {
			v = float32(int(v*float32(classes)/2) % classes)
		}
		y.Label, y.Weight, y.Group = append(y.Label, v), append(y.Weight, 0.5+random(i, 7)), append(y.Group, int64(i/13))
	}
	return y
}

// network is a network and the addresses of servers on it.
type network struct {
	rpc.Network
	addrs []string
}

func cluster(t testing.TB, servers int, net rpc.Network) network {
	t.Helper()
	out := network{Network: net}
	for i := range servers {
		funcs, err := psf.NewTable(append(psf.Funcs(), gbdt.Funcs()...), optim.Rules())
		if err != nil {
			t.Fatal(err)
		}
		addr := fmt.Sprint(i)
		if _, is := net.(*tcp.Network); is {
			addr = "127.0.0.1:0"
		}
		l, err := net.Listen(t.Context(), addr, &server.Server{Funcs: funcs})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		out.addrs = append(out.addrs, l.Addr())
	}
	return out
}

// training is what is trained.
type training struct {
	learn, held gbdt.Rows
	labels      *gbdt.Labels
	conf        gbdt.Config
	divided     bool // by features
	vote        int  // features that each votes for; 0: there is no vote
	beside      bool // task 2 is of the process of task 0
	from        *tree.Ensemble

	last *tree.Ensemble // that was grown

	cut   int         // iteration after which part is taken
	part  *gbdt.Grown // what there is then
	grown *gbdt.Grown // to go on from
}

// modelBytes are those of the new trees of a model, and of where they begin.
func modelBytes(e *tree.Ensemble) []byte {
	return fmt.Appendf(nil, "%v %v %+v", e.Start, e.Best, e.Trees)
}

// gains is what the nodes of trees gain.
func gains(e *tree.Ensemble) (sum float64) {
	for i := range e.Trees {
		for _, gain := range e.Trees[i].Gain {
			sum += gain
		}
	}
	return sum
}

// alone is the model of one process without servers.
func (x *training) alone(t *testing.T) []byte {
	t.Helper()
	b, err := gbdt.Bin(t.Context(), x.learn, x.held, x.conf.Bins, 2)
	if err != nil {
		t.Fatal(err)
	}
	e, err := gbdt.Train(t.Context(), b, x.labels, x.conf, gbdt.Options{From: x.from})
	if err != nil {
		t.Fatal(err)
	}
	if x.last = e; x.from != nil {
		later := *e
		later.Trees = e.Trees[len(x.from.Trees):]
		e = &later
	}
	return modelBytes(e)
}

// together is the model of one of the workers, each of which has to have the same.
func (x *training) together(t testing.TB, net network, tasks int) (model []byte, traffic []boosting.Traffic) {
	t.Helper()
	models, errs := make([][]byte, tasks), make([]error, tasks)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	known := make(chan *boosting.Scatter, tasks) // by the process of task 0
	var group sync.WaitGroup
	for task := range tasks {
		group.Go(func() {
			var w *boosting.Workers
			var e *tree.Ensemble
			if e, w, errs[task] = x.worker(ctx, net, task, tasks, known); errs[task] != nil {
				cancel()
				return
			}
			if task == 0 {
				traffic, x.last = w.Traffic(), e
				if later := *e; x.from != nil {
					later.Trees = e.Trees[len(x.from.Trees):]
					e = &later
				}
			}
			models[task] = modelBytes(e)
		})
	}
	group.Wait()
	for task, err := range errs {
		if err != nil {
			t.Errorf("task %d of %d: %v", task, tasks, err)
		} else if !bytes.Equal(models[task], models[0]) {
			t.Errorf("task %d of %d has another model than task 0", task, tasks)
		}
	}
	return models[0], traffic
}

// here reports whether a task is of the process of task 0.
func (x *training) here(task int) bool { return task == 0 || x.beside && task == 2 }

func (x *training) worker(
	ctx context.Context, net network, task, tasks int, known chan *boosting.Scatter,
) (*tree.Ensemble, *boosting.Workers, error) {
	funcs, err := psf.NewTable(append(psf.Funcs(), gbdt.Funcs()...), nil)
	if err != nil {
		return nil, nil, err
	}
	c, err := ps.Dial(ctx, ps.Options{Network: net, Servers: net.addrs, Job: "j", Task: task, Tasks: tasks, Funcs: funcs})
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	w, err := boosting.Join(ctx, c, task, tasks)
	if err != nil {
		return nil, nil, err
	}
	d, b, y, err := x.rows(ctx, w, task, tasks, known)
	if err != nil {
		return nil, nil, err
	}
	setup := d.Setup
	o := gbdt.Options{Setup: setup, Grown: d.Grown, Workers: w, Each: func(p *gbdt.Progress) (float64, error) {
		if p.Iteration != x.cut {
			return math.NaN(), nil
		}
		g, err := p.Grown(ctx, math.NaN())
		if task == 0 {
			x.part = g
		}
		return math.NaN(), err
	}}
	if task == 0 {
		o.From = x.from
	}
	switch {
	case x.divided:
		o.Workers, o.Division = nil, &gbdt.Division{Task: task, Tasks: tasks, Agree: w.Agree}
	case x.vote > 0:
		o.Vote = &gbdt.Vote{Features: x.vote, Tasks: tasks, Agree: w.Agree, Add: w.Add}
	default:
		if o.Shape, err = setup.Layout.Shape(&setup.Config, boosting.Blocks(len(net.addrs))); err == nil {
			err = w.Use(ctx, o.Shape)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	conf := setup.Config
	conf.Cores = 1
	e, err := gbdt.Train(ctx, b, y, conf, o)
	if err == nil {
		err = c.Leave(ctx)
	}
	return e, w, err
}

// rows are those of a task: the process of task 0 has them all, and sends the others theirs. Task 0 has those that are held out.
func (x *training) rows(
	ctx context.Context, w *boosting.Workers, task, tasks int, known chan *boosting.Scatter,
) (*boosting.Scatter, *gbdt.Binned, *gbdt.Labels, error) {
	shardOf := func(task int) boosting.Shard {
		if x.divided {
			return boosting.Shard{Task: boosting.AllTasks, Hi: x.learn.Len()}
		}
		lo, hi := gbdt.Shard(x.labels.Group, x.learn.Len(), tasks, task)
		return boosting.Shard{Task: task, Lo: lo, Hi: hi}
	}
	code := func(d *boosting.Scatter, r boosting.Shard, held gbdt.Rows) (*gbdt.Binned, *gbdt.Labels, error) {
		b, err := d.Setup.Layout.Code(ctx, x.learn, held, r.Lo, r.Hi, 1)
		return b, x.labels.Part(r.Lo, r.Hi, x.learn.Len(), held != nil), err
	}
	if task > 0 {
		d, err := w.AwaitScatter(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		if !x.here(task) {
			b, y, err := w.Receive(ctx, d, shardOf(task).Task, nil)
			return d, b, y, err
		}
		if _, _, err := w.Receive(ctx, d, -2, nil); err != nil {
			return nil, nil, nil, err
		}
		d = <-known
		b, y, err := code(d, shardOf(task), nil)
		return d, b, y, err
	}
	layout, err := gbdt.Survey(ctx, x.learn, x.held, x.conf.Bins, 1)
	if err != nil {
		return nil, nil, nil, err
	}
	setup, err := gbdt.NewSetup(layout, x.labels, x.conf, x.from)
	if err != nil {
		return nil, nil, nil, err
	}
	d := &boosting.Scatter{Setup: setup, Grown: x.grown}
	for t := range tasks {
		if known <- d; !x.here(t) && (len(d.Shards) == 0 || !x.divided) {
			d.Shards = append(d.Shards, shardOf(t))
		}
	}
	err = w.Scatter(ctx, d, func(r boosting.Shard) (*gbdt.Binned, *gbdt.Labels, error) { return code(d, r, nil) })
	if err != nil {
		return nil, nil, nil, err
	}
	b, y, err := code(d, shardOf(0), x.held)
	return d, b, y, err
}

func config(t testing.TB, objective string, change func(c *gbdt.Config)) gbdt.Config {
	t.Helper()
	o, err := gbdt.FindObjective(objective)
	if err != nil {
		t.Fatal(err)
	}
	c := gbdt.Defaults()
	c.Objective, c.Trees, c.Depth, c.Rows, c.Seed, c.Cores, c.Bins = o, 4, 4, 0.8, 7, 1, 40
	if change != nil {
		change(&c)
	}
	return c
}

// Any number of workers and servers makes the trees of one process, to the bit.
func TestSameBits(t *testing.T) {
	learn := newRows(700)
	for _, one := range []struct {
		name    string
		classes int
		conf    gbdt.Config
		before  bool // it goes on from trees
	}{
		{"by depth", 0, config(t, "l2", func(c *gbdt.Config) { c.Columns, c.LevelWeight, c.MinWeight = 0.7, 0, 0 }), false},
		{"by leaf", 2, config(t, "binary", func(c *gbdt.Config) { c.Leaves, c.Depth = 9, 0 }), true},
		{"both bounds", 2, config(t, "binary", func(c *gbdt.Config) { c.Leaves, c.Growth = 11, gbdt.ByDepth }), false},
		{"classes", 3, config(t, "multiclass", func(c *gbdt.Config) { c.Classes, c.Trees, c.OneHot = 3, 2, 1 }), true},
		{"medians", 0, config(t, "l1", func(c *gbdt.Config) { c.MinWeight = 0 }), true},
		{"quantiles by leaf", 0, config(t, "quantile", func(c *gbdt.Config) { c.Leaves, c.Depth, c.Rows = 9, 0, 1 }), false},
		{"dropout", 3, config(t, "multiclass", func(c *gbdt.Config) { c.Classes, c.Trees, c.Drop = 3, 4, gbdt.Drop{Rate: 0.6} }), true},
		{"groups", 4, config(t, "lambdarank", func(c *gbdt.Config) { c.MinWeight = 0 }), false},
		{"constraints", 0, config(t, "l2", func(c *gbdt.Config) {
			c.L1, c.MaxStep, c.Monotone = 0.01, 0.5, make([]int8, 5+sparse)
			c.Monotone[0], c.Monotone[1] = 1, -1
		}), false},
	} {
		t.Run(one.name, func(t *testing.T) {
			held := newRows(50)
			x := &training{learn: learn, held: held, labels: learn.labels(one.classes), conf: one.conf}
			more := held.labels(one.classes)
			x.labels.Label, x.labels.Weight = append(x.labels.Label, more.Label...), append(x.labels.Weight, more.Weight...)
			x.labels.Group = append(x.labels.Group, more.Group...)
			want := x.alone(t)
			if one.before {
				x.from, x.labels.Start = x.last, x.scores()
				want = x.alone(t)
			}
			for _, tasks := range []int{1, 2, 3, 7} {
				for _, servers := range []int{1, 2, 3} {
					x.beside = servers == 2
					for _, x.divided = range []bool{false, true} {
						var net rpc.Network = &mem.Network{}
						if tasks == 2 {
							net = &tcp.Network{}
						}
						got, traffic := x.together(t, cluster(t, servers, net), tasks)
						if !bytes.Equal(got, want) {
							t.Errorf("%d tasks, %d servers, by features %v: another model than that of one process", tasks, servers, x.divided)
						}
						checkTraffic(t, x, traffic, tasks)
					}
				}
			}
			x.goOn(t, want)
		})
	}
}

// goOn interrupts trainings, and has others go on from what they had, with another number of tasks and servers.
func (x *training) goOn(t *testing.T, want []byte) {
	for cut := 1; cut <= x.conf.Trees; cut++ {
		for _, x.divided = range []bool{false, true} {
			x.cut, x.grown, x.beside = cut, nil, false
			if got, _ := x.together(t, cluster(t, 1, &mem.Network{}), 2); !bytes.Equal(got, want) {
				t.Errorf("another model, as the trees were taken after iteration %d", cut)
			}
			x.cut, x.grown, x.beside = 0, x.part, true
			for tasks := 1; tasks < 4; tasks++ {
				if got, _ := x.together(t, cluster(t, 2, &mem.Network{}), tasks); !bytes.Equal(got, want) {
					t.Errorf("%d tasks, by features %v: another model than without the interruption after %d iterations", tasks, x.divided, cut)
				}
			}
		}
	}
}

// scores are those of all rows by the last trees, class after class.
func (x *training) scores() (all []float64) {
	n, features := x.learn.Len(), x.learn.Features()
	all = make([]float64, x.last.Classes*(n+x.held.Len()))
	out := make([]float64, x.last.Classes)
	for i, rows := range []gbdt.Rows{x.learn, x.held} {
		var b gbdt.Block
		b.Reset()
		rows.Read(0, rows.Len(), &b)
		for r := range rows.Len() {
			row := make([]float64, features.Width)
			for f := range row {
				if rows.Missing(f) {
					row[f] = math.NaN()
				}
			}
			for k := b.Ptr[r]; k < b.Ptr[r+1]; k++ {
				row[b.Feature[k]] = b.Value[k]
			}
			x.last.Score(row, out)
			for k, s := range out {
				all[k*(n+x.held.Len())+i*n+r] = s
			}
		}
	}
	return all
}

// A vote of one worker chooses its best feature. One of several may miss the best; what they choose is the same on any servers, and nearly
// as good.
func TestVote(t *testing.T) {
	learn := newRows(3000)
	conf := config(t, "l2", func(c *gbdt.Config) { c.Rows = 1 })
	x := &training{learn: learn, labels: learn.labels(0), conf: conf, vote: 1}
	alone := x.alone(t)
	want := gains(x.last)
	if got, _ := x.together(t, cluster(t, 2, &mem.Network{}), 1); !bytes.Equal(got, alone) {
		t.Error("one worker's vote makes another model than that of one process")
	}
	one, _ := x.together(t, cluster(t, 1, &mem.Network{}), 3)
	two, traffic := x.together(t, cluster(t, 3, &tcp.Network{}), 3)
	if !bytes.Equal(one, two) {
		t.Error("votes of 3 workers make other models on 3 servers than on 1")
	}
	if bytes.Equal(one, alone) {
		t.Error("votes for one feature of 3 workers make the model of one process: the test has nothing to tell")
	}
	if got := gains(x.last); want <= 0 || got < 0.9*want {
		t.Errorf("votes gain %v, want nearly %v", got, want)
	}
	if len(traffic) != conf.Depth || traffic[0].Steps != conf.Trees || traffic[0].Pushed == 0 {
		t.Errorf("%+v went to and fro", traffic)
	}
}

// checkTraffic wants as many steps at depth 0 as there are trees, each with a node, and less on the wire where no histograms are.
func checkTraffic(t *testing.T, x *training, all []boosting.Traffic, tasks int) {
	t.Helper()
	trees := x.conf.Trees * max(1, x.conf.Classes)
	if len(all) == 0 || all[0].Steps != trees || all[0].Nodes != trees || all[0].Depth != 0 {
		t.Fatalf("%d tasks: %+v went to and fro, want %d steps at depth 0", tasks, all, trees)
	}
	for _, a := range all {
		if small := a.Pushed*int64(tasks) == a.Pulled; small != x.divided || a.Pulled == 0 || a.Nodes < a.Steps {
			t.Errorf("%d tasks, by features %v: %+v", tasks, x.divided, a)
		}
	}
}
