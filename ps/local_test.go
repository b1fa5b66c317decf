package ps_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

const localRows, localCols = 20, 1000

// TestHogwild: with hogwild the tasks of a process keep a row once, whoever pulled it; without, each for itself.
func TestHogwild(t *testing.T) {
	for _, hogwild := range []bool{true, false} {
		local := ps.NewLocal()
		var most int64
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
			if err == nil {
				err = p.Barrier(ctx)
			}
			if task == 0 {
				most = local.Bytes()
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
