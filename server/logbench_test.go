package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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
	"thole.example/ssp"
)

// BenchmarkLog is pushes of 64 KiB with 4 or 16 of them under way to one server over TCP: without a log, with one, with one that is not
// synced, and with those and a standby that copies them; and the replay of what is logged.
func BenchmarkLog(b *testing.B) {
	for _, inFlight := range []int{4, 16} {
		for _, how := range []string{"none", "synced", "unsynced", "synced-copied", "unsynced-copied"} {
			b.Run(fmt.Sprintf("%s/%d", how, inFlight), func(b *testing.B) { benchLog(b, how, inFlight) })
		}
	}
}

func benchLog(b *testing.B, how string, inFlight int) {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	synced, copies := strings.CutSuffix(how, "-copied")
	role := make(named, 1)
	start := func() (*server.Server, *server.LogDir) {
		s := &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, LogUnsynced: synced == "unsynced"}
		if copies {
			s.Role, s.Replicas = role, 2
		}
		if how == "none" {
			return s, nil
		}
		logs, err := server.OpenLogDir(dir, "bench")
		if err == nil {
			s.Logs = logs
			err = s.Recover(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		return s, logs
	}
	s, logs := start()
	net := &tcp.Network{}
	l, err := net.Listen(b.Context(), "127.0.0.1:0", s)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if copies {
		defer benchStandby(b, funcs, synced == "unsynced", net, l.Addr())()
		<-role
	}
	p, err := ps.Dial(b.Context(), ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Tasks: 1, Bound: ssp.ASP, InFlight: inFlight})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 8192, DType: matrix.F64}
	if err := p.Create(b.Context(), "", m); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(8 * m.Cols)
	delta := matrix.NewDense(m.DType, m.Rect())
	var last *ps.Future
	for b.Loop() {
		if err := p.Push("w", delta); err != nil {
			b.Fatal(err)
		}
		last = p.StartFlush(b.Context())
	}
	if err := last.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	if logs == nil {
		return
	}
	b.StopTimer()
	took := replayCopy(b, dir, funcs)
	if err := p.Leave(b.Context()); err != nil {
		b.Fatal(err)
	}
	untilNone(b, logs)
	if err := logs.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)*float64(8*m.Cols)/1e6/took.Seconds(), "replay-MB/s")
}

// named is a role that is always held, and gets a token when the store is to name a standby.
type named chan struct{}

// Check implements server.Role.
func (named) Check() error { return nil }

// Epoch implements server.Role.
func (named) Epoch() uint64 { return 1 }

// Copied implements server.Role.
func (n named) Copied(_ context.Context, claims []string) error {
	if len(claims) > 0 {
		n <- struct{}{}
	}
	return nil
}

// Resign implements server.Role.
func (named) Resign(error) {}

// benchStandby starts a standby that copies the logs of the server at an address.
func benchStandby(b *testing.B, funcs *psf.Table, unsynced bool, net rpc.Network, addr string) (stop func()) {
	logs, err := server.OpenLogDir(b.TempDir(), "standby")
	if err != nil {
		b.Fatal(err)
	}
	s := &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Logs: logs, LogUnsynced: unsynced}
	conn, err := net.Dial(b.Context(), addr)
	if err != nil {
		b.Fatal(err)
	}
	c, over := s.NewCopying("standby"), make(chan struct{})
	go func() {
		defer close(over)
		_ = c.From(b.Context(), conn) // until the connection is closed
	}()
	return func() {
		if err := conn.Close(); err != nil {
			b.Error(err)
		}
		<-over
		if err := errors.Join(c.Drop(), logs.Close()); err != nil {
			b.Error(err)
		}
	}
}

// replayCopy replays a copy of the logs in a folder, and tells how long it takes.
func replayCopy(b *testing.B, dir string, funcs *psf.Table) time.Duration {
	logs, err := server.OpenLogDir(copied(b, dir), "bench")
	if err != nil {
		b.Fatal(err)
	}
	defer logs.Close()
	s := &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Logs: logs}
	began := time.Now()
	if err := s.Recover(b.Context()); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	untilNone(b, logs) // nobody comes back
	return took
}

// untilNone waits until the last log is gone, in the background.
func untilNone(b *testing.B, logs *server.LogDir) {
	for names, err := logs.List(); len(names) > 0; names, err = logs.List() {
		if time.Sleep(10 * time.Millisecond); err != nil {
			b.Fatal(err)
		}
	}
}

// copied is a copy of a folder. It is removed at the end, though a server that has opened it may still prepare segments there.
func copied(b *testing.B, dir string) string {
	to, err := os.MkdirTemp("", "log")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for range 100 {
			if os.RemoveAll(to) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		b.Errorf("%s remains", to)
	})
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		b.Fatal(err)
	}
	return to
}
