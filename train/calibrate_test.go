package train

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/algo"
	"thole.example/data"
)

// skewed gives examples labels by a rate that their first feature moves, and weights.
func skewed(n, classes int, share float64, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 21))
	s := set(fielded(n, seed))
	for i := range s.Label {
		y := btoi(rng.Float64() < share*(0.5+rng.Float64()))
		switch s.Label[i] = float32(2*y - 1); {
		case classes == 1:
			s.Label[i] = float32(y)
		case classes > 2:
			s.Label[i] = float32(y * (1 + rng.IntN(classes-1)))
		}
		s.Weight = append(s.Weight, float32(1+rng.IntN(3)))
	}
	return s
}

// After a training that ends in the midst of its steps the mean prediction is the mean label, by the weights: the same bits on any number
// of servers and of processes, and with an offset as well.
func TestCalibrate(t *testing.T) {
	for _, name := range []string{"lr", "softmax", "fm", "deepfm", "linreg", "poisson"} {
		for _, share := range []float64{0.05, 0.3} {
			w := world{servers: 1, tasks: 3, algo: name, conf: algo.Conf{Dim: 32, Size: algo.Size{Fields: 4, Factors: 2}}}
			o := Options{Epochs: 1, Batch: 32, Rate: rate(1), Seed: 3, Measured: true, Calibrate: true}
			switch name {
			case "lr":
				o.Offset, w.conf.Size = 1.5, algo.Size{}
			case "softmax":
				w.conf.Classes, w.conf.Size = 3, algo.Size{}
			case "linreg", "poisson":
				o.Rate, w.conf.Classes, w.conf.Size = rate(0.3), 1, algo.Size{}
			}
			o.Data = skewed(6000, cmp.Or(w.conf.Classes, 2), share, 5)
			o.Valid = skewed(300, cmp.Or(w.conf.Classes, 2), share, 6)
			reports, weights, errs := w.job(t, o)
			if err := firstError(errs); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			r := reports[0]
			if math.Abs(r.Was-1) < 0.02 || len(r.Moved) == 0 || math.Abs(r.Ratio-1) > 1e-2 {
				t.Errorf("%s, share %v: ratio %v, was %v, moved by %v: want it far from 1 before, and 1 after", name, share, r.Ratio, r.Was, r.Moved)
			}
			if loss := r.Train[0].Value; loss > r.Null*4 {
				t.Errorf("%s, share %v: loss %v, of one score %v", name, share, loss, r.Null)
			}
			for _, other := range []world{{servers: 3}, {servers: 2, each: 1}} {
				v := w
				v.servers, v.each = other.servers, other.each
				again, same, errs := v.job(t, o)
				if err := firstError(errs); err != nil || !slices.Equal(weights, same) || again[0].Valid[0] != r.Valid[0] {
					t.Errorf("%s, share %v, %d servers: other weights or metrics %v, want %v: %v", name, share, v.servers, again[0].Valid, r.Valid, err)
				}
			}
			o.Calibrate = false
			if reports, _, errs = w.job(t, o); firstError(errs) != nil || reports[0].Moved != nil || reports[0].Ratio != reports[0].Was {
				t.Errorf("%s: moved by %v without being asked, %v", name, reports[0].Moved, errs)
			}
		}
	}
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestCalibrateHuber: robust, which predicts no mean, ends where the mean gradient is 0, also of labels beyond delta.
func TestCalibrateHuber(t *testing.T) {
	for _, scale := range []float32{1, 3} {
		o := Options{Epochs: 1, Batch: 32, Rate: rate(0.3), Seed: 3, Measured: true, Calibrate: true, Data: skewed(6000, 1, 0.05, 5)}
		for i := range o.Data.Label {
			o.Data.Label[i] *= scale
		}
		w := world{servers: 2, tasks: 2, algo: "robust", conf: algo.Conf{Dim: 32}}
		off := func() (mean float64) {
			reports, weights, errs := w.job(t, o)
			if err := firstError(errs); err != nil || o.Calibrate != (len(reports[0].Moved) == 1) || reports[0].Ratio != 0 {
				t.Fatalf("labels up to %g: moved by %v, ratio %v, %v", scale, reports[0].Moved, reports[0].Ratio, err)
			}
			b, all := o.Data.Batch(), 0.0
			rows := b.Rows()
			for i, y := range b.Label {
				score := float64(weights[32])
				for k := rows.Ptr[i]; k < rows.Ptr[i+1]; k++ {
					score += float64(weights[rows.Idx[k]] * rows.Val[k])
				}
				mean += float64(b.Weight[i]) * max(-1, min(1, score-float64(y)))
				all += float64(b.Weight[i])
			}
			return mean / all
		}
		got := off()
		if o.Calibrate = false; math.Abs(got) > 1e-4 || math.Abs(off()) < 1e-3 {
			t.Errorf("labels up to %g: the mean gradient is %v, %v without a move: want 0, and something else", scale, got, off())
		}
	}
}

// Labels of one class, and losses without probabilities, are left as they are.
func TestCalibrateNothing(t *testing.T) {
	for _, name := range []string{"lr", "svm"} {
		o := Options{Epochs: 1, Batch: 32, Rate: rate(0.1), Seed: 3, Measured: true, Calibrate: true, Data: set(examples(200, 1))}
		if name == "lr" {
			clear(o.Data.Label)
		}
		reports, _, errs := world{servers: 1, tasks: 1, algo: name}.job(t, o)
		if err := firstError(errs); err != nil || reports[0].Ratio != 0 || reports[0].Moved != nil {
			t.Errorf("%s: ratio %v, moved %v, %v", name, reports[0].Ratio, reports[0].Moved, err)
		}
	}
}

// Numbers around 0, of whose mean nothing can be said in shares, get the bias that their mean asks for.
func TestCalibrateNumbers(t *testing.T) {
	o := Options{Epochs: 1, Batch: 32, Rate: rate(1), Seed: 3, Measured: true, Calibrate: true, Data: skewed(6000, 2, 0.5, 5)}
	mean := 0.0
	for i, y := range o.Data.Label {
		mean += float64(y) / 6000
		o.Data.Weight[i] = 1
	}
	for i := range o.Data.Label {
		o.Data.Label[i] = 1000 * (o.Data.Label[i] - float32(mean))
	}
	w := world{servers: 2, tasks: 2, algo: "linreg"}
	w.conf.Dim = 32
	reports, _, errs := w.job(t, o)
	if err := firstError(errs); err != nil || len(reports[0].Moved) != 1 || reports[0].Ratio != 0 {
		t.Fatalf("moved by %v, ratio %v, %v: want a move", reports[0].Moved, reports[0].Ratio, err)
	}
	if got := labelMeans("l2loss", o.Data.Label, nil, 1)[0]; math.Abs(got.Mean) > 1 || math.Abs(got.Size-10) > 0.1 {
		t.Errorf("mean %v, size %v, want about 0 and a hundredth of 1000", got.Mean, got.Size)
	}
}
