package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// These are tests of what Angel's parameter server gets wrong, by the numbers that they have in the report about it.

// call runs a function beside a matrix: an update if it is one, or else a get, whose number it gives.
func call(ctx context.Context, m *ps.Matrix, name, arg string) (float64, error) {
	switch name {
	case "fill":
		return 0, m.Update(ctx, name, arg)
	}
	answer, err := m.Get(ctx, name, arg)
	if err != nil {
		return 0, err
	}
	return answer.Number()
}

// TestEmbeddings (T5): gradients that two workers push to the same column add up.
func TestEmbeddings(t *testing.T) {
	for _, rule := range []string{"", "sgd"} {
		for _, servers := range []int{1, 3} {
			c := newCluster(t, &mem.Network{}, servers)
			m := meta("e", 4, 1<<62, matrix.RowSparse)
			m.Rule = rule
			c.run(2, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
				if err := p.Create(ctx, "", m); err != nil {
					return err
				}
				e, err := p.Matrix("e")
				if err != nil {
					return err
				}
				k, err := e.Plan(nil, []int64{1 << 61, int64(task), 1 << 61}) // the first one twice
				if err != nil {
					return err
				}
				if err := errors.Join(ps.PushKeys(e, k, []float64{1, 2, 3, 4, 9, 9, 9, 9, 10, 20, 30, 40}), p.Clock(ctx, 2, 0.5)); err != nil {
					return err
				}
				got := make([]float64, 12)
				if err := ps.PullKeys(ctx, e, k, got); err != nil {
					return err
				}
				want := []float64{22, 44, 66, 88, 9, 9, 9, 9, 22, 44, 66, 88}
				if rule != "" {
					for i := range want {
						want[i] *= -0.5 / 4
					}
				}
				if !slices.Equal(got, want) {
					return fmt.Errorf("%d servers, rule %q: %v, want %v", servers, rule, got, want)
				}
				return nil
			})
		}
	}
}

// TestMaxBelowZero (T6): the largest of negative values is one of them, and that of nothing is none.
func TestMaxBelowZero(t *testing.T) {
	for _, dtype := range []matrix.DType{matrix.F32, matrix.F64, matrix.I32, matrix.I64} {
		for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
			c := newCluster(t, &mem.Network{}, 3)
			m := meta("m", 2, 2, layout)
			m.DType = dtype
			c.run(1, ssp.ASP, func(ctx context.Context, p *ps.Client, _ int) error {
				if err := p.Create(ctx, "", m); err != nil {
					return err
				}
				w, err := p.Matrix("m")
				if err != nil {
					return err
				}
				b, exact := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{-3, -1, -7, -5}}}.Cast(dtype)
				if err := errors.Join(p.Push("m", b), p.Flush(ctx)); err != nil || !exact {
					return fmt.Errorf("%w, exact %v", err, exact)
				}
				for arg, want := range map[string]float64{"": -1, `{"rows":[1]}`: -5} {
					if got, err := call(ctx, w, "max", arg); err != nil || got != want {
						return fmt.Errorf("%v, %v: max of %q is %v, %w, want %v", dtype, layout, arg, got, err, want)
					}
				}
				return nil
			})
		}
	}
}

// TestFillRow (T8): row 5 of ten is filled, and no other.
func TestFillRow(t *testing.T) {
	for _, cut := range []string{"column", "range"} {
		c := newCluster(t, &mem.Network{}, 3)
		c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			if err := p.Create(ctx, cut, meta("m", 10, 100, matrix.RowDense)); err != nil {
				return err
			}
			m, err := p.Matrix("m")
			if err != nil {
				return err
			}
			if _, err := call(ctx, m, "fill", `{"value":3,"rows":[5]}`); err != nil {
				return err
			}
			rows, err := m.GetRows(ctx, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
			if err != nil {
				return err
			}
			for r, b := range rows {
				want := slices.Repeat([]float64{map[bool]float64{true: 3}[r == 5]}, 100)
				if got := b.Data.Values().([]float64); !slices.Equal(got, want) {
					return fmt.Errorf("%s: row %d is %v", cut, r, got)
				}
			}
			return nil
		})
	}
}

// TestInitialValues (T10): what cells begin with follows from seed, row and column, whatever keeps them and however many; uniform
// values fill the range that the scale says, and no more.
func TestInitialValues(t *testing.T) {
	for _, kind := range []string{"normal", "uniform"} {
		want := initialValues(t, 1, "column", matrix.RowDense, matrix.Init{Kind: kind, Scale: 0.25, Seed: 7})
		for _, servers := range []int{1, 4} {
			for _, p := range part.Partitioners() {
				for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
					if p.Hash && layout == matrix.RowDense {
						continue
					}
					got := initialValues(t, servers, p.Name, layout, matrix.Init{Kind: kind, Scale: 0.25, Seed: 7})
					if !slices.Equal(got, want) {
						t.Errorf("%s, %v by %s on %d servers: other values than on one", kind, layout, p.Name, servers)
					}
				}
			}
		}
		for i, v := range initialValues(t, 4, "column", matrix.RowDense, matrix.Init{Kind: kind, Scale: 0.25, Seed: 8}) {
			if v == want[i] {
				t.Errorf("%s: cell %d begins with %v under another seed, too", kind, i, v)
			}
		}
		if lo, hi := slices.Min(want), slices.Max(want); kind == "uniform" && (lo < -0.25 || lo > -0.24 || hi < 0.24 || hi >= 0.25) {
			t.Errorf("uniform values from %v to %v, want all of [-0.25,0.25)", lo, hi)
		}
	}
}

// initialValues reads a new matrix of 3 x 500 cells.
func initialValues(t *testing.T, servers int, cut string, layout matrix.Layout, init matrix.Init) (values []float64) {
	t.Helper()
	newCluster(t, &mem.Network{}, servers).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		m := meta("m", 3, 500, layout)
		m.Init = init
		if err := p.Create(ctx, cut, m); err != nil {
			return err
		}
		cols := make([]int64, m.Cols)
		for i := range cols {
			cols[i] = int64(i)
		}
		got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "m", Cols: cols}})
		if err == nil {
			values = got[0].Data.Values().([]float64)
		}
		return err
	})
	return values
}

// TestOthersFinish (T14, T15): a task that finishes first, or an optional one that goes away for good, holds nobody back, and the
// others still wait for each other.
func TestOthersFinish(t *testing.T) {
	for _, dies := range []bool{false, true} {
		inBubble(t, 2, func(t *testing.T, c *cluster) {
			m := meta("m", 1, 80, matrix.RowDense)
			task := func(i int) *ps.Client {
				p, err := ps.Dial(t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Task: i, Tasks: 3, Optional: i == 0, Retry: time.Minute})
				if err == nil {
					err = p.Create(t.Context(), "", m)
				}
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			first, slow, fast := task(0), task(1), task(2)
			if err := errors.Join(first.Push("m", digit(0)), first.SyncClock(t.Context())); err != nil {
				t.Fatal(err)
			}
			if dies {
				first.Close()
			} else if err := first.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Hour, func() {
				for range 3 {
					if err := errors.Join(slow.Push("m", digit(1)), slow.SyncClock(t.Context())); err != nil {
						t.Error(err)
					}
				}
			})
			before := time.Now()
			for clock := range 3 {
				if err := errors.Join(fast.Push("m", digit(0)), fast.SyncClock(t.Context())); err != nil {
					t.Fatal(err)
				}
				got, err := steps(t.Context(), fast, 2)
				if err != nil || !slices.Equal(got, []int{clock + 2, clock + 1}) {
					t.Errorf("dies %v: at clock %d it sees %v, %v", dies, clock+1, got, err)
				}
			}
			if time.Since(before) < time.Hour {
				t.Error("it did not wait for the slow one")
			}
			for _, p := range []*ps.Client{first, slow, fast} {
				p.Close()
			}
		})
	}
}

// TestSiblings (T16): with two tasks in each worker a reader in another worker sees no partial step of a worker.
func TestSiblings(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.run(4, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
			if err := p.Create(ctx, "", meta("m", 1, 80, matrix.RowDense)); err != nil {
				return err
			}
			for clock := range 6 {
				time.Sleep(time.Duration(1+(task*7+clock*3)%5) * time.Millisecond)
				got, err := steps(ctx, p, 2)
				if err != nil || got[0] != 2*clock || got[1] != 2*clock {
					return fmt.Errorf("at clock %d it sees %v, %w", clock, got, err)
				}
				if err := p.Push("m", digit(task%2)); err != nil {
					return err
				}
				if task >= 2 { // half a step is there early
					if err := p.Flush(ctx); err != nil {
						return err
					}
				}
				if err := p.Clock(ctx, 0, 0); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestNobodyPolls (T17): a barrier of ten tasks, and a pull that waits, are over in the moment in which the last task comes. The
// time is that of the bubble, which passes only while everybody sleeps.
func TestNobodyPolls(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, c *cluster) {
		const tasks = 10
		c.run(tasks, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
			if err := errors.Join(p.Create(ctx, "", meta("m", 1, 80, matrix.RowDense)), p.SyncClock(ctx), p.Barrier(ctx)); err != nil {
				return err
			}
			begin := time.Now()
			for round := range 4 {
				time.Sleep(time.Duration(task+1) * time.Second)
				err := p.Clock(ctx, 0, 0)
				if err == nil && round%2 == 0 {
					err = p.Barrier(ctx)
				} else if err == nil {
					_, err = steps(ctx, p, 2)
				}
				if err != nil {
					return err
				}
				if passed, want := time.Since(begin), time.Duration(round+1)*tasks*time.Second; passed != want {
					return fmt.Errorf("round %d is over after %v, the last task came after %v", round, passed, want)
				}
			}
			return nil
		})
	})
}

// tally is a network that counts the pulls of its clients by server.
type tally struct {
	rpc.Network
	pulls map[string]int64
}

func (n *tally) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	c, err := n.Network.Dial(ctx, addr)
	return &tallyConn{c, n, addr}, err
}

type tallyConn struct {
	rpc.Conn
	of   *tally
	addr string
}

func (c *tallyConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	if q.Op == rpc.OpPull {
		c.of.pulls[c.addr]++
	}
	return c.Conn.Start(ctx, q)
}

// TestFewMessages (T21): a row of 200 partitions on twenty servers takes a message to each of them; one that is large takes one
// for each window of about 1 MiB, whole partitions as long as they fit.
func TestFewMessages(t *testing.T) {
	const servers = 20
	for _, c := range []struct{ block, messages int64 }{{20_000, 1}, {60_000, 3}} { // ten partitions of 80 kB; 4 + 4 + 2 of 240 kB
		net := &tally{Network: &mem.Network{}}
		newCluster(t, net, servers).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			m := meta("m", 1, 200*c.block, matrix.RowDense)
			m.DType, m.BlockCols = matrix.F32, c.block
			if err := p.Create(ctx, "", m); err != nil {
				return err
			}
			w, err := p.Matrix("m")
			if err != nil {
				return err
			}
			net.pulls = map[string]int64{}
			if _, err := w.GetRow(ctx, 0); err != nil {
				return err
			}
			for addr, n := range net.pulls {
				if n != c.messages {
					t.Errorf("%d messages to server %s for a row of %d cells, want %d", n, addr, m.Cols, c.messages)
				}
			}
			if len(net.pulls) != servers || len(w.Parts().Owners) != 200 {
				t.Errorf("%d servers are asked for %d partitions, want %d for 200", len(net.pulls), len(w.Parts().Owners), servers)
			}
			return nil
		})
	}
}

// TestSpread (T23): keys that are equal modulo 2^32, and small keys of a large space, are spread over all servers.
func TestSpread(t *testing.T) {
	const servers = 4
	c := newCluster(t, &mem.Network{}, servers)
	c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := p.Create(ctx, "", meta("m", 1, 1<<62, matrix.RowSparse)); err != nil {
			return err
		}
		m, err := p.Matrix("m")
		if err != nil {
			return err
		}
		for what, key := range map[string]func(i int64) int64{
			"equal modulo 2^32": func(i int64) int64 { return 7 + i<<32 },
			"small":             func(i int64) int64 { return i },
		} {
			var on [servers]int
			for i := range int64(4000) {
				on[m.Parts().Owners[m.Parts().Of(key(i))]]++
			}
			if slices.Min(on[:]) < 900 || slices.Max(on[:]) > 1100 {
				t.Errorf("of 4000 keys that are %s the servers have %v", what, on)
			}
		}
		return nil
	})
}

// TestWrongCalls (T24): a function that nobody knows, and arguments that are wrong, are errors of a kind; the client goes on.
func TestWrongCalls(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := p.Create(ctx, "", meta("m", 1, 100, matrix.RowDense)); err != nil {
			return err
		}
		m, err := p.Matrix("m")
		if err != nil {
			return err
		}
		fails(t, "an unknown update", m.Update(ctx, "magic", nil), rpc.ErrNotFound, "magic")
		_, err = m.Get(ctx, "magic", nil)
		fails(t, "an unknown get", err, rpc.ErrNotFound, "magic")
		_, err = call(ctx, m, "fill", `{"value":1,"rows":[7]}`)
		fails(t, "an update of a row that is not there", err, rpc.ErrMalformed, "row 7")
		_, err = call(ctx, m, "sum", `{"row":[0]}`)
		fails(t, "a get with another argument", err, rpc.ErrMalformed, "row")
		for range 3 {
			if err := errors.Join(p.Push("m", digit(0)), p.SyncClock(ctx)); err != nil {
				return err
			}
		}
		if got, err := call(ctx, m, "sum", ""); err != nil || got != 3 {
			t.Errorf("after wrong calls the sum is %v, %v, want 3", got, err)
		}
		return nil
	})
}
