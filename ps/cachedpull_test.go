package ps_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// cacheKeys are the keys of the tests here: more than the cache has room for.
const cacheKeys = 60

// reader reads keys by one of the calls that use the cache.
type reader func(ctx context.Context, p *ps.Client, m *ps.Matrix, keys []int64) ([]float32, error)

// cachedReaders are all of them. Those that end a clock say so.
func cachedReaders() map[string]reader {
	return map[string]reader{
		"PullKeys": func(ctx context.Context, p *ps.Client, m *ps.Matrix, keys []int64) ([]float32, error) {
			plan, err := m.Plan(nil, keys)
			if err != nil {
				return nil, err
			}
			dst := make([]float32, 2*len(keys))
			return dst, ps.PullKeys(ctx, m, plan, dst)
		},
		"Pull": func(ctx context.Context, p *ps.Client, m *ps.Matrix, keys []int64) ([]float32, error) {
			plans, err := p.Plan(keys, []string{"m"})
			if err != nil {
				return nil, err
			}
			blocks, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "m", Plan: plans[0]}})
			if err != nil {
				return nil, err
			}
			var dst []float32
			for _, at := range plans[0].Positions(nil) {
				dst = append(dst, blocks[0].Data.Values().([]float32)[2*at:][:2]...)
			}
			return dst, nil
		},
		"GetCols": func(ctx context.Context, p *ps.Client, m *ps.Matrix, keys []int64) ([]float32, error) {
			sorted := slices.Clone(keys)
			slices.Sort(sorted)
			sorted = slices.Compact(sorted)
			b, err := m.GetCols(ctx, sorted)
			if err != nil {
				return nil, err
			}
			var dst []float32
			for _, key := range keys {
				i, _ := slices.BinarySearch(sorted, key)
				dst = append(dst, b.Data.Values().([]float32)[2*i:][:2]...)
			}
			return dst, nil
		},
	}
}

// TestCachedReads: with a cache that has no room for all keys, and keys that are read by different calls, under BSP a task at clock n sees
// n increments of every task, under SSP(k) those up to n-k at least, under ASP with staleness k its own up to n-k; and what it sees of a
// key never becomes less.
func TestCachedReads(t *testing.T) {
	const tasks, clocks = 3, 40
	for _, c := range []struct {
		bound     ssp.Bound
		staleness int
	}{{ssp.BSP, 0}, {1, 0}, {3, 0}, {ssp.ASP, 0}, {ssp.ASP, 2}, {ssp.ASP, 7}} {
		var hits int64
		tasksOn(t, 2, ps.Options{Tasks: tasks, Bound: c.bound}, &blob.Mem{}, func(ctx context.Context, p *ps.Client, task int) error {
			model := ps.NewModel("m", 2, 1<<40)
			sparse, err := matrix.ParseRowType("T_FLOAT_SPARSE")
			if err != nil {
				return err
			}
			model.SetRowType(sparse)
			ms, err := p.CreateModels(ctx, model)
			if err != nil {
				return err
			}
			m := ms[0]
			if err := m.SetCache(ps.CacheBytes(m, 30), c.staleness); err != nil {
				return err
			}
			rng, least := rand.New(rand.NewPCG(uint64(task), 1)), map[int64]float32{}
			all := make([]int64, cacheKeys)
			for i := range all {
				all[i] = int64(i) << 20
			}
			plan, err := m.Plan(nil, all)
			if err != nil {
				return err
			}
			one := slices.Repeat([]float32{1}, 2*cacheKeys)
			for clock := range clocks {
				for range 3 {
					for how, read := range cachedReaders() {
						keys := make([]int64, 1+rng.IntN(20))
						for i := range keys {
							keys[i] = all[min(rng.IntN(cacheKeys), rng.IntN(cacheKeys))]
						}
						vals, err := read(ctx, p, m, keys)
						if err != nil {
							return err
						}
						for i, key := range keys {
							lo, hi := least[key], float32(tasks*clocks)
							switch c.bound {
							case ssp.BSP:
								lo, hi = float32(tasks*clock), float32(tasks*clock)
							case ssp.ASP:
								lo = max(lo, float32(clock-c.staleness))
							default:
								lo = max(lo, float32(tasks*c.bound.Need(clock)))
							}
							if v := vals[2*i]; v != vals[2*i+1] || v < lo || v > hi {
								return fmt.Errorf("%v, %s at clock %d: key %d is %v, want %v to %v in both rows", c.bound, how, clock, key, vals[2*i:][:2], lo, hi)
							}
							least[key] = vals[2*i]
						}
					}
				}
				if err := ps.PushKeys(m, plan, one); err != nil {
					return err
				}
				if err := p.Clock(ctx, 0, 0); err != nil {
					return err
				}
			}
			if s := m.CacheStats(); task == 0 {
				hits = s.Hits
			}
			return nil
		})
		if hits == 0 {
			t.Errorf("%v: no hits", c.bound)
		}
	}
}

// TestCacheFlush: under ASP a task sees at once what it has flushed, whatever the staleness, also if a pull that began before brings
// older values.
func TestCacheFlush(t *testing.T) {
	tasksOn(t, 2, ps.Options{Tasks: 1, Bound: ssp.ASP}, &blob.Mem{}, func(ctx context.Context, p *ps.Client, _ int) error {
		model := ps.NewModel("m", 1, 100)
		model.SetCache(1<<20, 1000)
		ms, err := p.CreateModels(ctx, model)
		if err != nil {
			return err
		}
		m := ms[0]
		plan, err := m.Plan(nil, []int64{7, 9, 7})
		if err != nil {
			return err
		}
		dst, one := make([]float64, 3), []float64{1, 1, 1}
		for n := range 20 {
			if n >= 4 {
				ps.Forget(m) // so that the pull before the flush asks the servers
			}
			early, err := ps.StartPullKeys(ctx, m, plan, make([]float64, 3))
			if err != nil {
				return err
			}
			switch n % 4 {
			case 0:
				err = ps.PushPullKeys(ctx, m, plan, one, dst)
			case 1:
				if err = ps.PushKeys(m, plan, one); err == nil {
					err = p.Flush(ctx)
				}
			case 2:
				if err = m.Increment(dense(matrix.At(0, 1, 7, 10), 2, 0, 1)); err == nil {
					err = p.StartFlush(ctx).Wait(ctx)
				}
			case 3:
				err = m.PushNow(ctx, dense(matrix.At(0, 1, 7, 10), 2, 0, 1)).Wait(ctx)
			}
			if err == nil {
				err = early.Wait(ctx)
			}
			if err == nil {
				err = ps.PullKeys(ctx, m, plan, dst)
			}
			if want := []float64{float64(2 * (n + 1)), float64(n + 1), float64(2 * (n + 1))}; err == nil && !slices.Equal(dst, want) {
				err = fmt.Errorf("after flush %d: %v, want %v", n, dst, want)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// TestCacheRefused: sizes that are none are refused, with what is wanted.
func TestCacheRefused(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	m := create(t, p, "", oneMeta)
	for _, s := range []struct {
		bytes int64
		stale int
	}{{-1, 0}, {1 << 20, -1}, {100, 0}} {
		if err := m.SetCache(s.bytes, s.stale); err == nil {
			t.Errorf("a cache of %d bytes, staleness %d", s.bytes, s.stale)
		}
	}
	must(t, m.SetCache(0, 0))
}
