package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"thole.example/admin"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/tcp"
	"thole.example/ssp"
	"thole.example/wasm"
)

// TestLedgerHasAll: of the memory that a loaded server has in use, what no class of the ledger counts is at most 5 %. Garbage, which the
// collector takes, and what the process had before are left out.
func TestLedgerHasAll(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process outside of its heap is found in Linux's /proc")
	}
	dir := t.TempDir()
	p, addr := startServer(t, dir, "--memory", "1GiB", "--admin", "unix:"+filepath.Join(dir, "admin"), "--admin-pprof")
	w := watchedProcess{t, http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "admin"))
	}}}, p.Process.Pid}
	inUse, counted := w.look()
	loadServer(t, addr)
	inUseAfter, countedAfter := w.look()
	grown, of := inUseAfter-inUse, int64(0)
	for class, n := range countedAfter {
		of += n - counted[class]
	}
	t.Logf("%d KiB in use, %d KiB counted: %v", grown>>10, of>>10, countedAfter)
	for _, c := range []budget.Class{budget.Stage, budget.Tables, budget.Connections, budget.Metadata, budget.Modules, budget.Program} {
		if countedAfter[c.String()] == 0 {
			t.Errorf("nothing is counted as %v: the load has nothing of it", c)
		}
	}
	if grown < 100<<20 {
		t.Errorf("%d KiB are in use, want 100 MiB at least, so that a defect is seen", grown>>10)
	}
	if of < grown-grown/20 || of > grown+grown/5 {
		t.Errorf("%d KiB are in use and %d KiB counted, want 95 to 120 %% of them; the heap:\n%s", grown>>10, of>>10,
			w.get("/debug/pprof/heap?debug=1"))
	}
}

// watchedProcess reads what there is to see of a server process.
type watchedProcess struct {
	t      *testing.T
	client http.Client
	pid    int
}

func (w *watchedProcess) get(path string) string {
	r, err := w.client.Get("http://server" + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s, %v", path, r.Status, err)
	}
	return string(text)
}

// look collects garbage twice, so that no pool keeps anything, and says what is in use and what the ledger counts by class.
func (w *watchedProcess) look() (inUse int64, counted map[string]int64) {
	w.get("/debug/pprof/heap?gc=1")
	w.get("/debug/pprof/heap?gc=1")
	heap := w.get("/debug/pprof/heap?gc=1&debug=1")
	of := func(name string) int64 {
		found := regexp.MustCompile(`# ` + name + ` = (\d+)`).FindStringSubmatch(heap)
		if found == nil {
			w.t.Fatalf("no %s in the profile of the heap", name)
		}
		n, _ := strconv.ParseInt(found[1], 10, 64)
		return n
	}
	var s admin.Status
	for { // until connections have given back what they took in advance
		if err := json.Unmarshal([]byte(w.get("/status")), &s); err != nil {
			w.t.Fatal(err)
		}
		if s.Memory.Used[budget.Queues.String()]+s.Memory.Used[budget.Small.String()] == 0 {
			return of("HeapAlloc") + of("Stack") + w.mapped(), s.Memory.Used
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.t.Context().Done():
			w.t.Fatal("the test ends")
		}
	}
}

// mapped is what the process has in mappings of which it has said whether they are to have large pages, as package kernel does.
func (w *watchedProcess) mapped() (sum int64) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", w.pid))
	if err != nil {
		w.t.Fatal(err)
	}
	resident := int64(0)
	for line := range strings.Lines(string(maps)) {
		name, rest, _ := strings.Cut(line, ":")
		switch name {
		case "Rss":
			_, _ = fmt.Sscan(rest, &resident)
		case "VmFlags":
			if strings.Contains(rest, " hg") || strings.Contains(rest, " nh") {
				sum += resident << 10
			}
		}
	}
	return sum
}

// loadServer has a server hold some of everything until the test ends: tables, staged deltas, many matrices with attributes, many jobs,
// connections that do nothing, and functions.
func loadServer(t *testing.T, addr string) {
	dial := func(o ps.Options) *ps.Client {
		o.Network, o.Servers = tcp.Network{}, []string{addr}
		c, err := ps.Dial(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := dial(ps.Options{Job: "loaded", Tasks: 2, Bound: ssp.BSP})
	other := dial(ps.Options{Job: "loaded", Task: 1, Tasks: 2, Bound: ssp.BSP})
	dense := matrix.Meta{Name: "dense", Rows: 1, Cols: 4 << 20, DType: matrix.F32}
	sparse := matrix.Meta{Name: "sparse", Rows: 4, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	metas := []matrix.Meta{dense, sparse}
	for i := range 600 {
		metas = append(metas, matrix.Meta{Name: fmt.Sprint("small", i), Rows: 1, Cols: 1 << 30, DType: matrix.F32, Layout: matrix.RowSparse,
			Attrs: map[string]string{"of": strings.Repeat("a", 10<<10)}})
	}
	must(c.Create(t.Context(), "hash", metas[1:]...))
	must(c.Create(t.Context(), "", dense))
	must(other.Create(t.Context(), "hash", metas[1:]...))
	must(other.Create(t.Context(), "", dense))
	keys := matrix.Cols[float32]{Idx: make([]int64, 200_000), Val: make([]float32, 4*200_000)}
	for i := range keys.Idx {
		keys.Idx[i] = int64(i) * 1_000_003
	}
	for _, task := range []*ps.Client{c, other} {
		must(task.Push("sparse", matrix.Block{At: sparse.Rect(), Data: &keys}))
		must(task.Clock(t.Context(), 1, 0.1))
	}
	row := matrix.Block{At: dense.Rect(), Data: &matrix.Dense[float32]{Val: make([]float32, dense.Cols)}}
	for range 3 { // these wait for the other task
		must(c.Push("dense", row))
		must(c.Clock(t.Context(), 1, 0.1))
	}
	module, err := os.ReadFile("../../examples/functions/affine/affine.wasm")
	must(err)
	modules, err := wasm.NewRuntime(t.Context(), 1)
	must(err)
	defer modules.Close(context.WithoutCancel(t.Context()))
	compiled, err := modules.Compile(t.Context(), "affine", module, wasm.Limits{})
	must(err)
	defer compiled.Close()
	must(c.Define(t.Context(), compiled.Func("affine"), module))
	for i := range 200 {
		dial(ps.Options{Job: fmt.Sprint("job", i), Tasks: 1})
	}
	for range 300 {
		idle, err := tcp.Network{}.Dial(t.Context(), addr)
		must(err)
		t.Cleanup(func() { idle.Close() })
	}
}
