package server_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// orders are the orders in which n tasks can come.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for _, rest := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(rest), at, n-1))
		}
	}
	return all
}

// TestOrderOfSums: under BSP and SSP the sum is made in the order of tasks, in whichever order they come; under ASP in that in
// which they come. The sum of these three tells who came last: only after both large ones 1 is not lost.
func TestOrderOfSums(t *testing.T) {
	value := []float64{1e16, -1e16, 1}
	for _, bound := range []ssp.Bound{ssp.BSP, 3, ssp.ASP} {
		for _, order := range orders(3) {
			bubble(t, fmt.Sprint(bound, order), func(t *testing.T) {
				s := serve(t, nil)
				var c []*conn
				var ms []*known
				for task := range value {
					c = append(c, s.join(task, 3, bound))
					ms = c[task].create(one("w", 1, 1), spec("k", 1, 1<<40, matrix.RowSparse), with(one("g", 1, 1), "sgd"))
				}
				w, k, g := ms[0], ms[1], ms[2]
				want := 0.0
				for _, task := range order {
					v := value[task]
					c[task].pushed([]rpc.Part{w.row(0, v), k.columns(0, map[int64]float64{9: v}), g.row(0, v)},
						own(0), w.tick(0, 0, 0), k.tick(0, 0, 0), g.tick(0, 1, 1))
					want += v
				}
				step := -want
				if bound != ssp.ASP {
					want, step = 1, -1.0/3
				}
				clock := 1
				if bound == 3 {
					clock = 4 // where it has to see what all did at 0
				}
				got := c[0].pulled(w.whole(clock), k.keys(clock, 9), g.whole(clock))
				if !slices.Equal(got, []float64{want, want, step}) {
					t.Errorf("sums are %v, want %v", got, want)
				}
			})
		}
	}
}

// TestStaged: what a task pushes is seen by nobody before its clock is everybody's, itself included, unless the bound is ASP.
func TestStaged(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
		bubble(t, bound.String(), func(t *testing.T) {
			s := serve(t, nil)
			fast, slow := s.join(0, 2, bound), s.join(1, 2, bound)
			m := fast.create(one("m", 1, 1))[0]
			for clock := range 3 {
				fast.pushed([]rpc.Part{m.row(clock, 1)})
				fast.pushed([]rpc.Part{m.row(clock, 2)}, own(clock), m.tick(clock, 0, 0))
			}
			slow.pushed([]rpc.Part{m.row(0, 10)})
			seen := func(c *conn, clock int, what string, want float64) {
				t.Helper()
				if got := c.pulled(m.whole(clock)); got[0] != want {
					t.Errorf("%s sees %v, want %v", what, got, want)
				}
			}
			if bound == ssp.ASP {
				seen(fast, 3, "everybody", 19)
				seen(slow, 0, "everybody", 19)
				return
			}
			seen(slow, 0, "the slow one", 0)
			ahead := fast.pull(m.whole(3))
			synctest.Wait()
			if ahead.Ready() {
				t.Error("a pull three clocks ahead did not wait")
			}
			slow.pushed([]rpc.Part{m.row(0, 20)}, own(0), m.tick(0, 0, 0))
			seen(slow, 1, "the slow one after a clock", 33)
			if bound == 2 {
				if got := numbers(fast.wait(ahead).Parts); got[0] != 33 {
					t.Errorf("the fast one after a clock of the slow one: %v, want 33", got)
				}
			}
			slow.pushed([]rpc.Part{m.row(1, 100)}, own(1), m.tick(1, 0, 0))
			slow.pushed(nil, own(2), m.tick(2, 0, 0))
			seen(slow, 3, "the slow one in the end", 139)
			if bound == ssp.BSP {
				if got := numbers(fast.wait(ahead).Parts); got[0] != 139 {
					t.Errorf("the fast one in the end: %v, want 139", got)
				}
			}
		})
	}
}

// TestOnlyWhatTicked (D10): a tick is a step of its own matrix, with a rate and a weight of its own, and of no other.
func TestOnlyWhatTicked(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		bubble(t, bound.String(), func(t *testing.T) {
			s := serve(t, nil)
			c := s.join(0, 1, bound)
			heavy := func(name string) rpc.Spec {
				sp := with(one(name, 1, 1), "momentum")
				sp.Meta.Hyper = map[string]float64{"mu": 0.5}
				return sp
			}
			ms := c.create(heavy("a"), heavy("b"), with(spec("k", 1, 100, matrix.RowSparse), "sgd"))
			a, b, k := ms[0], ms[1], ms[2]
			c.pushed([]rpc.Part{a.row(0, 4), b.row(0, 4), k.columns(0, map[int64]float64{3: 4})},
				a.tick(0, 1, 1), b.tick(0, 4, 0.5), k.tick(0, 2, 0.25))
			first := c.pulled(a.whole(1), b.whole(1), k.keys(1, 3))
			if want := []float64{-4, -0.5, -0.5}; !slices.Equal(first, want) {
				t.Fatalf("after one step: %v, want %v", first, want)
			}
			for clock := 1; clock < 3; clock++ { // momentum goes on in a alone
				c.pushed(nil, a.tick(clock, 1, 1))
			}
			c.pushed(nil, own(0))
			got := c.pulled(a.whole(3), b.whole(1), k.keys(1, 3))
			if want := []float64{-4 - 2 - 1, -0.5, -0.5}; !slices.Equal(got, want) {
				t.Errorf("after two more steps of a: %v, want %v", got, want)
			}
			c.pushed(nil, b.tick(1, 1, 1))
			if got := c.pulled(b.whole(2)); got[0] != -0.5-0.5 { // half of the velocity 1, at the rate of 1
				t.Errorf("after one more step of b: %v, want -1", got)
			}
		})
	}
}

// TestBoundOfAMatrix: each matrix of a job is read under its own bound and by its own clocks.
func TestBoundOfAMatrix(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		fast, slow := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
		ms := fast.create(one("bsp", 1, 1), under(one("ssp", 1, 1), 2), under(one("asp", 1, 1), ssp.ASP))
		b, k, a := ms[0], ms[1], ms[2]
		step := func(c *conn, clock int, of ...*known) {
			var parts []rpc.Part
			var ticks []rpc.Tick
			for _, m := range of {
				parts, ticks = append(parts, m.row(clock, 1)), append(ticks, m.tick(clock, 0, 0))
			}
			c.pushed(parts, ticks...)
		}
		for clock := range 3 {
			step(fast, clock, b, k, a)
		}
		if got := fast.pulled(k.whole(2), a.whole(3)); !slices.Equal(got, []float64{0, 3}) {
			t.Errorf("under SSP(2) at clock 2 and ASP: %v, want 0 3", got)
		}
		three := fast.pull(k.whole(3))
		first := fast.pull(b.whole(1))
		both := fast.pull(b.whole(1), k.whole(3))
		barrier := fast.start(rpc.Request{Op: rpc.OpBarrier, Clock: 0})
		ready := func(want ...bool) {
			t.Helper()
			synctest.Wait()
			got := []bool{three.Ready(), first.Ready(), both.Ready(), barrier.Ready()}
			if !slices.Equal(got, want) {
				t.Errorf("answered are %v, want %v", got, want)
			}
		}
		ready(false, false, false, true)
		step(slow, 0, k)
		ready(true, false, false, true)
		step(slow, 0, b)
		ready(true, true, true, true)
		if got := numbers(fast.wait(both).Parts); !slices.Equal(got, []float64{2, 2}) {
			t.Errorf("of both: %v, want 2 2", got)
		}
		if r := fast.wait(fast.pull(b.whole(1), k.whole(3), a.whole(0))); r.Parts[0].Clock != 1 || r.Parts[1].Clock != 1 || r.Parts[2].Clock != 0 {
			t.Errorf("the answers are as of clocks %d, %d, %d, want 1, 1, 0", r.Parts[0].Clock, r.Parts[1].Clock, r.Parts[2].Clock)
		}
	})
}

// TestRates: the gradients of a clock are one step of the weight of all tasks, at the largest of their rates; a task without a
// weight has no say.
func TestRates(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		var c []*conn
		for task := range 3 {
			c = append(c, s.join(task, 3, ssp.BSP))
		}
		m := c[0].create(with(one("m", 1, 2), "sgd"))[0]
		c[2].pushed(nil, m.tick(0, 0, 100))
		c[1].pushed([]rpc.Part{m.row(0, 6, -2)}, m.tick(0, 3, 0.25))
		c[0].pushed([]rpc.Part{m.row(0, 2, 0), m.row(0, 0, -2)}, m.tick(0, 1, 0.5))
		if got := c[2].pulled(m.whole(1)); !slices.Equal(got, []float64{-0.5 * 8 / 4, 0.5 * 4 / 4}) {
			t.Errorf("after a step: %v, want -1 0.5", got)
		}
	})
}

// TestNoWeight: gradients whose number of examples nobody tells are refused, not lost.
func TestNoWeight(t *testing.T) {
	bubble(t, "BSP", func(t *testing.T) {
		s := serve(t, nil)
		c, other := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
		m := c.create(with(one("m", 1, 1), "sgd"))[0]
		c.pushed([]rpc.Part{m.row(0, 1)}, m.tick(0, 0, 1))
		_, err := other.outcome(other.push(nil, m.tick(0, 0, 1)))
		fails(t, "the last tick", err, rpc.ErrRefused, "matrix m", "weight")
		fails(t, "the others hear", c.refusal(rpc.Request{Op: rpc.OpPull}), rpc.ErrRefused, "matrix m", "weight")
	})
	bubble(t, "ASP", func(t *testing.T) {
		s := serve(t, nil)
		c := s.join(0, 1, ssp.ASP)
		m := c.create(with(one("m", 1, 1), "sgd"))[0]
		_, err := c.outcome(c.push([]rpc.Part{m.row(0, 1)}, m.tick(0, 0, 1)))
		fails(t, "the tick", err, rpc.ErrRefused, "matrix m", "weight")
		c.pushed([]rpc.Part{m.row(0, 1)}, m.tick(0, 1, 1))
		if got := c.pulled(m.whole(1)); got[0] != -1 {
			t.Errorf("after a refused one: %v, want -1", got)
		}
	})
}

// TestDuplicateKeys: a column that two parts, two groups of partitions or two tasks push is the sum (T5), with a rule and without;
// columns that differ by multiples of 2^32 are different ones, spread over partitions (T23).
func TestDuplicateKeys(t *testing.T) {
	for _, rule := range []string{"", "sgd"} {
		bubble(t, "rule "+rule, func(t *testing.T) {
			s := serve(t, nil)
			c, other := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
			k := c.create(with(spec("k", 2, 1<<62, matrix.RowSparse), rule))[0]
			unit := 1.0
			if rule != "" {
				unit = -1
			}
			keys := []int64{5, 5 + 1<<32, 5 + 1<<33, 5 + 1<<61}
			all, of := map[int64]float64{}, map[int]bool{}
			for i, key := range keys {
				all[key] = unit * float64(i+1)
				of[k.parts.Of(key)] = true
			}
			if len(of) < 2 {
				t.Error("all keys are in one partition")
			}
			c.pushed([]rpc.Part{k.columns(0, all), k.columns(0, map[int64]float64{5: unit})}, k.tick(0, 1, 1))
			other.pushed([]rpc.Part{k.columns(0, all)}, k.tick(0, 0, 0))
			want := map[int64]float64{5: 3, keys[1]: 4, keys[2]: 6, keys[3]: 8, 6: 0}
			for key, v := range want {
				if got := c.pulled(k.keys(1, key)); !slices.Equal(got, []float64{v, v}) {
					t.Errorf("column %d is %v, want %v twice", key, got, v)
				}
			}
			got := c.pulled(k.all(1)...)
			slices.Sort(got)
			if !slices.Equal(got, []float64{3, 3, 4, 4, 6, 6, 8, 8}) {
				t.Errorf("stored are %v", got)
			}
		})
	}
}

// TestOwnClock: the clock of a task alone moves: nobody waits for clocks of matrices.
func TestOwnClock(t *testing.T) {
	f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
	var all []*ps.Client
	for task := range 2 {
		p, err := ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: f.servers, Job: "j", Task: task, Tasks: 2, Bound: ssp.BSP})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		all = append(all, p)
	}
	if err := all[0].Create(t.Context(), "", meta("m", 1, 4, matrix.RowDense)); err != nil { // which the other task does not know
		t.Fatal(err)
	}
	for _, p := range all {
		if err := errors.Join(p.OwnClock(t.Context()), p.OwnClock(t.Context())); err != nil || p.Now() != 2 {
			t.Errorf("clock %d, %v, want 2", p.Now(), err)
		}
	}
	if _, err := all[0].Pull(t.Context(), []matrix.Lookup{{Matrix: "m"}}); err != nil {
		t.Error(err)
	}
	if err := all[0].Save(t.Context(), ps.SaveOptions{Codec: "angel", Path: "m", Lossy: true}); err != nil {
		t.Error(err)
	}
}
