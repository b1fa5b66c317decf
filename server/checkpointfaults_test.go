package server_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
	"thole.example/state"
)

// small is the matrices of the tests of faults, so few that each step of a checkpoint can fail.
func small() []matrix.Meta {
	return []matrix.Meta{
		{Name: "d", Rows: 2, Cols: 4, DType: matrix.F64, Rule: "adam"},
		{Name: "s", Rows: 1, Cols: 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "ftrl"},
	}
}

// stubborn is a bucket of which one operation fails, the left-th from now on, or is given up there.
type stubborn struct {
	blob.Bucket
	left atomic.Int64
	stop func()       // instead of failing
	open atomic.Int64 // objects
}

var errStubborn = errors.New("the disk said no")

func (b *stubborn) fail(ctx context.Context) error {
	if b.left.Add(-1) != 0 {
		return nil
	}
	if b.stop != nil {
		b.stop()
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return errStubborn
}

func (b *stubborn) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := b.fail(ctx); err != nil {
		return nil, err
	}
	w, err := b.Bucket.Create(ctx, name)
	return &stubbornWriter{w, b, ctx}, err
}

func (b *stubborn) Open(ctx context.Context, name string) (blob.Object, error) {
	if err := b.fail(ctx); err != nil {
		return nil, err
	}
	o, err := b.Bucket.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	b.open.Add(1)
	return &stubbornObject{o, b, ctx}, nil
}

func (b *stubborn) State(ctx context.Context, name string) (blob.State, error) {
	if err := b.fail(ctx); err != nil {
		return "", err
	}
	return b.Bucket.State(ctx, name)
}

func (b *stubborn) Publish(ctx context.Context, from, to string, over blob.State) error {
	if err := b.fail(ctx); err != nil {
		return err
	}
	return b.Bucket.Publish(ctx, from, to, over)
}

type stubbornWriter struct {
	blob.Writer
	b   *stubborn
	ctx context.Context
}

func (w *stubbornWriter) Write(p []byte) (int, error) {
	if err := w.b.fail(w.ctx); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

func (w *stubbornWriter) Commit() error {
	if err := w.b.fail(w.ctx); err != nil {
		return err
	}
	return w.Writer.Commit()
}

type stubbornObject struct {
	blob.Object
	b   *stubborn
	ctx context.Context
}

func (o *stubbornObject) ReadAt(p []byte, off int64) (int, error) {
	if err := o.b.fail(o.ctx); err != nil {
		return 0, err
	}
	return o.Object.ReadAt(p, off)
}

func (o *stubbornObject) Close() error {
	o.b.open.Add(-1)
	return o.Object.Close()
}

// storedFiles is the names of all files of a folder, the hidden ones too.
func storedFiles(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(folder, path)
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestCheckpointFaults lets every operation of the disk fail once, or has the caller give up there: the checkpoint of before is there,
// or the new one, whole; nothing else is left. The second checkpoint replaces the first, which is the job's own.
func TestCheckpointFaults(t *testing.T) {
	for _, give := range []bool{false, true} {
		t.Run(fmt.Sprintf("give up %v", give), func(t *testing.T) {
			done := false
			for n := int64(1); !done; n++ {
				folder := t.TempDir()
				b := &stubborn{Bucket: blob.NewDir(folder)}
				f := newFleet(t, "mem", 3, b, small())
				f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
					if err := errors.Join(f.train(ctx, p, 0, 0, 2), p.Checkpoint(ctx, "dir/c"), f.train(ctx, p, 0, 2, 3)); err != nil {
						return err
					}
					within, cancel := context.WithCancelCause(ctx)
					defer cancel(nil)
					if give {
						b.stop = func() { cancel(errStubborn) }
					}
					b.left.Store(n)
					err := p.Checkpoint(within, "dir/c")
					done = b.left.Load() > 0
					b.left.Store(0)
					b.stop = nil
					if !done && err != nil && (!strings.Contains(err.Error(), errStubborn.Error()) && !errors.Is(err, errStubborn)) {
						t.Errorf("operation %d: %v, want what the disk said", n, err)
					}
					in, oerr := state.Open(ctx, b, "dir/c")
					if oerr != nil {
						return fmt.Errorf("operation %d: %w", n, oerr)
					}
					if steps := in.Matrices[0].Steps(); err == nil && steps != 3 || steps != 2 && (err != nil && !give || steps != 3) {
						t.Errorf("operation %d: a checkpoint after %d steps: %v", n, steps, err)
					}
					if got := storedFiles(t, folder); len(got) != 4 {
						t.Errorf("operation %d: left %q, want a checkpoint and three servers", n, got)
					}
					if err := p.Checkpoint(ctx, "dir/c"); err != nil { // the next one goes well
						return fmt.Errorf("after operation %d: %w", n, err)
					}
					return nil
				})
			}
		})
	}
}

// TestRestoreFaults: a restore that fails anywhere changes nothing, and leaves nothing open.
func TestRestoreFaults(t *testing.T) {
	b := &stubborn{Bucket: &blob.Mem{}}
	f := newFleet(t, "mem", 2, b, small())
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		return errors.Join(f.train(ctx, p, 0, 0, 3), p.Checkpoint(ctx, "c"))
	})
	f = newFleet(t, "mem", 1, b, small())
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := f.train(ctx, p, 0, 5, 6); err != nil {
			return err
		}
		before, err := f.bits(ctx, p)
		for n := int64(1); err == nil; n++ {
			b.left.Store(n)
			_, rerr := p.Restore(ctx, "c")
			failed := b.left.Load() <= 0
			b.left.Store(0)
			after, err := f.bits(ctx, p)
			switch open := b.open.Load(); {
			case err != nil:
				return err
			case open != 0:
				return fmt.Errorf("operation %d fails: %v, and %d objects are open", n, rerr, open)
			case !failed && (rerr != nil || reflect.DeepEqual(before, after)):
				return fmt.Errorf("restored without a change: %v", rerr)
			case !failed:
				return nil
			case rerr == nil || !reflect.DeepEqual(before, after):
				return fmt.Errorf("operation %d fails: %v, and values have changed", n, rerr)
			}
		}
		return err
	})
}

// givenUp is a bucket whose next publishing ends only after the task has given up, and had time to go on.
type givenUp struct {
	blob.Bucket
	stop  func() // nil: publish at once
	early chan string
	heard string // what happened meanwhile
}

// sooner notes what happens while something is being published.
func (b *givenUp) sooner(what string) {
	select {
	case b.early <- what:
	default:
	}
}

func (b *givenUp) Publish(ctx context.Context, from, to string, over blob.State) error {
	err := b.Bucket.Publish(ctx, from, to, over)
	if stop := b.stop; stop != nil {
		b.stop = nil
		stop()
		<-ctx.Done()
		select {
		case b.heard = <-b.early:
		case <-time.After(time.Second):
		}
	}
	return err
}

func (b *givenUp) Remove(ctx context.Context, name string) error {
	b.sooner("removed " + name)
	return b.Bucket.Remove(ctx, name)
}

// TestGiveUpWhilePublished: a task that gives up while its checkpoint or model is made visible hears of it when that has ended,
// and nothing is removed before. What it saves next replaces what became visible.
func TestGiveUpWhilePublished(t *testing.T) {
	model := ps.SaveOptions{Codec: "daphne", Path: "dir/c", Matrices: []string{"d"}}
	for what, save := range map[string]func(ctx context.Context, p *ps.Client) error{
		"checkpoint": func(ctx context.Context, p *ps.Client) error { return p.Checkpoint(ctx, "dir/c") },
		"model":      func(ctx context.Context, p *ps.Client) error { return p.Save(ctx, model) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &givenUp{Bucket: &blob.Mem{}, early: make(chan string)}
				f := newFleet(t, "mem", 3, b, small())
				f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
					if err := f.train(ctx, p, 0, 0, 2); err != nil {
						return err
					}
					within, cancel := context.WithCancelCause(ctx)
					defer cancel(nil)
					published := false
					b.stop = func() {
						published = true
						cancel(errStubborn)
					}
					if err := save(within, p); !published || !errors.Is(err, errStubborn) {
						t.Errorf("published %v: %v, want that the task gave up", published, err)
					}
					b.sooner("the task went on")
					if b.heard != "" {
						t.Errorf("%s while it was being published", b.heard)
					}
					return save(ctx, p)
				})
			})
		})
	}
}
