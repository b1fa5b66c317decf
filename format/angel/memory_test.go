package angel

import (
	"context"
	"iter"
	"runtime"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// endless is a reader of a dense matrix whose values are made while they are read, in blocks of 1 MiB.
type endless struct{ m matrix.Meta }

func (e endless) Matrices() []matrix.Meta  { return []matrix.Meta{e.m} }
func (e endless) Notes() []string          { return nil }
func (e endless) Files() map[string][]byte { return nil }
func (e endless) Close() error             { return nil }

func (e endless) Blocks(_ context.Context, _ string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for at := range format.Bands(want, 1<<18) {
			b := matrix.NewDense(matrix.F32, at)
			val := b.Data.(*matrix.Dense[float32]).Val
			for i := range val {
				val[i] = float32(i%1000) * 0.25
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// watched remembers the most memory that was in use when a bucket was asked for something.
type watched struct {
	blob.Bucket
	peak uint64
}

func (w *watched) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.peak = max(w.peak, m.HeapInuse)
}

func (w *watched) Create(ctx context.Context, name string) (blob.Writer, error) {
	out, err := w.Bucket.Create(ctx, name)
	return &watchedWriter{out, w}, err
}

type watchedWriter struct {
	blob.Writer
	w *watched
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	if len(p) > 0 && p[0]&3 == 0 { // now and then
		w.w.look()
	}
	return w.Writer.Write(p)
}

// TestMemoryIsBounded converts a model of one large partition, and that into small ones in another format: what is in
// memory does not grow with the model.
func TestMemoryIsBounded(t *testing.T) {
	peak := func(cols int64) uint64 {
		runtime.GC()
		m := matrix.Meta{Name: "w", Rows: 4, Cols: cols, DType: matrix.F32, BlockRows: 4, BlockCols: cols}
		b := &watched{Bucket: blob.NewDir(t.TempDir())}
		convert := func(src format.Reader, to string, set map[string]string) {
			if err := format.Convert(ctx, src, Codec, b, to, format.Options{Set: set}, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		convert(endless{m}, "large", map[string]string{optFormat: "ValueBinaryRowFormat"})
		r, err := Codec.Open(ctx, b, "large", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		convert(r, "small", map[string]string{optFormat: "ColIdValueBinaryRowFormat", optBlockCols: "500000"})
		return b.peak
	}
	small, large := peak(4<<20), peak(12<<20) // 64 and 192 MiB
	t.Logf("peak %d MiB for 64 MiB, %d MiB for 192 MiB", small>>20, large>>20)
	if large > small+small/2 || large > 256<<20 {
		t.Errorf("peak %d MiB for 64 MiB, %d MiB for 192 MiB", small>>20, large>>20)
	}
}
