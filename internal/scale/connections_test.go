package scale_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
)

// TestConnections: many workers connect to a server at once over TCP, wait for each other, and make some clocks. None of them is taken for a
// stranger, and a connection costs memory that does not grow with their number. With SCALE they are 1,000.
func TestConnections(t *testing.T) {
	const (
		clocks         = 20
		bothEnds       = 5       // goroutines of a connection: three of the server, two of the client
		memoryBothEnds = 160_000 // bytes, at most
	)
	tasks := 150
	if os.Getenv("SCALE") != "" {
		tasks = 1000
	}
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	net := &tcp.Network{Log: slog.New(slog.DiscardHandler)}
	l, err := net.Listen(t.Context(), "127.0.0.1:0", &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Log: net.Log})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	clients := make([]*ps.Client, tasks)
	each := func(what string, f func(ctx context.Context, task int) error) time.Duration {
		t.Helper()
		began, errs := time.Now(), make([]error, tasks)
		var wg sync.WaitGroup
		for task := range clients {
			wg.Go(func() { errs[task] = f(t.Context(), task) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%s: %.500s", what, err)
		}
		return time.Since(began)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	joining := each("join", func(ctx context.Context, task int) (err error) {
		if clients[task], err = ps.Dial(ctx, ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Task: task, Tasks: tasks}); err != nil {
			return err
		}
		return clients[task].Members(ctx, func(rpc.Membership) {})
	})
	each("create", func(ctx context.Context, task int) error {
		return clients[task].Create(ctx, "", matrix.Meta{Name: "w", Rows: 1, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse})
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse)
	if most := int64(tasks) * memoryBothEnds; grown > most {
		t.Errorf("%d connections take %d bytes of both ends, want %d at most", tasks, grown, most)
	}
	if n := runtime.NumGoroutine() - goroutines; n > bothEnds*tasks+10 {
		t.Errorf("%d goroutines for %d connections, want %d for each", n, tasks, bothEnds)
	}
	clock := each("clocks", func(ctx context.Context, task int) error {
		for range clocks {
			if err := errors.Join(clients[task].SyncClock(ctx), clients[task].Barrier(ctx)); err != nil {
				return err
			}
		}
		return nil
	}) / clocks
	each("leave", func(ctx context.Context, task int) error {
		return errors.Join(clients[task].Leave(ctx), clients[task].Close())
	})
	t.Logf("%d workers joined and knew of each other after %v; %d bytes for both ends of a connection; a clock and a barrier took %v",
		tasks, joining, grown/int64(tasks), clock)
}
