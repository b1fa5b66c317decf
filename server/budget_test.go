package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// bounded are matrices whose columns do not all fit into their budgets.
func bounded() []matrix.Meta {
	return []matrix.Meta{
		{Name: "a", Rows: 2, Cols: 12000, ColLo: -50, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad",
			Init: matrix.Init{Kind: "normal", Scale: 0.1, Seed: 7}, Keep: matrix.Keep{MaxBytes: 600_000}},
		{Name: "b", Rows: 2, Cols: 9000, ColLo: -50, DType: matrix.F64, Layout: matrix.RowSparse, Rule: "adam",
			Keep: matrix.Keep{AdmitAfter: 2, ForgetAfter: 3, ExpireAfter: 4, MaxBytes: 1_400_000}},
	}
}

// TestBudgetSameBits: which columns a budget has evicted, and so all bits, are the same on any number of servers, also when a
// checkpoint and an increment in the middle are restored on others. Columns are evicted and refused, and no server's columns grow beyond.
func TestBudgetSameBits(t *testing.T) {
	metas := bounded()
	const mid, end = 5, 11
	one := newFleet(t, "mem", 1, &blob.Mem{}, metas)
	want := one.keptBits(0, end, "", "")
	for _, c := range []struct {
		net           string
		before, after int
	}{{"mem", 2, 4}, {"tcp", 4, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			bucket := &blob.Mem{}
			newFleet(t, c.net, c.before, bucket, metas).keptBits(0, mid-2, "", "c")
			newFleet(t, c.net, c.before, bucket, metas).keptBits(mid-2, mid, "c", "d")
			got := newFleet(t, c.net, c.after, bucket, metas).keptBits(mid, end, "d", "")
			for name := range maps.Keys(want) {
				if got[name] != want[name] {
					t.Errorf("matrix %s: the bits differ from those of one server in one go", name)
				}
			}
		})
	}
}

// TestBudgetStatus: what was evicted is seen, and a checkpoint of more columns than a budget has room for is refused.
func TestBudgetStatus(t *testing.T) {
	bucket := &blob.Mem{}
	a := bounded()[:1]
	f := newFleet(t, "mem", 1, bucket, a)
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := f.someColumns(ctx, p, 0, 0, 3); err != nil {
			return err
		}
		if err := p.Flush(ctx); err != nil {
			return err
		}
		is := func(s server.MatrixStatus) bool {
			return s.Evicted > 0 && s.Refused > 0 && s.Columns > 0 && s.Columns <= a[0].Cols/2 && s.Bytes <= 4*a[0].Keep.MaxBytes
		}
		if s := tableWhen(ctx, f.served[0], is); !is(s) {
			return fmt.Errorf("status %+v, want some evicted and some refused", s)
		}
		return nil
	})
	free := a[0]
	free.Keep = matrix.Keep{}
	newFleet(t, "mem", 1, bucket, []matrix.Meta{free}).keptBits(0, 3, "", "all")
	newFleet(t, "mem", 1, bucket, a).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		_, err := p.Restore(ctx, "all")
		fails(t, "restore", err, err, "want a larger budget")
		return nil
	})
}

// TestBudgetRefused: partitions that cannot keep a budget are refused, with what is wanted.
func TestBudgetRefused(t *testing.T) {
	m := bounded()[0]
	for _, c := range []struct {
		cut     string
		servers int
		bytes   int64
		want    string
	}{
		{"column", 2, 600_000, "want the partitioner hash"},
		{"hash", 2, 1000, "want at least"},
		{"hash", 65, 600_000, "2^8 shares for 2^9 partitions"},
	} {
		m.Keep.MaxBytes = c.bytes
		newFleet(t, "mem", c.servers, &blob.Mem{}, nil).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			err := p.Create(ctx, c.cut, m)
			if !errors.Is(err, rpc.ErrRefused) {
				t.Errorf("%v, want a refusal", err)
			}
			fails(t, c.cut, err, rpc.ErrRefused, c.want)
			return nil
		})
	}
}
