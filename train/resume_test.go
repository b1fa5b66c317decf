package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/ssp"
)

// ruled are worlds with each update rule, dense and sparse, and a network that drops at random.
func ruled() map[string]world {
	all := map[string]world{
		"dnn":            {algo: "dnn", conf: algo.Conf{Dim: 32, Size: algo.Size{Fields: 4, Factors: 3, Hidden: []int{8}, Dropout: 0.3}}},
		"deepfm, sparse": {algo: "deepfm", conf: algo.Conf{Dim: 32, Sparse: true, Size: algo.Size{Fields: 4, Factors: 3, Hidden: []int{8}}}},
	}
	for _, rule := range optim.Rules() {
		all[rule.Name] = world{algo: "lr", conf: algo.Conf{Dim: 32, Rule: rule.Name}}
		all[rule.Name+", sparse"] = world{algo: "fm", conf: algo.Conf{Dim: 32, Sparse: true, Rule: rule.Name, Size: algo.Size{Fields: 4, Factors: 3}}}
	}
	return all
}

// Two epochs, and two more after a checkpoint on other servers, are four epochs, to the bit: with every rule, whose rate the third
// epoch changes, with random choices, and with what the pace has seen.
func TestResume(t *testing.T) {
	o := Options{Data: set(fielded(150, 1)), Batch: 16, Seed: 3, Pace: &Pace{Window: 1, Tolerance: 0.5, Cut: 2, Patience: 9}}
	o.Rate = func(epoch, step int) float64 { return 0.2 / float64(epoch) / (1 + float64(step)/100) }
	for name, w := range ruled() {
		t.Run(name, func(t *testing.T) {
			w.tasks, w.servers, w.bucket = 2, 1, &blob.Mem{}
			all := o
			all.Epochs = 4
			reports, want := w.trained(t, all)
			first := w
			first.servers, first.save = 2, "half"
			half := o
			half.Epochs = 2
			first.trained(t, half)
			for _, total := range []bool{false, true} {
				second := w
				second.resume = "half"
				second.same, half.Epochs = total, 2
				if total {
					half.Epochs = 4
				}
				more, got := second.trained(t, half)
				if !slices.Equal(got, want) {
					t.Errorf("total %v: other weights", total)
				}
				wantLosses := reports[0].Losses
				if !total {
					wantLosses = wantLosses[2:]
				}
				if r := more[1]; r.Before != 4-len(wantLosses) || r.Epochs != len(wantLosses) || !slices.Equal(r.Losses, wantLosses) || r.Train[0] != reports[0].Train[0] {
					t.Errorf("total %v: %+v, want the end of %+v", total, r, reports[0])
				}
			}
		})
	}
}

// A training that goes on from any of its steps ends with the bits of one that was never interrupted, and tells the same: with random
// choices, windows of a file, batches that begin again at the start, what the pace and the held-out examples have decided, and best epochs
// that were before.
func TestGoesOnAtAnyStep(t *testing.T) {
	held := set(examples(60, 9))
	o := Options{Data: set(examples(150, 1)), Batch: 16, Seed: 3, Rate: rate(0.2), Epochs: 3}
	early := o
	early.Valid, early.Early, early.Epochs = held, &Early{Patience: 2}, 5
	early.Rate = func(epoch, step int) float64 { return []float64{0.3, 3, 4, 0.1, 0.1}[epoch-1] } // the first epoch is the best one
	for name, c := range map[string]struct {
		o Options
		w world
	}{
		"plain":   {o: o},
		"dropout": {o: Options{Data: set(fielded(150, 1)), Batch: 16, Seed: 3, Rate: rate(0.2), Epochs: 2}, w: ruled()["dnn"]},
		"ftrl":    {o: o, w: world{conf: algo.Conf{Sparse: true, Rule: "ftrl"}}},
		"window":  {o: with(o, func(o *Options) { o.Window = 64 })},
		"wrap":    {o: with(o, func(o *Options) { o.Wrap = true })},
		"drawn":   {o: with(o, func(o *Options) { o.PosNeg = 1 })},
		"pace":    {o: with(o, func(o *Options) { o.Epochs, o.Pace = 6, &Pace{Window: 1, Tolerance: 0.3, Cut: 2, Patience: 1} })},
		"settled": {o: with(o, func(o *Options) { o.Epochs, o.Tolerance = 6, 0.2 })},
		"early":   {o: early},
		"watched": {o: with(o, func(o *Options) { o.Valid, o.Watch = held, true })},
		"held":    {o: with(o, func(o *Options) { o.Valid = held })},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.w
			w.tasks, w.servers, w.bucket, w.steps = 2, 2, &blob.Mem{}, 7
			plain := w
			plain.steps = 0
			reports, want := plain.trained(t, c.o)
			again, got := w.trained(t, c.o)
			if !slices.Equal(got, want) || !reflect.DeepEqual(again, reports) {
				t.Fatalf("with checkpoints it is another training: %+v, want %+v", again[0], reports[0])
			}
			w.same = true
			steps := Steps(c.o.Data.Len(), 2, c.o.Batch)
			for made := 7; made <= reports[0].Epochs*steps; made += 7 {
				for _, servers := range []int{1, 3} {
					on := w
					on.servers, on.resume, on.steps = servers, fmt.Sprint("step", made), 0
					more, got := on.trained(t, c.o)
					if !slices.Equal(got, want) {
						t.Errorf("after %d steps, on %d servers: other weights", made, servers)
					}
					for task, r := range more {
						if !reflect.DeepEqual(r, reports[task]) {
							t.Errorf("after %d steps, on %d servers: task %d tells %+v, want %+v", made, servers, task, r, reports[task])
						}
					}
				}
			}
		})
	}
}

func with(o Options, f func(o *Options)) Options {
	f(&o)
	return o
}

// Tasks may be more or fewer than before, but only where an epoch has ended.
func TestOtherTasks(t *testing.T) {
	o := Options{Data: set(examples(160, 1)), Batch: 16, Seed: 3, Rate: rate(0.2), Epochs: 2}
	w := world{servers: 1, tasks: 2, bucket: &blob.Mem{}, steps: 5}
	w.trained(t, o)
	o.Epochs, w.same, w.tasks, w.steps = 3, true, 3, 0
	w.resume = "step10"
	if reports, _ := w.trained(t, o); reports[2].Before != 0 || reports[2].Epochs != 3 || len(reports[2].Losses) != 3 {
		t.Errorf("%+v", reports[2])
	}
	w.resume = "step15"
	_, _, errs := w.job(t, o)
	if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), "step 5 of 10 in epoch 2 of a training of 2 tasks, and this one has 11") {
		t.Error(err)
	}
}

// Under ASP tasks may be at different steps in a checkpoint. They go on from there such that those who are at one clock have made the same
// steps once more, and nobody is at the end before the others are.
func TestTasksApart(t *testing.T) {
	o := Options{Data: set(examples(160, 1)), Batch: 16, Seed: 3, Rate: rate(0.2), Epochs: 3}
	w := world{servers: 2, tasks: 2, bound: ssp.ASP, bucket: &blob.Mem{}, steps: 3}
	w.trained(t, o)
	w.steps, w.resume, w.same, w.clocks = 0, "step3", true, make([]int, 2)
	for _, ahead := range []float64{0, 4, 1e9} {
		w.restored = func(ctx context.Context, c *ps.Client) error {
			board, err := c.Matrix(placeBoard)
			if err != nil {
				return err
			}
			place, err := board.GetCols(ctx, []int64{0})
			if err != nil {
				return err
			}
			val := place.Data.Values().([]float64)
			val[placeStep] += min(4, ahead)
			val[placeClock] += ahead
			at := matrix.At(0, placeRows, 1, 2)
			return board.AssignNow(ctx, matrix.Block{At: at, Data: &matrix.Cols[float64]{Idx: []int64{1}, Val: val}}).Wait(ctx)
		}
		_, _, errs := w.job(t, o)
		err := errors.Join(errs...)
		switch {
		case ahead > 100:
			if err == nil || !strings.Contains(err.Error(), "clocks ahead of the last task") {
				t.Errorf("%v ahead: %v, want that to be refused", ahead, err)
			}
		case err != nil || w.clocks[0] != w.clocks[1]:
			t.Errorf("task 1 is %v steps ahead: %v, in the end tasks are at clocks %v, want the same", ahead, err, w.clocks)
		}
	}
}

// A training whose weights were dense goes on with sparse ones, which have room for new features. By rules that do to columns without
// gradients what they do to others, or nothing, the weights are those that stay dense.
func TestSparseFromDense(t *testing.T) {
	for _, rule := range optim.Rules() {
		bucket := &blob.Mem{}
		o := Options{Data: set(fielded(200, 7)), Epochs: 2, Batch: 16, Rate: rate(0.02), Seed: 5}
		w := world{algo: "fm", servers: 2, tasks: 2, bucket: bucket, save: "dense",
			conf: algo.Conf{Dim: 32, Rule: rule.Name, Size: algo.Size{Fields: 4, Factors: 3}}}
		_, before := w.trained(t, o)
		w.save, w.resume = "", "dense"
		_, dense := w.trained(t, o)
		w.conf.Sparse, w.servers = true, 3
		_, sparse := w.trained(t, o)
		within := 1e-6
		switch rule.Name {
		case "adagrad":
			within = 1e-3
		case "adam", "adamw", "amsgrad": // move columns without gradients, too, where they are dense
			within = 0.1
		}
		for i, v := range dense {
			if far := math.Abs(float64(v - sparse[i])); !(far <= within) {
				t.Fatalf("%s: weight %d is %v, and %v where it stays dense", rule.Name, i, sparse[i], v)
			}
		}
		o.Rate = rate(0)
		if _, same := w.trained(t, o); rule.Name != "ftrl" && !slices.Equal(same, before) { // whose weights are a function of the rate
			t.Errorf("%s: other weights than those of the checkpoint", rule.Name)
		}
	}
}
