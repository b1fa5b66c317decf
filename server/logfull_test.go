package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/wasm"
)

// fullLog is a server whose log is on a disk without room, and a task of a job that began before the disk was full.
type fullLog struct {
	disk   *journaltest.Disk
	net    *mem.Network
	bucket *blob.Mem
	wasm   *wasm.Runtime
	server *server.Server
	listen rpc.Listener
	task   *ps.Client
	one    matrix.Block // of matrix "m", of which every value is 1
}

const fullPatience = 10 * time.Second

// start starts a server on the disk, which has nothing but what the logs say.
func (f *fullLog) start(t *testing.T) error {
	f.server = &server.Server{Funcs: table(t), Codecs: codecs, Bucket: f.bucket, Modules: f.wasm, Logs: f.disk.Start(), LogBase: 64 << 10,
		LogPatience: fullPatience}
	if err := f.server.Recover(t.Context()); err != nil {
		return err
	}
	var err error
	f.listen, err = f.net.Listen(t.Context(), "s", f.server)
	return err
}

func newFullLog(t *testing.T, modules *wasm.Runtime) *fullLog {
	f := &fullLog{disk: journaltest.NewDisk(1), net: &mem.Network{}, bucket: &blob.Mem{}, wasm: modules}
	if err := f.start(t); err != nil {
		t.Fatal(err)
	}
	var err error
	f.task, err = ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Attempt: 1,
		Retry: time.Hour})
	if err == nil {
		err = f.task.Create(t.Context(), "", meta("m", 1, 64, matrix.RowDense))
	}
	if err != nil {
		t.Fatal(err)
	}
	f.one = matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 64))
	for i := range 64 {
		f.one.Data.Values().([]float64)[i] = 1
	}
	if err := f.push(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.disk.SetRoom(f.disk.Used())
	return f
}

func (f *fullLog) push(ctx context.Context) error {
	return errors.Join(f.task.Push("m", f.one), f.task.Flush(ctx))
}

// TestLogFullErrors: whatever a task waits for when the log of its job ends on a full disk, it gets an error from which a job recovers, and
// which says what was full.
func TestLogFullErrors(t *testing.T) {
	runtime, err := wasm.NewRuntime(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close(context.Background())
	endless, err := runtime.Compile(t.Context(), "looping", looping(), wasm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	for name, call := range map[string]func(ctx context.Context, p *ps.Client, f *fullLog) error{
		"push": func(ctx context.Context, _ *ps.Client, f *fullLog) error { return f.push(ctx) },
		"barrier": func(ctx context.Context, p *ps.Client, f *fullLog) error {
			if err := p.Push("m", f.one); err != nil {
				return err
			}
			p.StartFlush(ctx)
			return p.Barrier(ctx)
		},
		"checkpoint": func(ctx context.Context, p *ps.Client, _ *fullLog) error {
			return p.WriteCheckpoint(ctx, ps.CheckpointOptions{Path: "ck"})
		},
		"save": func(ctx context.Context, p *ps.Client, _ *fullLog) error {
			return p.Save(ctx, ps.SaveOptions{Path: "saved", Codec: "angel", Lossy: true})
		},
		"define": func(ctx context.Context, p *ps.Client, _ *fullLog) error {
			return p.Define(ctx, endless.Func("looping"), looping())
		},
		"create": func(ctx context.Context, p *ps.Client, _ *fullLog) error {
			return p.Create(ctx, "", meta("other", 1, 64, matrix.RowDense))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFullLog(t, runtime)
				began := time.Now()
				err := call(t.Context(), f.task, f)
				if took := time.Since(began); took < fullPatience || took > 2*fullPatience {
					t.Errorf("it took %v, want %v", took, fullPatience)
				}
				if !ps.Recoverable(err) || !strings.Contains(err.Error(), "the disk is full") {
					t.Errorf("%v, want an error of a full disk from which a job recovers", err)
				}
				_ = f.task.Close()
				_ = f.listen.Close()
				time.Sleep(3 * time.Hour)
				synctest.Wait()
			})
		})
	}
}

// TestLogFullRestart: a server that is started again on a full disk waits for room for the logs of its jobs, and puts none aside. If there is
// none in time the error is temporary, and a later start continues the jobs.
func TestLogFullRestart(t *testing.T) {
	for _, soon := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFullLog(t, nil)
			_ = f.listen.Close()
			f.disk.Kill()
			f.disk.SetRoom(1)
			began := time.Now()
			if soon {
				time.AfterFunc(fullPatience/2, func() { f.disk.SetRoom(0) })
			}
			err := f.start(t)
			if err != nil && soon {
				t.Fatal(err)
			}
			if took := time.Since(began); took < fullPatience/2 || took > 2*fullPatience {
				t.Errorf("it took %v, want about %v", took, fullPatience)
			}
			if !soon {
				if !errors.Is(err, blob.ErrUnavailable) || !strings.Contains(err.Error(), "the disk is full") {
					t.Errorf("%v, want an error that is temporary and says that the disk is full", err)
				}
				f.disk.SetRoom(0)
				err = f.start(t)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = f.push(t.Context())
			all, bad := f.task.Pull(t.Context(), []matrix.Lookup{{Matrix: "m"}})
			if err = errors.Join(err, bad); err != nil {
				t.Fatal(err)
			}
			if got := all[0].Data.Values().([]float64)[0]; got != 2 {
				t.Errorf("after 2 pushes there is %v", got)
			}
			if err := f.task.Leave(t.Context()); err != nil {
				t.Error(err)
			}
			_ = f.task.Close()
			_ = f.listen.Close()
			time.Sleep(3 * time.Hour)
			synctest.Wait()
		})
	}
}

// TestLogFullRestartSome: a server that is started again, and whose disk has room for the log of one job and not for that of another, leaves
// both logs as they are, and holds nothing of the job that it has made again.
func TestLogFullRestartSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFullLog(t, nil)
		f.disk.SetRoom(0)
		for range 5 {
			if err := f.push(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		other, err := ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: []string{"s"}, Job: "k", Tasks: 1, Bound: ssp.ASP, Retry: time.Hour})
		if err == nil {
			err = other.Create(t.Context(), "", meta("n", 1, 4, matrix.RowDense))
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.listen.Close()
		f.disk.Kill()
		const segment = 16<<10 + 96 // a quarter of LogBase, and its head
		f.disk.SetRoom(f.disk.Used() + segment - f.disk.Longest("000001", ".log"))
		if err := f.start(t); !errors.Is(err, blob.ErrUnavailable) || !strings.Contains(err.Error(), "000002") {
			t.Fatalf("%v, want that there is no room for log 000002", err)
		}
		time.Sleep(time.Minute)
		if all := f.server.Status(t.Context()); len(all) > 0 {
			t.Errorf("it has %d jobs, want none", len(all))
		}
		if names := f.disk.Going(); len(names) != 2 {
			t.Errorf("there are logs %q, want two", names)
		}
		f.disk.SetRoom(0)
		if err := f.start(t); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.push(t.Context()), f.task.Leave(t.Context()), other.Leave(t.Context())); err != nil {
			t.Error(err)
		}
		_, _ = f.task.Close(), other.Close()
		_ = f.listen.Close()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
	})
}
