//go:build unix

package scale_test

import (
	"log/slog"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// idleJob is a job that makes steps of a few keys.
type idleJob struct {
	t      *testing.T
	client *ps.Client
	keys   []int64
	delta  matrix.Block
}

// step pushes and pulls once.
func (j *idleJob) step() {
	if err := j.client.Push("w", j.delta); err != nil {
		j.t.Error(err)
	}
	if err := j.client.Flush(j.t.Context()); err != nil {
		j.t.Error(err)
	}
	if _, err := j.client.Pull(j.t.Context(), []matrix.Lookup{{Matrix: "w", Cols: j.keys}}); err != nil {
		j.t.Error(err)
	}
}

// cpu is what the process has used of processors.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestIdleConnections: many connections that do nothing come while a job makes steps. Each is counted in the ledger, and given back in the
// end. With SCALE they are 10,000, or as many as ulimit -n allows, and the log says what a connection costs and how many steps the job makes
// meanwhile.
func TestIdleConnections(t *testing.T) {
	n := 300
	if os.Getenv("SCALE") != "" {
		files := syscall.Rlimit{}
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
			t.Fatal(err)
		}
		n = min(10_000, int(files.Cur-200)/2) // both ends are here
	}
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	ledger := budget.New(4 << 30)
	net := &tcp.Network{Log: slog.New(slog.DiscardHandler), Ledger: ledger}
	l, err := net.Listen(t.Context(), "127.0.0.1:0", &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Log: net.Log, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	plain := &tcp.Network{Log: net.Log}
	c, err := ps.Dial(t.Context(), ps.Options{Network: plain, Servers: []string{l.Addr()}, Job: "j", Tasks: 1, Bound: ssp.ASP})
	if err == nil {
		err = c.Create(t.Context(), "", matrix.Meta{Name: "w", Rows: 1, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	job := &idleJob{t: t, client: c}
	for i := range int64(26) {
		job.keys = append(job.keys, 1000*i)
	}
	job.delta = matrix.Block{At: matrix.At(0, 1, 0, 1<<40),
		Data: &matrix.COO[float32]{Row: make([]int64, 26), Col: job.keys, Val: make([]float32, 26)}}
	// steps is how many steps the job makes until something is over, and the longest one.
	steps := func(over <-chan struct{}) (n int, longest time.Duration) {
		for {
			began := time.Now()
			job.step()
			n, longest = n+1, max(longest, time.Since(began))
			select {
			case <-over:
				return n, longest
			default:
			}
		}
	}
	after := func(d time.Duration) <-chan struct{} {
		over := make(chan struct{})
		time.AfterFunc(d, func() { close(over) })
		return over
	}
	before, busy := cpu(), time.Now()
	alone, aloneMost := steps(after(time.Second))
	each := (cpu() - before) / time.Duration(alone)
	aloneIn := time.Since(busy)
	counted := ledger.Used()[budget.Connections]
	goroutines := runtime.NumGoroutine()

	conns := make([]rpc.Conn, n)
	come := make(chan struct{})
	before, began := cpu(), time.Now()
	go func() {
		defer close(come)
		var all sync.WaitGroup
		for part := range 64 {
			all.Go(func() {
				for i := part; i < n; i += 64 {
					conn, err := plain.Dial(t.Context(), l.Addr())
					if err != nil {
						t.Error(err)
						return
					}
					conns[i] = conn
				}
			})
		}
		all.Wait()
	}()
	made, most := steps(come)
	took, used := time.Since(began), cpu()-before-time.Duration(made)*each
	if t.Failed() {
		return
	}
	place := (ledger.Used()[budget.Connections] - counted) / int64(n)
	if place < 16<<10 {
		t.Errorf("a connection is counted as %d bytes, want what it takes", place)
	}
	if got := runtime.NumGoroutine() - goroutines; got > 4*n+100 {
		t.Errorf("%d goroutines for %d connections, want at most 4 for each", got, n)
	}
	before = cpu()
	idle, idleMost := steps(after(time.Second))
	t.Logf("alone: %d steps in %v, the longest %v, %v of processors each", alone, aloneIn, aloneMost, each)
	t.Logf("%d connections came in %v: %v of processors each, of both ends; %d steps meanwhile, the longest %v", n, took,
		used/time.Duration(n), made, most)
	t.Logf("next to them: %d steps in 1 s, the longest %v, %v of processors each", idle, idleMost, (cpu()-before)/time.Duration(idle))
	for _, conn := range conns {
		_ = conn.Close()
	}
	for end := time.Now().Add(time.Minute); ledger.Used()[budget.Connections] != counted; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes of connections are counted after they are gone, want %d", ledger.Used()[budget.Connections], counted)
		}
	}
}
