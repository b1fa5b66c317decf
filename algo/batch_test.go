package algo

import (
	"math"
	"testing"
)

// A batch has about as many examples as an epoch has steps, between the bounds.
func TestBatchOf(t *testing.T) {
	for _, c := range []struct{ rows, want int }{
		{0, 16}, {1, 16}, {270, 16}, {22_792, 128}, {32_561, 128}, {100_000, 256}, {1_000_000, 1024}, {1 << 40, 1024},
	} {
		if got := BatchOf(c.rows); got != c.want {
			t.Errorf("%d rows: batches of %d, want %d", c.rows, got, c.want)
		}
	}
}

// Gradients of a batch are means: what one example of many says is a share of it, and eps is the same share. What the user says stays.
func TestEpsFollowsBatch(t *testing.T) {
	for _, c := range []struct {
		batch int
		hyper map[string]float64
		want  float64
	}{{128, nil, 1. / 128}, {4096, nil, 1. / 4096}, {0, nil, 1. / 1024}, {4096, map[string]float64{"eps": 0.5}, 0.5}} {
		m, err := deepfm.Build(Conf{Dim: 24, Size: Size{Fields: 4}, Batch: c.batch, Hyper: c.hyper})
		if err != nil {
			t.Fatal(err)
		}
		tables := 0
		for _, p := range m.Params() {
			if p.Rule != "adagrad" {
				continue
			}
			if tables++; math.Abs(p.Hyper["eps"]-c.want) > 1e-12 {
				t.Errorf("batches of %d: %s has eps %v, want %v", c.batch, p.Name, p.Hyper["eps"], c.want)
			}
		}
		if tables < 2 {
			t.Errorf("%d matrices learn by adagrad, want weights and vectors", tables)
		}
	}
}

// Many examples are seen once, few in as many epochs as they are not learned by heart in.
func TestEpochsOf(t *testing.T) {
	for _, c := range []struct {
		d              *Defaults
		examples, want int
	}{{&netDefaults, 22_792, 7}, {&netDefaults, 32_561, 5}, {&netDefaults, 100, 7}, {netWide, 1_000_000, 1}, {netWide, 100_000, 2},
		{netWide, 100, 2}, {wideLinear, 100_000, 3}, {wideLinear, 1, 3}, {&lr.Defaults, 100, 0}, {&netDefaults, 0, 7}} {
		if got := c.d.EpochsOf(c.examples); got != c.want {
			t.Errorf("%d examples of %+v: %d epochs, want %d", c.examples, c.d, got, c.want)
		}
	}
}
