package angel

import (
	"context"
	"math/rand/v2"
	"path"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// standIn takes the bytes of data files into memory that it has already, so that the codec is measured and not how memory
// is found. What it keeps of them is empty.
type standIn struct {
	blob.Bucket
	buf []byte
}

func (s *standIn) Create(ctx context.Context, name string) (blob.Writer, error) {
	w, err := s.Bucket.Create(ctx, name)
	if path.Base(name) != "0" {
		return w, err
	}
	return &standInWriter{Writer: w, buf: s.buf}, err
}

type standInWriter struct {
	blob.Writer
	buf []byte
}

func (w *standInWriter) Write(p []byte) (int, error) {
	n := copy(w.buf, p)
	w.buf = w.buf[n:]
	return n, nil
}

func (w *standInWriter) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// BenchmarkSaveLoad writes 4 million floats, N(0, 0.01), to a stand-in for storage, and reads them from memory.
func BenchmarkSaveLoad(b *testing.B) {
	const rows, cols = 8, 1 << 19
	m := matrix.Meta{Name: "w", Rows: rows, Cols: cols, DType: matrix.F32, BlockRows: rows, BlockCols: cols}
	val := make([]float32, rows*cols)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range val {
		val[i] = float32(rng.NormFloat64() * 0.01)
	}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: val}}
	rate := func(b *testing.B) {
		b.SetBytes(int64(len(val) * 4))
		b.ReportMetric(float64(len(val))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
	}
	for _, l := range writable {
		s := sample{m, blk}
		set := map[string]string{optFormat: l.name}
		stand := standIn{Bucket: &blob.Mem{}, buf: make([]byte, 32*len(val))}
		b.Run(l.name+"/save", func(b *testing.B) {
			for b.Loop() {
				if err := save(&stand, &s, 1, []matrix.Block{blk}, set); err != nil {
					b.Fatal(err)
				}
			}
			rate(b)
		})
		var mem blob.Mem
		if err := save(&mem, &s, 1, []matrix.Block{blk}, set); err != nil {
			b.Fatal(err)
		}
		b.Run(l.name+"/load", func(b *testing.B) {
			for b.Loop() {
				r, err := Codec.Open(ctx, &mem, "model", format.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range r.Blocks(ctx, "w", m.Rect()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			rate(b)
		})
	}
}
