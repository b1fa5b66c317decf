package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// kept are matrices whose columns are admitted, or expire, or both, for every rule.
func kept() (all []matrix.Meta) {
	for i, name := range ruleNames()[1:] {
		m := matrix.Meta{
			Name: "w-" + name, Rows: 2, Cols: 300, ColLo: -50, DType: matrix.F32, Layout: matrix.RowSparse, Rule: name,
			Init: matrix.Init{Kind: "normal", Scale: 0.1, Seed: 7},
			Keep: []matrix.Keep{{AdmitAfter: 2}, {ExpireAfter: 2}, {AdmitAfter: 2, ForgetAfter: 3, ExpireAfter: 4}}[i%3],
		}
		if i%2 == 0 {
			m.DType, m.Init = matrix.F64, matrix.Init{}
		}
		all = append(all, m)
	}
	return append(all, matrix.Meta{
		Name: "counted", Rows: 3, Cols: 300, ColLo: -50, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "momentum",
		Init: matrix.Init{Kind: "normal", Scale: 0.1, Seed: 7},
		Keep: matrix.Keep{ShowWeight: 0.5, ClickWeight: 2, HalfLife: 5, EvictBelow: 1},
	})
}

// someColumns makes steps with gradients for some columns: a few in every step, most seldom.
func (f *fleet) someColumns(ctx context.Context, p *ps.Client, task, from, to int) error {
	for step := from; step < to; step++ {
		rng := rand.New(rand.NewPCG(uint64(step), uint64(task)))
		for i := range f.metas {
			m := &f.metas[i]
			var keys []int64
			for key := m.ColLo; key < m.ColLo+m.Cols; key++ {
				if (key+50)%10 == 0 || rng.IntN(6) == 0 {
					keys = append(keys, key)
				}
			}
			d := matrix.KindOf(m.DType).Cols(keys, int(m.Rows))
			switch d := d.(type) {
			case *matrix.Cols[float32]:
				for i := range d.Val {
					d.Val[i] = float32(rng.NormFloat64())
				}
			case *matrix.Cols[float64]:
				for i := range d.Val {
					d.Val[i] = rng.NormFloat64()
				}
			}
			if err := p.Push(m.Name, matrix.Block{At: m.Rect(), Data: d}); err != nil {
				return err
			}
			if m.Keep.Counts() {
				plans, err := p.Plan(keys, []string{m.Name})
				if err != nil {
					return err
				}
				counts := make([]float32, 2*len(keys))
				for i, key := range plans[0].Unique() { // in an order that depends on how the matrix is cut
					counts[2*i], counts[2*i+1] = float32(1+key&1), float32((key+int64(step))%7/6)
				}
				if err := p.PushCounts(m.Name, plans[0], counts); err != nil {
					return err
				}
			}
		}
		if err := p.Clock(ctx, 2, 0.05); err != nil {
			return err
		}
	}
	return nil
}

// keptBits trains from one step to another, after restoring and before writing a checkpoint if there are paths for that: an
// increment if it restores.
func (f *fleet) keptBits(from, to int, restore, checkpoint string) (out map[string]string) {
	f.t.Helper()
	f.run(fleetTasks, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
		if restore != "" && task == 0 {
			if _, err := p.Restore(ctx, restore); err != nil {
				return err
			}
		}
		if err := errors.Join(p.SyncClock(ctx), p.Barrier(ctx), f.someColumns(ctx, p, task, from, to)); err != nil {
			return err
		}
		if checkpoint != "" && task == 1 {
			if err := p.CheckpointSince(ctx, checkpoint, restore); err != nil {
				return err
			}
		}
		all, err := f.bits(ctx, p)
		if task == 0 {
			out = all
		}
		return err
	})
	return out
}

// TestKeepSameBits: which columns are admitted and expire, and so all bits, are the same on any number of servers and cut in any
// way, also when a checkpoint and an increment in the middle are restored on others.
func TestKeepSameBits(t *testing.T) {
	metas := kept()
	want := sameBits(t, metas)
	free := metas[0]
	free.Keep = matrix.Keep{}
	if other := newFleet(t, "mem", 1, &blob.Mem{}, []matrix.Meta{free}).keptBits(0, keptEnd, "", ""); other[free.Name] == want[free.Name] {
		t.Fatal("the settings change nothing")
	}
}

const keptMid, keptEnd = 7, 16

// sameBits trains on one server in one go, and wants the same of any number, however matrices are cut, and of a restored checkpoint.
func sameBits(t *testing.T, metas []matrix.Meta) map[string]string {
	const mid, end = keptMid, keptEnd
	want := newFleet(t, "mem", 1, &blob.Mem{}, metas).keptBits(0, end, "", "")
	for _, c := range []struct {
		net           string
		before, after int
		cut, then     string
	}{{"mem", 2, 5, "hash", "hash"}, {"mem", 5, 1, "hash", "column"}, {"tcp", 1, 2, "column", "hash"}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			bucket := &blob.Mem{}
			newFleet(t, c.net, c.before, bucket, metas, "", c.cut).keptBits(0, mid-2, "", "c")
			newFleet(t, c.net, c.before, bucket, metas, "", c.cut).keptBits(mid-2, mid, "c", "d")
			got := newFleet(t, c.net, c.after, bucket, metas, "", c.then).keptBits(mid, end, "d", "")
			for name := range maps.Keys(want) {
				if got[name] != want[name] {
					t.Errorf("matrix %s: the bits differ from those of one server in one go", name)
				}
			}
		})
	}
	return want
}

// TestLazySameBits: columns that catch up do so to the same bits on any number of servers, cut in any way, and from a checkpoint
// that has them behind.
func TestLazySameBits(t *testing.T) {
	var metas []matrix.Meta
	for i, of := range []struct {
		rule  string
		hyper map[string]float64
	}{
		{"sgd", map[string]float64{"l1": 1e-3, "l2": 0.01}}, {"momentum", nil}, {"momentum", map[string]float64{"l2": 0.01}},
		{"nesterov", nil}, {"adagrad", map[string]float64{"l1": 0.01}}, {"rmsprop", nil}, {"adadelta", nil},
	} {
		m := matrix.Meta{
			Name: fmt.Sprint("w", i), Rows: 2, Cols: 300, ColLo: -50, DType: []matrix.DType{matrix.F32, matrix.F64}[i%2], Layout: matrix.RowSparse,
			Rule: of.rule, Hyper: of.hyper,
		}
		metas = append(metas, m)
		m.Name, m.Keep = m.Name+"-kept", matrix.Keep{AdmitAfter: 2, ExpireAfter: 4}
		metas = append(metas, m)
	}
	sameBits(t, metas)
}

// TestLazyOtherSettings: what a checkpoint has catches up by the settings of its time, also where the rule then has others.
func TestLazyOtherSettings(t *testing.T) {
	m := matrix.Meta{
		Name: "w", Rows: 2, Cols: 300, ColLo: -50, DType: matrix.F64, Layout: matrix.RowSparse, Rule: "sgd", Hyper: map[string]float64{"l2": 0.1},
	}
	bucket := &blob.Mem{}
	want := newFleet(t, "mem", 2, bucket, []matrix.Meta{m}).keptBits(0, 6, "", "c")
	for _, l2 := range []float64{0, 0.2} {
		m.Hyper = map[string]float64{"l2": l2}
		if got := newFleet(t, "mem", 3, bucket, []matrix.Meta{m}).keptBits(0, 0, "c", ""); got["w"] != want["w"] {
			t.Errorf("restored with l2 %v other values than were saved with 0.1", l2)
		}
	}
}

// TestKeepOtherSettings: a checkpoint may be restored with other settings: counts and ages that nobody asks for are left out, and
// columns of which none was kept are as if they were named last in the last step.
func TestKeepOtherSettings(t *testing.T) {
	m := kept()[2]
	bucket := &blob.Mem{}
	newFleet(t, "mem", 2, bucket, []matrix.Meta{m}).keptBits(0, 6, "", "full")
	plain := m
	plain.Keep = matrix.Keep{}
	newFleet(t, "mem", 3, bucket, []matrix.Meta{plain}).keptBits(6, 9, "full", "plain")
	after := newFleet(t, "mem", 1, bucket, []matrix.Meta{m})
	after.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if _, err := p.Restore(ctx, "plain"); err != nil {
			return err
		}
		columns := func() int64 { return after.served[0].Status(ctx)[0].Tables[0].Columns }
		before := columns()
		for step := range m.Keep.ExpireAfter {
			if n := columns(); n != before || n == 0 {
				return fmt.Errorf("%d columns after %d steps, want %d", n, step, before)
			}
			if err := errors.Join(p.Clock(ctx, 1, 0.1), p.Flush(ctx)); err != nil {
				return err
			}
		}
		if got := tableWhen(ctx, after.served[0], func(s server.MatrixStatus) bool { return s.Columns == 0 }); got.Columns != 0 {
			return fmt.Errorf("%d columns after %d steps that named none, want 0", got.Columns, m.Keep.ExpireAfter)
		}
		return nil
	})
}

// tableWhen is the status of the first table when it is as it has to become, or after ten seconds: a step is answered when its partitions
// have it before them in their mailboxes, which another processor may still work on.
func tableWhen(ctx context.Context, s *server.Server, is func(server.MatrixStatus) bool) (got server.MatrixStatus) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if got = s.Status(ctx)[0].Tables[0]; is(got) {
			break
		}
	}
	return got
}

// TestKeepStatus: what became of columns is seen.
func TestKeepStatus(t *testing.T) {
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 100, DType: matrix.F64, Layout: matrix.RowSparse, Rule: "sgd",
		Keep: matrix.Keep{AdmitAfter: 2, ExpireAfter: 2}}
	f := newFleet(t, "mem", 1, &blob.Mem{}, []matrix.Meta{m})
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		for _, keys := range [][]int64{{1, 2, 3}, {1, 2}, {7}, {7}} {
			d := &matrix.Cols[float64]{Idx: keys, Val: make([]float64, len(keys))}
			if err := errors.Join(p.Push("w", matrix.Block{At: m.Rect(), Data: d}), p.Clock(ctx, 1, 0.1), p.Flush(ctx)); err != nil {
				return err
			}
		}
		want := server.MatrixStatus{Columns: 1, Admitted: 3, Refused: 4, Expired: 2, Candidates: 1}
		is := func(got server.MatrixStatus) bool {
			return got.Columns == want.Columns && got.Admitted == want.Admitted && got.Refused == want.Refused && got.Expired == want.Expired &&
				got.Candidates == want.Candidates
		}
		if got := tableWhen(ctx, f.served[0], is); !is(got) {
			return fmt.Errorf("status %+v, want %+v", got, want)
		}
		return nil
	})
}

// TestKeepRefused: a matrix whose rows are cut is refused, as is one without a rule or of all columns.
func TestKeepRefused(t *testing.T) {
	keep := matrix.Keep{AdmitAfter: 2}
	sparse := matrix.Meta{Name: "w", Rows: 8, Cols: 8, DType: matrix.F64, Layout: matrix.RowSparse, Rule: "sgd", Keep: keep}
	for _, c := range []struct {
		cut    string
		change func(m *matrix.Meta)
		kind   error
		want   string
	}{
		{"range", func(m *matrix.Meta) { m.BlockRows = 2 }, rpc.ErrRefused, "its rows are cut into"},
		{"hash", func(m *matrix.Meta) { m.Rule = "" }, rpc.ErrRefused, "by steps of a rule"},
		{"column", func(m *matrix.Meta) { m.Layout = matrix.RowDense }, rpc.ErrRefused, "want a sparse one"},
		{"hash", func(m *matrix.Meta) { m.Keep.ExpireAfter = -1 }, nil, "expire after -1 steps"},
	} {
		m := sparse
		c.change(&m)
		newFleet(t, "mem", 2, &blob.Mem{}, nil).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			err := p.Create(ctx, c.cut, m)
			if c.kind == nil {
				c.kind = err
			}
			fails(t, c.cut, err, c.kind, c.want)
			return nil
		})
	}
}
