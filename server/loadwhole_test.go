package server_test

import (
	"errors"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// TestLoadWhole: a pull of several partitions next to a load has values of before it or of after it, and not some of each.
func TestLoadWhole(t *testing.T) {
	const cols = 1 << 14
	net, ctx := &mem.Network{}, t.Context()
	l, err := net.Listen(ctx, "s", &server.Server{Funcs: table(t, more), Codecs: codecs, Bucket: &blob.Mem{}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var clients [2]*ps.Client
	for task := range clients {
		c, err := ps.Dial(ctx, ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Task: task, Tasks: len(clients), Bound: ssp.ASP})
		if err == nil {
			defer c.Close()
			err = c.Create(ctx, "range", meta("m", 1, cols, matrix.RowDense))
		}
		if err != nil {
			t.Fatal(err)
		}
		clients[task] = c
	}
	loads, reads := clients[0], clients[1]
	ones := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, cols))
	for i := range ones.Data.Values().([]float64) {
		ones.Data.Values().([]float64)[i] = 1
	}
	paths := []string{"none", "ones"}
	for i, path := range paths {
		if i > 0 {
			err = errors.Join(loads.Push("m", ones), loads.Clock(ctx, 1, 1), loads.Flush(ctx), reads.Clock(ctx, 1, 1), reads.Flush(ctx))
		}
		if err = errors.Join(err, loads.Save(ctx, ps.SaveOptions{Codec: "angel", Path: path, Lossy: true})); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan error, 1)
	go func() {
		for i := range 400 {
			if err := loads.Load(ctx, ps.LoadOptions{Path: paths[i%2]}); err != nil {
				over <- err
				return
			}
		}
		over <- nil
	}()
	for {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		got, err := reads.Pull(ctx, []matrix.Lookup{{Matrix: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		vals := got[0].Data.Values().([]float64)
		for i, v := range vals {
			if v != vals[0] {
				t.Fatalf("column %d is %v and column 0 %v: a pull has values of before a load and of after it", i, v, vals[0])
			}
		}
	}
}
