package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// flyingCols is how many columns a row has whose pushes and pulls are of 512 KiB.
const flyingCols = 64 << 10

// flying joins a job of some tasks with a matrix of one such row.
func (l *locked) flying(token, job string, task, tasks int, bound ssp.Bound) *ps.Client {
	l.t.Helper()
	c, err := ps.Dial(l.t.Context(), ps.Options{Network: l.network(token), Servers: []string{l.addr}, Job: job, Task: task, Tasks: tasks, Bound: bound})
	if err == nil {
		err = c.Create(l.t.Context(), "range", matrix.Meta{Name: "m", Rows: 1, Cols: flyingCols, DType: matrix.F64})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func (l *locked) used(token string) int64 {
	bytes, _ := l.table.Owner(token).Account().Used()
	return bytes
}

// lasting is how many bytes of a token last, once none are in flight.
func (l *locked) lasting(token string, limit int64) int64 {
	l.t.Helper()
	lasts := limit - l.table.Owner(token).Account().Left()
	l.usedIs(token, "between requests", lasts)
	return lasts
}

// usedIs waits until a token uses some bytes.
func (l *locked) usedIs(token, what string, want int64) {
	l.t.Helper()
	for began := time.Now(); l.used(token) != want; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			l.t.Fatalf("%s: the token uses %d bytes, want %d", what, l.used(token), want)
		}
	}
}

// TestInFlightQuota: large requests and answers of many connections of a token together keep to its quota of memory, all pass, a job of another
// token is not held up, and in the end nothing is counted.
func TestInFlightQuota(t *testing.T) {
	const limit, jobs = 6 << 20, 8
	l := lock(t, "", budget.New(256<<20), map[string]string{"small": fmt.Sprint("write memory=", limit), "other": "write"})
	var all []*ps.Client
	for i := range jobs {
		all = append(all, l.flying("small", fmt.Sprint("j", i), 0, 1, ssp.ASP))
	}
	other := l.flying("other", "j", 0, 1, ssp.ASP)
	lasts := l.lasting("small", limit)
	if lasts < jobs*flyingCols*8 || lasts > limit-flyingCols*8 {
		t.Fatalf("%d bytes last, want room for a request", lasts)
	}
	ctx, stop := context.WithCancel(t.Context())
	most, sampled := int64(0), make(chan struct{})
	go func() {
		defer close(sampled)
		for ctx.Err() == nil {
			most = max(most, l.used("small"))
			time.Sleep(50 * time.Microsecond)
		}
	}()
	block := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, flyingCols))
	turn := func(ctx context.Context, c *ps.Client) error {
		m, err := c.Matrix("m")
		if err != nil {
			return err
		}
		var futures []*ps.Future
		for range 4 {
			futures = append(futures, m.PushNow(ctx, block))
		}
		for _, f := range futures {
			err = errors.Join(err, f.Wait(ctx))
		}
		_, bad := m.GetRow(ctx, 0)
		return errors.Join(err, bad)
	}
	var work sync.WaitGroup
	for _, c := range append(all, other) {
		work.Go(func() {
			for range 4 {
				if err := turn(t.Context(), c); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	stop()
	<-sampled
	if most > limit+2*flyingCols*8 { // one request and one answer need no room; that they count TestInFlightParked shows
		t.Errorf("at most %d bytes were used, %d of which last, want about the limit %d", most, lasts, limit)
	}
	l.usedIs("small", "after the requests", lasts)
	for _, c := range append(all, other) {
		if err := errors.Join(c.Leave(t.Context()), c.Close()); err != nil {
			t.Error(err)
		}
	}
	l.usedIs("small", "after the jobs", 0)
}

// TestInFlightParked: the answer of a pull that waits for its clock counts, and another token's job works on while requests of the first wait.
// A request for more than the quota is refused by its name, and the connection is of use afterwards.
func TestInFlightParked(t *testing.T) {
	const limit, size = 2 << 20, flyingCols * 8
	l := lock(t, "", nil, map[string]string{"small": fmt.Sprint("write memory=", limit), "other": "write"})
	one, two := l.flying("small", "j", 0, 2, ssp.BSP), l.flying("small", "j", 1, 2, ssp.BSP)
	defer one.Close()
	defer two.Close()
	other := l.flying("other", "j", 0, 1, ssp.ASP)
	defer other.Close()
	lasts := l.lasting("small", limit)
	m, err := one.Matrix("m")
	if err == nil {
		err = one.SyncClock(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := m.GetRow(t.Context(), 0)
		got <- err
	}()
	for began := time.Now(); l.used("small") < lasts+size; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("a pull that waits for its clock: %d bytes are used, want %d more than %d", l.used("small"), size, lasts)
		}
	}
	far := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, flyingCols))
	other1, err := other.Matrix("m")
	if err == nil {
		err = other1.PushNow(t.Context(), far).Wait(t.Context())
	}
	if err != nil {
		t.Errorf("another token: %v", err)
	}
	conn, err := l.network("small").Dial(t.Context(), l.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for n, want := range []string{fmt.Sprint("the limit of the token is reached: memory=", limit), "malformed"} {
		size := []int{limit + 1, 10}[n]
		_, err := conn.Start(t.Context(), &rpc.Request{Op: rpc.OpFollow, Arg: make([]byte, size)}).Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, rpc.ErrRefused) != (n == 0) {
			t.Errorf("a request of %d bytes: %v, want %q", size, err, want)
		}
	}
	if err := two.SyncClock(t.Context()); err != nil {
		t.Errorf("the task that the other waits for: %v", err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	l.usedIs("small", "after the pull", lasts)
}
