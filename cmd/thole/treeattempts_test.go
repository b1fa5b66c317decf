package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/rpc"
	"thole.example/state"
)

// cut is a network that is gone after so many requests.
type cut struct {
	rpc.Network
	left atomic.Int64
}

func (n *cut) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	c, err := n.Network.Dial(ctx, addr)
	return &cutConn{c, n}, err
}

type cutConn struct {
	rpc.Conn
	net *cut
}

func (c *cutConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	if c.net.left.Add(-1) >= 0 {
		return c.Conn.Start(ctx, q)
	}
	call := rpc.NearCall(func(uint64) {})
	call.Finish(nil, fmt.Errorf("the network is gone: %w", rpc.ErrAborted))
	return call
}

// workerPlan is the plan of a worker process with some tasks.
func workerPlan(t *testing.T, e *env, tasks []int, args ...string) *plan {
	t.Helper()
	j := &job{name: "job", wait: defaultWait, retry: defaultRetry}
	c := &cobra.Command{Use: "worker"}
	j.flags(e, c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	j.atServers, j.elsewhere = true, tasks[0] > 0
	p, err := j.choose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.later = func(ctx context.Context) error {
		if err := p.look(ctx); err != nil {
			return err
		}
		return p.read(ctx, e)
	}
	return p
}

// tryOnce runs both processes on servers of its own, whose network is gone after so many requests; 0: never.
func tryOnce(t *testing.T, plans [2]*plan, dir string, requests int64) (err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := embed(ctx, 2, nil, blob.NewPaths())
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	n := &cut{Network: c.net}
	n.left.Store(requests)
	if c.net = n; requests == 0 {
		n.left.Store(1 << 60)
	}
	var errs [2]error
	var group sync.WaitGroup
	for i, tasks := range [][]int{{0, 2}, {1}} {
		group.Go(func() {
			if _, errs[i] = plans[i].grow(ctx, c, tasks, filepath.ToSlash(filepath.Join(dir, "model")), nil); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	if errs[0] != nil {
		return errs[0]
	}
	return errs[1]
}

// TestAttempts: processes whose network is gone begin again in a further attempt, each with what it has: the trees go on from the last
// checkpoint, the examples are read once, and the model is that of a training that nothing disturbed.
func TestAttempts(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "loans.csv")
	quiet := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	if code := Main([]string{"data", "loans", "--rows", "500", "--out", file}, quiet); code != 0 {
		t.Fatal(code)
	}
	for name, more := range map[string][]string{
		"early":    {"--holdout", "0.2", "--early-stop", "9", "--subsample", "0.7"},
		"dart":     {"--boosting", "dart", "--drop-rate", "0.4"},
		"features": {"--share", "features", "--loss", "binary"},
	} {
		t.Run(name, func(t *testing.T) {
			all := append([]string{"--algo", "gbdt", "--tasks", "3", "--trees", "12", "--depth", "3"}, more...)
			own := append([]string{"--data", file, "--label-column", "defaulted", "--ignore", "id"}, all...)
			model := func(dir string, requests []int64, args ...string) (leaves []byte, failed, went int) {
				reads := &counted{}
				e := &env{in: strings.NewReader(""), out: io.Discard, err: reads}
				plans := [2]*plan{workerPlan(t, e, []int{0, 2}, append(own, args...)...), workerPlan(t, e, []int{1}, all...)}
				for _, n := range append(requests, 0) {
					if err := tryOnce(t, plans, dir, n); err == nil {
						break
					} else if failed++; n == 0 {
						t.Fatal(err)
					}
					if all, err := listTreeCheckpoints(t.Context(), nil, filepath.Join(dir, "ck")); err == nil && len(all) > 0 {
						went++
					}
				}
				if reads.columns != 1 {
					t.Errorf("the examples were read %d times, want once", reads.columns)
				}
				leaves, err := os.ReadFile(filepath.Join(dir, "model", "gbdt.leaf.stats", "0"))
				if err != nil {
					t.Fatal(err)
				}
				return leaves, failed, went
			}
			want, _, _ := model(t.TempDir(), nil)
			to := t.TempDir()
			ck := filepath.Join(to, "ck")
			got, failed, went := model(to, []int64{5, 130, 1, 110, 120}, "--checkpoint", ck, "--checkpoint-every", "2", "--keep", "9")
			if string(got) != string(want) {
				t.Error("another model than that of a training that nothing disturbed")
			}
			if failed < 4 || went == 0 {
				t.Errorf("%d attempts failed, want 4 or more; after %d of them there was a checkpoint, want one or more", failed, went)
			}
			if _, err := os.Stat(filepath.Join(ck, state.StepName(12), growthFile)); err != nil && name != "early" {
				t.Error(err)
			}
		})
	}
}

// counted counts what is said of columns, which is when a table is read.
type counted struct{ columns int }

func (c *counted) Write(b []byte) (int, error) {
	c.columns += strings.Count(string(b), "columns: ")
	return len(b), nil
}

// later waits for a checkpoint of trees in a folder that is later than so many iterations, and gives its number; 0 if the process ends before.
func later(t *testing.T, folder string, than int, ended <-chan error) int {
	t.Helper()
	for {
		if all, err := listTreeCheckpoints(t.Context(), nil, folder); err == nil && len(all) > 0 && all[len(all)-1] > than {
			return all[len(all)-1]
		}
		select {
		case <-ended:
			return 0
		case <-time.After(time.Millisecond):
		}
	}
}

// TestTreesKilled kills a training again and again: it goes on each time, and its model is that of one that nobody killed. A training that
// is interrupted says how to go on.
func TestTreesKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	examples(t, dir)
	train := func(more ...string) *process {
		return newProcess(t, dir, append([]string{"train", "--runs", "none", "--algo", "gbdt", "--data", "small.dummy", "--format", "dummy",
			"--boosting", "dart", "--trees", "60", "--subsample", "0.6"}, more...)...)
	}
	ck := filepath.Join(dir, "ck")
	for last, kills := 0, 0; ; kills++ {
		p, ended := train("--checkpoint", "ck", "--checkpoint-every", "1", "--model", "killed", "--force"), make(chan error, 1)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- p.Wait() }()
		last = later(t, ck, last+9, ended)
		if last == 0 {
			if p.ProcessState.ExitCode() != 0 || kills < 2 {
				t.Fatalf("after %d kills, want some: %v: %s", kills, p.ProcessState, &p.err)
			}
			break
		}
		p.Process.Kill()
		<-ended
	}
	if p := train("--model", "whole"); p.Run() != nil {
		t.Fatal(&p.err)
	}
	if p := newProcess(t, dir, "diff", "whole", "killed"); p.Run() != nil {
		t.Errorf("another model than without kills: %s", &p.out)
	}
	p, ended := train("--trees", "100000", "--checkpoint", "long", "--checkpoint-every", "5"), make(chan error, 1)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- p.Wait() }()
	later(t, filepath.Join(dir, "long"), 0, ended)
	p.Process.Signal(os.Interrupt)
	<-ended
	if code := p.ProcessState.ExitCode(); code != exitInterrupted ||
		!regexp.MustCompile(`long/\d{12} has \d+ trees: the same command goes on from there\n`).MatchString(p.err.String()) {
		t.Errorf("status %d, %q", code, &p.err)
	}
}
