package ps_test

import (
	"context"
	"fmt"
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

// realServers starts servers of the setting, and says how to stop them.
func realServers(o *ps.Options, s setting) (stop func(), err error) {
	funcs, err := psf.NewTable(psf.Gets(), psf.Updates(), optim.Rules())
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
	bucket := &blob.Mem{}
	var open []rpc.Listener
	stop = func() {
		for _, l := range open {
			l.Close()
		}
	}
	for range s.servers {
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
		for _, u := range psf.Updates() {
			if u.Name == "scale" {
				return m.Update(ctx, &u, []byte(`{"by":0.3,"rows":[0]}`))
			}
		}
	case "sum":
		for _, g := range psf.Gets() {
			if g.Name == "max" {
				answer, err := m.Get(ctx, &g, nil)
				if err != nil {
					return err
				}
				v, err := psf.Number(answer)
				fmt.Fprintf(saw, "max %b\n", max(v, 0)) // absent cells are not seen
				return err
			}
		}
	case "reload":
		if p.meta.Layout == matrix.RowSparse && p.meta.Init.Kind != "" {
			return nil // zeros that were stored may come back as the values that cells begin with
		}
		if err := c.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "m"}); err != nil {
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

// TestServers is TestSettings with servers of package server, update rules, initial values and real networks.
func TestServers(t *testing.T) {
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		p.meta.Rule = rapid.SampledFrom(ruleNames()).Draw(t, "rule")
		if rapid.Bool().Draw(t, "init") {
			p.meta.Init = matrix.Init{Kind: "normal", Scale: 1, Seed: 3}
		}
		// Whole rows of one rectangle that are pushed twice in a clock are added up before they are sent, those of sparse
		// matrices by the server: each layout has bits of its own.
		wants := map[matrix.Layout][]string{}
		for range 3 {
			q := p
			s := setting{
				servers: rapid.IntRange(1, 5).Draw(t, "servers"), inFlight: rapid.IntRange(1, 5).Draw(t, "in flight"),
				cut:  rapid.SampledFrom([]string{"range", "column", "hash"}).Draw(t, "cut"),
				real: rapid.SampledFrom([]string{"mem", "mem", "mem", "tcp"}).Draw(t, "network"), seed: rapid.Uint64().Draw(t, "losses"),
			}
			if s.real == "mem" {
				s.every = rapid.SampledFrom([]int{0, 10, 40}).Draw(t, "every")
			}
			if p.meta.Rule == "" && p.meta.Init.Kind == "" {
				q.meta.Layout = rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "kept")
			}
			if s.cut == "hash" && q.meta.Layout == matrix.RowDense {
				s.cut = "range"
			}
			want := wants[q.meta.Layout]
			if want == nil {
				want = q.run(whole, t, setting{servers: 1, cut: "column", real: "mem"})
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
