package train

import (
	"context"
	"slices"
	"testing"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/optim"
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
				half.Total, half.Epochs = total, 2
				if total {
					half.Epochs = 4
				}
				more, got := second.trained(t, half)
				if !slices.Equal(got, want) {
					t.Errorf("total %v: other weights", total)
				}
				if r := more[1]; r.Before != 2 || r.Epochs != 2 || !slices.Equal(r.Losses, reports[0].Losses[2:]) || r.Train[0] != reports[0].Train[0] {
					t.Errorf("total %v: %+v, want the end of %+v", total, r, reports[0])
				}
			}
		})
	}
}

// Checkpoints of each epoch are each a place to go on from; a training with them has the bits of one without.
func TestEach(t *testing.T) {
	o := Options{Data: set(examples(150, 1)), Batch: 16, Seed: 3, Rate: rate(0.2), Epochs: 3}
	w := world{servers: 2, tasks: 2, bucket: &blob.Mem{}}
	_, want := w.trained(t, o)
	o.Each = func(context.Context, int) error { return nil } // the world's own
	if _, got := w.trained(t, o); !slices.Equal(got, want) {
		t.Error("other weights with checkpoints")
	}
	o.Each, o.Total = nil, true
	for _, at := range []string{"epoch1", "epoch2"} {
		w.resume = at
		if _, got := w.trained(t, o); !slices.Equal(got, want) {
			t.Errorf("other weights after %s", at)
		}
	}
	if left, _ := w.bucket.List(t.Context(), "epoch3"); len(left) > 0 {
		t.Error("a checkpoint of the last epoch, which nobody goes on from")
	}
}

// A training goes on with more columns: those it had go on as they were, whatever the rule keeps.
func TestResumeWider(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		w := world{servers: 2, tasks: 1, bucket: &blob.Mem{}, algo: "fm", save: "narrow"}
		w.conf = algo.Conf{Dim: 32, Sparse: sparse, Rule: "adam", Size: algo.Size{Fields: 4, Factors: 3}}
		o := Options{Data: set(fielded(150, 1)), Batch: 16, Seed: 3, Rate: rate(0.05), Epochs: 2}
		w.trained(t, o)
		w.save, w.resume, o.Epochs = "", "narrow", 1
		_, narrow := w.trained(t, o)
		w.conf.Dim = 50
		_, wide := w.trained(t, o)
		cut := append(slices.Clone(wide[:32]), wide[50]) // the wide part, the bias, and then the vectors
		if !slices.Equal(cut, narrow[:33]) {
			t.Errorf("sparse %v: %v, want %v", sparse, cut, narrow[:33])
		}
	}
}
