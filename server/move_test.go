package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

// migrant is a job that is moved from servers to servers of a fleet while its tasks make steps.
type migrant struct {
	*fleet
	bound ssp.Bound
	steps int
	made  atomic.Int64 // steps of the first task, in all attempts

	mu       sync.Mutex
	on       []string // servers that it is on,
	from     string   // since it goes on from this checkpoint
	turn     int      // attempt
	quiesced int      // moves for which all quiesced
}

const migrants = 3 // tasks

// migrating are its matrices: places of tasks, sums, and some whose values depend on the order of all steps.
func migrating() []matrix.Meta {
	place, sums := meta("place", 1, 64, matrix.RowSparse), meta("sums", 2, 40, matrix.RowSparse)
	adam, momentum := meta("adam", 2, 50, matrix.RowSparse), meta("momentum", 1, 50, matrix.RowDense)
	adam.Rule, momentum.Rule = "adam", "momentum"
	adam.Init = matrix.Init{Kind: "normal", Scale: 0.1, Seed: 3}
	return []matrix.Meta{place, sums, meta("dense", 1, 40, matrix.RowDense), adam, momentum, meta("scaled", 1, 20, matrix.RowDense)}
}

// goneOn is the error of a task whose job has moved.
var goneOn = errors.New("moves")

// attempt is one of a task.
func (m *migrant) attempt(ctx context.Context, task int) (out map[string]string, turn int, err error) {
	m.mu.Lock()
	on, from, turn := m.on, m.from, m.turn
	m.mu.Unlock()
	out, err = m.try(ctx, task, on, from, turn)
	return out, turn, err
}

func (m *migrant) try(ctx context.Context, task int, on []string, from string, turn int) (out map[string]string, err error) {
	p, err := ps.Dial(ctx, ps.Options{Network: m.net, Servers: on, Job: "j", Task: task, Tasks: migrants, Bound: m.bound, Attempt: turn,
		Retry: time.Minute, Worker: fmt.Sprint(task)})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = p.GiveUp(err)
		}
		p.Close()
	}()
	for _, of := range m.metas {
		cut := ""
		if of.Layout == matrix.RowDense {
			cut = "range"
		}
		if err := p.Create(ctx, cut, of); err != nil {
			return nil, err
		}
	}
	if task == 0 && from != "" {
		if _, err := p.Restore(ctx, from); err != nil {
			return nil, err
		}
	}
	if err := p.SyncClock(ctx); err != nil {
		return nil, err
	}
	if err := p.Barrier(ctx); err != nil {
		return nil, err
	}
	if err := m.work(ctx, p, task); err != nil {
		return nil, err
	}
	if err := p.Barrier(ctx); err != nil {
		return nil, err
	}
	if out, err = m.bits(ctx, p); err == nil {
		err = p.Leave(ctx)
	}
	return out, err
}

// work makes the steps that are left.
func (m *migrant) work(ctx context.Context, p *ps.Client, task int) error {
	got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "place", Cols: []int64{int64(task)}}})
	if err != nil {
		return err
	}
	var going mover
	if task == 0 {
		going = mover{migrant: m, p: p, orders: p.Orders()}
	}
	have, err := p.Pull(ctx, m.everything())
	if err != nil {
		return err
	}
	for step := int(got[0].Data.Values().([]float64)[0]); step < m.steps; step++ {
		if err := m.step(p, task, step, have); err != nil {
			return err
		}
		if have, err = p.Next(ctx, 1, 0.05, m.everything(), nil); err != nil {
			return err
		}
		if task == 0 {
			m.made.Add(1)
			if err := going.hear(ctx, step+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// step pushes what a task does at a step.
func (m *migrant) step(p *ps.Client, task, step int, have []matrix.Block) error {
	rng := rand.New(rand.NewPCG(uint64(step), uint64(task)))
	for i := range m.metas {
		of := &m.metas[i]
		var err error
		switch of.Name {
		case "place":
			at := matrix.At(0, 1, int64(task), int64(task)+1)
			err = p.Assign("place", matrix.Block{At: at, Data: &matrix.Cols[float64]{Idx: []int64{int64(task)}, Val: []float64{float64(step + 1)}}})
		case "sums", "dense":
			err = p.Push(of.Name, ones(*of))
		case "scaled":
			if task == 0 {
				if err = p.Push(of.Name, ones(*of)); err == nil {
					var h *ps.Matrix
					if h, err = p.Matrix(of.Name); err == nil {
						err = h.Stage("scale", map[string]any{"by": 0.75})
					}
				}
			}
		default:
			err = p.Push(of.Name, gradient(of, have[i], rng))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mover is the task that moves the job.
type mover struct {
	*migrant
	p         *ps.Client
	orders    *ps.Orders
	order     *ps.Order
	quiesceAt int
}

// hear makes an order after a step.
func (g *mover) hear(ctx context.Context, step int) (err error) {
	if step == g.steps && g.quiesceAt == 0 { // the others may have left, and come to no further attempt
		return nil
	}
	if g.order == nil {
		if g.order, err = g.orders.Poll(ctx); g.order == nil || err != nil {
			return err
		}
	}
	if g.bound == ssp.ASP {
		if g.quiesceAt == 0 {
			clock, err := g.p.Quiesce(ctx, g.order, g.p.Now()+1, g.p.Now()+g.steps-step)
			switch {
			case errors.Is(err, rpc.ErrPassed):
			case errors.Is(err, rpc.ErrNotFound):
				g.order = nil
			case err != nil:
				return err
			default:
				g.quiesceAt = clock
			}
			return nil
		}
		if g.p.Now() < g.quiesceAt {
			return nil
		}
		if err := g.p.Barrier(ctx); err != nil {
			return err
		}
	}
	switch err := g.p.CommitMove(ctx, g.order); {
	case errors.Is(err, rpc.ErrNotFound):
		g.order, g.quiesceAt = nil, 0
		return nil
	case err != nil:
		return err
	}
	path := fmt.Sprintf("run/%012d", g.made.Load())
	if err := g.p.Checkpoint(ctx, path); err != nil {
		return err
	}
	if err := g.p.Moved(ctx, g.order, path); err != nil {
		return err
	}
	g.mu.Lock()
	g.on, g.from, g.turn = g.order.Servers, path, g.turn+1
	if g.quiesceAt > 0 {
		g.quiesced++
	}
	g.mu.Unlock()
	return goneOn
}

// task is all attempts of a task.
func (m *migrant) task(ctx context.Context, task int) (map[string]string, error) {
	for {
		out, turn, err := m.attempt(ctx, task)
		if err == nil || !errors.Is(err, goneOn) && !ps.Recoverable(err) {
			return out, err
		}
		m.mu.Lock()
		if later, is := errors.AsType[*ps.LaterAttempt](err); is {
			m.turn = max(m.turn, later.Attempt)
		} else if m.turn == turn {
			m.turn++
		}
		m.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// live runs the job to its end while it is moved as the random numbers say, and answers with its values.
func (m *migrant) live(rng *rand.Rand, moves int) (out map[string]string, moved int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	m.on, m.turn = m.servers[:1+rng.IntN(2)], 1
	results, errs := make([]map[string]string, migrants), make([]error, migrants)
	var all sync.WaitGroup
	for task := range migrants {
		all.Go(func() { results[task], errs[task] = m.task(ctx, task) })
	}
	ordered := make(chan int, 1)
	go func() { ordered <- m.movesOf(ctx, rng, moves) }()
	all.Wait()
	cancel()
	if err := errors.Join(errs...); err != nil {
		m.t.Fatal(err)
	}
	return results[0], <-ordered
}

// movesOf orders moves, some of which are withdrawn.
func (m *migrant) movesOf(ctx context.Context, rng *rand.Rand, moves int) (moved int) {
	for range moves {
		for next := m.made.Load() + rng.Int64N(8); m.made.Load() < next && ctx.Err() == nil; {
			time.Sleep(50 * time.Microsecond)
		}
		to := slices.Clone(m.servers)
		rng.Shuffle(len(to), func(i, k int) { to[i], to[k] = to[k], to[i] })
		to = to[:1+rng.IntN(len(to))]
		m.mu.Lock()
		on := m.on
		m.mu.Unlock()
		within, give := context.WithCancel(ctx)
		if rng.IntN(4) == 0 {
			time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, give)
		}
		_, err := ps.Move(within, m.net, on[rng.IntN(len(on))], rpc.Move{Job: "j", Servers: to})
		give()
		if err == nil {
			moved++
		}
	}
	return moved
}

// TestMoves: a job is moved from servers to servers while it makes its steps, again and again, and some of the orders are withdrawn. No
// change is lost or made twice under any bound, and under BSP its values have the bits of one that was not moved.
func TestMoves(t *testing.T) {
	const steps = 60
	moved, quiesced := 0, 0
	for _, network := range []string{"mem", "tcp"} {
		for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
			t.Run(fmt.Sprint(network, " ", bound), func(t *testing.T) {
				var still map[string]string
				for seed := range uint64(4) {
					m := &migrant{fleet: newFleet(t, network, 4, &blob.Mem{}, migrating()), bound: bound, steps: steps}
					moves := 6
					if seed == 0 {
						moves = 0
					}
					got, n := m.live(rand.New(rand.NewPCG(seed, uint64(bound))), moves)
					moved, quiesced = moved+n, quiesced+m.quiesced
					m.exact(got)
					if seed == 0 {
						still = got
					}
					for name, bits := range got {
						if bound == ssp.BSP && bits != still[name] {
							t.Errorf("seed %d: %s has other values after %d moves", seed, name, n)
						}
					}
				}
			})
		}
	}
	if moved < 12 || quiesced == 0 {
		t.Errorf("%d moves, for %d of which tasks quiesced: want some", moved, quiesced)
	}
	t.Logf("%d moves, for %d of which tasks quiesced", moved, quiesced)
}

// exact wants the sums of all steps of all tasks, and the last places.
func (m *migrant) exact(got map[string]string) {
	m.t.Helper()
	for _, c := range []struct {
		name  string
		cells int
		want  float64
	}{{"sums", 80, float64(migrants * m.steps)}, {"dense", 40, float64(migrants * m.steps)}, {"place", migrants, float64(m.steps)}} {
		all, _ := wire.NumbersAnywhere[float64]([]byte(got[c.name]))
		for i, v := range all[:c.cells] {
			if v != c.want {
				m.t.Fatalf("%s has %v at %d, want %v: a change was lost, or made twice", c.name, v, i, c.want)
			}
		}
	}
}

// TestOrders: what is wrong with an order is told, whoever asks.
func TestOrders(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		c, asks := s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: 4}), s.dial()
		order := func(text string, kind error, want string) {
			t.Helper()
			_, err := asks.ask(rpc.Request{Op: rpc.OpMove, Arg: []byte(text)})
			fails(t, text, err, kind, want)
		}
		order(`{"job":"i","servers":["x"]}`, rpc.ErrNotFound, "nobody has joined it")
		order(`noise`, rpc.ErrMalformed, "")
		order(`{"job":"j","servers":["x","x"]}`, rpc.ErrMalformed, "server 2 of 2")
		order(`{"job":"j","servers":[""]}`, rpc.ErrMalformed, "server 1 of 1")
		order(`{"job":"j","servers":[]}`, rpc.ErrMalformed, "no servers")
		order(`{"job":"j","servers":["x"]}`, rpc.ErrNotFound, "none of its tasks writes checkpoints")
		for _, text := range []string{`noise`, `{"step":"jump"}`} {
			_, err := c.ask(rpc.Request{Op: rpc.OpMoving, Arg: []byte(text)})
			fails(t, text, err, rpc.ErrMalformed, "")
		}
		_, err := c.ask(rpc.Request{Op: rpc.OpMoving, Arg: []byte(`{"step":"commit"}`)})
		fails(t, "commit", err, rpc.ErrNotFound, "no order")

		await := c.start(rpc.Request{Op: rpc.OpAwait})
		first := asks.start(rpc.Request{Op: rpc.OpMove, Arg: []byte(`{"job":"j","servers":["x","y"]}`)})
		var told rpc.Order
		if err := json.Unmarshal(c.wait(await).Results[0].Data, &told); err != nil || !slices.Equal(told.Servers, []string{"x", "y"}) {
			t.Errorf("%+v, %v, want servers x and y", told, err)
		}
		var look rpc.Moved
		if err := json.Unmarshal(asks.must(rpc.Request{Op: rpc.OpMove, Arg: []byte(`{"job":"j"}`)}).Results[0].Data, &look); err != nil ||
			look.Attempt != 4 || look.Moving == nil || look.Moving.Committed {
			t.Errorf("%+v, %v, want an order that is not committed", look, err)
		}
		c.must(rpc.Request{Op: rpc.OpMoving, Arg: []byte(`{"step":"commit"}`)})
		c.must(rpc.Request{Op: rpc.OpMoving, Arg: []byte(`{"step":"moved","checkpoint":"run/7"}`)})
		var moved rpc.Moved
		if err := json.Unmarshal(asks.wait(first).Results[0].Data, &moved); err != nil || moved.Checkpoint != "run/7" || moved.Attempt != 5 {
			t.Errorf("%+v, %v, want attempt 5 from run/7", moved, err)
		}
		asks.must(rpc.Request{Op: rpc.OpMove, Arg: []byte(`{"job":"j","gone":3}`)})
		if _, err := c.ask(rpc.Request{Op: rpc.OpBarrier}); err != nil {
			t.Errorf("attempt 3 has gone, and attempt 4: %v", err)
		}
		asks.must(rpc.Request{Op: rpc.OpMove, Arg: []byte(`{"job":"j","gone":4}`)})
		_, err = c.ask(rpc.Request{Op: rpc.OpBarrier})
		fails(t, "barrier", err, rpc.ErrAborted, "has moved from here")
	})
}
