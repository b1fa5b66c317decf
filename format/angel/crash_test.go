package angel

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

var errCrash = errors.New("the process is gone")

// failing lets so many operations through and fails all later ones, or only the next.
type failing struct {
	blob.Bucket
	left int
	once bool
}

// step counts an operation.
func (f *failing) step() error {
	f.left--
	if f.left == -1 || f.left < -1 && !f.once {
		return errCrash
	}
	return nil
}

func (f *failing) Open(ctx context.Context, name string) (blob.Object, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Bucket.Open(ctx, name)
}

func (f *failing) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	w, err := f.Bucket.Create(ctx, name)
	return &failingWriter{w, f}, err
}

func (f *failing) Remove(ctx context.Context, name string) error {
	return errorsFirst(f.step(), func() error { return f.Bucket.Remove(ctx, name) })
}

func (f *failing) Publish(ctx context.Context, from, to string, over blob.State) error {
	return errorsFirst(f.step(), func() error { return f.Bucket.Publish(ctx, from, to, over) })
}

type failingWriter struct {
	blob.Writer
	f *failing
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if err := w.f.step(); err != nil {
		n, _ := w.Writer.Write(p[:len(p)/2]) // a part of it may be there
		return n, err
	}
	return w.Writer.Write(p)
}

func (w *failingWriter) WriteAt(p []byte, off int64) (int, error) {
	if err := w.f.step(); err != nil {
		return 0, err
	}
	return w.Writer.WriteAt(p, off)
}

func (w *failingWriter) Commit() error {
	return errorsFirst(w.f.step(), w.Writer.Commit)
}

// TestCrash fails a save at every single operation in turn, for good or once: what is seen is the old model or the new
// one, and after an error nothing else.
func TestCrash(t *testing.T) {
	old, fresh := plainSample(10, 3, 8), plainSample(7, 4, 13)
	for _, set := range []map[string]string{
		{"block-cols": "5", "partitions-per-file": "2"}, {"format": "TextColumnFormat"}, {"block-cols": "13", "format": "SnapshotFormat"},
	} {
		for _, bucket := range []func() blob.Bucket{
			func() blob.Bucket { return &blob.Mem{} }, func() blob.Bucket { return blob.NewDir(t.TempDir()) },
		} {
			for _, once := range []bool{false, true} {
				news := 0
				for at := 0; news < 2; at++ {
					b := bucket()
					if err := save(b, &old, 1, []matrix.Block{old.b}, nil); err != nil {
						t.Fatal(err)
					}
					if at == 0 {
						news = 0
					}
					if crash(t, &failing{b, at, once}, &old, &fresh, set) {
						news++
					}
					if at > 500 {
						t.Fatal("the save never ends")
					}
				}
			}
		}
	}
}

// crash saves over an old model and reports whether the new one is there without an error.
func crash(t *testing.T, f *failing, old, fresh *sample, set map[string]string) bool {
	t.Helper()
	at := f.left
	w, err := format.Create(ctx, Codec, f, "model", []matrix.Meta{fresh.m},
		format.Options{Set: set, Files: map[string][]byte{"graph.json": []byte("[]")}, Over: blob.Anything})
	if err == nil { // else it failed when it looked for an interrupted replacement
		var parts []format.Part
		for _, blk := range cutBlocks(fresh.b, 7) {
			var p format.Part
			if p, err = w.Put(ctx, "w", blk); err != nil {
				break
			}
			parts = append(parts, p)
		}
		if err == nil {
			err = w.Commit(ctx, parts)
		}
		w.Abort(ctx)
	}
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatalf("operation %d: %v", at, err)
	}
	r, openErr := Codec.Open(ctx, f.Bucket, "model", format.Options{})
	if openErr != nil {
		t.Fatalf("operation %d: %v", at, openErr)
	}
	m := r.Matrices()[0]
	got, readErr := values(r, m, m.Rect())
	isNew := maps.Equal(got, fresh.stored(t)) && string(r.Files()["graph.json"]) == "[]"
	isOld := maps.Equal(got, old.stored(t)) && string(r.Files()["graph.json"]) == "{}"
	if readErr != nil || !isNew && !isOld || err == nil && !isNew {
		t.Fatalf("operation %d: got %v, %v after %v", at, got, readErr, err)
	}
	infos, listErr := f.Bucket.List(ctx, "")
	if listErr != nil {
		t.Fatal(listErr)
	}
	for _, i := range infos {
		if !strings.HasPrefix(i.Name, "model/") || strings.Contains(i.Name, "_tmp.") {
			t.Errorf("operation %d: %s is left over", at, i.Name)
		}
	}
	return err == nil
}
