package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// ofWidths are matrices whose columns store different numbers of rows: as they are, with settings that keep some columns, and counted.
func ofWidths() []matrix.Meta {
	widths := []matrix.Width{
		{Cols: matrix.Range{Lo: -50, Hi: 30}, Rows: 2}, {Cols: matrix.Range{Lo: 30, Hi: 35}, Rows: 1},
		{Cols: matrix.Range{Lo: 100, Hi: 160}, Rows: 3}, {Cols: matrix.Range{Lo: 170, Hi: 250}, Rows: 2},
	}
	var all []matrix.Meta
	for i, m := range []matrix.Meta{
		{DType: matrix.F32, Rule: "adagrad"},
		{DType: matrix.F64, Rule: "momentum", Hyper: map[string]float64{"l2": 0.01}, Keep: matrix.Keep{AdmitAfter: 2, ExpireAfter: 4}},
		{DType: matrix.F32, Rule: "adam", Storage: matrix.BF16, Keep: matrix.Keep{AdmitAfter: 2, ForgetAfter: 3}},
		{DType: matrix.F32, Rule: "adagrad", Keep: matrix.Keep{ShowWeight: 0.5, ClickWeight: 2, HalfLife: 5, EvictBelow: 1}},
	} {
		m.Name, m.Rows, m.Cols, m.ColLo, m.Layout, m.Widths = fmt.Sprint("w", i), 5, 300, -50, matrix.RowSparse, widths
		m.Init = matrix.Init{Kind: "normal", Scale: 0.1, Seed: 7}
		all = append(all, m)
	}
	return all
}

// TestWidthsSameBits: columns of several widths have the same bits on any number of servers and cut in any way, also when a checkpoint
// and an increment in the middle are restored on others.
func TestWidthsSameBits(t *testing.T) { sameBits(t, ofWidths()) }

// TestWidthsBudgetSameBits: the same with a budget that evicts some.
func TestWidthsBudgetSameBits(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: 6, Cols: 12000, ColLo: -50, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad",
		Init: matrix.Init{Kind: "normal", Scale: 0.1, Seed: 7}, Keep: matrix.Keep{AdmitAfter: 2, MaxBytes: 1_700_000},
		Widths: []matrix.Width{{Cols: matrix.Range{Lo: 500, Hi: 12_000 - 50}, Rows: 2}}}
	const mid, end = 5, 11
	one := newFleet(t, "mem", 1, &blob.Mem{}, []matrix.Meta{m})
	want := one.keptBits(0, end, "", "")
	bucket := &blob.Mem{}
	newFleet(t, "mem", 2, bucket, []matrix.Meta{m}).keptBits(0, mid, "", "c")
	if got := newFleet(t, "tcp", 3, bucket, []matrix.Meta{m}).keptBits(mid, end, "c", ""); got["a"] != want["a"] {
		t.Error("the bits differ from those of one server in one go")
	}
	free := m
	free.Keep.MaxBytes = 0
	if got := newFleet(t, "mem", 1, &blob.Mem{}, []matrix.Meta{free}).keptBits(0, end, "", ""); got["a"] == want["a"] {
		t.Error("the budget evicts nothing")
	}
}

// TestWidthsSaved: what a column does not store is saved and loaded as 0, in a matrix of the same widths to the same bits, and in one
// whose columns all store all rows.
func TestWidthsSaved(t *testing.T) {
	m := ofWidths()[0]
	m.Init = matrix.Init{}
	bucket := &blob.Mem{}
	f := newFleet(t, "mem", 2, bucket, []matrix.Meta{m})
	var want string
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := errors.Join(f.someColumns(ctx, p, 0, 0, 4), p.Save(ctx, ps.SaveOptions{Path: "model", Codec: "angel"})); err != nil {
			return err
		}
		all, err := f.bits(ctx, p)
		want = all[m.Name]
		return err
	})
	whole := m
	whole.Widths = nil
	for i, m := range []matrix.Meta{m, whole} {
		f := newFleet(t, "mem", 1+2*i, bucket, []matrix.Meta{m})
		f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			if err := p.Load(ctx, ps.LoadOptions{Path: "model"}); err != nil {
				return err
			}
			all, err := f.bits(ctx, p)
			if err == nil && all[m.Name] != want {
				err = fmt.Errorf("widths %v: other values than were saved", m.Widths)
			}
			return err
		})
	}
}

// TestWidthsOther: a model and a state that have values where columns do not store any are refused, as are functions that would change
// them.
func TestWidthsOther(t *testing.T) {
	m := ofWidths()[0]
	whole := m
	whole.Widths = nil
	bucket := &blob.Mem{}
	f := newFleet(t, "mem", 2, bucket, []matrix.Meta{whole})
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		return errors.Join(f.someColumns(ctx, p, 0, 0, 2), p.Save(ctx, ps.SaveOptions{Path: "model", Codec: "angel"}),
			p.CheckpointSince(ctx, "state", ""))
	})
	refused := func(err error, want string) error {
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("error is %v, want %q in it", err, want)
		}
		return nil
	}
	f = newFleet(t, "mem", 2, bucket, []matrix.Meta{m})
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		w, err := p.Matrix(m.Name)
		if err != nil {
			return err
		}
		return errors.Join(
			refused(p.Load(ctx, ps.LoadOptions{Path: "model"}), "stores"),
			refused(w.Update(ctx, "scale", map[string]any{"rows": []int{1}, "by": 2}),
				"changes rows from 1 on, which some columns of the matrix do not store"),
		)
	})
	f = newFleet(t, "mem", 3, bucket, []matrix.Meta{m})
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		_, err := p.Restore(ctx, "state")
		return refused(err, "want the widths of columns with which it was written")
	})
}

// TestWidthsRefused: a cut of rows is refused, as are columns of several widths in a dense matrix.
func TestWidthsRefused(t *testing.T) {
	m := ofWidths()[0]
	m.BlockRows = 2
	dense := m
	dense.Layout = matrix.RowDense
	newFleet(t, "mem", 2, &blob.Mem{}, nil).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		fails(t, "range", p.Create(ctx, "range", m), rpc.ErrRefused, "its rows are cut into 3 bands, and its columns have several widths")
		err := p.Create(ctx, "column", dense)
		fails(t, "dense", err, err, "several widths in a dense matrix")
		return nil
	})
}

// TestWidthsCharged: a server charges columns for the rows that they store.
func TestWidthsCharged(t *testing.T) {
	const n = 20_000
	m := matrix.Meta{Name: "w", Rows: 32, Cols: n, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	narrow := m
	narrow.Name, narrow.Widths = "n", []matrix.Width{{Cols: matrix.Range{Lo: 100, Hi: n}, Rows: 2}}
	f := newFleet(t, "mem", 1, &blob.Mem{}, []matrix.Meta{m, narrow})
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		d := &matrix.Cols[float32]{Idx: make([]int64, n), Val: make([]float32, n*m.Rows)}
		for i := range d.Idx {
			d.Idx[i] = int64(i)
		}
		for _, name := range []string{"w", "n"} {
			if err := p.Push(name, matrix.Block{At: m.Rect(), Data: d}.Clone()); err != nil {
				return err
			}
		}
		if err := errors.Join(p.Clock(ctx, 1, 0.1), p.Flush(ctx)); err != nil {
			return err
		}
		takes := func(at int) int64 { return f.served[0].Status(ctx)[0].Tables[at].Bytes }
		for end := time.Now().Add(10 * time.Second); f.served[0].Status(ctx)[0].Tables[1].Columns < n && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if wide, narrow := takes(0), takes(1); narrow < 30*n || narrow > wide/3 {
			return fmt.Errorf("columns of 32 rows take %d bytes, and of 2 rows %d", wide, narrow)
		}
		return nil
	})
}
