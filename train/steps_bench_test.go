package train

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/data"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
)

// clicks are examples of 39 fields and a million columns, most of which are rare.
var clicks = sync.OnceValue(func() *data.Set {
	return set(data.NewDeepClicks(data.DeepClicks{Seed: 1}).Batch(0, stepRows))
})

const (
	stepBatch = 4096
	stepEpoch = 71 // steps of an epoch
	stepFirst = 10 // steps that are not measured
	stepRows  = stepEpoch * stepBatch
)

// cpu is the time that the process has used of all processors.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sum is the time that steps took.
type sum struct {
	steps int
	took  time.Duration
}

func (s *sum) add(took time.Duration) { s.steps++; s.took += took }

// rows is the examples of a second.
func (s *sum) rows() float64 { return float64(s.steps*stepBatch) / s.took.Seconds() }

// BenchmarkSteps trains each network on servers within this process: rows of each CPU-second, both ends. The first of three epochs, in
// which most columns come up for the first time and get their initial values, is measured by itself.
func BenchmarkSteps(b *testing.B) {
	for _, x := range []struct {
		name   string
		hidden []int
		k      int
	}{
		{"lr", nil, 0}, {"fm", nil, 16}, {"fm", nil, 8}, {"nfm", nil, 16}, {"dnn", nil, 16}, {"wdl", nil, 16}, {"deepfm", nil, 16}, {"pnn", nil, 16},
		{"deepfm", []int{400, 400, 400}, 16}, {"dcn", nil, 16}, {"ffm", nil, 4},
	} {
		b.Run(fmt.Sprintf("%s/k%d/%v", x.name, x.k, x.hidden), func(b *testing.B) {
			all := clicks()
			recipe, err := algo.Find(x.name)
			if err != nil {
				b.Fatal(err)
			}
			conf := algo.Conf{Dim: all.Dim(), Size: algo.Size{Hidden: x.hidden, Factors: x.k}}
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
			net := &mem.Network{}
			l, err := net.Listen(context.Background(), "", &server.Server{Funcs: funcs, Bucket: &blob.Mem{}})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			c, err := ps.Dial(context.Background(), ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Tasks: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			var steps []time.Duration // when they ended
			var first, later sum
			run := func() {
				_, err = Run(context.Background(), c, Options{
					Model: m, Data: all, Tasks: 1, Epochs: 3, Batch: stepBatch, Seed: 1, InOrder: true, // as the peer takes them
					Rate: func(int, int) float64 { return 0.05 },
					Events: func(e Event) {
						if e.Done {
							return
						}
						steps = append(steps, cpu())
					},
				})
			}
			for b.Loop() {
				steps = steps[:0]
				if run(); err != nil {
					b.Fatal(err)
				}
				for i := stepFirst; i < len(steps); i++ {
					switch took := steps[i] - steps[i-1]; {
					case i < stepEpoch:
						first.add(took)
					case i%stepEpoch > 0: // what comes between epochs is no step
						later.add(took)
					}
				}
			}
			b.ReportMetric(first.rows(), "first-rows/CPU-s")
			b.ReportMetric(later.rows(), "rows/CPU-s")
		})
	}
}
