//go:build pending

package server_test

import (
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
)

// TestMemory: what does not fit is refused with both numbers before it is made, and everything is given back in the end.
func TestMemory(t *testing.T) {
	funcs, err := psf.NewTable(psf.Gets(), psf.Updates(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	memory := &server.Memory{Limit: 1 << 20}
	s := &server.Server{Funcs: funcs, Codecs: codecs, Bucket: &blob.Mem{}, Memory: memory}
	net := &mem.Network{}
	l, err := net.Listen(t.Context(), "", s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func(job string) *ps.Client {
		p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{l.Addr()}, Job: job, Tasks: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	refused := func(err error, want ...string) {
		t.Helper()
		if err == nil {
			t.Error("no error where the memory is too small")
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %v, want %q in it", err, w)
			}
		}
	}
	dense := func(name string, cells int64, rule string) matrix.Meta {
		return matrix.Meta{Name: name, Rows: 1, Cols: cells, DType: matrix.F32, Rule: rule}
	}
	p, other := dial("a"), dial("b")
	refused(p.Create(t.Context(), "", dense("huge", 1<<36, "")), `matrix "huge" would take 256 GiB`, "beside 0 bytes", "at most 1 MiB", "--memory")
	refused(p.Create(t.Context(), "", dense("ok", 1000, ""), dense("slots", 1<<17, "adam")), `matrix "slots" would take 1.5 MiB`)
	if used := memory.Used(); used != 0 {
		t.Errorf("%d bytes in use after creates that failed, want 0", used)
	}
	half := dense("half", 1<<17, "")
	if err := p.Create(t.Context(), "", half, half); err != nil { // the same twice is one
		t.Fatal(err)
	}
	refused(other.Create(t.Context(), "", dense("half", 1<<17+1, "")), "would take 512 KiB", "beside 512 KiB in use")
	save(t, p)
	refused(p.Load(t.Context(), ps.LoadOptions{Path: "m"}), "loading matrix", "in use")
	testGrowth(t, other, refused)
	for _, one := range []*ps.Client{p, other} {
		if err := one.Leave(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if used := memory.Used(); used != 0 {
		t.Errorf("%d bytes in use when all jobs have ended, want 0", used)
	}
}

// save saves the matrix, and makes its place in memory a little larger than a half.
func save(t *testing.T, p *ps.Client) {
	t.Helper()
	if err := p.Save(t.Context(), ps.SaveOptions{Codec: "npy", Path: "m"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Create(t.Context(), "", matrix.Meta{Name: "more", Rows: 1, Cols: 1000, DType: matrix.F32}); err != nil {
		t.Fatal(err)
	}
}

// testGrowth lets a sparse matrix grow until it may not: columns that are there can still change.
func testGrowth(t *testing.T, p *ps.Client, refused func(err error, want ...string)) {
	t.Helper()
	if err := p.Create(t.Context(), "", matrix.Meta{Name: "s", Rows: 16, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse}); err != nil {
		t.Fatal(err)
	}
	push := func(from int64) error {
		d := &matrix.Cols[float32]{Val: make([]float32, 16*500)}
		for i := range int64(500) {
			d.Idx = append(d.Idx, from+i*7)
		}
		if err := p.Push("s", matrix.Block{At: matrix.At(0, 16, 0, 1<<40), Data: d}); err != nil {
			return err
		}
		return p.SyncClock(t.Context())
	}
	for i := range int64(3) {
		if err := push(i * 1e6); err != nil {
			t.Fatalf("push %d: %v", i, err)
		}
	}
	var err error
	for i := int64(3); err == nil && i < 1000; i++ {
		err = push(i * 1e6)
	}
	refused(err, `new columns of matrix "s"`)
	var f *rpc.Fault
	if f, _ = err.(*rpc.Fault); f == nil {
		t.Errorf("%T, want a fault of the server", err)
	}
}
