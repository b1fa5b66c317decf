package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/wire"
)

// tight is servers with little memory, of which rows may go to a folder; with no memory they have as much as they like.
type tight struct {
	*cluster
	memory int64
	mu     sync.Mutex
	log    bytes.Buffer
}

func (x *tight) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.Write(b)
}

func newTight(t *testing.T, servers int, memory int64, bucket blob.Bucket) *tight {
	x := &tight{cluster: &cluster{t: t, net: &mem.Network{}, bucket: bucket}, memory: memory}
	x.with = func(s *server.Server) {
		if memory > 0 {
			s.Ledger, s.Scratch, s.Log = budget.New(memory), t.TempDir(), slog.New(slog.NewTextHandler(x, nil))
		}
	}
	x.start(servers)
	return x
}

// away is how many bytes of rows lie on disk, and how many tables take in memory.
func (x *tight) away() (away, tables int64) {
	for _, s := range x.servers {
		for _, j := range s.Status(x.t.Context()) {
			for _, m := range j.Tables {
				away += m.OnDisk
			}
		}
		tables = max(tables, s.Ledger.Used()[budget.Tables])
	}
	return away, tables
}

const (
	tightKeys  = 12000
	tightRows  = 256
	tightBatch = 1500
)

// step pulls and changes columns of both matrices, by keys, blocks and functions.
func (x *tight) step(ctx context.Context, p *ps.Client, n, task int) error {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(task)))
	for _, m := range p.Matrices() {
		keys := make([]int64, tightBatch)
		for i := range keys {
			keys[i] = rng.Int64N(tightKeys)
		}
		k, err := m.Plan(nil, keys)
		if err != nil {
			return err
		}
		val := make([]float32, len(keys)*tightRows)
		if err := ps.PullKeys(ctx, m, k, val); err != nil {
			return err
		}
		for i, v := range val {
			val[i] = v/3 + float32(rng.NormFloat64())
		}
		if err := ps.PushKeys(m, k, val); err != nil {
			return err
		}
	}
	if err := p.Clock(ctx, 2, 0.05); err != nil || n%7 != 3 {
		return err
	}
	if err := p.Barrier(ctx); err != nil {
		return err
	}
	for _, m := range p.Matrices() {
		if task > 0 {
			break
		}
		if err := m.Update(ctx, "scale", psf.Args{"by": 0.5}); err != nil {
			return err
		}
	}
	return errors.Join(p.SyncClock(ctx), p.Barrier(ctx)) // the other one goes on after the function
}

func tightMatrices(rule string) (k, v matrix.Meta) {
	k = matrix.Meta{Name: "k", Rows: tightRows, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: rule}
	if rule == "momentum" {
		k.Hyper = map[string]float64{"l2": 0.01} // columns that no step names are behind
	}
	v = matrix.Meta{Name: "v", Rows: tightRows, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse,
		Init: matrix.Init{Kind: "uniform", Scale: 1, Seed: 7}}
	return k, v
}

// train makes steps with two tasks, after restoring and before writing checkpoints if there are paths for that, and gives all bits of
// both matrices, and saves them.
func (x *tight) train(rule string, from, to int, restore, checkpoint string) (bits [2]string, most int64) {
	x.t.Helper()
	k, v := tightMatrices(rule)
	x.run(2, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
		if err := p.Create(ctx, "hash", k, v); err != nil {
			return err
		}
		if restore != "" && task == 0 {
			if _, err := p.Restore(ctx, restore); err != nil {
				return err
			}
		}
		if err := errors.Join(p.SyncClock(ctx), p.Barrier(ctx)); err != nil { // nobody goes on before it is restored
			return err
		}
		for n := from; n < to; n++ {
			if err := x.step(ctx, p, n, task); err != nil {
				return fmt.Errorf("step %d: %w", n, err)
			}
			if checkpoint != "" && task == 0 {
				var err error
				switch n {
				case to - 3:
					err = p.CheckpointSince(ctx, checkpoint+"-full", "")
				case to - 1:
					err = p.CheckpointSince(ctx, checkpoint, checkpoint+"-full")
				}
				if err != nil {
					return err
				}
			}
			if x.memory > 0 && task == 0 {
				away, tables := x.away()
				most = max(most, away)
				if tables > x.memory {
					return fmt.Errorf("step %d: %d bytes of tables in memory, which is %d", n, tables, x.memory)
				}
			}
		}
		if task > 0 {
			return nil
		}
		var err error
		if bits, err = tightBits(ctx, p); err != nil || checkpoint != "" || testing.Short() {
			return err
		}
		return p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "model", Lossy: true, Set: map[string]string{"format": "BinaryColumnFormat"}})
	})
	return bits, most
}

// tightBits is all values of both matrices.
func tightBits(ctx context.Context, p *ps.Client) (bits [2]string, err error) {
	keys := make([]int64, tightKeys)
	for i := range keys {
		keys[i] = int64(i)
	}
	for i, name := range []string{"k", "v"} {
		got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: name, Cols: keys}})
		if err != nil {
			return bits, err
		}
		bits[i] = string(wire.View(got[0].Data.Values().([]float32)))
	}
	return bits, nil
}

// load gives the bits of what was saved.
func (x *tight) load(rule string) (bits [2]string, most int64) {
	x.t.Helper()
	k, v := tightMatrices(rule)
	x.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) (err error) {
		if err := errors.Join(p.Create(ctx, "hash", k, v), p.Load(ctx, ps.LoadOptions{Path: "model"})); err != nil {
			return err
		}
		bits, err = tightBits(ctx, p)
		most, _ = x.away()
		return err
	})
	return bits, most
}

// TestPagedMatrices: matrices that are several times as large as memory are trained on disk, with functions, checkpoints, saves and
// loads, to the bits that they have in memory, and memory is not more than there is.
func TestPagedMatrices(t *testing.T) {
	half, all, rules := 8, 14, []string{"momentum", "adagrad"}
	if testing.Short() {
		half, all, rules = 4, 6, rules[:1]
	}
	for _, rule := range rules {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			free := newTight(t, 1, 0, blob.NewDir(t.TempDir()))
			want, _ := free.train(rule, 0, all, "", "")
			bucket := blob.NewDir(t.TempDir())
			x := newTight(t, 2, 20<<20, bucket)
			_, most := x.train(rule, 0, half, "", "c")
			y := newTight(t, 1, 36<<20, bucket)
			got, more := y.train(rule, half, all, "c", "")
			if got != want {
				t.Error("the bits are not those of training in memory")
			}
			if testing.Short() {
				return
			}
			z := newTight(t, 1, 40<<20, bucket)
			loaded, much := z.load(rule)
			if again, _ := free.load(rule); again != loaded {
				t.Error("what was loaded is not what is loaded in memory")
			}
			if most < 1<<18 || more < 1<<20 || much < 1<<20 || !strings.Contains(x.log.String(), "memory is short: rows of a matrix") {
				t.Errorf("%d, %d and %d bytes were on disk at most; %s", most, more, much, x.log.String())
			}
			for _, s := range append(x.servers, y.servers...) {
				comesTo(t, "of tables in use in the end", func() int64 { return s.Ledger.Used()[budget.Tables] }, 0)
			}
		})
	}
}

// TestPagedOthers: a matrix that grows has rows of others go to disk, also of another job.
func TestPagedOthers(t *testing.T) {
	s := serve(t, func(s *server.Server) { s.Ledger, s.Scratch = budget.New(96<<20), t.TempDir() })
	most := s.server.Ledger.Most(budget.Tables)
	sp := floats("k", 1<<40, matrix.RowSparse)
	sp.Meta.Rows = 1024
	fill := func(job string, n int) (c *conn, k *known) {
		c = s.joinAs(rpc.Join{Job: job, Tasks: 1, Bound: ssp.ASP})
		k = c.create(sp)[0]
		for at := 0; at < n; at += 500 {
			of := map[int64]float64{}
			for i := range 500 {
				of[int64(at+i)<<20] = float64(at + i)
			}
			c.pushed([]rpc.Part{k.columns(0, of)})
		}
		return c, k
	}
	first, k := fill("first", 12_000) // 48 MB
	second, l := fill("second", 16_000)
	third, m := fill("third", 6_000)
	for end := time.Now().Add(patience); s.server.Ledger.Used()[budget.Tables] > most+most/8; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes in use, want %d at most", s.server.Ledger.Used()[budget.Tables], most)
		}
	}
	for _, c := range []struct {
		c *conn
		k *known
		n int64
	}{{first, k, 12_000}, {second, l, 16_000}, {third, m, 6_000}} {
		for i := int64(0); i < c.n; i += 997 {
			if got := c.c.pulled(c.k.keys(0, i<<20)); len(got) != 1024 || got[0] != float64(i) || got[1023] != float64(i) {
				t.Fatalf("column %d of %d: %v", i, c.n, got[0])
			}
		}
	}
}

// TestPagedRefused: without a folder what has no room is refused, and told of it; with one in which nothing can be written that is said.
func TestPagedRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for scratch, want := range map[string]string{"": "with --scratch FOLDER rows", filepath.Join(file, "folder"): "rows could not go to disk: spill: "} {
		s := serve(t, func(s *server.Server) { s.Ledger, s.Scratch = budget.New(8<<20), scratch })
		c := s.join(0, 1, ssp.BSP)
		sp := floats("k", 1<<40, matrix.RowSparse)
		sp.Meta.Rows = 256
		k := c.create(sp)[0]
		var err error
		for clock := 0; err == nil && clock < 100; clock++ {
			of := map[int64]float64{}
			for i := range 200 {
				of[int64(clock*200+i)] = 1
			}
			_, err = c.outcome(c.push([]rpc.Part{k.columns(clock, of)}, k.tick(clock, 0, 0)))
			if err == nil {
				_, err = c.outcome(c.pull(k.keys(clock+1, 0)))
			}
		}
		fails(t, "growth with scratch "+scratch, err, rpc.ErrRefused, `matrix "k" would take`, want)
		if used, most := s.server.Ledger.Used()[budget.Tables], s.server.Ledger.Most(budget.Tables); used > most+most/8 {
			t.Errorf("scratch %q: %d bytes of tables, want %d at most", scratch, used, most)
		}
	}
}
