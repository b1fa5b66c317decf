package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// series is a whole sample s/a, an increment s/b of it, and s/c of that.
func series(t testing.TB, b blob.Bucket) {
	t.Helper()
	moment := Moment{Run: "r"}
	sampleAs(t, b, "s/a", 1, Checkpoint{ID: "A", Moment: moment})
	sampleAs(t, b, "s/b", 2, Checkpoint{ID: "B", Base: Link{Path: "s/a", ID: "A"}, Moment: moment})
	sampleAs(t, b, "s/c", 3, Checkpoint{ID: "C", Base: Link{Path: "s/b", ID: "B"}, Moment: moment})
}

// values are those of a checkpoint, by matrix, partition and key or row.
func contents(t *testing.T, b blob.Bucket, at string) map[string]byte {
	t.Helper()
	in, err := NewInput(t.Context(), b, at)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out := map[string]byte{}
	for i := range in.Matrices {
		for id := range in.Matrices[i].Records {
			err := in.Record(t.Context(), &in.Matrices[i], id, func(p *Partition, b Band) error {
				for k, key := range b.Keys {
					raw, size := wire.ViewAny(b.Values[0].Data.Values())
					out[fmt.Sprintf("%s %d", p.Matrix, key)] = raw[k*size]
				}
				for slot, v := range b.Values {
					if b.Keys != nil {
						continue
					}
					raw, size := wire.ViewAny(v.Data.Values())
					width := int(v.At.Cols.Len())
					for k := range raw[:len(raw)/size] {
						out[fmt.Sprintf("%s.%d %d,%d", p.Matrix, slot, v.At.Rows.Lo+int64(k/width), v.At.Cols.Lo+int64(k%width))] = raw[k*size]
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// TestCompactSample: what is made whole has the newest of everything, worked out from the checkpoints one by one.
func TestCompactSample(t *testing.T) {
	b := &blob.Mem{}
	series(t, b)
	want, last := contents(t, b, "s/a"), contents(t, b, "s/c")
	in, err := NewInput(t.Context(), b, "s/c")
	if err != nil {
		t.Fatal(err)
	}
	for id := range in.Matrices[1].Records {
		if err := in.Record(t.Context(), &in.Matrices[1], id, func(p *Partition, b Band) error {
			for _, key := range b.Removed {
				delete(want, fmt.Sprintf("%s %d", p.Matrix, key))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	for what, v := range last {
		want[what] = v
	}
	read := int64(0)
	if err := Compact(t.Context(), b, "s/c", func(n int64) { read += n }); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, b, "s/c"); fmt.Sprint(got) != fmt.Sprint(want) || read == 0 {
		t.Errorf("%v, want\n%v (%d bytes)", got, want, read)
	}
	if _, err := verified(t, b, "s/c"); err != nil {
		t.Error(err)
	}
	wantText(t, b, "s/c/job.yaml", "seed: 3\n")

	// What others are based on may be made whole: they stay as they are. A whole one is left alone.
	series(t, b)
	for range 2 {
		if err := Compact(t.Context(), b, "s/b", nil); err != nil {
			t.Fatal(err)
		}
	}
	chain, err := OpenChain(t.Context(), b, "s/c")
	if err != nil || len(chain) != 2 {
		t.Fatal(len(chain), err)
	}
	if err := errors.Join(b.Remove(t.Context(), "s/a"), Compact(t.Context(), b, "s/c", nil)); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, b, "s/c"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in two steps: %v, want\n%v", got, want)
	}
}

func wantText(t *testing.T, b blob.Bucket, name, want string) {
	t.Helper()
	if data, err := blob.ReadAll(t.Context(), b, name, 1<<20); err != nil || string(data) != want {
		t.Errorf("%s is %q, %v, want %q", name, data, err, want)
	}
}

// faulty is a bucket whose n-th operation fails, and every one after it, as that of a process that ends then.
type faulty struct {
	blob.Bucket
	left int
}

var errFaulty = errors.New("the process ends here")

func (f *faulty) ends() error {
	if f.left--; f.left < 0 {
		return errFaulty
	}
	return nil
}

func (f *faulty) Open(ctx context.Context, name string) (blob.Object, error) {
	if err := f.ends(); err != nil {
		return nil, err
	}
	return f.Bucket.Open(ctx, name)
}

func (f *faulty) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := f.ends(); err != nil {
		return nil, err
	}
	w, err := f.Bucket.Create(ctx, name)
	return &faultyWriter{w, f}, err
}

func (f *faulty) Publish(ctx context.Context, from, to string, over blob.State) error {
	if err := f.ends(); err != nil {
		return err
	}
	return f.Bucket.Publish(ctx, from, to, over)
}

func (f *faulty) Remove(ctx context.Context, name string) error {
	if f.left < 0 {
		return errFaulty // nobody cleans up
	}
	return f.Bucket.Remove(ctx, name)
}

type faultyWriter struct {
	blob.Writer
	of *faulty
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if err := w.of.ends(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

func (w *faultyWriter) Commit() error {
	if err := w.of.ends(); err != nil {
		return err
	}
	return w.Writer.Commit()
}

// TestCompactEnds: wherever it ends, the increment is what it was, and what was begun is cleared away by whoever comes next.
func TestCompactEnds(t *testing.T) {
	b := blob.NewDir(t.TempDir())
	series(t, b)
	before := contents(t, b, "s/c")
	n := 0
	for ; ; n++ {
		err := Compact(t.Context(), &faulty{b, n}, "s/c", nil)
		if err == nil {
			break
		}
		if !errors.Is(err, errFaulty) {
			t.Fatalf("operation %d: %v", n, err)
		}
		if head, err := Open(t.Context(), b, "s/c"); err != nil || head.Whole() {
			t.Fatalf("operation %d: %v", n, err)
		}
		if after := contents(t, b, "s/c"); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("operation %d: it has changed", n)
		}
	}
	if n < 20 {
		t.Errorf("%d operations failed, want more", n)
	}
	if _, err := verified(t, b, "s/c"); err != nil {
		t.Error(err)
	}
}

// TestCompactRefuses: what does not fit together is no checkpoint, and nothing is replaced.
func TestCompactRefuses(t *testing.T) {
	for what, do := range map[string]func(b blob.Bucket) error{
		"s/a, which cannot be read": func(b blob.Bucket) error { return b.Remove(t.Context(), "s/a") },
		"found \"X\"": func(b blob.Bucket) error {
			sampleAs(t, b, "s/a", 1, Checkpoint{ID: "X", Moment: Moment{Run: "r"}})
			return nil
		},
		"changed meanwhile": nil,
		"of another checkpoint": func(b blob.Bucket) error {
			sampleAs(t, b, "other", 9, Checkpoint{ID: "A", Moment: Moment{Run: "r"}})
			data, err := blob.ReadAll(t.Context(), b, "other/server.0", 1<<20)
			return errors.Join(err, blob.WriteAll(t.Context(), b, "s/a/server.0", data))
		},
	} {
		b := &blob.Mem{}
		series(t, b)
		read := func(int64) {}
		if do == nil {
			read = func(int64) { _ = blob.WriteAll(t.Context(), b, "s/c/note", nil) } // somebody else has been there
		} else if err := do(b); err != nil {
			t.Fatal(err)
		}
		err := Compact(t.Context(), b, "s/c", read)
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
		if head, err := Open(t.Context(), b, "s/c"); err != nil || head.Whole() {
			t.Errorf("%s: the increment is gone: %v", what, err)
		}
	}
}

// TestOverlay: cells of partitions that were cut in other ways come to their places.
func TestOverlay(t *testing.T) {
	p := Partition{Matrix: "d", At: matrix.At(0, 3, 0, 7), DType: matrix.I32}
	for _, cut := range [][]matrix.Rect{
		{matrix.At(0, 3, 0, 7)},
		{matrix.At(0, 1, 0, 7), matrix.At(1, 3, 0, 7)},
		{matrix.At(0, 3, 0, 3), matrix.At(0, 3, 3, 7)},
		{matrix.At(0, 1, 0, 2), matrix.At(0, 1, 2, 7), matrix.At(1, 3, 0, 2), matrix.At(1, 3, 2, 7)},
	} {
		for _, from := range []int64{1, 2, 3, 5, 7, 14, 21} {
			for _, to := range []int64{1, 2, 4, 7, 14, 21} {
				var layers []*layer
				for _, at := range cut {
					var bands []Band
					for place := range format.Bands(at, from) {
						b := matrix.NewDense(matrix.I32, place)
						for i, v := 0, b.Data.Values().([]int32); i < len(v); i++ {
							w := int(place.Cols.Len())
							v[i] = int32((int(place.Rows.Lo)+i/w)*100 + int(place.Cols.Lo) + i%w)
						}
						bands = append(bands, Band{Values: []matrix.Block{b}})
					}
					l := &layer{next: func() (piece, error, bool) {
						if len(bands) == 0 {
							return piece{}, nil, false
						}
						first := bands[0]
						bands = bands[1:]
						return piece{&p, first}, nil, true
					}}
					_ = l.advance()
					layers = append(layers, l)
				}
				for at := range format.Bands(p.At, to) {
					into := matrix.NewDense(matrix.I32, at)
					if err := lay(layers, &p, []matrix.Block{into}, at); err != nil {
						t.Fatal(err)
					}
					for i, v := range into.Data.Values().([]int32) {
						w := int(at.Cols.Len())
						if want := int32((int(at.Rows.Lo)+i/w)*100 + int(at.Cols.Lo) + i%w); v != want {
							t.Fatalf("cut %v in %d, made in %d: cell %d of %v is %d, want %d", cut, from, to, i, at, v, want)
						}
					}
				}
			}
		}
	}
}
