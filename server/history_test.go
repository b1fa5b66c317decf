package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"thole.example/internal/seeds"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// count is what a client does to the counter of one key: it adds, or reads.
type count struct {
	add  int64
	read bool
}

// counter is what one key under ASP has to be: a cell that changes by what was added, once, at one moment between the call
// and its return, and that every read sees as it is at such a moment.
var counter = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		in := input.(count)
		if in.read {
			return output.(int64) == state.(int64), state
		}
		return true, state.(int64) + in.add
	},
	DescribeOperation: func(input, output any) string {
		if in := input.(count); !in.read {
			return fmt.Sprintf("add %d", in.add)
		}
		return fmt.Sprintf("read %d", output)
	},
}

// TestCounterModel: the checker refuses what a server that loses, repeats or hides increments would answer.
func TestCounterModel(t *testing.T) {
	op := func(client int, in count, out, call, back int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: back}
	}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want bool
	}{
		"in turn":        {[]porcupine.Operation{op(0, count{add: 3}, 0, 0, 1), op(0, count{read: true}, 3, 2, 3)}, true},
		"at once":        {[]porcupine.Operation{op(0, count{add: 3}, 0, 0, 9), op(1, count{read: true}, 0, 2, 3), op(1, count{read: true}, 3, 4, 5)}, true},
		"lost":           {[]porcupine.Operation{op(0, count{add: 3}, 0, 0, 1), op(0, count{read: true}, 0, 2, 3)}, false},
		"twice":          {[]porcupine.Operation{op(0, count{add: 3}, 0, 0, 1), op(0, count{read: true}, 6, 2, 3)}, false},
		"there and gone": {[]porcupine.Operation{op(0, count{add: 3}, 0, 0, 9), op(1, count{read: true}, 3, 2, 3), op(1, count{read: true}, 0, 4, 5)}, false},
	} {
		if got := porcupine.CheckOperations(counter, c.ops); got != c.want {
			t.Errorf("%s: linearizable %v, want %v", name, got, c.want)
		}
	}
}

// TestHistories: clients add to some keys and read them, through faults; what each of them saw of a key is a history of one
// counter.
func TestHistories(t *testing.T) { tryHistories(t, nil) }

// TestHistoriesKilled: so it is when servers with logs are killed meanwhile and started again, and lose what was not synced: nothing that was
// read is gone when it is read again.
func TestHistoriesKilled(t *testing.T) {
	tryHistories(t, func(sc *scenario, f *farm) havoc { return newKiller(t, sc, f) })
}

// TestHistoriesStandby: and so it is when standbys that have copies of the logs take over.
func TestHistoriesStandby(t *testing.T) {
	tryHistories(t, func(sc *scenario, f *farm) havoc { return newSuccession(t, sc, f) })
}

// havoc kills servers, until it is over, and starts them again.
type havoc interface {
	run(over chan struct{})
	killed() int
	end()
}

func tryHistories(t *testing.T, start func(sc *scenario, f *farm) havoc) {
	reads, adds, kills := 0, 0, 0
	for seed := range seeds.Of(t, "FAULT", 500, 60).Part(5).All() {
		synctest.Test(t, func(t *testing.T) {
			sc := newScenario(seed)
			sc.bound, sc.outage, sc.tasks, sc.killed = ssp.ASP, noOutage, 3, start != nil
			servers := sc.servers
			if start != nil {
				servers = 0 // whoever kills them starts them
			}
			f := newFarm(t, servers, sc)
			defer f.close()
			if start != nil {
				k, over, done := start(sc, f), make(chan struct{}), make(chan struct{})
				go func() { defer close(done); k.run(over) }()
				defer func() {
					close(over)
					<-done
					kills += k.killed()
					k.end()
					time.Sleep(2 * time.Hour) // until nobody is waited for any more
					synctest.Wait()
				}()
			}
			h := &histories{t: t, sc: sc, farm: f, keys: []int64{0, 1 << 33, 77}, of: make([][]porcupine.Operation, 3)}
			var wg sync.WaitGroup
			for task := range sc.tasks {
				wg.Go(func() {
					if err := h.live(task); err != nil {
						t.Errorf("FAULT_SEED=%d: task %d: %v", seed, task, err)
					}
				})
			}
			wg.Wait()
			for i, ops := range h.of {
				if res := porcupine.CheckOperationsTimeout(counter, ops, time.Hour); res != porcupine.Ok {
					t.Errorf("FAULT_SEED=%d: key %d: %s: %d operations are not those of a counter", seed, h.keys[i], res, len(ops))
				}
				for _, op := range ops {
					if op.Input.(count).read {
						reads++
					} else {
						adds++
					}
				}
			}
		})
	}
	t.Logf("%d reads and %d additions, %d servers killed", reads, adds, kills)
	if reads == 0 || adds == 0 || start != nil && kills == 0 {
		t.Errorf("%d reads and %d additions, %d servers killed, want some of each", reads, adds, kills)
	}
}

// histories is what the clients of a scenario do to some keys, and see.
type histories struct {
	t    *testing.T
	sc   *scenario
	farm *farm
	keys []int64

	mu sync.Mutex
	of [][]porcupine.Operation // of each key
}

func (h *histories) live(task int) error {
	rng := rand.New(rand.NewPCG(h.sc.seed, uint64(task)+100))
	ctx, cancel := within()
	defer cancel()
	w := newScenarioTask(h.sc, h.farm, task)
	w.ctx = ctx
	p, err := w.dial()
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	m := matrix.Meta{Name: "c", Rows: 1, Cols: scenarioWidth, DType: matrix.I64, Layout: matrix.RowSparse}
	if err := p.Create(ctx, "", m); err != nil {
		return err
	}
	for range 12 {
		if err := h.operate(ctx, p, task, rng); err != nil {
			return err
		}
	}
	if err := errors.Join(p.Clock(ctx, 0, 0), p.Barrier(ctx)); err != nil { // all have joined: what a killed server has of the job ends, too
		return err
	}
	return p.Leave(ctx)
}

// operate adds to one or two keys at once, or reads some.
func (h *histories) operate(ctx context.Context, p *ps.Client, task int, rng *rand.Rand) error {
	c, err := p.Matrix("c")
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
	picked := rng.Perm(len(h.keys))[:1+rng.IntN(len(h.keys))]
	slices.Sort(picked)
	var keys, val []int64
	in := make([]count, len(picked))
	for i, k := range picked {
		in[i] = count{add: 1 + rng.Int64N(9), read: rng.IntN(2) == 0}
		in[i].read = in[0].read
		keys, val = append(keys, h.keys[k]), append(val, in[i].add)
	}
	plan, err := c.Plan(nil, keys)
	if err != nil {
		return err
	}
	call := time.Since(scenarioStart)
	if in[0].read {
		err = ps.PullKeys(ctx, c, plan, val)
	} else if err = ps.PushKeys(c, plan, val); err == nil {
		err = p.Flush(ctx)
	}
	if err != nil {
		return err
	}
	back := time.Since(scenarioStart)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, k := range picked {
		h.of[k] = append(h.of[k], porcupine.Operation{ClientId: task, Input: in[i], Output: val[i], Call: int64(call), Return: int64(back)})
	}
	return nil
}
