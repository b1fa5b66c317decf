package ps

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/wire"
)

// benchMeta is a matrix of embeddings.
var benchMeta = matrix.Meta{Name: "m", Rows: 16, Cols: 1<<63 - 1, DType: matrix.F32, Layout: matrix.RowSparse}

// BenchmarkPlan plans 64 batches of keys out of a million that are spread over all integers, and lists of ascending ones; and batches
// of a million columns, as likely as each other or few of them often, as in clicks.
func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		cut     string
		n       int
		sorted  bool
		columns int64
		skew    float64
	}{
		{cut: "hash", n: 10000}, {cut: "hash", n: 10000, sorted: true}, {cut: "hash", n: 1000}, {cut: "hash", n: 200000},
		{cut: "column", n: 10000}, {cut: "column", n: 10000, sorted: true},
		{cut: "hash", n: 160000, columns: 1e6}, {cut: "hash", n: 160000, columns: 1e6, skew: 1.2},
	} {
		b.Run(fmt.Sprintf("%s/n=%d/sorted=%v/columns=%d/skew=%v", c.cut, c.n, c.sorted, c.columns, c.skew), func(b *testing.B) {
			m := benchMeta
			if c.columns > 0 {
				m.Cols = c.columns
			}
			p, err := part.Lookup(c.cut, &m)
			if err != nil {
				b.Fatal(err)
			}
			parts, err := part.NewMap(&m, p, 4, 1)
			if err != nil {
				b.Fatal(err)
			}
			batches := batchesOf(64, c.n)
			if c.columns > 0 {
				draw := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), max(c.skew, 1.1), 1, uint64(c.columns-1))
				for _, keys := range batches {
					for i := range keys {
						if keys[i] %= c.columns; c.skew > 0 {
							keys[i] = int64(draw.Uint64())
						}
					}
				}
			}
			if c.sorted {
				for i := range batches {
					slices.Sort(batches[i])
					batches[i] = slices.Compact(batches[i])
				}
			}
			k := &Keys{}
			b.ReportAllocs()
			n := 0
			var at []uint32
			for i := 0; b.Loop(); i++ {
				if err := k.plan(parts, m.Rect().Cols, batches[i%64]); err != nil {
					b.Fatal(err)
				}
				at = k.Positions(at[:0])
				n += len(at)
			}
			b.ReportMetric(float64(n)/1e6/b.Elapsed().Seconds(), "Mkeys/s")
		})
	}
}

// batchesOf are n keys each, a million different ones at most.
func batchesOf(batches, n int) [][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][]int64, batches)
	for b := range out {
		out[b] = make([]int64, n)
		for i := range out[b] {
			x := rng.Uint64N(1000000) + 0x9e3779b97f4a7c15
			x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
			x = (x ^ (x >> 27)) * 0x94d049bb133111eb
			out[b][i] = int64((x ^ (x >> 31)) >> 1)
		}
	}
	return out
}

// parrot is a network on which every request is answered at once, with the same values.
type parrot struct {
	rpc.Network
	values []byte
}

func (p *parrot) Dial(context.Context, string) (rpc.Conn, error) { return p, nil }
func (p *parrot) Close() error                                   { return nil }

func (p *parrot) Start(_ context.Context, q *rpc.Request) *rpc.Call {
	call := rpc.NewCall(0, nil)
	r := &rpc.Response{}
	switch q.Op {
	case rpc.OpJoin:
		r.Results = []rpc.Result{{Data: []byte(`{}`)}}
	case rpc.OpCreate:
		r.Results = []rpc.Result{{Data: []byte(`{"numbers":[1],"clocks":[0]}`)}}
	}
	for _, part := range q.Parts {
		if part.Values == nil {
			part.Values = p.values[:64*len(part.Keys)]
			part.Groups, part.Keys = nil, nil
			r.Parts = append(r.Parts, part)
		}
	}
	call.Finish(r, nil)
	return call
}

// BenchmarkClient is what the client does for a pull and for a push of 10,000 keys, without the way and the server.
func BenchmarkClient(b *testing.B) {
	for _, servers := range []int{1, 4} {
		ctx := context.Background()
		addrs := make([]string, servers)
		for i := range addrs {
			addrs[i] = fmt.Sprint(i)
		}
		c, err := Dial(ctx, Options{Network: &parrot{values: wire.View(make([]float32, 16*10000))}, Servers: addrs})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Create(ctx, "", benchMeta); err != nil {
			b.Fatal(err)
		}
		m, _ := c.Matrix("m")
		batches, k, vals := batchesOf(64, 10000), &Keys{}, make([]float32, 16*10000)
		for name, do := range map[string]func() error{
			"pull": func() error { return PullKeys(ctx, m, k, vals) },
			"push": func() error {
				if err := PushKeys(m, k, vals); err != nil {
					return err
				}
				return c.Flush(ctx)
			},
		} {
			b.Run(fmt.Sprintf("%s/servers=%d", name, servers), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(64 * 10000)
				n := 0
				for i := 0; b.Loop(); i++ {
					if _, err := m.Plan(k, batches[i%64]); err != nil {
						b.Fatal(err)
					}
					if err := do(); err != nil {
						b.Fatal(err)
					}
					n += k.inputs
				}
				b.ReportMetric(float64(n)/1e6/b.Elapsed().Seconds(), "Mkeys/s")
			})
		}
	}
}
