package server_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
)

// BenchmarkStep is a BSP step of two tasks on two servers: push of a gradient, tick, pull of the next weights.
func BenchmarkStep(b *testing.B) {
	for _, net := range []string{"mem", "tcp"} {
		for _, cols := range []int64{124, 1 << 16} {
			b.Run(fmt.Sprintf("%s/%d", net, cols), func(b *testing.B) {
				m := matrix.Meta{Name: "w", Rows: 1, Cols: cols, DType: matrix.F32, Rule: "sgd"}
				b.SetBytes(2 * 4 * cols)
				b.ReportAllocs()
				benchTasks(b, net, m, func(ctx context.Context, p *ps.Client) error {
					lookups := []matrix.Lookup{{Matrix: "w"}}
					for range b.N {
						if err := p.Push("w", matrix.NewDense(matrix.F32, m.Rect())); err != nil {
							return err
						}
						if _, err := p.Next(ctx, 1, 0.1, lookups, nil); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// BenchmarkAssign gives 10000 columns values, in a clock of two tasks on two servers: as a push, assigned, and by the function put.
func BenchmarkAssign(b *testing.B) {
	const n = 10_000
	keys, values := make([]int64, n), make([]float64, n)
	for i := range keys {
		keys[i], values[i] = int64(i)*7919, float64(i)+0.5
	}
	for _, how := range []string{"PushKeys", "AssignKeys", "put"} {
		b.Run(how, func(b *testing.B) {
			m := matrix.Meta{Name: "w", Rows: 1, Cols: 1 << 40, DType: matrix.F64, Layout: matrix.RowSparse}
			b.SetBytes(2 * 16 * n)
			benchTasks(b, "tcp", m, func(ctx context.Context, p *ps.Client) error {
				w, err := p.Matrix("w")
				if err != nil {
					return err
				}
				k, err := w.Plan(nil, keys)
				for i := 0; i < b.N && err == nil; i++ {
					switch how {
					case "PushKeys":
						err = ps.PushKeys(w, k, values)
					case "AssignKeys":
						err = ps.AssignKeys(w, k, values)
					case "put":
						err = w.Stage("put", psf.Args{"row": 0, "cols": keys, "values": values})
					}
					if err == nil {
						err = p.SyncClock(ctx)
					}
				}
				return err
			})
		})
	}
}

func benchTasks(b *testing.B, net string, m matrix.Meta, task func(ctx context.Context, p *ps.Client) error) {
	var n rpc.Network = &mem.Network{}
	addr := ""
	if net == "tcp" {
		n, addr = &tcp.Network{}, "127.0.0.1:0"
	}
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		b.Fatal(err)
	}
	var addrs []string
	for range 2 {
		l, err := n.Listen(b.Context(), addr, &server.Server{Funcs: funcs, Bucket: &blob.Mem{}})
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr())
	}
	var clients []*ps.Client
	for t := range 2 {
		p, err := ps.Dial(b.Context(), ps.Options{Network: n, Servers: addrs, Job: "j", Task: t, Tasks: 2})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		if err := p.Create(b.Context(), "", m); err != nil {
			b.Fatal(err)
		}
		clients = append(clients, p)
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for _, p := range clients {
		wg.Go(func() {
			if err := task(b.Context(), p); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}
