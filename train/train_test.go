package train

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/loss"
	"thole.example/matrix"
	"thole.example/optim"
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
		window, inOrder := rapid.IntRange(0, n).Draw(t, "window"), rapid.Bool().Draw(t, "in order")
		all := &data.Batch{X: matrix.Block{At: matrix.At(0, int64(n), 0, 1), Data: &matrix.CSR[float32]{Ptr: make([]int, n+1)}}}
		for i := range n {
			all.Label = append(all.Label, float32(i))
		}
		steps := Steps(n, tasks, size)
		seen := make([]int, n)
		inStep := make([]int, steps)
		for task := range tasks {
			o := Options{Data: set(all), Task: task, Tasks: tasks, Batch: size, Window: window, InOrder: inOrder}
			l := &loop{Options: o, order: newOrder(o), steps: steps}
			if err := l.order.begin(1); err != nil {
				t.Fatal(err)
			}
			var gather data.Gatherer
			least := l.order.count / steps
			for step := range steps {
				b, err := l.batch(&gather, step)
				if err != nil {
					t.Fatal(err)
				}
				if n := b.Len(); n < least || n > least+1 {
					t.Fatalf("task %d has %d examples in step %d, want %d or one more", task, n, step, least)
				}
				inStep[step] += b.Len()
				for _, label := range b.Label {
					seen[int(label)]++
				}
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
	for _, conf := range []algo.Conf{
		{}, {Sparse: true, Rule: "ftrl"}, {Rule: "adam", Init: matrix.Init{Kind: "normal", Scale: 1, Seed: 2}}, {Classes: 4}, {Classes: 3, Sparse: true},
	} {
		var first *Report
		var bits []float32
		for _, w := range []world{
			{servers: 1, tasks: 3, conf: conf}, {servers: 2, tasks: 3, conf: conf}, {servers: 5, tasks: 3, conf: conf},
			{servers: 2, tasks: 3, conf: conf, net: &tcp.Network{}},
		} {
			o := Options{Data: set(examples(203, 1)), Valid: set(examples(50, 2)), Epochs: 3, Batch: 20, Rate: rate(0.3), Seed: 7}
			if conf.Classes > 0 {
				w.algo = "softmax"
				classed(o.Data, conf.Classes)
				classed(o.Valid, conf.Classes)
			}
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
		if n := len(first.Losses); n != 3 || first.Losses[2] >= first.Losses[0] || !(first.Valid.Get("auc") >= 0.7 || first.Valid.Get("accuracy") >= 0.5) {
			t.Errorf("losses %v, valid %v: nothing was learned", first.Losses, first.Valid)
		}
	}
}

// TestMetricsOverTasks wants the metrics of given parameters to be the same however many tasks measure them.
func TestMetricsOverTasks(t *testing.T) {
	conf := algo.Conf{Init: matrix.Init{Kind: "normal", Scale: 1, Seed: 4}}
	for _, name := range []string{"lr", "linreg", "svm", "softmax", "robust"} {
		conf.Classes = 3
		var want *Report
		for _, tasks := range []int{1, 3, 7} {
			for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
				w := world{servers: 2, tasks: tasks, bound: bound, conf: conf, algo: name}
				o := Options{Data: set(examples(101, 1)), Valid: set(examples(5, 2)), Batch: 10, Rate: rate(1)}
				if name == "softmax" {
					classed(o.Data, 3)
					classed(o.Valid, 3)
				}
				reports, _ := w.trained(t, o)
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

// classed makes the labels numbers of classes: by the sum of the columns where they are positive, else 0.
func classed(s *data.Set, classes int) {
	x := s.Batch().Rows()
	for i, y := range s.Label {
		sum := int64(0)
		for _, c := range x.Idx[x.Ptr[i]:x.Ptr[i+1]] {
			sum += c
		}
		if s.Label[i] = 0; y > 0 {
			s.Label[i] = float32(1 + sum%int64(classes-1))
		}
	}
}

// TestMeasure wants metrics of what is predicted, by hand: three classes, counts and probabilities.
func TestMeasure(t *testing.T) {
	e := math.E
	for _, c := range []struct {
		loss  string
		score []float64
		label []float32
		want  string
	}{
		{"softmaxloss", []float64{0, 0, 0, 2, 1, 0, 0, 0, 7}, []float32{0, 1, 2}, fmt.Sprintf("softmaxloss %.6g  accuracy 0.666667",
			(math.Log(3)+math.Log(1+e+e*e)-1+math.Log1p(2*math.Exp(-7)))/3)},
		{"poissonloss", []float64{0, math.Log(3)}, []float32{2, 3}, fmt.Sprintf("poissonloss %.6g  rmse %.6g  mae 0.5  r2 -1",
			(1+3-3*math.Log(3))/2, math.Sqrt(0.5))},
		{"crossentropyloss", []float64{0.25, 0.75, 0.5}, []float32{-1, 1, -1}, fmt.Sprintf("crossentropyloss %.6g  auc 1  accuracy 1",
			(2*math.Log(4./3)+math.Ln2)/3)},
	} {
		k, err := loss.Find(nil, c.loss)
		if err != nil {
			t.Fatal(err)
		}
		l, err := k.Bind(nil)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Measure(&Scored{Loss: l, Score: c.score, Label: c.label}); err != nil || m.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.loss, m, err, c.want)
		}
		if width := len(c.score) / len(c.label); l.Task() != graph.Classification {
			if _, err := Measure(&Scored{Loss: l, Score: c.score, Label: append([]float32{-1}, c.label[1:]...)}); err == nil {
				t.Errorf("%s of %d scores took label -1", c.loss, width)
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
		reports, _ := w.trained(t, Options{Data: set(examples(10, 1)), Epochs: 1, Batch: 4, Rate: rate(0)})
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
			_, _, errs := w.job(t, Options{Data: set(b), Epochs: epochs, Batch: 40, Rate: rate(1e30)})
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

// TestTolerance wants all tasks to stop in the same epoch, by the tolerance and by the pace, under every bound.
func TestTolerance(t *testing.T) {
	for i, bound := range []ssp.Bound{ssp.BSP, 3, ssp.ASP, ssp.BSP, 3, ssp.ASP} {
		paced := i >= 3
		w := world{servers: 2, tasks: 3, bound: bound, conf: algo.Conf{Rule: "sgd"}}
		o := Options{Data: set(examples(200, 1)), Epochs: 500, Batch: 50, Rate: rate(0.5), Tolerance: 0.02, Valid: set(examples(0, 1))}
		if paced {
			o.Tolerance, o.Pace = 0, &Pace{Window: 2, Tolerance: 0.01, Cut: 2, Patience: 2}
		}
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

// TestLossesOfAll wants the losses of the report to be means over all tasks under every bound, and those told while others are behind to be
// of this task at least.
func TestLossesOfAll(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 3, ssp.ASP} {
		var told []float64
		o := Options{Data: set(examples(200, 1)), Epochs: 3, Batch: 200, Rate: rate(0.5), Events: func(e Event) {
			if e.Done {
				told = append(told, e.Loss)
			}
		}}
		reports, _ := world{servers: 2, tasks: 2, bound: bound, conf: algo.Conf{Rule: "sgd"}}.trained(t, o)
		for task, r := range reports {
			if !slices.Equal(r.Losses, reports[0].Losses) || r.Losses[0] < 0.66 || r.Losses[0] > 0.7 || slices.Contains(r.Losses, 0) {
				t.Errorf("%v, task %d: losses %v, task 0 %v, want the same, of log(2) or a little less first", bound, task, r.Losses, reports[0].Losses)
			}
		}
		if len(told) != 3 || slices.Contains(told, 0) {
			t.Errorf("%v: told %v, want three losses above 0", bound, told)
		}
	}
}

// TestPacedBits wants one and the same end of a paced training on any servers.
func TestPacedBits(t *testing.T) {
	var first *Report
	var bits []float32
	for _, servers := range []int{1, 3} {
		o := Options{Data: set(examples(203, 1)), Epochs: 300, Batch: 20, Rate: rate(0.3), Seed: 7, Pace: &Pace{Window: 1, Tolerance: 0.01, Cut: 2, Patience: 3}}
		reports, weights := world{servers: servers, tasks: 3}.trained(t, o)
		if first == nil {
			first, bits = reports[0], weights
		}
		for task, r := range reports {
			if !reflect.DeepEqual(r, first) || !r.Stopped {
				t.Errorf("%d servers, task %d reports %+v, want %+v", servers, task, r, first)
			}
		}
		if !slices.Equal(weights, bits) {
			t.Errorf("%d servers: other weights", servers)
		}
	}
}

// TestPacer wants the rate cut for every window that is not better by the tolerance, and the end after as many in a row as
// the patience; a loss that is next to nothing does not count as getting better.
func TestPacer(t *testing.T) {
	for _, c := range []struct {
		losses string // of windows, in percent of the loss of no model
		factor float64
		stops  bool
	}{
		{"50 40 30 20 10", 1, false},
		{"50 49.99", 0.5, false},
		{"50 49.99 40 39.99", 0.25, false},
		{"50 49.99 60", 0.25, true},
		{"0.01 0.008 0.004", 1, false},
		{"0.001 0.0008 0.0004", 0.25, true},
	} {
		p := newPacer(&Pace{Window: 2, Tolerance: 1e-2, Cut: 2, Patience: 2}, 1)
		stopped := false
		for _, text := range strings.Fields(c.losses) {
			loss, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if p.next(loss/100+1e-7, 0) {
				t.Errorf("%s: stopped within a window", c.losses)
			}
			stopped = p.next(loss/100-1e-7, 0)
		}
		if stopped != c.stops || p.factor != c.factor {
			t.Errorf("%s: stopped %v at rate %v, want %v at %v", c.losses, stopped, p.factor, c.stops, c.factor)
		}
	}
}

// TestPaceOfClearCut: a loss that falls like 1/epochs to a small limit is followed to 1 % above it; windows of a fixed length stop earlier.
func TestPaceOfClearCut(t *testing.T) {
	above := func(grow, limit float64) float64 {
		p := newPacer(&Pace{Window: 1, Tolerance: paceTolerance, Cut: paceCut, Patience: pacePatience, Grow: grow}, 1)
		for epoch := 1.0; ; epoch++ {
			if p.next(limit*(1+20/epoch), 0) {
				return 20 / epoch
			}
		}
	}
	for _, limit := range []float64{0.02, 0.05, 0.2} {
		if got := above(paceGrow, limit); got > 0.0125 {
			t.Errorf("limit %v: stopped %.3g above it, want about 1 %%", limit, got)
		}
		if got := above(0, limit); got < 0.05 {
			t.Errorf("limit %v: fixed windows stopped %.3g above it: this test shows nothing", limit, got)
		}
	}
	if got, want := above(paceGrow, 0.5), above(0, 0.5); got != want {
		t.Errorf("a loss of half of that of one score stopped %v above its limit, want %v as ever", got, want)
	}
}

// TestPaceAboveNull: a training whose loss is above that of one score for all continues at lower rates, but not for ever.
func TestPaceAboveNull(t *testing.T) {
	for _, c := range []struct {
		null   bool
		losses []float64 // the last one is of all further epochs
		epochs int
	}{
		{false, []float64{1.2}, 3},
		{true, []float64{1.2}, 8}, // at 3^-7 of the rate
		{true, []float64{1.2, 1.3, 1.4, 0.8}, 6},
		{true, []float64{1.005}, 3},
	} {
		p := newPacer(&Pace{Window: 1, Tolerance: paceTolerance, Cut: paceCut, Patience: 2, Null: c.null}, 1)
		epochs := 1
		for !p.next(c.losses[min(epochs, len(c.losses))-1], 0) {
			epochs++
		}
		if epochs != c.epochs {
			t.Errorf("losses %v of one score's, null %v: stopped after %d epochs, want %d", c.losses, c.null, epochs, c.epochs)
		}
	}
}

// TestPaceOfPenalty: where the loss is nothing, the training continues while the penalty falls, and else ends.
func TestPaceOfPenalty(t *testing.T) {
	epochs := func(penalty func(epoch float64) float64) float64 {
		p := newPacer(&Pace{Window: 1, Tolerance: paceTolerance, Cut: paceCut, Patience: pacePatience}, 1)
		for epoch := 1.0; ; epoch++ {
			if p.next(1e-6, penalty(epoch)) {
				return epoch
			}
		}
	}
	if got := epochs(func(float64) float64 { return 0 }); got != 1+pacePatience {
		t.Errorf("without penalty: %v epochs, want %d", got, 1+pacePatience)
	}
	if got := epochs(func(epoch float64) float64 { return 1e-4 * (1 + 1/epoch) }); got < 20 {
		t.Errorf("a penalty that falls like 1/epochs: stopped after %v, want about 30", got)
	}
}

// TestPlateau wants the rate of the schedule plateau halved for every epoch that is not better, and no end unless it is asked for.
func TestPlateau(t *testing.T) {
	s, err := optim.FindSchedule("plateau")
	if err != nil {
		t.Fatal(err)
	}
	for patience, stops := range map[float64]bool{0: false, 2: true} {
		pace, err := PaceOf(s, map[string]float64{"patience": patience})
		if err != nil {
			t.Fatal(err)
		}
		p := newPacer(pace, 1)
		stopped := false
		for _, loss := range []float64{-0.5, -0.6, -0.6, -0.5} { // losses of counts may be below zero
			stopped = p.next(loss, 0)
		}
		if p.factor != 0.25 || stopped != stops {
			t.Errorf("patience %v: rate %v, stopped %v, want 0.25 and %v", patience, p.factor, stopped, stops)
		}
	}
	if s, err = optim.FindSchedule("cosine"); err != nil {
		t.Fatal(err)
	}
	if pace, err := PaceOf(s, nil); pace != nil || err != nil {
		t.Errorf("cosine has the pace %v (%v), want none", pace, err)
	}
}

// TestWrap wants the last batch of an epoch filled up from its start.
func TestWrap(t *testing.T) {
	all := examples(7, 1)
	for i := range all.Label {
		all.Label[i] = float32(i)
	}
	for _, c := range []struct {
		task, tasks, batch int
		want               [][]float32
	}{
		{0, 1, 3, [][]float32{{0, 1, 2}, {3, 4, 5}, {6, 0, 1}}},
		{1, 2, 4, [][]float32{{1, 3}, {5, 1}}},
		{0, 1, 10, [][]float32{{0, 1, 2, 3, 4, 5, 6, 0, 1, 2}}},
	} {
		steps := Steps(7, c.tasks, c.batch)
		o := Options{Data: set(all), Task: c.task, Tasks: c.tasks, Batch: c.batch, Wrap: true, InOrder: true}
		l := &loop{Options: o, order: newOrder(o), steps: steps, team: team{present: everybody(c.tasks), rank: c.task}}
		var gather data.Gatherer
		if err := l.order.begin(1); err != nil || steps != len(c.want) {
			t.Errorf("%+v: %d steps, %v", c, steps, err)
		}
		for step, want := range c.want {
			if got, err := l.batch(&gather, step); err != nil || !slices.Equal(got.Label, want) {
				t.Errorf("%+v, step %d: %v, want %v, %v", c, step, got.Label, want, err)
			}
		}
	}
}

// TestAllowance wants small data to get many epochs, large data those of the recipe, whatever the machine.
func TestAllowance(t *testing.T) {
	for _, c := range []struct {
		b       *data.Batch
		weights int64
		epochs  int
		window  int
	}{{examples(270, 1), 30, 66417, 166}, {examples(100_000, 1), 30, 260, 1}, {examples(270, 1), 1 << 40, 10, 1}} {
		epochs, pace, about := Allowance(set(c.b), c.weights, 1, 512, 10)
		if epochs != c.epochs || pace.Window != c.window || about <= 0 {
			t.Errorf("%d examples, %d weights: %d epochs in %v, windows of %d; want %d, %d", c.b.Len(), c.weights, epochs, about, pace.Window,
				c.epochs, c.window)
		}
	}
}

// TestEvents wants progress to go up to all examples of all epochs.
func TestEvents(t *testing.T) {
	for _, c := range []struct{ n, tasks, batch int }{{100, 3, 10}, {7, 3, 1}, {5, 2, 100}, {64, 1, 8}} {
		var rows []int64
		done := 0
		o := Options{Data: set(examples(c.n, 1)), Epochs: 2, Batch: c.batch, Rate: rate(0.1), Events: func(e Event) {
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
	good := Options{Data: set(examples(4, 1)), Epochs: 1, Batch: 1, Rate: rate(1)}
	for name, change := range map[string]func(o *Options){
		"no data":     func(o *Options) { o.Data = nil },
		"no examples": func(o *Options) { o.Data = set(examples(0, 1)) },
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
