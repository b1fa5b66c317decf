package ps_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// readings are the calls that trust what servers answer.
func readings(p *ps.Client, d, s *ps.Matrix) map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"dense":  func() error { _, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "d"}}); return err },
		"row":    func() error { _, err := d.GetRow(ctx, 0); return err },
		"stored": func() error { _, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "s"}}); return err },
		"keys": func() error {
			k, err := s.Plan(nil, []int64{9, 3, 9, 500, 7, 6, 5, 4, 2})
			if err != nil {
				return err
			}
			return ps.PullKeys(ctx, s, k, make([]float64, 9))
		},
		"columns of dense": func() error { _, err := d.GetCols(ctx, []int64{0, 4, 8}); return err },
		"next": func() error {
			_, err := p.Next(ctx, 0, 0, []matrix.Lookup{{Matrix: "d"}, {Matrix: "s"}, {Matrix: "s", Cols: []int64{1, 2, 3}}}, nil)
			return err
		},
		"flow": func() error {
			for _, err := range d.GetRowsFlow(ctx, []int64{0, 0, 0}, 1) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"function": func() error {
			_, err := d.Get(ctx, "parts", nil)
			return err
		},
		"save": func() error { return p.Save(ctx, ps.SaveOptions{Path: "x"}) },
	}
}

// TestLies: each way in which an answer is not one to the question gives an error that names the server.
func TestLies(t *testing.T) {
	part := func(change func(p *rpc.Part)) func(*rpc.Response) bool {
		return func(r *rpc.Response) bool {
			if len(r.Parts) == 0 {
				return false
			}
			change(&r.Parts[len(r.Parts)-1])
			return true
		}
	}
	stored := func(change func(p *rpc.Part)) func(*rpc.Response) bool {
		return func(r *rpc.Response) bool {
			for i := range r.Parts {
				if r.Parts[i].Kind == rpc.KindStored && len(r.Parts[i].Keys) > 1 {
					change(&r.Parts[i])
					return true
				}
			}
			return false
		}
	}
	result := func(change func(r *rpc.Result)) func(*rpc.Response) bool {
		return func(r *rpc.Response) bool {
			if len(r.Results) == 0 {
				return false
			}
			change(&r.Results[0])
			return true
		}
	}
	for name, lie := range map[string]func(*rpc.Response) bool{
		"a part less": func(r *rpc.Response) bool {
			ok := len(r.Parts) > 0
			r.Parts = r.Parts[:max(0, len(r.Parts)-1)]
			return ok
		},
		"a part more": func(r *rpc.Response) bool {
			ok := len(r.Parts) > 0
			r.Parts = append(r.Parts, rpc.Part{Kind: rpc.KindKeys})
			return ok
		},
		"kind":                part(func(p *rpc.Part) { p.Kind = p.Kind%3 + 1 }),
		"type":                part(func(p *rpc.Part) { p.DType = matrix.I64 }),
		"matrix":              part(func(p *rpc.Part) { p.Matrix++ }),
		"too few values":      part(func(p *rpc.Part) { p.Values = p.Values[:max(0, len(p.Values)-8)]; p.Keys = append(p.Keys, 1<<50) }),
		"too many values":     part(func(p *rpc.Part) { p.Values = append(p.Values, make([]byte, 8)...) }),
		"a key beside values": part(func(p *rpc.Part) { p.Keys = append(p.Keys, 1<<50) }),
		"no values":           part(func(p *rpc.Part) { p.Values, p.Keys = nil, append(p.Keys, 1<<50) }),
		"an old clock":        part(func(p *rpc.Part) { p.Clock = -1 }),
		"descending":          stored(func(p *rpc.Part) { p.Keys[0], p.Keys[1] = p.Keys[1], p.Keys[0] }),
		"twice":               stored(func(p *rpc.Part) { p.Keys[1] = p.Keys[0] }),
		"outside":             stored(func(p *rpc.Part) { p.Keys[len(p.Keys)-1] = 1000 }),
		"another's key":       stored(func(p *rpc.Part) { p.Keys[len(p.Keys)-1]++ }),
		"a result less": func(r *rpc.Response) bool {
			ok := len(r.Results) > 0
			r.Results = r.Results[:max(0, len(r.Results)-1)]
			return ok
		},
		"a partition":      result(func(r *rpc.Result) { r.Partition = 1 << 20 }),
		"another's":        result(func(r *rpc.Result) { r.Partition = 0 }),
		"another's result": result(func(r *rpc.Result) { r.Matrix = 77 }),
	} {
		for call := range readings(nil, nil, nil) {
			t.Run(name+"/"+call, func(t *testing.T) {
				c := newCluster(3)
				p := c.dial(t, ps.Options{Bound: ssp.ASP})
				defer p.Close()
				d, s := both(t, p)
				pushOnes(t, d, s)
				must(t, p.SyncClock(t.Context()))
				lied := false
				c.stores[1].lie = func(_ *rpc.Request, r *rpc.Response) { lied = lie(r) || lied }
				err := readings(p, d, s)[call]()
				if saving := call == "save" && name == "a result less"; lied != (err != nil) && !saving {
					t.Fatalf("lied %v: %v", lied, err)
				}
				if err != nil && (!errors.Is(err, ps.ErrAnswer) || !strings.Contains(err.Error(), "server 1")) {
					t.Errorf("%v, want one that names server 1", err)
				}
			})
		}
	}
}

// TestAnyAnswer: whatever a server answers, nothing panics, and the next call goes on.
func TestAnyAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(2)
		p := c.dial(t, ps.Options{Bound: ssp.ASP})
		defer p.Close()
		d, s := both(t, p)
		pushOnes(t, d, s)
		must(t, p.SyncClock(context.Background()))
		c.stores[1].lie = func(_ *rpc.Request, r *rpc.Response) {
			for i := range r.Parts {
				spoil(t, &r.Parts[i])
			}
			for i := range r.Results {
				r.Results[i].Partition = rapid.SampledFrom([]uint32{0, 1, 15, 16, math.MaxUint32}).Draw(t, "partition")
			}
		}
		call := rapid.SampledFrom([]string{"dense", "row", "stored", "keys", "columns of dense", "next", "flow", "function", "save"}).Draw(t, "call")
		if err := readings(p, d, s)[call](); err != nil && !errors.Is(err, ps.ErrAnswer) {
			t.Fatalf("%s: %v", call, err)
		}
		c.stores[1].lie = nil
		for name, call := range readings(p, d, s) {
			if err := call(); err != nil {
				t.Fatalf("%s after a lie: %v", name, err)
			}
		}
	})
}

func spoil(t *rapid.T, p *rpc.Part) {
	switch rapid.IntRange(0, 8).Draw(t, "spoil") {
	case 0:
		p.Kind = rpc.Kind(rapid.IntRange(1, 3).Draw(t, "kind"))
	case 1:
		p.DType = rapid.SampledFrom([]matrix.DType{matrix.F32, matrix.I8}).Draw(t, "type")
	case 2:
		p.Matrix = rapid.Uint32().Draw(t, "matrix")
	case 3:
		p.Values = make([]byte, 8*rapid.IntRange(0, 20).Draw(t, "values"))
	case 4:
		p.Keys = rapid.SliceOfN(rapid.Int64(), 0, 5).Draw(t, "keys")
	case 5:
		p.Clock = rapid.Int32().Draw(t, "clock")
	case 6:
		p.Rows, p.Cols = matrix.Range{Lo: rapid.Int64().Draw(t, "row"), Hi: math.MaxInt64}, matrix.Range{Hi: -1}
	case 7:
		p.Keys = rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 5).Draw(t, "small keys")
		p.Values = make([]byte, 8*len(p.Keys))
	}
}

// TestControlLies: so do answers to what is asked before there are values.
func TestControlLies(t *testing.T) {
	meta := matrix.Meta{Name: "m", Rows: 1, Cols: 10, DType: matrix.F64}
	for answer, want := range map[string]string{
		``:                                 "server 0",
		`[`:                                "server 0",
		`{}`:                               "0 numbers, 0 clocks and 0 maps of 1 matrices",
		`{"numbers":[1,2],"clocks":[0,0]}`: "2 numbers",
		`{"numbers":[0],"clocks":[0]}`:     "matrix m has number 0, which is none",
		`{"numbers":[1],"clocks":[-1]}`:    "the task is at clock -1",
		`{"numbers":[1],"clocks":[0,0]}`:   "2 clocks",
		`{"numbers":[1],"clocks":[0],"maps":[{"version":2,"rows":[0,1],"cols":[0,10],"owners":[5]}]}`: "partition 0 is owned by server 5",
		`{"numbers":[1],"clocks":[0],"maps":[{},{}]}`:                                                 "2 maps",
	} {
		c := newCluster(2)
		p := c.dial(t, ps.Options{})
		c.handlers[0] = handler(func(x *rpc.Exchange) { x.Answer(&rpc.Response{Results: []rpc.Result{{Data: []byte(answer)}}}) })
		if err := p.Create(t.Context(), "", meta); !errors.Is(err, ps.ErrAnswer) || !strings.Contains(err.Error(), want) {
			t.Errorf("create is answered %s: %v, want %s", answer, err, want)
		}
		p.Close()
	}
	for _, r := range []*rpc.Response{nil, {Results: make([]rpc.Result, 2)}, {Results: []rpc.Result{{Data: []byte(`{"seq":7}`)}}}} {
		c := newCluster(1)
		c.handlers[0] = handler(func(x *rpc.Exchange) { x.Answer(r) })
		_, err := ps.Dial(t.Context(), ps.Options{Network: c.fake, Servers: c.addrs(), Job: "j", Tasks: 1})
		if !errors.Is(err, ps.ErrAnswer) {
			t.Errorf("join is answered %+v: %v", r, err)
		}
	}
	for _, answer := range []string{`{"joined":0}`, `{"joined":3}`, `{"joined":1,"refused":-1}`, `{`} {
		c := newCluster(1)
		p := c.dial(t, ps.Options{Tasks: 2})
		c.handlers[0] = handler(func(x *rpc.Exchange) { x.Answer(&rpc.Response{Results: []rpc.Result{{Data: []byte(answer)}}}) })
		if err := p.Members(t.Context(), func(rpc.Membership) {}); !errors.Is(err, ps.ErrAnswer) {
			t.Errorf("members is answered %s: %v", answer, err)
		}
		p.Close()
	}
}

// handler is a function that serves.
type handler func(*rpc.Exchange)

func (h handler) Serve(x *rpc.Exchange) { h(x) }

// TestMaps: a map that the servers hand out is used instead of the one that the client computes.
func TestMaps(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	answer := `{"numbers":[1],"clocks":[0],"maps":[{"version":2,"rows":[0,1],"cols":[0,3,10],"owners":[1,0]}]}`
	for i := range c.handlers {
		c.handlers[i] = handler(func(x *rpc.Exchange) { x.Answer(&rpc.Response{Results: []rpc.Result{{Data: []byte(answer)}}}) })
	}
	m := create(t, p, "", matrix.Meta{Name: "m", Rows: 1, Cols: 10, DType: matrix.F64})
	if m.Parts().Version != 2 || m.Parts().Owners[0] != 1 || m.Parts().Of(3) != 1 {
		t.Errorf("the map is %+v", m.Parts())
	}
}
