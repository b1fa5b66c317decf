package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/rpctest"
	"thole.example/rpc/tcp"
	"thole.example/ssp"
)

// ruleNames are no rule and those of the table.
func ruleNames() []string {
	names := []string{""}
	for _, r := range optim.Rules() {
		names = append(names, r.Name)
	}
	return names
}

// TestBSPSameBits trains three tasks for some steps with values whose sums depend on the order, on different clusters,
// and wants the same bits from all of them.
func TestBSPSameBits(t *testing.T) {
	clusters := []struct {
		net     string
		servers int
		cut     string
	}{
		{"mem", 1, "column"}, {"mem", 2, "column"}, {"mem", 3, "range"}, {"mem", 7, "column"}, {"tcp", 2, "column"}, {"flaky", 3, "range"},
		{"mem", 2, "hash"}, {"mem", 5, "hash"}, {"tcp", 3, "hash"}, {"flaky", 2, "hash"},
	}
	for i, m := range kindsOfMatrices() {
		var want []float64
		for j, s := range clusters {
			if testing.Short() && (i+j)%4 > 0 { // each of both still with some of the others
				continue
			}
			if s.cut == "hash" && m.Layout == matrix.RowDense || s.cut == "range" && m.Storage == matrix.I8 {
				continue
			}
			t.Run(fmt.Sprintf("%v/%v/%v/%s/%s-%d-%s", m.DType, m.Storage, m.Layout, m.Rule, s.net, s.servers, s.cut), func(t *testing.T) {
				var net rpc.Network = &mem.Network{}
				switch s.net {
				case "tcp":
					net = &tcp.Network{}
				case "flaky":
					net = rpctest.Flaky(net, 13)
				}
				c := newCluster(t, net, s.servers)
				if s.net == "flaky" {
					c.retry = retry
				}
				got := train(c, s.cut, m)
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) || slices.ContainsFunc(got, func(v float64) bool { return v-v != 0 }) {
					t.Fatalf("bits differ from those of the first cluster, or are no numbers")
				}
			})
		}
	}
}

// kindsOfMatrices are matrices of each type of float, each layout and each rule.
func kindsOfMatrices() (all []matrix.Meta) {
	for _, dtype := range []matrix.DType{matrix.F64, matrix.F32} {
		for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
			for _, rule := range ruleNames() {
				m := meta("w", 2, 300, layout)
				m.DType, m.Rule, m.Init = dtype, rule, matrix.Init{Kind: "normal", Scale: 0.1, Seed: 7}
				all = append(all, m)
			}
		}
	}
	for _, storage := range []matrix.DType{matrix.F16, matrix.BF16, matrix.I8} {
		for _, rule := range []string{"", "sgd", "adagrad"} {
			m := meta("w", 2, 300, matrix.RowSparse)
			m.DType, m.Storage, m.Rule, m.Init = matrix.F32, storage, rule, matrix.Init{Kind: "normal", Scale: 0.1, Seed: 7}
			if all = append(all, m); storage != matrix.I8 {
				m.Layout = matrix.RowDense
				all = append(all, m)
			}
		}
	}
	return all
}

func train(c *cluster, cut string, m matrix.Meta) []float64 {
	if m.DType == matrix.F32 {
		return trainBits[float32](c, cut, m)
	}
	return trainBits[float64](c, cut, m)
}

// trainBits has tasks pull and push blocks, planned keys in any order with duplicates, and both in one message, in turn; it gives
// what one of them reads in the end.
func trainBits[T float32 | float64](c *cluster, cut string, m matrix.Meta) (out []float64) {
	const steps, tasks = 12, 3
	c.run(tasks, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
		if err := p.Create(ctx, cut, m); err != nil {
			return err
		}
		w, err := p.Matrix("w")
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(1, uint64(task)))
		for step := range steps {
			if step%2 == 0 {
				err = blockStep[T](ctx, p, rng, m.Cols, step%4 == 0)
			} else {
				err = keysStep[T](ctx, p, w, rng)
			}
			if err != nil {
				return fmt.Errorf("step %d: %w", step, err)
			}
		}
		keys := make([]int64, m.Cols)
		for i := range keys {
			keys[i] = int64(i)
		}
		got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w", Cols: keys}})
		if err == nil && task == 1 {
			for _, v := range got[0].Data.Values().([]T) {
				out = append(out, float64(v))
			}
		}
		return err
	})
	return out
}

// blockStep pulls some columns, pushes a gradient for them, and ends the clock, with the next pull in the same message or not.
func blockStep[T float32 | float64](ctx context.Context, p *ps.Client, rng *rand.Rand, cols int64, next bool) error {
	keys := []int64{}
	for k := range cols {
		if rng.IntN(3) == 0 {
			keys = append(keys, k)
		}
	}
	got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w", Cols: keys}})
	if err != nil {
		return err
	}
	g := got[0].Clone()
	val := g.Data.Values().([]T)
	for i, v := range val {
		val[i] = v/3 + T(rng.NormFloat64())
	}
	if err := p.Push("w", g); err != nil {
		return err
	}
	if !next {
		return p.Clock(ctx, 3, 0.1)
	}
	got, err = p.Next(ctx, 3, 0.1, []matrix.Lookup{{Matrix: "w", Cols: keys}}, nil)
	if err != nil {
		return err
	}
	for i, v := range got[0].Data.Values().([]T) {
		val[i] = v * T(rng.NormFloat64())
	}
	return errors.Join(p.Push("w", g), p.Clock(ctx, 1, 0.05))
}

// keysStep does the same with a plan of keys in any order, of which some come twice.
func keysStep[T float32 | float64](ctx context.Context, p *ps.Client, w *ps.Matrix, rng *rand.Rand) error {
	keys := make([]int64, 150)
	for i := range keys {
		keys[i] = rng.Int64N(w.Meta().Cols)
	}
	k, err := w.Plan(nil, keys)
	if err != nil {
		return err
	}
	val := make([]T, len(keys)*int(w.Meta().Rows))
	if err := ps.PullKeys(ctx, w, k, val); err != nil {
		return err
	}
	for i, v := range val {
		val[i] = v/3 + T(rng.NormFloat64())
	}
	return errors.Join(ps.PushKeys(w, k, val), p.Clock(ctx, 3, 0.1))
}
