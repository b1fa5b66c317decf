package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// servedMetas are matrices whose cells are all the number of steps.
func servedMetas() []matrix.Meta {
	return []matrix.Meta{
		{Name: "a", Rows: 2, Cols: 3000, DType: matrix.F64},
		{Name: "b", Rows: 1, Cols: 3000, DType: matrix.F64, Layout: matrix.RowSparse},
	}
}

// trainServed adds 1 to all cells with each step and writes a checkpoint after each, every fourth of which is a whole one; wrote is called
// then.
func trainServed(f *fleet, run string, metas []matrix.Meta, steps int, wrote func(step int) error) {
	f.t.Helper()
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		before := ""
		for step := 1; step <= steps; step++ {
			for _, m := range metas {
				if err := p.Push(m.Name, ones(m)); err != nil {
					return err
				}
			}
			if err := p.Clock(ctx, 0, 0); err != nil {
				return err
			}
			o := ps.CheckpointOptions{Path: fmt.Sprintf("ck/%012d", step), Track: true, Base: before, Moment: fmt.Appendf(nil, `{"run":%q,"made":%d}`, run, step)}
			if step%4 == 1 {
				o.Base = ""
			}
			if err := p.WriteCheckpoint(ctx, o); err != nil {
				return err
			}
			before = o.Path
			if err := wrote(step); err != nil {
				return err
			}
		}
		return nil
	})
}

// replicas are servers of checkpoints that share the matrices of the folder "ck".
func replicas(t testing.TB, network string, servers int, bucket blob.Bucket, ledger int64) *fleet {
	t.Helper()
	f := newFleet(t, network, 0, bucket, nil)
	addr := ""
	if network == "tcp" {
		addr = "127.0.0.1:0"
	}
	for i := range servers {
		s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: bucket}
		s.Replica = &server.CheckpointReplica{Path: "ck", Index: i, Servers: servers, Refresh: 5 * time.Millisecond}
		if ledger > 0 {
			s.Ledger = budget.New(ledger)
		}
		l, err := f.net.Listen(t.Context(), addr, s)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); s.ServeCheckpoints(ctx) }()
		t.Cleanup(func() { end(); <-over; l.Close() })
		f.servers, f.served = append(f.servers, l.Addr()), append(f.served, s)
	}
	return f
}

// serving waits until all servers serve the checkpoint of a step.
func (f *fleet) serving(step int) {
	f.t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		all := true
		for _, s := range f.served {
			now := s.ReplicaStatus()
			all = all && now.Checkpoint != nil && now.Checkpoint.Step == step
		}
		if all {
			return
		}
		if time.Since(began) > 30*time.Second {
			f.t.Fatalf("step %d is not served: %+v", step, f.served[0].ReplicaStatus())
		}
	}
}

func (f *fleet) follow() (*ps.Client, error) {
	return ps.Follow(f.t.Context(), ps.Options{Network: f.net, Servers: f.servers, Job: "j"})
}

// oneValue is the value of all cells, which have to be equal.
func oneValue(blocks ...matrix.Block) (float64, error) {
	first := blocks[0].Data.Values().([]float64)[0]
	for _, b := range blocks {
		for i, v := range b.Data.Values().([]float64) {
			if v != first {
				return 0, fmt.Errorf("value %d of %v is %v, the first of all is %v", i, b.At, v, first)
			}
		}
	}
	return first, nil
}

// TestServedCheckpoints: while a training writes checkpoints, whole ones and increments, servers of checkpoints follow them. A cut is of one
// checkpoint on all servers; what one server reads with one request is of one checkpoint; a reader never sees an older one after a newer one;
// and it outlives the training.
func TestServedCheckpoints(t *testing.T) {
	for _, network := range []string{"mem", "tcp"} {
		for _, servers := range []int{1, 3} {
			t.Run(fmt.Sprint(network, servers), func(t *testing.T) {
				bucket, metas := &blob.Mem{}, servedMetas()
				f := replicas(t, network, servers, bucket, 0)
				if _, err := f.follow(); !errors.Is(err, rpc.ErrNotFound) || !strings.Contains(err.Error(), "has loaded none yet") {
					t.Fatalf("before the first checkpoint: %v", err)
				}
				const steps = 12
				var reading sync.WaitGroup
				over := make(chan struct{})
				trainServed(newFleet(t, network, 2, bucket, metas), "r", metas, steps, func(step int) error {
					if step == 1 {
						f.serving(1)
						for range 3 {
							reading.Go(func() { readServed(t, f, servers, over) })
						}
					}
					time.Sleep(20 * time.Millisecond) // some are skipped, some are not
					return nil
				})
				f.serving(steps)
				close(over)
				reading.Wait()
				c, err := f.follow()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				got, err := c.Cut(t.Context(), []matrix.Lookup{{Matrix: "a"}, {Matrix: "b"}})
				if err != nil {
					t.Fatal(err)
				}
				v, err := oneValue(got...)
				at := c.Sources()[0].Checkpoint
				if err != nil || v != steps || at == nil || at.Step != steps || at.Path != fmt.Sprintf("ck/%012d", steps) || at.ID == "" {
					t.Errorf("in the end %v, %v, from %+v; want %d", v, err, at, steps)
				}
			})
		}
	}
}

// readServed reads in every way until over is closed.
func readServed(t *testing.T, f *fleet, servers int, over <-chan struct{}) {
	ctx := t.Context()
	c, err := f.follow()
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	a, _ := c.Matrix("a")
	b, _ := c.Matrix("b")
	last := 0.0
	for {
		select {
		case <-over:
			return
		default:
		}
		got, err := c.Cut(ctx, []matrix.Lookup{{Matrix: "a"}, {Matrix: "b"}})
		if err != nil {
			t.Errorf("a cut: %v", err)
			return
		}
		v, err := oneValue(got...)
		if err != nil || v < last || v != float64(a.AsOf()) || v != float64(b.AsOf()) {
			t.Errorf("a cut has %v as of %d and %d, after %v: %v", v, a.AsOf(), b.AsOf(), last, err)
			return
		}
		last = v
		if servers > 1 {
			continue // they may serve different checkpoints
		}
		if got, err = c.Pull(ctx, []matrix.Lookup{{Matrix: "a"}, {Matrix: "b"}}); err == nil {
			v, err = oneValue(got...)
		}
		if err != nil || v < last || v != float64(a.AsOf()) {
			t.Errorf("a pull has %v as of %d, after %v: %v", v, a.AsOf(), last, err)
			return
		}
		last = v
		for name, of := range map[string]func(v float64) float64{
			"sum": func(v float64) float64 { return 6000 * v }, "max": func(v float64) float64 { return v },
			"min": func(v float64) float64 { return v },
		} {
			out, err := a.Get(ctx, name, nil)
			n := 0.0
			if err == nil {
				n, err = out.Number()
			}
			if whole := n / of(1); err != nil || whole != float64(int(whole)) || whole < last {
				t.Errorf("%s is %v, after a value of %v: %v", name, n, last, err)
				return
			}
		}
	}
}

// TestServedCheckpointsRefuse: nothing is changed by way of a server of checkpoints, and no task joins it.
func TestServedCheckpointsRefuse(t *testing.T) {
	bucket, metas := &blob.Mem{}, servedMetas()
	trainServed(newFleet(t, "mem", 1, bucket, metas), "r", metas, 1, func(int) error { return nil })
	f := replicas(t, "mem", 1, bucket, 0)
	f.serving(1)
	ctx := t.Context()
	c, err := f.follow()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, _ := c.Matrix("a")
	_, joins := ps.Dial(ctx, ps.Options{Network: f.net, Servers: f.servers, Job: "j", Tasks: 1})
	_, other := ps.Dial(ctx, ps.Options{Network: f.net, Servers: f.servers, Job: "another", Tasks: 1})
	for what, err := range map[string]error{"a task": joins, "a task of another job": other, "an update": m.Update(ctx, "scale", psf.Args{"by": 2})} {
		if !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "serves checkpoints of ck to readers, and changes nothing") {
			t.Errorf("%s: %v", what, err)
		}
	}
	conn, err := f.net.Dial(ctx, f.servers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Start(ctx, &rpc.Request{Op: rpc.OpFollow, Arg: []byte(`{"job":"j"}`)}).Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for _, q := range []*rpc.Request{
		{Op: rpc.OpPush}, {Op: rpc.OpCreate, Arg: []byte(`{}`)}, {Op: rpc.OpDefine}, {Op: rpc.OpLoad, Arg: []byte(`{}`)}, {Op: rpc.OpSave, Arg: []byte(`{}`)},
		{Op: rpc.OpPull, Parts: []rpc.Part{{Kind: rpc.KindKeys, Matrix: 2, Make: true, Clock: -1}}},
	} {
		if _, err := conn.Start(ctx, q).Wait(ctx); !errors.Is(err, rpc.ErrRefused) {
			t.Errorf("%v: %v", q.Op, err)
		}
	}
	row, err := m.GetRow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := oneValue(row); err != nil || v != 1 {
		t.Errorf("afterwards there is %v, %v; want 1", v, err)
	}
	if left := f.served[0].Drain(ctx); len(left) != 0 {
		t.Errorf("a server of checkpoints that ends leaves %+v unfinished", left)
	}
}

// TestServedCheckpointsDamaged: a checkpoint that cannot be read is left out, also as the base of others, and the status says so.
func TestServedCheckpointsDamaged(t *testing.T) {
	bucket, metas := blob.NewDir(t.TempDir()), servedMetas()
	f := replicas(t, "mem", 2, bucket, 0)
	trainServed(newFleet(t, "mem", 1, bucket, metas), "r", metas, 5, func(step int) error {
		switch step {
		case 1:
			f.serving(1)
		case 2: // which 3 and 4 are based on
			flip(t, bucket, "ck/000000000002/server.0")
		case 4:
			for _, s := range f.served {
				now := s.ReplicaStatus()
				for began := time.Now(); now.Error == "" && time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
					now = s.ReplicaStatus()
				}
				if now.Checkpoint.Step > 2 || now.Checkpoint.Step == 2 && now.Loads > 2 || !strings.Contains(now.Error, "ck/00000000000") {
					t.Errorf("with a damaged base there is %+v", now)
				}
			}
		}
		return nil
	})
	f.serving(5)
	if now := f.served[0].ReplicaStatus(); now.Error != "" {
		t.Errorf("after a whole one: %+v", now)
	}
}

// flip changes bytes all over an object.
func flip(t *testing.T, bucket blob.Bucket, name string) {
	t.Helper()
	text, err := blob.ReadAll(t.Context(), bucket, name, 1<<20)
	if err == nil {
		for i := 50; i < len(text); i += 97 {
			text[i] ^= 1
		}
		err = blob.WriteAll(t.Context(), bucket, name, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestServedCheckpointsMemory: without memory for two checkpoints the older one is served on, and the status says what is missing.
func TestServedCheckpointsMemory(t *testing.T) {
	bucket := &blob.Mem{}
	metas := []matrix.Meta{{Name: "a", Rows: 1, Cols: 100_000, DType: matrix.F64, Layout: matrix.RowSparse}}
	var f *fleet
	var ledger *budget.Ledger
	trainServed(newFleet(t, "mem", 1, bucket, metas), "r", metas, 2, func(step int) error {
		if step == 1 {
			const total = 64 << 20
			roomy := replicas(t, "mem", 1, bucket, total)
			roomy.serving(1)
			ledger = roomy.served[0].Ledger
			f = replicas(t, "mem", 1, bucket, 3*total/2*ledger.Lasting()/ledger.Most(budget.Tables))
			f.serving(1)
		}
		return nil
	})
	var now *server.ReplicaStatus
	for began := time.Now(); time.Since(began) < 10*time.Second && (now == nil || now.Error == ""); time.Sleep(time.Millisecond) {
		now = f.served[0].ReplicaStatus()
	}
	if held := f.served[0].Ledger.Lasting(); held > ledger.Lasting() {
		t.Errorf("%d bytes are in the ledger, want at most %d as where both have room", held, ledger.Lasting())
	}
	if now.Checkpoint.Step != 1 || !strings.Contains(now.Error, "ck/000000000002: ") || !strings.Contains(now.Error, "restored beside what it has") {
		t.Errorf("there is %+v, %s", now.Checkpoint, now.Error)
	}
	c, err := f.follow()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Cut(t.Context(), []matrix.Lookup{{Matrix: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := oneValue(got...); err != nil || v != 1 {
		t.Errorf("it serves %v, %v; want 1", v, err)
	}
}

// TestServedCheckpointsOfAnotherTraining: a training that begins in the folder from the first step on, with other matrices, is another job:
// readers of the one before hear that it has ended, and follow the new one.
func TestServedCheckpointsOfAnotherTraining(t *testing.T) {
	bucket, metas := &blob.Mem{}, servedMetas()
	f := replicas(t, "mem", 1, bucket, 0)
	trainServed(newFleet(t, "mem", 1, bucket, metas), "r", metas, 5, func(int) error { return nil })
	f.serving(5)
	old, err := f.follow()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	m, _ := old.Matrix("a")
	for step := 1; step <= 5; step++ {
		if err := bucket.Remove(t.Context(), fmt.Sprintf("ck/%012d", step)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(20 * time.Millisecond)
	if _, err := m.GetRow(t.Context(), 0); err != nil || f.served[0].ReplicaStatus().Checkpoint.Step != 5 {
		t.Errorf("while the folder is empty: %v", err)
	}
	metas[0].Cols = 100
	trainServed(newFleet(t, "mem", 1, bucket, metas), "q", metas, 2, func(int) error { return nil })
	f.serving(2)
	if _, err := m.GetRow(t.Context(), 0); !errors.Is(err, rpc.ErrAborted) {
		t.Errorf("a reader of the training before: %v", err)
	}
	c, err := f.follow()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Cut(t.Context(), []matrix.Lookup{{Matrix: "a"}})
	if err != nil || got[0].At.Cols.Len() != 100 {
		t.Fatalf("a reader of the new one: %v", err)
	}
	if v, err := oneValue(got...); err != nil || v != 2 {
		t.Errorf("it serves %v, %v; want 2", v, err)
	}
}
