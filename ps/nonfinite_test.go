package ps_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
)

// withServers is servers of package server on a fake network, and what they log.
func withServers(t *testing.T, n int) (*cluster, *bytes.Buffer) {
	t.Helper()
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	text := &bytes.Buffer{}
	log := slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c := newCluster(n)
	for i := range c.handlers {
		c.handlers[i] = &server.Server{Funcs: funcs, Log: log}
	}
	return c, text
}

// lostOnce loses the connection after every push of values was handled for the first time, so that each is sent twice.
func lostOnce() func(int, *rpc.Request) fate {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(server int, q *rpc.Request) fate {
		mu.Lock()
		defer mu.Unlock()
		if q.Op != rpc.OpPush || len(q.Parts) == 0 {
			return delivered
		}
		which := fmt.Sprint(server, q.Seq, q.Parts[0].Values)
		if seen[which] {
			return delivered
		}
		seen[which] = true
		return lostAfter
	}
}

// TestSkipped: two tasks add 1 and 2 to all cells in five steps, but in two of them the first task has a value that is no number in
// one. What it brings to that one's partition, of two columns, is left out then and counted, once, also if every change comes twice, and the first is logged.
func TestSkipped(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, log := withServers(t, 2)
			if again {
				c.become(lostOnce())
			}
			var tasks sync.WaitGroup
			for task := range 2 {
				tasks.Go(func() { skipped(t, c, task) })
			}
			tasks.Wait()
			synctest.Wait()
			text := log.String()
			if n := strings.Count(text, "not finite"); n != 1 || !strings.Contains(text, "job=j matrix=w task=0 row=1 column=2") {
				t.Errorf("logged is %s", text)
			}
		})
	}
}

func skipped(t *testing.T, c *cluster, task int) {
	p, err := ps.Dial(t.Context(), ps.Options{
		Network: c.fake, Servers: c.addrs(), Job: "j", Task: task, Tasks: 2, NonFinite: "skip", Retry: time.Minute,
	})
	if err != nil {
		t.Error(err)
		return
	}
	defer p.Close()
	meta := matrix.Meta{Name: "w", Rows: 2, Cols: 4, DType: matrix.F64}
	if err := p.Create(t.Context(), "", meta); err != nil {
		t.Error(err)
		return
	}
	if n, err := p.NonFinite(t.Context()); n != 0 || err != nil {
		t.Errorf("at first %d are left out, %v", n, err)
	}
	for step := range 5 {
		val := slices.Repeat([]float64{float64(1 + task)}, 8)
		if task == 0 && step%2 == 1 {
			val[6] = math.NaN()
		}
		if err := errors.Join(p.Push("w", dense(meta.Rect(), val...)), p.Clock(t.Context(), 0, 0)); err != nil {
			t.Error(err)
			return
		}
	}
	if err := p.Barrier(t.Context()); err != nil {
		t.Error(err)
		return
	}
	n, err := p.NonFinite(t.Context())
	if n != 2 || err != nil {
		t.Errorf("task %d: %d are left out, %v, want 2", task, n, err)
	}
	got, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "w"}})
	if err != nil {
		t.Error(err)
		return
	}
	for i, v := range got[0].Data.Values().([]float64) {
		if want := []float64{15, 15, 13, 13}[i%4]; v != want {
			t.Errorf("task %d: value %d is %v, want %v", task, i, v, want)
		}
	}
	if err := p.Leave(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNonFiniteChoice: the option decides what a push with an infinite value does. It is counted, whatever it does.
func TestNonFiniteChoice(t *testing.T) {
	for choice, want := range map[string]float64{"": 0, "refuse": 0, "skip": 0, "allow": math.Inf(1)} {
		c, _ := withServers(t, 1)
		p := c.dial(t, ps.Options{NonFinite: choice})
		create(t, p, "", oneMeta)
		must(t, p.Push("w", dense(oneAt, math.Inf(1))))
		err := p.Flush(t.Context())
		if refuses := choice == "" || choice == "refuse"; refuses != errors.Is(err, rpc.ErrRefused) || !refuses && err != nil {
			t.Errorf("%q: error %v", choice, err)
		}
		if err == nil {
			must(t, p.Clock(t.Context(), 0, 0))
			got, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "w"}})
			must(t, err)
			if v := got[0].Data.Values().([]float64)[0]; v != want {
				t.Errorf("%q: value %v, want %v", choice, v, want)
			}
		}
		if n, err := p.NonFinite(t.Context()); n != 1 || err != nil {
			t.Errorf("%q: %d are counted, %v", choice, n, err)
		}
		must(t, p.Close())
	}
}

// TestNonFiniteAgreed: a choice that is none is refused before anything is sent, and one that is not the job's by the servers.
func TestNonFiniteAgreed(t *testing.T) {
	c, _ := withServers(t, 2)
	dial := func(task int, choice string) (*ps.Client, error) {
		return ps.Dial(context.Background(), ps.Options{
			Network: c.fake, Servers: c.addrs(), Job: "j", Task: task, Tasks: 3, Plan: "rate=1", NonFinite: choice,
		})
	}
	if _, err := dial(0, "ignore"); err == nil || !strings.Contains(err.Error(), `NonFinite "ignore"`) || len(c.sent) != 0 {
		t.Errorf("error %v, %v requests sent", err, c.sent)
	}
	first, err := dial(0, "refuse")
	must(t, err)
	defer first.Close()
	second, err := dial(1, "")
	must(t, err)
	defer second.Close()
	create(t, first, "", oneMeta)
	create(t, second, "", oneMeta)
	if _, err := dial(2, "skip"); !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "non-finite=refuse, not non-finite=skip") {
		t.Errorf("another choice: %v", err)
	}
}

// TestNonFiniteLie: a number of parts that there cannot be is not believed.
func TestNonFiniteLie(t *testing.T) {
	c, _ := withServers(t, 1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	c.handlers[0] = handler(func(x *rpc.Exchange) {
		text, _ := json.Marshal(rpc.Membership{Joined: 1, NonFinite: -1})
		x.Answer(&rpc.Response{Results: []rpc.Result{{Data: text}}})
	})
	if n, err := p.NonFinite(t.Context()); !errors.Is(err, ps.ErrAnswer) {
		t.Errorf("%d are left out, %v", n, err)
	}
}
