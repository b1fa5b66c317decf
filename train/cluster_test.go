package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// set is the examples as trainings take them.
func set(b *data.Batch) *data.Set {
	s, err := data.Pack(b)
	if err != nil {
		panic(err)
	}
	return s
}

// examples are n rows of some of 30 features, labelled by the sign of a hidden sum.
func examples(n int, seed uint64) *data.Batch {
	rng := rand.New(rand.NewPCG(seed, 5))
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{X: matrix.Block{At: matrix.At(0, int64(n), 0, 30), Data: x}}
	for range n {
		sum := 0.3
		for c := range int64(30) {
			if rng.IntN(4) == 0 {
				x.Idx, x.Val = append(x.Idx, c), append(x.Val, float32(rng.NormFloat64()))
				sum += float64(x.Val[len(x.Val)-1]) * float64(c%7-3)
			}
		}
		x.Ptr = append(x.Ptr, len(x.Idx))
		b.Label = append(b.Label, float32(1-2*btoi(sum < 0)))
	}
	return b
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// world is where a job is trained.
type world struct {
	net     rpc.Network
	servers int
	tasks   int
	bound   ssp.Bound
	conf    algo.Conf
	algo    string
	reads   *reads      // of the scores of held-out examples; nil: they are not counted
	file    *graph.File // a network of one's own, in place of that of the algorithm

	bucket       *blob.Mem // of the servers; nil: one of their own
	save, resume string    // checkpoints, at the end and to go on from; "": none

	same  bool // the checkpoint to go on from is of the same training
	steps int  // from one checkpoint to the next, named "step" with how many were made; 0: there are none

	optional bool                                          // tasks but the first are
	attempt  int                                           // of the job
	dies     map[int]int                                   // at which clocks tasks do
	goes     int                                           // a task that is told to go; 0: none
	restored func(ctx context.Context, c *ps.Client) error // what the first task does after it has gone back to a checkpoint; may be nil
	clocks   []int                                         // of the tasks at the end are put there; nil: nowhere

	each int // tasks that have their examples for themselves; 0: all have all
}

// job trains and answers with every task's report and error, and the weights as the first task reads them at the end.
func (w world) job(t *testing.T, o Options) (reports []*Report, weights []float32, errs []error) {
	t.Helper()
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	if w.net == nil {
		w.net = &mem.Network{}
	}
	if w.bucket == nil {
		w.bucket = &blob.Mem{}
	}
	var addrs []string
	for range w.servers {
		addr := ""
		if _, ok := w.net.(*tcp.Network); ok {
			addr = "127.0.0.1:0"
		}
		l, err := w.net.Listen(t.Context(), addr, &server.Server{Funcs: funcs, Bucket: w.bucket})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr())
	}
	reports, errs = make([]*Report, w.tasks), make([]error, w.tasks)
	var wg sync.WaitGroup
	for task := range w.tasks {
		wg.Go(func() {
			var got []float32
			reports[task], got, errs[task] = w.task(t.Context(), addrs, task, o)
			if task == 0 {
				weights = got
			}
		})
	}
	wg.Wait()
	return reports, weights, errs
}

func (w world) task(ctx context.Context, addrs []string, task int, o Options) (*Report, []float32, error) {
	c, err := ps.Dial(ctx, ps.Options{Network: w.net, Servers: addrs, Job: "j", Task: task, Tasks: w.tasks, Bound: w.bound,
		Optional: w.optional && task > 0})
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	if w.algo == "" {
		w.algo = "lr"
	}
	recipe, err := algo.Find(w.algo)
	if w.file != nil {
		recipe, err = algo.Own(w.file, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	if w.conf.Dim == 0 {
		w.conf.Dim = 30
	}
	if o.Calibrate {
		recipe = recipe.ForLabels(nil, o.Data.Label, o.Data.Weight, w.conf.Classes)
	}
	if o.Model, err = recipe.Build(w.conf); err != nil {
		return nil, nil, err
	}
	o.Task, o.Tasks, o.Optional, o.Attempt = task, w.tasks, w.optional, w.attempt
	if o.Leaves != nil && task != w.goes {
		o.Leaves = nil
	}
	if w.each > 0 {
		var mine []int
		for t := range w.tasks {
			if t/w.each == task/w.each {
				mine = append(mine, t)
			}
		}
		if o, err = o.Keep(mine, 0); err != nil {
			return nil, nil, err
		}
	}
	if w.resume != "" {
		o.Resume = true
		o.Prepare = func(ctx context.Context) (bool, error) {
			if task > 0 {
				return false, nil
			}
			_, err := c.Restore(ctx, w.resume)
			if err == nil && w.restored != nil {
				err = w.restored(ctx, c)
			}
			return w.same, err
		}
	}
	if w.steps > 0 {
		o.Lasting = true
		o.Save = func(ctx context.Context, at Place) error {
			if made := at.Made(); !at.Last && made%w.steps == 0 {
				return c.Checkpoint(ctx, fmt.Sprint("step", made))
			}
			return nil
		}
	}
	if o.Early != nil {
		early := *o.Early
		early.Keep = func(ctx context.Context, epoch int) error {
			at := fmt.Sprint("best", epoch)
			if err := w.bucket.Remove(ctx, at); err != nil {
				return err
			}
			return c.Checkpoint(ctx, at)
		}
		early.Return = func(ctx context.Context, epoch int) error {
			if w.reads != nil {
				w.reads.before.Store(w.reads.all.Load())
			}
			_, err := c.Restore(ctx, fmt.Sprint("best", epoch))
			return err
		}
		o.Early = &early
	}
	if task > 0 {
		o.Events = nil
	}
	var session Session = c
	if at, dies := w.dies[task]; dies {
		session = mortal{c, at}
	}
	if w.reads != nil {
		session = counted{c, w.reads, task}
	}
	r, err := Run(ctx, session, o)
	if err != nil {
		return nil, nil, err
	}
	if w.clocks != nil {
		w.clocks[task] = c.Now()
	}
	if w.save != "" && task == 0 {
		if err := c.Checkpoint(ctx, w.save); err != nil {
			return nil, nil, err
		}
	}
	var all []float32
	for _, m := range o.Model.Params() {
		cols := make([]int64, m.Cols)
		for i := range cols {
			cols[i] = m.ColLo + int64(i)
		}
		got, err := c.Pull(ctx, []matrix.Lookup{{Matrix: m.Name, Cols: cols}})
		if err != nil {
			return nil, nil, err
		}
		all = append(all, got[0].Data.Values().([]float32)...)
	}
	return r, all, c.Leave(ctx)
}

// reads counts how often tasks have read the scores of held-out examples. All but the first are late to do so.
type reads struct{ all, before atomic.Int64 } // before the best epoch was brought back

// counted is a session whose reads are counted.
type counted struct {
	Session
	reads *reads
	task  int
}

func (c counted) Pull(ctx context.Context, lookups []matrix.Lookup) ([]matrix.Block, error) {
	if lookups[0].Matrix != validBoard {
		return c.Session.Pull(ctx, lookups)
	}
	if c.task > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	defer c.reads.all.Add(1)
	return c.Session.Pull(ctx, lookups)
}

// trained is job for jobs that must end well.
func (w world) trained(t *testing.T, o Options) ([]*Report, []float32) {
	t.Helper()
	reports, weights, errs := w.job(t, o)
	for task, err := range errs {
		if err != nil {
			t.Fatalf("task %d: %v", task, err)
		}
	}
	return reports, weights
}

func rate(r float64) func(int, int) float64 { return func(int, int) float64 { return r } }

// TestPrefetchTrains: with Prefetch a training under BSP has the bits that it has without, on any number of servers; under SSP it comes to
// about the same loss, and under ASP, where the loss depends on how the tasks run, to less than a third of the loss of weights of 0.
func TestPrefetchTrains(t *testing.T) {
	o := Options{Data: set(examples(400, 1)), Batch: 16, Seed: 3, Rate: rate(0.2), Epochs: 6, Wrap: true, Tolerance: 1e-12}
	for _, name := range []string{"lr", "fm"} {
		_, want := world{tasks: 3, servers: 2, algo: name}.trained(t, o)
		for _, servers := range []int{1, 3} {
			o.Prefetch = true
			if _, got := (world{tasks: 3, servers: servers, algo: name}).trained(t, o); !slices.Equal(got, want) {
				t.Errorf("%s on %d servers under BSP: other weights with Prefetch", name, servers)
			}
		}
		for _, bound := range []ssp.Bound{1, 3, ssp.ASP} {
			var loss [2]float64
			for i := range loss {
				o.Prefetch = i == 1
				reports, _ := world{tasks: 3, servers: 2, bound: bound, algo: name}.trained(t, o)
				loss[i] = reports[0].Losses[len(reports[0].Losses)-1]
			}
			if bound == ssp.ASP && max(loss[0], loss[1]) > math.Ln2/3 {
				t.Errorf("%s under %v: losses without and with Prefetch %v, want less than %v", name, bound, loss, math.Ln2/3)
			}
			if bound != ssp.ASP && math.Abs(loss[0]-loss[1]) > 0.3*loss[0] {
				t.Errorf("%s under %v: losses without and with Prefetch %v, want about the same", name, bound, loss)
			}
		}
		o.Prefetch = false
	}
}
