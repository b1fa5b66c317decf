package server_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// everywhere is a function of all rows: an update function if merge is nil.
func everywhere(name string, part func(v psf.View) ([]byte, error), merge func(parts [][]byte) (psf.Answer, error)) psf.Func {
	all := psf.Rows{All: true}
	return psf.Func{Name: name, Bind: func(psf.Args, *matrix.Meta) (*psf.Call, error) {
		return &psf.Call{Reads: all, Writes: all, Part: part, Merge: merge}, nil
	}}
}

// changing is an update function of all cells.
func changing(name string, f func(x float64) float64) psf.Func {
	return everywhere(name, func(v psf.View) ([]byte, error) { return nil, changeAll(v, f) }, nil)
}

// changeAll changes all cells.
func changeAll(v psf.View, f func(x float64) float64) error {
	return psf.Each(v, psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
		for _, row := range c.Rows {
			for i, x := range row {
				row[i] = f(x)
			}
		}
		return nil
	})
}

// asking is a get function whose partitions answer with a text; the answer is that of the first.
func asking(name string, part func(v psf.View) ([]byte, error)) psf.Func {
	return everywhere(name, part, func(parts [][]byte) (psf.Answer, error) { return parts[0], nil })
}

// TestAtomic: atomic functions see no other function done in one partition and not in another, and those that come at once do not
// wait for each other for ever.
func TestAtomic(t *testing.T) {
	if torn := runTorn(t, true); torn > 0 {
		t.Errorf("%d answers of an atomic function saw another half done", torn)
	}
	t.Logf("%d answers that are not atomic did", runTorn(t, false))
}

// runTorn counts the answers that see partitions of different values while all are changed alike.
func runTorn(t *testing.T, whole bool) (torn int64) {
	spread := everywhere("spread", func(v psf.View) ([]byte, error) {
		var one float64
		err := psf.Each(v, psf.Rows{All: true}, false, func(c *psf.Chunk[float64]) error {
			one = c.Rows[0][0]
			return nil
		})
		return fmt.Append(nil, one), err
	}, func(parts [][]byte) (psf.Answer, error) {
		for _, p := range parts[1:] {
			if !bytes.Equal(p, parts[0]) {
				return psf.Answer("1"), nil
			}
		}
		return psf.Answer("0"), nil
	})
	c := newCluster(t, &mem.Network{}, 0)
	c.with = func(s *server.Server) { s.Funcs = table(t, spread) }
	c.start(1)
	client, err := psf.NewTable(append(psf.Funcs(), spread), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.funcs = client
	var total atomic.Int64
	c.run(3, ssp.ASP, func(ctx context.Context, p *ps.Client, task int) error {
		if err := p.Create(ctx, "hash", meta("m", 1, 1<<40, matrix.RowSparse)); err != nil {
			return err
		}
		m, err := p.Matrix("m")
		if err != nil {
			return err
		}
		keys := make([]int64, 2000)
		for i := range keys {
			keys[i] = int64(i) * 7919
		}
		k, err := m.Plan(nil, keys)
		if err == nil {
			err = ps.InitAndGet(ctx, m, k, make([]float64, len(keys)))
		}
		if err == nil {
			err = p.Barrier(ctx)
		}
		for i := 0; i < 300 && err == nil; i++ {
			switch {
			case task == 0:
				err = m.Update(ctx, "mapinplace", psf.Args{"f": "x + 1", "atomic": whole})
			case task == 1 && i%3 == 0:
				err = m.Update(ctx, "scale", psf.Args{"by": 0.5, "atomic": whole})
			default:
				var answer psf.Answer
				if answer, err = m.Get(ctx, "spread", psf.Args{"atomic": whole}); err == nil {
					n, _ := answer.Number()
					total.Add(int64(n))
				}
			}
		}
		return err
	})
	return total.Load()
}

// TestFunctionRefusedWhole: a function that one partition refuses changes nothing in others, also where these have other rows.
func TestFunctionRefusedWhole(t *testing.T) {
	c := serve(t, nil).join(0, 1, ssp.ASP)
	sp := spec("m", 4, 100, matrix.RowSparse)
	sp.Partitioner, sp.Meta.BlockRows = "range", 1
	m := c.create(sp)[0]
	if m.parts.Bands() < 2 {
		t.Fatalf("%d bands of rows, want several", m.parts.Bands())
	}
	update := func(name, text string) error { return c.refusal(c.change(function(rpc.OpUpdate, name, text, m))) }
	if err := update("fill", `{"value":1,"rows":[0,1]}`); err != nil {
		t.Fatal(err)
	}
	fails(t, "infinite", update("mapinplace", `{"f":"3 / x"}`), rpc.ErrMalformed, "cells that are not stored would become +Inf")
	for row, want := range []float64{1, 1, 0, 0} {
		p := m.keys(0, 5)
		p.Rows = matrix.Range{Lo: int64(row), Hi: int64(row) + 1}
		for id := range m.parts.Route(matrix.Rect{Rows: p.Rows, Cols: matrix.Range{Lo: 5, Hi: 6}}) {
			p.Groups[0].Partition = uint32(id)
		}
		if got := c.pulled(p); got[0] != want {
			t.Errorf("row %d is %v after a function that was refused, want %v", row, got, want)
		}
	}
	c.leave()
}

// TestResultsLimit: the answers of partitions are bounded together, and those that come after are not asked for.
func TestResultsLimit(t *testing.T) {
	var asked atomic.Int32
	big := asking("big", func(psf.View) ([]byte, error) { asked.Add(1); return make([]byte, 100<<20), nil })
	c := serve(t, func(s *server.Server) { s.Funcs = table(t, big) }).join(0, 1, ssp.ASP)
	sp := spec("m", 1, 1<<40, matrix.RowSparse)
	sp.Partitioner = "hash"
	m := c.create(sp)[0]
	fails(t, "large", c.refusal(function(rpc.OpGet, "big", `{"atomic":true}`, m)), rpc.ErrTooLarge, "big on matrix", "more than 256 MiB")
	if n := asked.Load(); n != 3 {
		t.Errorf("%d partitions were asked, want 3", n)
	}
	c.leave()
}
