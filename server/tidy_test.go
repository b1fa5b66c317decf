package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
	"thole.example/state"
)

// Of increments that each are based on the one before the last two stay, with what they need, and when that becomes many the older of the
// two is made whole and the others go. What stays can be gone on from. A folder that is not a checkpoint's own is left alone.
func TestTidy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := &blob.Mem{}
		metas := []matrix.Meta{{Name: "a", Rows: 1, Cols: 1 << 20, DType: matrix.F64, Layout: matrix.RowSparse}}
		if err := blob.WriteAll(t.Context(), bucket, "run/notes/why.txt", []byte("a folder of somebody's")); err != nil {
			t.Fatal(err)
		}
		at := func(step int) string { return "run/" + state.StepName(int64(step)) }
		newFleet(t, "mem", 2, bucket, metas).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			for step := 1; step <= 12; step++ {
				b := matrix.Block{At: matrix.At(0, 1, 0, 1<<20), Data: &matrix.Cols[float64]{Idx: []int64{int64(step)}, Val: []float64{1}}}
				if err := p.Push("a", b); err != nil {
					return err
				}
				if err := p.Clock(ctx, 0, 0); err != nil {
					return err
				}
				o := ps.CheckpointOptions{Path: at(step), Track: true, Keep: 2, Moment: []byte(`{"run":"r"}`)}
				if step > 1 {
					o.Base = at(step - 1)
				}
				k, err := p.BeginCheckpoint(ctx, o)
				if err == nil {
					err = k.Wait(ctx)
				}
				if err != nil {
					return err
				}
				synctest.Wait()
				all, err := state.List(ctx, bucket, "run")
				if err != nil {
					return err
				}
				var left []string
				for _, e := range all {
					name := strings.TrimLeft(e.Name, "0")
					if e.Head.Whole() {
						name += "w"
					}
					left = append(left, name)
				}
				if want := map[int]string{1: "1w", 2: "1w 2", 6: "1w 2 3 4 5 6", 7: "6w 7", 9: "6w 7 8 9", 12: "11w 12"}[step]; want != "" &&
					strings.Join(left, " ") != want {
					t.Errorf("after %d: %v, want %s", step, left, want)
				}
			}
			return nil
		})
		if _, err := blob.ReadAll(t.Context(), bucket, "run/notes/why.txt", 100); err != nil {
			t.Error(err)
		}
		newFleet(t, "mem", 3, bucket, metas).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			if _, err := p.Restore(ctx, at(12)); err != nil {
				return err
			}
			cols := []int64{0, 1, 5, 6, 11, 12, 13}
			got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "a", Cols: cols}})
			if err == nil && !slices.Equal(got[0].Data.Values().([]float64), []float64{0, 1, 1, 1, 1, 1, 0}) {
				err = fmt.Errorf("restored %v", got[0].Data.Values())
			}
			return err
		})
	})
}

// A training that went back behind some of its checkpoints keeps those that it writes from then on, and leaves the others to be replaced.
func TestTidyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := &blob.Mem{}
		f := newFleet(t, "mem", 2, bucket, []matrix.Meta{{Name: "a", Rows: 1, Cols: 2, DType: matrix.F64}})
		write := func(attempt int, steps ...int64) {
			f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
				for _, step := range steps {
					o := ps.CheckpointOptions{Path: "run/" + state.StepName(step), Track: true, Keep: 1,
						Moment: fmt.Appendf(nil, `{"run":"r","attempt":%d}`, attempt)}
					k, err := p.BeginCheckpoint(ctx, o)
					if err == nil {
						err = k.Wait(ctx)
					}
					if err != nil {
						return err
					}
					synctest.Wait()
				}
				return nil
			})
		}
		want := func(left ...int64) {
			t.Helper()
			all, err := state.List(t.Context(), bucket, "run")
			if err != nil || len(all) != len(left) {
				t.Fatalf("%d checkpoints, %v, want %v", len(all), err, left)
			}
			for i, e := range all {
				if e.Name != state.StepName(left[i]) {
					t.Errorf("%s stays, want %v", e.Name, left)
				}
			}
		}
		write(1, 1, 2, 5)
		want(5)
		write(2, 3)
		want(3, 5)
		write(2, 4)
		want(4, 5)
		write(2, 5)
		want(5)
	})
}
