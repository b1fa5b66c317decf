package train

import (
	"context"
	"fmt"
	"slices"
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
	stepFirst = 10 // steps that are not measured
	stepLast  = 70
	stepRows  = (stepLast + 1) * stepBatch
)

// cpu is the time that the process has used of all processors.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSteps trains each network on servers within this process: rows of each CPU-second, both ends, over all steps (of the best
// run), in the median step and in the best.
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
			mean, each := 0.0, []float64(nil)
			run := func() {
				_, err = Run(context.Background(), c, Options{
					Model: m, Data: all, Tasks: 1, Epochs: 1, Batch: stepBatch, Seed: 1, InOrder: true, // as the peer takes them
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
				took := steps[stepLast-1] - steps[stepFirst-1]
				mean = max(mean, (stepLast-stepFirst)*stepBatch/took.Seconds())
				for i := stepFirst; i < stepLast; i++ {
					each = append(each, stepBatch/(steps[i]-steps[i-1]).Seconds())
				}
			}
			slices.Sort(each)
			b.ReportMetric(mean, "rows/CPU-s")
			b.ReportMetric(each[len(each)/2], "median-rows/CPU-s")
			b.ReportMetric(each[len(each)-1], "best-rows/CPU-s")
		})
	}
}
