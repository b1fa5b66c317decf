package server_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// TestLogBounded: while tasks push without a pause, and a base takes much longer to write than it takes to fill the log, the folder of the log
// has at most two states and four times Server.LogBase, and what the tasks have under way; and the pushes go on.
func TestLogBounded(t *testing.T) {
	const (
		wide, part   = 1 << 13, 1 << 8 // f64
		base         = 64 << 10
		tasks, steps = 8, 150
	)
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			disk, net := journaltest.NewDisk(seed), &mem.Network{}
			disk.Slow = []time.Duration{0, 300 * time.Millisecond, 3 * time.Second}[seed%3]
			s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Logs: disk.Start(), LogUnsynced: true, LogBase: base}
			l, err := net.Listen(t.Context(), "s", s)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			over, most, bases := make(chan struct{}), 0, map[string]bool{}
			var watch, work sync.WaitGroup
			watch.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(5 * time.Millisecond):
					}
					most = max(most, disk.Used())
					for _, name := range disk.Names() {
						if strings.HasPrefix(name, "base.") {
							bases[name] = true
						}
					}
				}
			})
			for task := range tasks {
				work.Go(func() {
					p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Task: task, Tasks: tasks, Bound: ssp.ASP})
					if err != nil {
						t.Error(err)
						return
					}
					defer p.Close()
					err = p.Create(t.Context(), "", meta("m", 1, wide, matrix.RowDense))
					for n := 0; n < steps && err == nil; n++ {
						at := int64((task+n*tasks)*part) % wide
						err = errors.Join(p.Push("m", matrix.NewDense(matrix.F64, matrix.At(0, 1, at, at+part))), p.Flush(t.Context()))
					}
					if err != nil {
						t.Errorf("task %d: %v", task, err)
					}
					if task > 0 {
						if err := p.Leave(t.Context()); err != nil {
							t.Error(err)
						}
					} else {
						time.Sleep(20 * time.Second)
						close(over)
						if err := p.Leave(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			work.Wait()
			watch.Wait()
			const state, slack = 8*wide + 4096, tasks * (8*part + 256)
			if len(bases) < 3 || most > 2*state+4*base+slack {
				t.Errorf("seed %d: the folder had up to %d bytes, want at most two states of %d, four times %d and %d; %d bases were seen, want 3",
					seed, most, state, base, slack, len(bases))
			}
			time.Sleep(3 * time.Hour)
			synctest.Wait()
		})
	}
}

// TestLogFull: when the disk of a log is full its job waits, and goes on as if nothing had been when there is room in time. Else it fails with an
// error that a task may recover from, and the next attempt begins when there is room.
func TestLogFull(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		t.Run(fmt.Sprint("room in time ", recovers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { logFull(t, recovers) })
		})
	}
}

func logFull(t *testing.T, recovers bool) {
	const wide, patience = 1 << 10, 10 * time.Second
	disk, net := journaltest.NewDisk(1), &mem.Network{}
	s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Logs: disk.Start(), LogBase: 64 << 10, LogPatience: patience}
	l, err := net.Listen(t.Context(), "s", s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func(attempt int) (*ps.Client, error) {
		return ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Attempt: attempt})
	}
	p, err := dial(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Close() }()
	create := func() error { return p.Create(t.Context(), "", meta("m", 1, wide, matrix.RowDense)) }
	if err := create(); err != nil {
		t.Fatal(err)
	}
	one := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, wide))
	for i := range wide {
		one.Data.Values().([]float64)[i] = 1
	}
	push := func(n int) error {
		err := error(nil)
		for i := 0; i < n && err == nil; i++ {
			err = errors.Join(p.Push("m", one), p.Flush(t.Context()))
		}
		return err
	}
	if err := push(3); err != nil {
		t.Fatal(err)
	}
	disk.SetRoom(disk.Used() + 1)
	began := time.Now()
	if recovers {
		time.AfterFunc(patience/2, func() { disk.SetRoom(0) })
	}
	err = push(3)
	switch took := time.Since(began); {
	case recovers && (err != nil || took < patience/2):
		t.Fatalf("after %v: %v, want that it waits", took, err)
	case !recovers && (!ps.Recoverable(err) || took < patience):
		t.Fatalf("after %v: %v, want an error from which a job recovers", took, err)
	}
	if !recovers {
		p.Close()
		disk.SetRoom(1)
		for disk.Used() > 0 { // the log of the job that failed makes room
			time.Sleep(time.Second)
		}
		if p, err = dial(2); !ps.Recoverable(err) || !errors.Is(err, blob.ErrUnavailable) {
			t.Fatalf("on a full disk: %v, want an error from which a job recovers", err)
		}
		if names, _ := disk.Now().List(); len(names) > 0 {
			t.Errorf("there are logs %q of jobs that did not begin", names)
		}
		disk.SetRoom(0)
		if p, err = dial(3); err == nil {
			err = errors.Join(create(), push(6))
		}
		if err != nil {
			t.Fatalf("there is room: %v", err)
		}
	}
	all, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := all[0].Data.Values().([]float64)[0]; got != 6 {
		t.Errorf("after 6 pushes there is %v", got)
	}
	if err := p.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Hour)
	synctest.Wait()
}
