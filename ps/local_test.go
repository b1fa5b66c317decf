package ps_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

const localRows, localCols = 20, 1000

// TestHogwild: with hogwild the tasks of a process keep a row once, whoever pulled it; without, each for itself.
func TestHogwild(t *testing.T) {
	for _, hogwild := range []bool{true, false} {
		local := ps.NewLocal()
		var most int64
		counted := make(chan struct{})
		tasksOn(t, 2, ps.Options{Tasks: 4, Bound: ssp.BSP, Local: local}, &blob.Mem{}, func(ctx context.Context, p *ps.Client, task int) error {
			model := ps.NewModel("m", localRows, localCols)
			model.SetHogwild(hogwild)
			ms, err := p.CreateModels(ctx, model)
			for r := int64(0); r < localRows && err == nil; r++ {
				_, err = ms[0].GetRow(ctx, r)
			}
			if err == nil {
				err = p.SyncClock(ctx)
			}
			if task == 0 {
				most = local.Bytes()
				close(counted)
			}
			<-counted // the first barrier forgets them
			if err == nil {
				err = p.Barrier(ctx)
			}
			return err
		})
		const once = localRows * 8 * localCols
		if hogwild && (most < once || most > once*11/10) || !hogwild && most != 0 {
			t.Errorf("hogwild %v: the shared rows take %d bytes, want about %d with and none without", hogwild, most, once)
		}
		if left := local.Bytes(); left != 0 {
			t.Errorf("%d bytes are left when the tasks have gone", left)
		}
	}
}

// TestSharedOnce: a row that one task has pulled is not asked for by another.
func TestSharedOnce(t *testing.T) {
	c := newCluster(2)
	local := ps.NewLocal()
	var ms [2]*ps.Matrix
	for task := range ms {
		p := c.dial(t, ps.Options{Local: local, Task: task, Tasks: 2, Bound: 2})
		defer p.Close()
		ms[task] = create(t, p, "", oneMeta)
	}
	requests, _ := c.count()
	first, err := ms[0].GetRow(t.Context(), 0)
	must(t, err)
	before := 0
	for _, n := range requests {
		before += n
	}
	first.Data.Values().([]float64)[0] = 77 // a copy (T27)
	second, err := ms[1].GetRow(t.Context(), 0)
	must(t, err)
	after := 0
	for _, n := range requests {
		after += n
	}
	if before == 0 || after != before || second.Data.Values().([]float64)[0] != 0 {
		t.Errorf("%d requests for the first task's pull, %d after the second's, which sees %v", before, after, second.Data)
	}
	must(t, ms[0].Update(t.Context(), "double", nil)) // changes the matrix behind the rows' back
	_, err = ms[1].GetRow(t.Context(), 0)
	must(t, err)
	again := 0
	for _, n := range requests {
		again += n
	}
	if again < after+2 {
		t.Errorf("%d requests after an update and a pull, %d before: the row was not asked for again", again, after)
	}
}

// TestHogwildFresh: under BSP a reader at clock n sees the n steps of every task and no more, under SSP(k) those up to n-k at least, and
// never more than there are; whoever pulled the row.
func TestHogwildFresh(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 2} {
		const tasks, clocks = 3, 12
		o := ps.Options{Tasks: tasks, Bound: bound, Local: ps.NewLocal()}
		tasksOn(t, 2, o, &blob.Mem{}, func(ctx context.Context, p *ps.Client, task int) error {
			model := ps.NewModel("m", 4, 50)
			ms, err := p.CreateModels(ctx, model)
			if err != nil {
				return err
			}
			one := matrix.NewDense(matrix.F64, matrix.At(0, 4, 0, 50))
			for i := range one.Data.Values().([]float64) {
				one.Data.Values().([]float64)[i] = 1
			}
			for clock := range clocks {
				row, err := ms[0].GetRow(ctx, rand.Int64N(4))
				if err != nil {
					return err
				}
				val := row.Data.Values().([]float64)
				least, most := tasks*bound.Need(clock), tasks*clock
				if bound != ssp.BSP {
					most = tasks * clocks
				}
				for col, v := range val { // under SSP servers may be at different clocks
					if int(v) < least || int(v) > most {
						return fmt.Errorf("%v: at clock %d it sees %v in column %d, want %d to %d", bound, clock, v, col, least, most)
					}
				}
				clear(val) // which is its own
				if err := ms[0].Increment(one); err != nil {
					return err
				}
				if err := p.Clock(ctx, 0, 0); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// TestLocalChange: what a task pulled while another task of the process changed the matrix is not used when the change is made.
func TestLocalChange(t *testing.T) {
	c := newCluster(1)
	local := ps.NewLocal()
	var ms [2]*ps.Matrix
	for task := range ms {
		p := c.dial(t, ps.Options{Local: local, Task: task, Tasks: 2, Bound: 2})
		defer p.Close()
		ms[task] = create(t, p, "", oneMeta)
	}
	pulls := 0
	c.become(func(_ int, q *rpc.Request) fate {
		if q.Op == rpc.OpPull {
			pulls++
			return delivered
		}
		return kept
	})
	future := ms[0].StartUpdate(t.Context(), "double", nil)
	_, err := ms[1].GetRow(t.Context(), 0) // before the server has the change
	must(t, err)
	c.release()
	must(t, future.Wait(t.Context()))
	c.become(func(_ int, q *rpc.Request) fate {
		if q.Op == rpc.OpPull {
			pulls++
		}
		return delivered
	})
	_, err = ms[1].GetRow(t.Context(), 0)
	must(t, err)
	if pulls != 2 {
		t.Errorf("%d pulls, want 2: the row from before the change was used again", pulls)
	}
}

// TestLocalAttempts: a task in a later attempt of the job does not see rows that another task of the process pulled in the one before.
func TestLocalAttempts(t *testing.T) {
	o := ps.Options{Job: "j", Tasks: 2, Bound: ssp.BSP, Local: ps.NewLocal(), Attempt: 1}
	stop, err := realServers(&o, setting{real: "mem"}, 1, &blob.Mem{})
	must(t, err)
	defer stop()
	var tasks [2]*ps.Client
	join := func(task, attempt int) (*ps.Client, *ps.Matrix) {
		mine := o
		mine.Task, mine.Attempt = task, attempt
		p, err := ps.Dial(t.Context(), mine)
		must(t, err)
		return p, create(t, p, "", oneMeta)
	}
	var m *ps.Matrix
	for task := range tasks {
		tasks[task], m = join(task, 1)
		defer tasks[task].Close()
		must(t, m.Increment(dense(oneAt, 1)))
		must(t, tasks[task].Clock(t.Context(), 0, 0))
	}
	row, err := m.GetRow(t.Context(), 0)
	must(t, err)
	if v := row.Data.Values().([]float64)[0]; v != 2 {
		t.Fatalf("the row is %v, want 2", v)
	}
	p, m := join(0, 2) // the other task has not given its attempt up
	defer p.Close()
	row, err = m.GetRow(t.Context(), 0)
	must(t, err)
	if v := row.Data.Values().([]float64)[0]; v != 0 {
		t.Errorf("in the next attempt the row is %v, want 0", v)
	}
}

// TestBarrierFresh: after a barrier all tasks read the same, also where the bound allows older values (C8).
func TestBarrierFresh(t *testing.T) {
	for _, bound := range []ssp.Bound{1, 3, ssp.ASP} {
		const tasks, clocks = 3, 12
		o := ps.Options{Tasks: tasks, Bound: bound}
		tasksOn(t, 2, o, &blob.Mem{}, func(ctx context.Context, p *ps.Client, task int) error {
			if err := p.Create(ctx, "", oneMeta); err != nil {
				return err
			}
			m, _ := p.Matrix("w")
			for clock := range clocks {
				if _, err := m.GetRow(ctx, 0); err != nil {
					return err
				}
				if err := errors.Join(m.Increment(dense(oneAt, 1)), p.Clock(ctx, 0, 0), p.Barrier(ctx)); err != nil {
					return err
				}
				row, err := m.GetRow(ctx, 0)
				if err != nil {
					return err
				}
				if v := row.Data.Values().([]float64)[0]; v != float64(tasks*(clock+1)) {
					return fmt.Errorf("%v: after the barrier of clock %d task %d reads %v, want %d", bound, clock, task, v, tasks*(clock+1))
				}
				if err := errors.Join(p.OwnClock(ctx), p.Barrier(ctx)); err != nil { // before anybody pushes more
					return err
				}
			}
			return nil
		})
	}
}
