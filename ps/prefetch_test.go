package ps_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// ahead is a way to ask for the keys of the next batch before the clock ends: it answers with what gives their values after it, in the
// order of the keys, and ends the clock.
type ahead func(ctx context.Context, p *ps.Client, m *ps.Matrix, keys []int64) (after func() ([]float32, error), err error)

// aheads are both ways: with lookups, and with keys and two plans that take turns.
func aheads(rows int) map[string]ahead {
	plans := map[*ps.Client]*[2]*ps.Keys{}
	return map[string]ahead{
		"Prefetch": func(ctx context.Context, p *ps.Client, m *ps.Matrix, keys []int64) (func() ([]float32, error), error) {
			name := m.Meta().Name
			planned, err := p.Plan(keys, []string{name})
			if err != nil {
				return nil, err
			}
			lookups := []matrix.Lookup{{Matrix: name, Plan: planned[0], Into: make([]float32, rows*len(planned[0].Unique()))}}
			if err := p.Prefetch(ctx, lookups); err != nil {
				return nil, err
			}
			return func() (dst []float32, err error) {
				called := false
				blocks, err := p.Next(ctx, 0, 0, lookups, func() { called = true })
				if err != nil || !called {
					return nil, fmt.Errorf("meanwhile called: %v, error %w", called, err)
				}
				for _, at := range planned[0].Positions(nil) {
					dst = append(dst, blocks[0].Data.Values().([]float32)[rows*int(at):][:rows]...)
				}
				return dst, nil
			}, nil
		},
		"NextKeys": func(ctx context.Context, p *ps.Client, m *ps.Matrix, keys []int64) (func() ([]float32, error), error) {
			two := plans[p]
			if two == nil {
				two = &[2]*ps.Keys{{}, {}}
				plans[p] = two
			}
			two[0], two[1] = two[1], two[0]
			dst := make([]float32, rows*len(keys))
			pull, err := ps.NextKeys(ctx, m, two[0], keys, dst)
			if err != nil {
				return nil, err
			}
			return func() ([]float32, error) {
				if err := p.Clock(ctx, 0, 0); err != nil {
					return nil, err
				}
				return dst, pull.Wait(ctx)
			}, nil
		},
	}
}

// TestPrefetch: what was asked for before the clock is as of the next clock, as far as the bound says, with a cache and without, in one
// window of answers and in many; what a task sees of a key never becomes less.
func TestPrefetch(t *testing.T) {
	const tasks, clocks, keyCount = 3, 25, 60
	for _, c := range []struct {
		bound ssp.Bound
		rows  int64
		cache bool
	}{
		{ssp.BSP, 2, false}, {1, 2, false}, {3, 2, true}, {ssp.ASP, 2, false}, {ssp.ASP, 2, true}, {1, 20000, false}, {ssp.BSP, 20000, false},
	} {
		for _, how := range []string{"Prefetch", "NextKeys"} {
			tasksOn(t, 2, ps.Options{Tasks: tasks, Bound: c.bound}, &blob.Mem{}, func(ctx context.Context, p *ps.Client, task int) error {
				ask := aheads(int(c.rows))[how]
				model := ps.NewModel("m", c.rows, 1<<40)
				model.SetRowType(rowType(t, "T_FLOAT_SPARSE"))
				ms, err := p.CreateModels(ctx, model)
				if err != nil {
					return err
				}
				m := ms[0]
				if c.cache {
					if err := m.SetCache(ps.CacheBytes(m, 30), 2); err != nil {
						return err
					}
				}
				rng, least := rand.New(rand.NewPCG(uint64(task), 1)), map[int64]float32{}
				all := make([]int64, keyCount)
				for i := range all {
					all[i] = int64(i) << 20
				}
				plan, err := m.Plan(nil, all)
				if err != nil {
					return err
				}
				one := slices.Repeat([]float32{1}, int(c.rows)*keyCount)
				clocks := clocks
				if c.rows > 2 {
					clocks = 4
				}
				for clock := range clocks {
					keys := make([]int64, 1+rng.IntN(keyCount))
					for i := range keys {
						keys[i] = all[min(rng.IntN(keyCount), rng.IntN(keyCount))]
					}
					after, err := ask(ctx, p, m, keys)
					if err != nil {
						return err
					}
					if err := ps.PushKeys(m, plan, one); err != nil {
						return err
					}
					vals, err := after()
					if err != nil {
						return err
					}
					now := clock + 1
					for i, key := range keys {
						lo, hi := least[key], float32(tasks*clocks)
						switch c.bound {
						case ssp.BSP:
							lo, hi = float32(tasks*now), float32(tasks*now)
						case ssp.ASP:
							own := now - 1
							if c.cache {
								own -= 2
							}
							lo = max(lo, float32(own))
						default:
							lo = max(lo, float32(tasks*c.bound.Need(now)))
						}
						of := vals[int(c.rows)*i:][:c.rows]
						if v := of[0]; slices.Min(of) != slices.Max(of) || v < lo || v > hi {
							return fmt.Errorf("%v, %s at clock %d: key %d is %v to %v, want %v to %v in all rows", c.bound, how, now, key,
								slices.Min(of), slices.Max(of), lo, hi)
						}
						least[key] = of[0]
					}
				}
				return nil
			})
		}
	}
}

// TestPrefetchComesBefore: under SSP and ASP the values come while the batch is computed: Next asks for nothing more, and waits neither
// for the values nor for the answer to its push. Under BSP nothing is asked for before the push.
func TestPrefetchComesBefore(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
		for how, ask := range aheads(1) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(2)
				p := c.dial(t, ps.Options{Bound: bound})
				defer p.Close()
				meta := matrix.Meta{Name: "s", Rows: 1, Cols: 100, DType: matrix.F32, Layout: matrix.RowSparse}
				m := create(t, p, "", meta)
				var parts, pushes atomic.Int32
				c.become(func(_ int, q *rpc.Request) fate {
					for i := range q.Parts {
						if q.Parts[i].Values == nil {
							parts.Add(1)
						}
					}
					if q.Op == rpc.OpPush {
						pushes.Add(1)
						if bound != ssp.BSP {
							return kept
						}
					}
					return delivered
				})
				after, err := ask(t.Context(), p, m, []int64{3, 99, 3})
				must(t, err)
				want := int32(2)
				if bound == ssp.BSP {
					want = 0
				}
				if n := parts.Load(); n != want {
					t.Errorf("%v, %s: %d parts asked for before the clock, want %d", bound, how, n, want)
				}
				_, err = after()
				must(t, err)
				if n, of := parts.Load(), pushes.Load(); n != 2 || of != 2 {
					t.Errorf("%v, %s: %d parts asked for and %d pushes at the end, want 2 and 2", bound, how, n, of)
				}
				c.release()
				c.right(t)
			})
		}
	}
}

// TestPrefetchStale: what changes values at once, or empties caches, ends pulls as of the next clock: their values are asked for again.
func TestPrefetchStale(t *testing.T) {
	changes := map[string]func(ctx context.Context, p *ps.Client, m *ps.Matrix) error{
		"Barrier": func(ctx context.Context, p *ps.Client, m *ps.Matrix) error {
			if err := pushFives(ctx, m); err != nil {
				return err
			}
			if err := p.Flush(ctx); err != nil {
				return err
			}
			return p.Barrier(ctx)
		},
		"Flush": func(ctx context.Context, p *ps.Client, m *ps.Matrix) error {
			if err := pushFives(ctx, m); err != nil {
				return err
			}
			return p.Flush(ctx)
		},
		"PushNow": func(ctx context.Context, p *ps.Client, m *ps.Matrix) error {
			return m.PushNow(ctx, matrix.Block{At: matrix.At(0, 1, 0, 100), Data: &matrix.Cols[float32]{Idx: []int64{3}, Val: []float32{5}}}).Wait(ctx)
		},
	}
	for name, change := range changes {
		for how, ask := range aheads(1) {
			tasksOn(t, 2, ps.Options{Tasks: 1, Bound: ssp.ASP}, &blob.Mem{}, func(ctx context.Context, p *ps.Client, _ int) error {
				meta := matrix.Meta{Name: "m", Rows: 1, Cols: 100, DType: matrix.F32, Layout: matrix.RowSparse}
				m := create(t, p, "", meta)
				after, err := ask(ctx, p, m, []int64{3})
				if err != nil {
					return err
				}
				if err := change(ctx, p, m); err != nil {
					return err
				}
				got, err := after()
				if err == nil && got[0] != 5 {
					err = fmt.Errorf("%s, %s: %v, want 5", name, how, got)
				}
				return err
			})
		}
	}
}

func pushFives(_ context.Context, m *ps.Matrix) error {
	k, err := m.Plan(nil, []int64{3})
	if err != nil {
		return err
	}
	return ps.PushKeys(m, k, []float32{5})
}

// TestPrefetchReplaced: lookups other than those of Prefetch are asked for, and the clock may tick without either; a pull whose plan is
// made again, or that is waited for before its clock, says so.
func TestPrefetchReplaced(t *testing.T) {
	tasksOn(t, 2, ps.Options{Tasks: 1, Bound: 1}, &blob.Mem{}, func(ctx context.Context, p *ps.Client, _ int) error {
		meta := matrix.Meta{Name: "m", Rows: 1, Cols: 100, DType: matrix.F32}
		m := create(t, p, "", meta)
		lookup := func(key int64) []matrix.Lookup {
			plans, err := p.Plan([]int64{key}, []string{"m"})
			must(t, err)
			return []matrix.Lookup{{Matrix: "m", Plan: plans[0]}}
		}
		must(t, p.Prefetch(ctx, lookup(1)))
		must(t, p.Clock(ctx, 0, 0))
		must(t, p.Prefetch(ctx, lookup(2)))
		got, err := p.Next(ctx, 0, 0, lookup(7), nil)
		if err != nil || got[0].Data.(*matrix.Cols[float32]).Idx[0] != 7 {
			t.Errorf("%v, error %v: want key 7", got, err)
		}
		var k, other ps.Keys
		dst := make([]float32, 1)
		pull, err := ps.NextKeys(ctx, m, &k, []int64{5}, dst)
		must(t, err)
		late, err := ps.NextKeys(ctx, m, &other, []int64{6}, dst)
		must(t, err)
		if err := late.Wait(ctx); err == nil || !strings.Contains(err.Error(), "want a Clock before") {
			t.Errorf("waited for before the clock: error %v", err)
		}
		_, err = m.Plan(&k, []int64{8})
		must(t, err)
		must(t, p.Clock(ctx, 0, 0))
		must(t, p.Clock(ctx, 0, 0))
		must(t, late.Wait(ctx)) // two clocks later it is a pull like others
		if err := pull.Wait(ctx); err == nil || !strings.Contains(err.Error(), "planned again") {
			t.Errorf("planned again: error %v", err)
		}
		return nil
	})
}

// TestPrefetchLost: connections that are lost between Prefetch and Next, or while they wait, change nothing of what comes.
func TestPrefetchLost(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
		for how, ask := range aheads(1) {
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(2)
					p := c.dial(t, ps.Options{Bound: bound, Retry: time.Minute})
					defer p.Close()
					m := create(t, p, "", matrix.Meta{Name: "s", Rows: 1, Cols: 100, DType: matrix.F32, Layout: matrix.RowSparse})
					c.become(lossy(seed, 4))
					for clock := range 10 {
						after, err := ask(t.Context(), p, m, []int64{3, 99, 3})
						must(t, err)
						k, err := m.Plan(nil, []int64{3, 99})
						must(t, err)
						must(t, ps.PushKeys(m, k, []float32{1, 1}))
						got, err := after()
						must(t, err)
						lo, hi := float32(clock), float32(clock+1)
						if bound == ssp.BSP {
							lo = hi
						}
						if slices.Min(got) < lo || slices.Max(got) > hi || len(got) != 3 {
							t.Fatalf("%v, %s, seed %d, clock %d: %v, want %v to %v", bound, how, seed, clock, got, lo, hi)
						}
					}
					c.right(t)
				})
			}
		}
	}
}
