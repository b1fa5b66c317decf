package train

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/rpc/tcp"
	"thole.example/ssp"
)

// A training that the held-out examples stop has the weights, to the bit, of one that was told to make the best epoch its last,
// whatever the servers; all tasks report the same.
func TestEarly(t *testing.T) {
	o := Options{Data: set(fielded(120, 1)), Valid: set(fielded(200, 2)), Epochs: 60, Batch: 16, Rate: rate(0.3), Seed: 3}
	for i := 0; i < o.Data.Len(); i += 4 { // what is learned of these by heart is wrong elsewhere
		o.Data.Label[i] *= -1
	}
	for _, sparse := range []bool{false, true} {
		w := world{algo: "fm", tasks: 2, conf: algo.Conf{Dim: 32, Sparse: sparse, Size: algo.Size{Fields: 4, Factors: 3}}}
		var first *Report
		for _, servers := range []int{1, 2, -2} { // below 0: by TCP
			if w.servers, w.net = servers, nil; servers < 0 {
				w.servers, w.net = -servers, &tcp.Network{}
			}
			stopped := o
			stopped.Early = &Early{Patience: 3}
			reports, weights := w.trained(t, stopped)
			if first == nil {
				first = reports[0]
			}
			r := reports[0]
			for _, other := range reports {
				if !reflect.DeepEqual(other, first) {
					t.Errorf("on %d servers %+v, want %+v", servers, other, first)
				}
			}
			if !r.Stopped || r.Best < 1 || r.Epochs != r.Best+3 {
				t.Fatalf("%d epochs, the best %d, stopped %v, want three after the best", r.Epochs, r.Best, r.Stopped)
			}
			plain := o
			plain.Epochs = r.Best
			told, same := w.trained(t, plain)
			if !slices.Equal(weights, same) {
				t.Errorf("on %d servers: not the weights of %d epochs", servers, r.Best)
			}
			if !reflect.DeepEqual(told[0].Valid, r.Valid) || !reflect.DeepEqual(told[0].Train, r.Train) {
				t.Errorf("valid %v, train %v, want %v, %v", r.Valid, r.Train, told[0].Valid, told[0].Train)
			}
		}
	}
}

// The best epoch is brought back when all tasks have read the scores of the last one, which go with it: who reads while one server
// has them and the other does not would judge by a mixture.
func TestAllReadBefore(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
		w := world{servers: 2, tasks: 3, bound: bound, reads: &reads{}}
		o := Options{Data: set(examples(60, 1)), Valid: set(examples(41, 2)), Epochs: 30, Batch: 10, Rate: rate(0.5), Seed: 7}
		for i := 0; i < o.Data.Len(); i += 3 { // what is learned of these by heart is wrong elsewhere
			o.Data.Label[i] *= -1
		}
		o.Early = &Early{Patience: 2}
		reports, _ := w.trained(t, o)
		if r := reports[0]; r.Best == r.Epochs || w.reads.before.Load() != int64(w.tasks*r.Epochs) {
			t.Errorf("%v: epoch %d of %d was brought back after %d reads, want all %d", bound, r.Best, r.Epochs, w.reads.before.Load(),
				w.tasks*r.Epochs)
		}
	}
}

// Examples that are watched have after every epoch the metrics of a training that ends there.
func TestWatch(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		o := Options{Data: set(examples(60, 1)), Valid: set(examples(41, 2)), Epochs: 3, Batch: 10, Rate: rate(0.3), Seed: 7, Watch: true}
		var seen []Metrics
		o.Events = func(e Event) {
			if e.Done {
				seen = append(seen, e.Valid)
			}
		}
		w := world{servers: 2, tasks: 3, bound: bound}
		reports, _ := w.trained(t, o)
		if len(seen) != 3 || !reflect.DeepEqual(seen[2], reports[0].Valid) {
			t.Fatalf("%v: %v, at the end %v", bound, seen, reports[0].Valid)
		}
		if bound != ssp.BSP {
			continue
		}
		for i := range seen {
			o.Epochs, o.Watch, o.Events = i+1, false, nil
			if told, _ := w.trained(t, o); !reflect.DeepEqual(told[0].Valid, seen[i]) {
				t.Errorf("after %d epochs %v, want %v", i+1, seen[i], told[0].Valid)
			}
		}
	}
}

func TestRace(t *testing.T) {
	at := func(loss, auc float64) Metrics { return Metrics{{"logloss", loss}, {"auc", auc}} }
	nan := math.NaN()
	for _, c := range []struct {
		early  Early
		epochs []Metrics
		best   int // 0: an error
		stop   bool
	}{
		{Early{Patience: 2}, []Metrics{at(3, 0), at(2, 0), at(2, 0), at(1, 0)}, 4, false},
		{Early{Patience: 2}, []Metrics{at(3, 0), at(2, 0), at(2, 0), at(2, 0)}, 2, true},
		{Early{Patience: 2, MinDelta: 1.5}, []Metrics{at(3, 0), at(2, 0), at(1, 0)}, 3, false},
		{Early{Patience: 1, Metric: "auc", Largest: true}, []Metrics{at(1, 0.5), at(2, 0.6), at(3, 0.6)}, 2, true},
		{Early{Patience: 1, Metric: "auc"}, []Metrics{at(1, nan)}, 0, false},
		{Early{Patience: 1, Metric: "rmse"}, []Metrics{at(1, 0)}, 0, false},
	} {
		r := race{Early: &c.early}
		var stop bool
		var err error
		for _, m := range c.epochs {
			_, stop, err = r.next(m)
		}
		if r.epoch != c.best || stop != c.stop || (err != nil) != (c.best == 0) {
			t.Errorf("%+v: best epoch %d, stop %v, %v, want %d, %v", c.epochs, r.epoch, stop, err, c.best, c.stop)
		}
		if err != nil && !strings.Contains(err.Error(), "logloss auc") && !strings.Contains(err.Error(), "auc of the held-out examples is no number") {
			t.Errorf("%v does not say what is wrong", err)
		}
	}
}

// Settings that mean nothing are refused.
func TestEarlySettings(t *testing.T) {
	for _, e := range []Early{{Patience: 0}, {Patience: 1, MinDelta: math.NaN()}} {
		o := Options{Data: set(examples(10, 1)), Valid: set(examples(10, 2)), Epochs: 1, Batch: 4, Rate: rate(0.1), Early: &e}
		if _, _, errs := (world{servers: 1, tasks: 1}).job(t, o); errs[0] == nil {
			t.Errorf("%+v is taken", e)
		}
	}
}
