package server_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// TestReadMyWrites: a task that wants to sees all that it has pushed itself, at once and once, by rows, by keys and as stored columns;
// what the others pushed it sees as the bound says. Task t adds 1000^t to some cells in each clock, so that the digits of a cell tell how
// often each has.
func TestReadMyWrites(t *testing.T) {
	const clocks, cols = 12, 300
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
			for _, servers := range []int{1, 3} {
				c := newCluster(t, &mem.Network{}, servers)
				c.run(2, bound, func(ctx context.Context, p *ps.Client, task int) error {
					w := ps.NewModel("w", 2, cols)
					w.SetMeta(func(m *matrix.Meta) { m.DType, m.Layout = matrix.I64, layout })
					w.SetReadMyWrites(true)
					ms, err := p.CreateModels(ctx, w)
					if err != nil {
						return err
					}
					m, unit := ms[0], int64(math.Pow(1000, float64(task)))
					keys := []int64{7, 299, 3}
					k, err := m.Plan(nil, keys)
					if err != nil {
						return err
					}
					see := func(pushed int64) error {
						got := make([]int64, 6)
						if err := ps.PullKeys(ctx, m, k, got); err != nil {
							return err
						}
						row, err := m.GetRow(ctx, 1)
						if err != nil {
							return err
						}
						all := row.ToDense().Data.(*matrix.Dense[int64]).Val
						got = append(got, all[7], all[299], all[3])
						for i, v := range got {
							if own := v / unit % 1000; own != pushed {
								return fmt.Errorf("%v, %v, %d servers, task %d at clock %d: value %d is %d, which has %d of its own, want %d",
									layout, bound, servers, task, p.Now(), i, v, own, pushed)
							}
							if other := v / 1000; bound != ssp.ASP && task == 0 && other < 2*(int64(p.Now())-int64(bound)) {
								return fmt.Errorf("task 0 at clock %d sees %d of task 1's pushes", p.Now(), other)
							}
						}
						return nil
					}
					unitRow := func() matrix.Block {
						b := matrix.NewDense(matrix.I64, matrix.At(0, 2, 0, cols))
						for i := range b.Data.Values().([]int64) {
							b.Data.Values().([]int64)[i] = unit
						}
						return b
					}
					pushed := int64(0)
					for range clocks {
						if err := m.Increment(unitRow()); err != nil {
							return err
						}
						if pushed++; pushed%2 == 0 {
							if err := see(pushed); err != nil {
								return err
							}
						}
						ones := []int64{unit, unit, unit, unit, unit, unit}
						if err := ps.PushKeys(m, k, ones); err != nil {
							return err
						}
						pushed++
						if err := see(pushed); err != nil {
							return err
						}
						if err := p.Clock(ctx, 0, 0); err != nil {
							return err
						}
						if err := see(pushed); err != nil {
							return err
						}
					}
					return nil
				})
			}
		}
	}
}
