package server_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// BenchmarkFew is a pull and a push of 26 keys of 16 values by each of 64 clients over TCP, which do so without a pause, and the time of
// both that 1 % of them pass.
func BenchmarkFew(b *testing.B) {
	const clients, keys = 64, 100_000
	s := &server.Server{Funcs: table(b), Codecs: codecs, Bucket: &blob.Mem{}}
	l, err := tcp.Network{}.Listen(b.Context(), "127.0.0.1:0", s)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	m := matrix.Meta{Name: "w", Rows: 16, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	took, ready, begin := make([][]time.Duration, clients), make(chan error, clients), make(chan struct{})
	var wg sync.WaitGroup
	for task := range clients {
		wg.Go(func() {
			p, err := ps.Dial(b.Context(), ps.Options{Network: tcp.Network{}, Servers: []string{l.Addr()}, Job: "j", Task: task, Tasks: clients,
				Bound: ssp.ASP})
			if err == nil {
				defer p.Close()
				err = p.Create(b.Context(), "hash", m)
			}
			if ready <- err; err != nil {
				return
			}
			w, _ := p.Matrix("w") // it was made
			<-begin
			rng, some, values := rand.New(rand.NewPCG(uint64(task), 1)), make([]int64, 26), make([]float32, 26*16)
			for n := 0; n*clients+task < b.N && err == nil; n++ {
				for i := range some {
					some[i] = rng.Int64N(keys) * 9_999_991
				}
				began := time.Now()
				plan, _ := w.Plan(nil, some)
				err = ps.PullKeys(b.Context(), w, plan, values)
				if err == nil {
					err = ps.PushKeys(w, plan, values)
				}
				if err == nil {
					err = p.Clock(b.Context(), 1, 0.01)
				}
				if err == nil {
					err = p.Flush(b.Context())
				}
				took[task] = append(took[task], time.Since(began))
			}
			if err == nil {
				err = p.Leave(b.Context())
			}
			if err != nil {
				b.Error(fmt.Errorf("task %d: %w", task, err))
			}
		})
	}
	for range clients {
		if err := <-ready; err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	close(begin)
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(took...)
	slices.Sort(all)
	if n := len(all); n > 0 {
		b.ReportMetric(float64(all[n/2].Microseconds()), "p50-us")
		b.ReportMetric(float64(all[n*99/100].Microseconds()), "p99-us")
	}
}
