package all

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

var errFault = errors.New("the disk said no")

// faulty is a bucket of which one operation fails, the left-th from now on; with left at 0 or below none does.
type faulty struct {
	blob.Bucket
	left atomic.Int64
}

func (f *faulty) fail() error {
	if f.left.Add(-1) == 0 {
		return errFault
	}
	return nil
}

func (f *faulty) Open(ctx context.Context, name string) (blob.Object, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	o, err := f.Bucket.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return &faultyObject{o, f}, nil
}

func (f *faulty) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	w, err := f.Bucket.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &faultyWriter{w, f}, nil
}

func (f *faulty) List(ctx context.Context, tree string) ([]blob.Info, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Bucket.List(ctx, tree)
}

func (f *faulty) State(ctx context.Context, name string) (blob.State, error) {
	if err := f.fail(); err != nil {
		return "", err
	}
	return f.Bucket.State(ctx, name)
}

func (f *faulty) Publish(ctx context.Context, from, to string, over blob.State) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Bucket.Publish(ctx, from, to, over)
}

type faultyObject struct {
	blob.Object
	of *faulty
}

func (o *faultyObject) ReadAt(p []byte, off int64) (int, error) {
	if err := o.of.fail(); err != nil {
		return 0, err
	}
	return o.Object.ReadAt(p, off)
}

type faultyWriter struct {
	blob.Writer
	of *faulty
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if err := w.of.fail(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

func (w *faultyWriter) WriteAt(p []byte, off int64) (int, error) {
	if err := w.of.fail(); err != nil {
		return 0, err
	}
	return w.Writer.WriteAt(p, off)
}

func (w *faultyWriter) ReadAt(p []byte, off int64) (int, error) {
	if err := w.of.fail(); err != nil {
		return 0, err
	}
	return w.Writer.ReadAt(p, off)
}

func (w *faultyWriter) Commit() error {
	if err := w.of.fail(); err != nil {
		return err
	}
	return w.Writer.Commit()
}

// eachFault runs an action again and again, of which each time a later operation of the bucket fails, until none is left.
func eachFault(t *testing.T, bucket func() blob.Bucket, action func(n int64, f *faulty) error) {
	t.Helper()
	for n := int64(1); ; n++ {
		f := &faulty{Bucket: bucket()}
		f.left.Store(n)
		err := action(n, f)
		if f.left.Load() > 0 {
			return // fewer operations than n
		}
		if err != nil && !errors.Is(err, errFault) {
			t.Errorf("operation %d fails: %v, want what the disk said in it", n, err)
		}
	}
}

// eachRead runs a test for every kind with its plain samples, and with larger ones, for which the disk is read several times.
func eachRead(t *testing.T, f func(t *testing.T, c kind, s sample)) {
	rows, cols := []int64{0, 20, 40, 50}, []int64{0, 25, 50}
	eachPlain(t, f)
	eachAny(t, func(t *testing.T, c kind) {
		for _, s := range []sample{tiled("large dense", dense("", matrix.F64, 50, 50), rows, cols), tiled("large sparse", thin("", matrix.F64, 50, 50, 2), rows, cols)} {
			if write(t, &blob.Mem{}, c, s, format.Options{}) == nil {
				t.Run(s.what, func(t *testing.T) { f(t, c, s) })
			}
		}
	})
}

// TestFaultsOfWriting: an operation of the disk that fails ends the save with its error and nothing at the target, or does not
// matter to what was saved.
func TestFaultsOfWriting(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		sound := &blob.Mem{}
		if err := write(t, sound, c, s, format.Options{}); err != nil {
			t.Fatal(err)
		}
		want := snapshot(t, sound)
		eachFault(t, func() blob.Bucket { return &blob.Mem{} }, func(n int64, f *faulty) error {
			err := write(t, f, c, s, format.Options{})
			if got := snapshot(t, f.Bucket); err != nil && len(got) > 0 {
				t.Errorf("operation %d fails: %v, and %d objects are there", n, err, len(got))
			} else if err == nil && !maps.Equal(got, want) {
				t.Errorf("operation %d fails without an error, and what was saved is not what it was", n)
			}
			return err
		})
	})
}

// TestFaultsOfReading: an operation of the disk that fails ends reading with its error, or does not matter to what is read.
func TestFaultsOfReading(t *testing.T) {
	eachRead(t, func(t *testing.T, c kind, s sample) {
		b := &blob.Mem{}
		if err := write(t, b, c, s, format.Options{}); err != nil {
			t.Fatal(err)
		}
		read := func(b blob.Bucket) (map[cell]string, error) {
			ctx := context.Background()
			r, _, err := Codecs().Open(ctx, b, pathOf(c), "", format.Options{})
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return cells(ctx, r)
		}
		want, err := read(b)
		if err != nil {
			t.Fatal(err)
		}
		eachFault(t, func() blob.Bucket { return b }, func(n int64, f *faulty) error {
			got, err := read(f)
			if err == nil && !maps.Equal(got, want) {
				t.Errorf("operation %d fails without an error, and %d cells are read, want %d", n, len(got), len(want))
			}
			return err
		})
	})
}

// TestCancelled: a context that is over ends a save and a reading with its error wherever they are.
func TestCancelled(t *testing.T) {
	ctx := context.Background()
	over, stop := context.WithCancel(ctx)
	stop()
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		b, o := &blob.Mem{}, format.Options{Set: c.set, Files: s.files}
		ended := func(what string, err error) {
			if !errors.Is(err, context.Canceled) || errors.Is(err, format.ErrLossy) {
				t.Errorf("%s: %v, want that it was cancelled", what, err)
			}
		}
		_, err := format.Create(over, c, b, pathOf(c), s.metas(), o)
		ended("create", err)
		w, err := format.Create(ctx, c, b, pathOf(c), s.metas(), o)
		if err != nil {
			t.Fatal(err)
		}
		var parts []format.Part
		for _, blk := range s.named() {
			_, err := w.Put(over, blk.name, blk.Block)
			ended("put", err)
			p, err := w.Put(ctx, blk.name, blk.Block)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		ended("commit", w.Commit(over, parts))
		w.Abort(over)
		if left := snapshot(t, b); len(left) > 0 {
			t.Errorf("%d objects are left", len(left))
		}
		if err := write(t, b, c, s, format.Options{}); err != nil {
			t.Fatal(err)
		}
		_, _, err = Codecs().Open(over, b, pathOf(c), "", format.Options{})
		ended("open", err)
		r, _, err := Codecs().Open(ctx, b, pathOf(c), "", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, err = cells(over, r)
		ended("blocks", err)
	})
}
