package train

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// delayed listens at an address from which everything comes to another one, and back, after so long each way.
func delayed(t testing.TB, to string, each time.Duration) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				return
			}
			go pipe(server, client, each)
			go pipe(client, server, each)
		}
	}()
	return l.Addr().String()
}

// pipe copies what comes, so long after it has come.
func pipe(dst, src net.Conn, each time.Duration) {
	type some struct {
		at    time.Time
		bytes []byte
	}
	ch := make(chan some, 1<<16)
	go func() {
		defer dst.Close()
		for s := range ch {
			time.Sleep(time.Until(s.at.Add(each)))
			if _, err := dst.Write(s.bytes); err != nil {
				return
			}
		}
	}()
	defer close(ch)
	for {
		b := make([]byte, 256<<10)
		n, err := src.Read(b)
		if n > 0 {
			ch <- some{time.Now(), b[:n]}
		}
		if err != nil {
			if err != io.EOF {
				src.Close()
			}
			return
		}
	}
}

// BenchmarkDelay trains on a server over TCP whose answers take some time more: wall time of a step in the epoch after the first (a
// tenth takes less, which other work on the machine disturbs least), and rows of each CPU-second of both ends and what delays.
func BenchmarkDelay(b *testing.B) {
	for _, delay := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, name := range []string{"lr", "fm"} {
			for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
				for _, prefetch := range []bool{false, true} {
					b.Run(fmt.Sprintf("%v/%s/%v/prefetch=%v", delay, name, bound, prefetch), func(b *testing.B) {
						benchDelay(b, delay, bound, name, prefetch)
					})
				}
			}
		}
	}
}

func benchDelay(b *testing.B, delay time.Duration, bound ssp.Bound, name string, prefetch bool) {
	const batch = stepBatch
	all := clicks()
	recipe, err := algo.Find(name)
	if err != nil {
		b.Fatal(err)
	}
	conf := algo.Conf{Dim: all.Dim(), Size: algo.Size{Factors: 8}}
	if recipe.Sizes.Fields > 0 {
		conf.Size.Fields = 39
	}
	if recipe.Wide != nil {
		recipe.Defaults = *recipe.Wide
	}
	m, err := recipe.Build(conf)
	if err != nil {
		b.Fatal(err)
	}
	funcs, _ := psf.NewTable(psf.Funcs(), optim.Rules())
	network := &tcp.Network{}
	l, err := network.Listen(context.Background(), "127.0.0.1:0", &server.Server{Funcs: funcs, Bucket: &blob.Mem{}})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var used time.Duration
	var steps []time.Duration
	for b.Loop() {
		c, err := ps.Dial(context.Background(), ps.Options{Network: network, Servers: []string{delayed(b, l.Addr(), delay/2)}, Job: "j",
			Tasks: 1, Bound: bound})
		if err != nil {
			b.Fatal(err)
		}
		var from time.Duration
		last, seen := time.Now(), 0
		epoch := (stepRows + batch - 1) / batch
		if _, err := Run(context.Background(), c, Options{
			Model: m, Data: all, Tasks: 1, Epochs: 2, Batch: batch, Seed: 1, Prefetch: prefetch,
			Rate: func(int, int) float64 { return 0.05 },
			Events: func(e Event) {
				if e.Done {
					return
				}
				switch seen++; {
				case seen == epoch+2:
					from = cpu()
				case seen > epoch+2 && seen < 2*epoch:
					steps = append(steps, time.Since(last))
					if seen == 2*epoch-1 {
						used += cpu() - from
					}
				}
				last = time.Now()
			},
		}); err != nil {
			b.Fatal(err)
		}
		if err := c.Leave(context.Background()); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
	slices.Sort(steps)
	b.ReportMetric(float64(len(steps)*batch)/used.Seconds(), "rows/CPU-s")
	b.ReportMetric(steps[len(steps)/10].Seconds()*1000, "ms/step")
}
