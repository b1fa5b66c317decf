package train

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/ssp"
)

// TestShares wants every example in exactly one batch of exactly one task in every epoch, and all tasks to make the same
// number of steps, of which none is empty for all.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "examples")
		tasks := rapid.IntRange(1, 9).Draw(t, "tasks")
		size := rapid.IntRange(1, 50).Draw(t, "batch")
		all := &data.Batch{X: matrix.Block{At: matrix.At(0, int64(n), 0, 1), Data: &matrix.CSR[float32]{Ptr: make([]int, n+1)}}}
		for i := range n {
			all.Label = append(all.Label, float32(i))
		}
		steps := Steps(n, tasks, size)
		seen := make([]int, n)
		inStep := make([]int, steps)
		for task := range tasks {
			l := &loop{Options: Options{Data: all, Task: task, Tasks: tasks, Batch: size}, mine: share(n, task, tasks)}
			for step := range steps {
				b := l.batch(step)
				inStep[step] += b.Len()
				for _, label := range b.Label {
					seen[int(label)]++
				}
			}
			if left := l.batch(steps).Len(); left > 0 {
				t.Fatalf("task %d has %d examples after %d steps", task, left, steps)
			}
		}
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("example %d comes %d times", i, times)
			}
		}
		for step, rows := range inStep {
			if rows == 0 || rows > max(size, tasks) {
				t.Fatalf("step %d of %d has %d examples, want 1 to %d", step, steps, rows, max(size, tasks))
			}
		}
	})
}

// TestSameBits wants one and the same model and report on any servers and network.
func TestSameBits(t *testing.T) {
	for _, conf := range []algo.Conf{{}, {Sparse: true, Rule: "ftrl"}, {Rule: "adam", Init: matrix.Init{Kind: "normal", Scale: 1, Seed: 2}}} {
		var first *Report
		var bits []float32
		for _, w := range []world{
			{servers: 1, tasks: 3, conf: conf}, {servers: 2, tasks: 3, conf: conf}, {servers: 5, tasks: 3, conf: conf},
			{servers: 2, tasks: 3, conf: conf, net: &tcp.Network{}},
		} {
			o := Options{Data: examples(203, 1), Valid: examples(50, 2), Epochs: 3, Batch: 20, Rate: rate(0.3), Seed: 7}
			reports, weights := w.trained(t, o)
			if first == nil {
				first, bits = reports[0], weights
			}
			for task, r := range reports {
				if !reflect.DeepEqual(r, first) {
					t.Errorf("%d servers, task %d reports %+v, want %+v", w.servers, task, r, first)
				}
			}
			if !slices.Equal(weights, bits) {
				t.Errorf("%d servers: other weights", w.servers)
			}
		}
		if n := len(first.Losses); n != 3 || first.Losses[2] >= first.Losses[0] || first.Valid.Get("auc") < 0.7 {
			t.Errorf("losses %v, valid %v: nothing was learned", first.Losses, first.Valid)
		}
	}
}

// TestMetricsOverTasks wants the metrics of given parameters to be the same however many tasks measure them.
func TestMetricsOverTasks(t *testing.T) {
	conf := algo.Conf{Init: matrix.Init{Kind: "normal", Scale: 1, Seed: 4}}
	for _, name := range []string{"lr", "linreg", "svm"} {
		var want *Report
		for _, tasks := range []int{1, 3, 7} {
			for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
				w := world{servers: 2, tasks: tasks, bound: bound, conf: conf, algo: name}
				reports, _ := w.trained(t, Options{Data: examples(101, 1), Valid: examples(5, 2), Batch: 10, Rate: rate(1)})
				if want == nil {
					want = reports[0]
				}
				for _, r := range reports {
					near(t, fmt.Sprintf("%s by %d tasks, train", name, tasks), r.Train, want.Train)
					near(t, fmt.Sprintf("%s by %d tasks, valid", name, tasks), r.Valid, want.Valid)
				}
			}
		}
	}
}

func near(t *testing.T, what string, got, want Metrics) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i, m := range got {
		if m.Name != want[i].Name || math.Abs(m.Value-want[i].Value) > 1e-9*math.Abs(want[i].Value) {
			t.Errorf("%s: %v, want %v", what, m, want[i])
		}
	}
}

// TestWeightedLoss wants the loss of an epoch to be the mean over its examples, also when the batches are not alike.
func TestWeightedLoss(t *testing.T) {
	conf := algo.Conf{Init: matrix.Init{Kind: "normal", Scale: 1, Seed: 4}, Rule: "sgd"}
	for _, tasks := range []int{1, 2, 3} {
		w := world{servers: 1, tasks: tasks, conf: conf}
		reports, _ := w.trained(t, Options{Data: examples(10, 1), Epochs: 1, Batch: 4, Rate: rate(0)})
		r := reports[0]
		if got, want := r.Losses[0], r.Train[0].Value; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%d tasks: loss %v, want that of the unchanged parameters, %v", tasks, got, want)
		}
	}
}

// TestDiverged wants parameters that are no numbers told, during training and after its last step.
func TestDiverged(t *testing.T) {
	for _, tasks := range []int{1, 2} {
		for _, epochs := range []int{1, 5} {
			b := examples(40, 1)
			for i := range b.Rows().Val {
				b.Rows().Val[i] *= 1e30
			}
			w := world{servers: 2, tasks: tasks, conf: algo.Conf{Rule: "sgd"}}
			_, _, errs := w.job(t, Options{Data: b, Epochs: epochs, Batch: 40, Rate: rate(1e30)})
			told := 0
			for _, err := range errs {
				switch {
				case errors.Is(err, graph.ErrDiverged):
					told++
				case !errors.Is(err, rpc.ErrAborted) && !errors.Is(err, rpc.ErrNotFound):
					t.Errorf("%d tasks, %d epochs: error %v", tasks, epochs, err)
				}
			}
			if told == 0 {
				t.Errorf("%d tasks, %d epochs: nobody told %v", tasks, epochs, graph.ErrDiverged)
			}
		}
	}
}

// TestTolerance wants all tasks to stop in the same epoch, under every bound.
func TestTolerance(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 3, ssp.ASP} {
		w := world{servers: 2, tasks: 3, bound: bound, conf: algo.Conf{Rule: "sgd"}}
		o := Options{Data: examples(200, 1), Epochs: 500, Batch: 50, Rate: rate(0.5), Tolerance: 0.02, Valid: examples(0, 1)}
		reports, _ := w.trained(t, o)
		for task, r := range reports {
			if !r.Stopped || r.Epochs < 2 || r.Epochs >= 500 || r.Epochs != reports[0].Epochs || len(r.Losses) != r.Epochs {
				t.Errorf("%v, task %d: stopped %v after %d epochs, task 0 after %d", bound, task, r.Stopped, r.Epochs, reports[0].Epochs)
			}
			if r.Valid != nil {
				t.Errorf("%v: metrics %v of no examples", bound, r.Valid)
			}
		}
	}
}

// TestEvents wants progress to go up to all examples of all epochs.
func TestEvents(t *testing.T) {
	for _, c := range []struct{ n, tasks, batch int }{{100, 3, 10}, {7, 3, 1}, {5, 2, 100}, {64, 1, 8}} {
		var rows []int64
		done := 0
		o := Options{Data: examples(c.n, 1), Epochs: 2, Batch: c.batch, Rate: rate(0.1), Events: func(e Event) {
			if e.Done {
				done++
				if e.Rows != int64(c.n*e.Epoch) {
					t.Errorf("%+v: %d rows after epoch %d", c, e.Rows, e.Epoch)
				}
			}
			rows = append(rows, e.Rows)
			if e.Total != int64(2*c.n) || e.Rows > e.Total {
				t.Errorf("%+v: %d of %d rows", c, e.Rows, e.Total)
			}
		}}
		world{net: &mem.Network{}, servers: 1, tasks: c.tasks}.trained(t, o)
		if !slices.IsSorted(rows) || done != 2 {
			t.Errorf("%+v: rows %v, %d epochs done", c, rows, done)
		}
	}
}

// TestOptions wants wrong options refused before anything is made.
func TestOptions(t *testing.T) {
	good := Options{Data: examples(4, 1), Epochs: 1, Batch: 1, Rate: rate(1)}
	for name, change := range map[string]func(o *Options){
		"no data":     func(o *Options) { o.Data = nil },
		"no examples": func(o *Options) { o.Data = examples(0, 1) },
		"epochs":      func(o *Options) { o.Epochs = -1 },
		"batch":       func(o *Options) { o.Batch = 0 },
	} {
		o := good
		change(&o)
		if _, _, errs := (world{servers: 1, tasks: 1}).job(t, o); errs[0] == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMetrics(t *testing.T) {
	m := Metrics{{"loss", 0.125}, {"auc", math.NaN()}}
	if got := m.String(); got != "loss 0.125  auc NaN" {
		t.Errorf("text %q", got)
	}
	if got, err := m.MarshalJSON(); err != nil || string(got) != `{"loss":0.125,"auc":null}` {
		t.Errorf("json %s, %v", got, err)
	}
	if m.Get("loss") != 0.125 || !math.IsNaN(m.Get("rmse")) {
		t.Errorf("loss %v, rmse %v", m.Get("loss"), m.Get("rmse"))
	}
}
