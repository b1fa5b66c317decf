package server_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// TestDirect: what is pushed or assigned directly is in the cells at once, whatever the protocol, and makes no step of a rule; it
// leaves alone what was pushed and not sent.
func TestDirect(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
			newCluster(t, &mem.Network{}, 3).run(1, bound, func(ctx context.Context, p *ps.Client, _ int) error {
				w := ps.NewModel("w", 1, 100)
				w.SetMeta(func(m *matrix.Meta) { m.DType, m.Layout, m.Rule = matrix.F64, layout, "sgd" })
				w.SetAverage(true) // of one task
				ms, err := p.CreateModels(ctx, w)
				if err != nil {
					return err
				}
				m, all := ms[0], matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 100))
				val := all.Data.Values().([]float64)
				for i := range val {
					val[i] = 3
				}
				err = errors.Join(p.Push("w", digit(0)), m.AssignNow(ctx, all).Wait(ctx))
				val[0] = 1000 // it was copied
				err = errors.Join(err, answers(ctx, m, "sum", "", "300"), m.PushNow(ctx, digit(1)).Wait(ctx), answers(ctx, m, "sum", "", "301"),
					m.AssignNow(ctx, digit(2)).Wait(ctx), answers(ctx, m, "sum", "", "299"))
				f := m.PushNow(ctx, all.Cut(matrix.At(0, 1, 90, 90)))
				if err := errors.Join(err, f.Wait(ctx)); err != nil || !f.Done() {
					return err
				}
				if err := m.PushNow(ctx, all.Shift(1, 0)).Wait(ctx); err == nil {
					t.Error("a row that the matrix does not have was pushed")
				}
				return errors.Join(p.Clock(ctx, 1, 1), p.SyncClock(ctx), answers(ctx, m, "sum", "", "298")) // the gradient was kept
			})
		}
	}
}

// TestDirectOnce: a direct push that comes again is not made again; it is answered once, also if its values are left out.
func TestDirectOnce(t *testing.T) {
	bubble(t, "once", func(t *testing.T) {
		s := limited(t, 1<<20)
		c := s.join(0, 1, ssp.BSP)
		sp := one("m", 1, 10)
		sp.NonFinite = "skip"
		m := c.create(sp)[0]
		q := c.change(rpc.Request{Op: rpc.OpDirect, Parts: []rpc.Part{m.row(0, 5)}})
		for range 3 {
			c.wait(c.start(q))
		}
		q.Memory.Release()
		for _, assign := range []bool{false, true} {
			bad := m.row(0, math.NaN())
			bad.Assign = assign
			q := c.change(rpc.Request{Op: rpc.OpDirect, Parts: []rpc.Part{bad}})
			c.wait(c.start(q))
			q.Memory.Release()
		}
		c.pushed(nil, m.tick(0, 0, 0))
		if got := c.pulled(m.whole(1)); got[0] != 5 {
			t.Errorf("after three times the same push of 5 the cell is %v", got[0])
		}
		c.leave()
		if used := s.server.Ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("in use in the end: %v", used)
		}
	})
}

// TestAssignNarrow: assigned values that cross the wire in fewer bytes are widened, and a matrix that rounds what is pushed
// assigns the very values.
func TestAssignNarrow(t *testing.T) {
	c := serve(t, nil).join(0, 1, ssp.ASP)
	m := c.create(one("m", 1, 4))[0]
	at := m.row(0, 1, 1, 1, 1)
	at.DType, at.Values, at.Assign = matrix.I8, []byte{0, 0, 0, 0x3f, 1, 2, 0xff, 0}, true // scale 0.5
	for range 2 {
		c.pushed([]rpc.Part{at})
	}
	if got := c.pulled(m.whole(0)); !slices.Equal(got, []float64{0.5, 1, -0.5, 0}) {
		t.Errorf("assigned values are %v", got)
	}
	c.leave()
	newCluster(t, &mem.Network{}, 2).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		w := ps.NewModel("w", 1, 100)
		w.SetWire("int8")
		w.SetFilter(0.5)
		ms, err := p.CreateModels(ctx, w)
		if err != nil {
			return err
		}
		exact := matrix.Block{At: matrix.At(0, 1, 0, 2), Data: &matrix.Dense[float64]{Val: []float64{1.0 / 3, 1000.0001}}}
		if err := errors.Join(ms[0].Assign(exact), p.SyncClock(ctx)); err != nil {
			return err
		}
		got, err := ms[0].GetRow(ctx, 0)
		if v := got.Data.Values().([]float64)[:2]; !slices.Equal(v, []float64{1.0 / 3, 1000.0001}) {
			t.Errorf("assigned values are %v", v)
		}
		return err
	})
}

// TestAssignMakes: columns that are assigned are made at once, where steps would have to name them often; values that have no
// room are refused, at once or for their clock, and change nothing.
func TestAssignMakes(t *testing.T) {
	bubble(t, "makes", func(t *testing.T) {
		s := limited(t, 1<<20)
		c := s.join(0, 1, ssp.BSP)
		sp := with(spec("m", 1, 1<<40, matrix.RowSparse), "sgd")
		sp.Meta.Keep = matrix.Keep{AdmitAfter: 3}
		m := c.create(sp)[0]
		assigned := func(from, n int64) rpc.Part {
			of := map[int64]float64{}
			for k := from; k < from+n; k++ {
				of[k] = float64(k)
			}
			p := m.columns(0, of)
			p.Assign = true
			return p
		}
		gradient := m.columns(0, map[int64]float64{1: -1})
		c.pushed([]rpc.Part{gradient, assigned(7, 2)}, m.tick(0, 1, 1))
		if got := c.pulled(m.keys(1, 1), m.keys(1, 7), m.keys(1, 8)); !slices.Equal(got, []float64{0, 7, 8}) {
			t.Errorf("columns are %v, want 7 and 8 as assigned and 1 not admitted", got)
		}
		direct := c.change(rpc.Request{Op: rpc.OpDirect, Parts: []rpc.Part{assigned(100, 50_000)}})
		fails(t, "direct", c.refusal(direct), rpc.ErrRefused, `new columns of matrix "m" would take`, "--memory is 1 MiB")
		direct.Memory.Release()
		staged := assigned(100, 50_000)
		staged.Clock = 1
		_, err := c.outcome(c.push([]rpc.Part{staged}))
		fails(t, "staged", err, rpc.ErrRefused, `new columns of matrix "m" would take`)
		c.pushed(nil, m.tick(1, 0, 0))
		if got := c.pulled(m.keys(2, 100)); got[0] != 0 {
			t.Errorf("a column of an assignment that was refused is %v", got[0])
		}
	})
}
