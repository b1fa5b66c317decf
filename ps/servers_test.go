package ps_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format/all"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/rpctest"
	"thole.example/rpc/tcp"
	"thole.example/server"
)

// onServers runs the program on servers, and from the step on in which it moves on others.
func (p *program) onServers(o ps.Options, s setting) ([]string, error) {
	legs := []leg{{s.place, 0, len(p.ops)}}
	if s.moves > 0 {
		legs = []leg{{s.place, 0, s.moves}, {s.to, s.moves, len(p.ops)}}
	}
	bucket := &blob.Mem{}
	saw := make([]string, p.tasks)
	for _, l := range legs {
		mine := o
		stop, err := realServers(&mine, s, l.servers, bucket)
		if err != nil {
			return nil, err
		}
		more, err := p.tasksOf(mine, s, l)
		stop()
		if err != nil {
			return nil, fmt.Errorf("on %d servers: %w", l.servers, err)
		}
		for task := range saw {
			saw[task] += more[task]
		}
	}
	return saw, nil
}

// realServers starts servers on the setting's network, and says how to stop them.
func realServers(o *ps.Options, s setting, servers int, bucket blob.Bucket) (stop func(), err error) {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		return nil, err
	}
	var net rpc.Network = &mem.Network{}
	addr := ""
	if s.real == "tcp" {
		net, addr = &tcp.Network{}, "127.0.0.1:0"
	}
	if s.every > 0 {
		net = &rpctest.Faulty{Network: net, Seed: s.seed, Chance: rpctest.Even(1 / float64(s.every*int(rpctest.Fates))),
			Delay: 10 * time.Millisecond, Notice: 100 * time.Millisecond, Timeout: time.Second}
	}
	o.Network = net
	var open []rpc.Listener
	stop = func() {
		for _, l := range open {
			l.Close()
		}
	}
	for range servers {
		l, err := net.Listen(context.Background(), addr, &server.Server{Funcs: funcs, Codecs: all.Codecs(), Bucket: bucket})
		if err != nil {
			stop()
			return nil, err
		}
		open = append(open, l)
		o.Servers = append(o.Servers, l.Addr())
	}
	return stop, nil
}

// aloneWithServers is what one task does while the others wait, with functions and formats that there are.
func (p *program) aloneWithServers(ctx context.Context, c *ps.Client, m *ps.Matrix, what string, saw *strings.Builder) error {
	switch what {
	case "double":
		return m.Update(ctx, "scale", psf.Args{"by": 0.3, "rows": 0})
	case "sum":
		answer, err := m.Get(ctx, "max", nil)
		fmt.Fprintf(saw, "max %v\n", answer)
		return err
	case "reload":
		if p.meta.Layout == matrix.RowSparse && p.meta.Init.Kind != "" {
			return nil // zeros that were stored may come back as the values that cells begin with
		}
		if err := c.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "m", Replace: true}); err != nil {
			return err
		}
		return c.Load(ctx, ps.LoadOptions{Path: "m"})
	}
	return nil
}

// ruleNames are no rule and those of the table.
func ruleNames() []string {
	names := []string{""}
	for _, r := range optim.Rules() {
		names = append(names, r.Name)
	}
	return names
}

// TestServers is TestSettings with servers of package server, update rules, initial values, both types of floats, real
// networks, and checkpoints from which other servers go on.
func TestServers(t *testing.T) {
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		p.meta.Rule = rapid.SampledFrom(ruleNames()).Draw(t, "rule")
		p.meta.DType = rapid.SampledFrom([]matrix.DType{matrix.F64, matrix.F32}).Draw(t, "type")
		if rapid.Bool().Draw(t, "init") {
			p.meta.Init = matrix.Init{Kind: "normal", Scale: 1, Seed: 3}
		}
		p.drawStaged(t)
		// Whole rows of one rectangle that are pushed twice in a clock are added up before they are sent, those of sparse
		// matrices by the server: each layout has bits of its own.
		wants := map[matrix.Layout][]string{}
		for range 3 {
			q := p
			if p.meta.Rule == "" && p.meta.Init.Kind == "" {
				q.meta.Layout = rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "kept")
			}
			s := drawRealSetting(t, &q)
			want := wants[q.meta.Layout]
			if want == nil {
				want = q.run(whole, t, setting{place: place{1, "column"}, uncached: true, real: "mem"})
				wants[q.meta.Layout] = want
			}
			for task, saw := range q.run(whole, t, s) {
				if saw != want[task] {
					t.Fatalf("under %+v task %d saw\n%swant\n%s", s, task, saw, want[task])
				}
			}
		}
	})
}

// drawStaged puts functions that take effect with the clock between what the tasks do.
func (p *program) drawStaged(t *rapid.T) {
	for _, step := range p.ops {
		for task := range step {
			for range rapid.IntRange(0, 2).Draw(t, "staged") {
				o := op{kind: "stage", ids: []int64{rapid.Int64Range(0, p.meta.Rows-1).Draw(t, "row")}}
				if p.meta.Init.Kind == "" && rapid.Bool().Draw(t, "map") {
					o.text = "x*x*0.3"
				}
				at := rapid.IntRange(0, len(step[task])).Draw(t, "after")
				step[task] = slices.Insert(step[task], at, o)
			}
		}
	}
}

// drawRealSetting draws one with servers, where every other program moves.
func drawRealSetting(t *rapid.T, p *program) setting {
	network := rapid.SampledFrom([]string{"mem", "mem", "mem", "tcp"}).Draw(t, "network")
	every := []int{0}
	if network == "mem" {
		every = []int{0, 10, 40}
	}
	s := drawSetting(t, p.meta.Layout, every...)
	s.real = network
	if steps := len(p.ops); steps > 1 && rapid.Bool().Draw(t, "moves") {
		s.moves, s.to = rapid.IntRange(1, steps-1).Draw(t, "after"), drawPlace(t, p.meta.Layout)
		s.since = rapid.Bool().Draw(t, "since")
	}
	return s
}
