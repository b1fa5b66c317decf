package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// scenarioTask is a task of a scenario: it does what its seed says, knows what it pushed, and looks whether it sees that.
type scenarioTask struct {
	sc     *scenario
	farm   *farm
	task   int
	net    *mortal
	rng    *rand.Rand // of this task
	shared *rand.Rand // the same for all tasks
	ctx    context.Context
	p      *ps.Client
	step   int
	out    taskOutcome

	kept    [scenarioCols]int64   // pushed to its own row and not sent
	sent    [scenarioCols]int64   // sent
	byClock [][scenarioCols]int64 // what was sent before each clock of matrix n
}

func newScenarioTask(sc *scenario, f *farm, task int) *scenarioTask {
	w := &scenarioTask{sc: sc, farm: f, task: task, rng: rand.New(rand.NewPCG(sc.seed, uint64(task)+1)),
		shared: rand.New(rand.NewPCG(sc.seed, 1<<32)), net: &mortal{Network: f.ways}, byClock: make([][scenarioCols]int64, 1)}
	w.out.own = totals{n: make([]int64, (1+sc.tasks)*scenarioCols), k: map[int64][]int64{}}
	return w
}

// errVanished is what the task of an outage comes to.
var errVanished = errors.New("task vanished as it should")

func (w *scenarioTask) run() taskOutcome {
	ctx, cancel := within()
	defer cancel()
	w.ctx = ctx
	if w.out.err = w.live(); w.out.err != nil {
		w.out.err = fmt.Errorf("step %d at %v: %w", w.step, time.Since(scenarioStart).Round(time.Millisecond), w.out.err)
	}
	if w.p != nil {
		_ = w.p.Close()
	}
	return w.out
}

func (w *scenarioTask) live() (err error) {
	if w.p, err = w.dial(); err == nil {
		err = w.p.Create(w.ctx, "", w.sc.matrices()...)
	}
	if err == nil {
		err = w.members()
	}
	for w.step = 0; err == nil && w.step < w.sc.steps; w.step++ {
		if err = w.outage(); err != nil {
			break
		}
		n := 1 + w.rng.IntN(4)
		for i := 0; err == nil && i < n; i++ {
			err = w.act()
		}
		if err == nil {
			err = w.tick()
		}
	}
	if err == nil {
		err = w.finish()
	}
	return err
}

// dial connects the task; whoever begins may find that a server is not there yet.
func (w *scenarioTask) dial() (p *ps.Client, err error) {
	for range 20 {
		p, err = ps.Dial(w.ctx, ps.Options{Network: w.net, Servers: w.farm.where(), Find: w.farm.find, Job: "j", Task: w.task,
			Tasks: w.sc.tasks, Bound: w.sc.bound, Retry: w.sc.retry(), InFlight: w.sc.inFlight, Funcs: moreFuncs})
		if !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrStandby) {
			break
		}
		time.Sleep(time.Second)
	}
	return p, err
}

// members waits for all tasks, as a worker does. Who comes when the others have failed and left begins the job anew, and
// waits in vain.
func (w *scenarioTask) members() error {
	ctx, cancel := context.WithTimeout(w.ctx, 3*time.Hour)
	defer cancel()
	var last rpc.Membership
	err := w.p.Members(ctx, func(m rpc.Membership) { last = m })
	if w.sc.outage != noOutage && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("task %d has not come", last.Missing)
	}
	return err
}

// outage does what the scenario has in store for one of its tasks.
func (w *scenarioTask) outage() error {
	if w.step != w.sc.at || w.task != w.sc.tasks-1 {
		return nil
	}
	switch w.sc.outage {
	case taskVanishes:
		w.net.vanish()
		return errVanished
	case taskGivesUp:
		return errVanished
	case serverStops:
		return w.farm.listeners[0].Close()
	}
	return nil
}

// act does one thing.
func (w *scenarioTask) act() error {
	if w.rng.IntN(3) == 0 {
		time.Sleep(time.Duration(w.rng.IntN(200)) * time.Millisecond)
	}
	n, k, f, r := w.matrix("n"), w.matrix("k"), w.matrix("f"), w.matrix("r")
	switch w.rng.IntN(13) {
	case 0, 1:
		return w.increment(n)
	case 2, 3:
		return w.pushKeys(k)
	case 4:
		b := matrix.NewDense(matrix.F64, matrix.At(0, 1, 3, scenarioCols))
		for i, v := range b.Data.Values().([]float64) {
			b.Data.Values().([]float64)[i] = v + w.rng.NormFloat64()
		}
		return w.p.Push("f", b)
	case 5:
		return w.gradient(r)
	case 6:
		return w.see("wants", func() (all []matrix.Block, err error) {
			return w.p.Pull(w.ctx, []matrix.Lookup{{Matrix: "f"}, {Matrix: "r", Cols: w.columns(6)}, {Matrix: "k"}})
		})
	case 7:
		return w.ownRow(n)
	case 8:
		return w.see("flow", func() (all []matrix.Block, err error) {
			stop := w.rng.IntN(4)
			for b, err := range f.GetRowsFlow(w.ctx, []int64{0, 0, 0}, 1) {
				if err != nil {
					return nil, err
				}
				if all = append(all, b); len(all) > stop {
					break
				}
			}
			return all, nil
		})
	case 9:
		return w.pullKeys(r)
	case 10:
		return w.update()
	case 11:
		return w.hurry()
	default:
		w.send()
		return w.p.Flush(w.ctx)
	}
}

func (w *scenarioTask) matrix(name string) *ps.Matrix {
	m, err := w.p.Matrix(name)
	if err != nil {
		panic(err)
	}
	return m
}

// increment adds to cells of everybody's row and of the task's own.
func (w *scenarioTask) increment(n *ps.Matrix) error {
	lo := int64(w.rng.IntN(scenarioCols - 1))
	hi := lo + 1 + w.rng.Int64N(scenarioCols-lo)
	b := matrix.NewDense(matrix.I64, matrix.At(0, 2, lo, hi))
	val := b.Data.Values().([]int64)
	own := int64(1 + w.task)
	for i := range val {
		val[i] = w.rng.Int64N(1000) - 300
		row, col := int64(0), lo+int64(i)
		if col >= hi {
			row, col = own, col-(hi-lo)
			w.kept[col] += val[i]
		}
		w.out.own.n[row*scenarioCols+col] += val[i]
	}
	return n.IncrementRows([]int64{0, own}, b)
}

// keys are some columns, in any order, that may come twice.
func (w *scenarioTask) keys(n int) []int64 {
	all := scenarioKeys()
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = all[w.rng.IntN(len(all))]
	}
	return keys
}

// columns are ascending columns.
func (w *scenarioTask) columns(n int) []int64 {
	keys := w.keys(n)
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (w *scenarioTask) pushKeys(k *ps.Matrix) error {
	keys := w.keys(1 + w.rng.IntN(12))
	plan, err := k.Plan(nil, keys)
	if err != nil {
		return err
	}
	val := make([]int64, 2*len(keys))
	for i := range val {
		val[i] = w.rng.Int64N(1000) - 300
		key := keys[i/2]
		if w.out.own.k[key] == nil {
			w.out.own.k[key] = make([]int64, 2)
		}
		w.out.own.k[key][i%2] += val[i]
	}
	return ps.PushKeys(k, plan, val)
}

// gradient pushes gradients for the rule of the matrix.
func (w *scenarioTask) gradient(r *ps.Matrix) error {
	keys := w.keys(1 + w.rng.IntN(12))
	plan, err := r.Plan(nil, keys)
	if err != nil {
		return err
	}
	val := make([]float32, 3*len(keys))
	for i := range val {
		val[i] = float32(w.rng.NormFloat64())
	}
	return ps.PushKeys(r, plan, val)
}

func (w *scenarioTask) pullKeys(r *ps.Matrix) error {
	keys := w.keys(1 + w.rng.IntN(12))
	plan, err := r.Plan(nil, keys)
	if err != nil {
		return err
	}
	return w.see("keys", func() ([]matrix.Block, error) {
		out := &matrix.Dense[float32]{Val: make([]float32, 3*len(keys))}
		err := ps.PullKeys(w.ctx, r, plan, out.Val)
		return []matrix.Block{{Data: out}}, err
	})
}

// see remembers what it reads, if everybody must see it in every run.
func (w *scenarioTask) see(what string, read func() ([]matrix.Block, error)) error {
	all, err := read()
	if err != nil {
		return err
	}
	for _, b := range all {
		w.out.saw = append(w.out.saw, sight{w.step, what, bits(b)})
	}
	return nil
}

// update runs a function beside the data.
func (w *scenarioTask) update() error {
	w.out.own.u++
	return w.matrix("u").Update(w.ctx, "more", nil)
}

// hurry has a change sent by a call that does not wait for long.
func (w *scenarioTask) hurry() error {
	ctx, cancel := context.WithTimeout(w.ctx, time.Duration(w.rng.IntN(150))*time.Millisecond)
	defer cancel()
	err := w.p.Flush(ctx)
	if err == nil || errors.Is(err, context.DeadlineExceeded) && w.ctx.Err() == nil {
		_, err = w.matrix("f").GetRow(ctx, 0)
	}
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || w.ctx.Err() != nil) {
		return err
	}
	w.send()
	return w.p.Flush(w.ctx)
}

// send notes that what was kept is sent with the next call.
func (w *scenarioTask) send() {
	for i, v := range w.kept {
		w.sent[i] += v
	}
	w.kept = [scenarioCols]int64{}
}

// ticked notes that matrix n has ticked.
func (w *scenarioTask) ticked() { w.byClock = append(w.byClock, w.sent) }

// ownRow wants the row that only this task changes to be what it pushed, as far as the bound lets it see that.
func (w *scenarioTask) ownRow(n *ps.Matrix) error {
	b, err := n.GetRow(w.ctx, int64(1+w.task))
	if err != nil {
		return err
	}
	got := b.Data.Values().([]int64)
	if w.sc.bound == ssp.ASP {
		if !slices.Equal(got, w.sent[:]) {
			return fmt.Errorf("step %d: its own row is %v, want what it sent: %v", w.step, got, w.sent)
		}
		return nil
	}
	now := len(w.byClock) - 1
	least := max(w.sc.bound.Need(now), 0)
	if as := n.AsOf(); as < w.sc.bound.Need(now) {
		return fmt.Errorf("step %d: row as of clock %d, want %d or later", w.step, as, w.sc.bound.Need(now))
	}
	for col, v := range got {
		some := false
		for c := least; c <= now; c++ {
			some = some || w.byClock[c][col] == v
		}
		if !some {
			return fmt.Errorf("step %d: column %d of its own row is %d, want what it sent before clock %d to %d", w.step, col, v, least, now)
		}
	}
	return nil
}

// tick ends the step, in the way that all tasks do.
func (w *scenarioTask) tick() error {
	w.send()
	how := w.shared.IntN(5)
	if err := w.clock(how); err != nil {
		return err
	}
	if w.shared.IntN(4) == 0 {
		if err := w.p.Barrier(w.ctx); err != nil {
			return err
		}
	}
	if save := w.shared.IntN(8) == 0 || w.step == w.sc.steps/2; save && w.task == 0 {
		return w.save()
	}
	return nil
}

func (w *scenarioTask) clock(how int) error {
	defer w.ticked()
	switch how {
	case 0:
		lookups := []matrix.Lookup{{Matrix: "r", Cols: w.columns(5)}, {Matrix: "f"}}
		return w.see("next", func() ([]matrix.Block, error) { return w.p.Next(w.ctx, 2, 0.1, lookups, nil) })
	case 1:
		name := []string{"n", "f", "r", "u"}[w.shared.IntN(4)]
		if err := w.matrix(name).Clock(w.ctx, 1, 0.05); err != nil {
			return err
		}
		if name == "n" {
			w.ticked()
		}
	}
	return w.p.Clock(w.ctx, 1, 0.1)
}

// save saves the integers, and looks up what its own row was.
func (w *scenarioTask) save() error {
	w.out.savedAs = slices.Clone(w.sent[:])
	return w.p.Save(w.ctx, ps.SaveOptions{Codec: "angel", Path: "mid", Matrices: []string{"n", "k"}, Lossy: true, Replace: true})
}

// finish waits for all tasks and reads everything.
func (w *scenarioTask) finish() error {
	w.send()
	if err := w.p.Clock(w.ctx, 1, 0.1); err != nil {
		return err
	}
	if err := w.p.Barrier(w.ctx); err != nil {
		return err
	}
	all, err := w.p.Pull(w.ctx, []matrix.Lookup{{Matrix: "n"}, {Matrix: "k"}, {Matrix: "u"}, {Matrix: "f"}, {Matrix: "r"}})
	if err != nil {
		return err
	}
	if err := w.see("end", func() ([]matrix.Block, error) { return []matrix.Block{all[0], all[1], all[3], all[4]}, nil }); err != nil {
		return err
	}
	w.out.last = totals{n: all[0].Data.Values().([]int64), k: map[int64][]int64{}}
	k := all[1].Data.(*matrix.Cols[int64])
	for i, key := range k.Idx {
		w.out.last.k[key] = k.Val[2*i : 2*i+2]
	}
	u := all[2].Data.Values().([]int64)
	w.out.last.u = u[0]
	if slices.Min(u) != slices.Max(u) {
		return fmt.Errorf("an update function ran beside some cells and not beside others: %v", u)
	}
	return w.p.Leave(w.ctx)
}
