package state

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/ssp"
)

// large is bands as servers make them, of about so many bytes together: of a sparse partition, or of a dense one.
func large(bytes int64, sparse bool) (matrix.Meta, []Band) {
	const width, each = 16, 1024
	if !sparse {
		const cells = 16 << 10
		n := bytes / (4 * cells * 2)
		var bands []Band
		for i := range n {
			at := matrix.At(0, 1, i*cells, (i+1)*cells)
			b := Band{Values: []matrix.Block{matrix.NewDense(matrix.F32, at), matrix.NewDense(matrix.F32, at)}}
			for _, v := range b.Values {
				fill(v.Data.Values().([]float32))
			}
			bands = append(bands, b)
		}
		return matrix.Meta{Name: "d", Rows: 1, Cols: n * cells, DType: matrix.F32}, bands
	}
	n := bytes / (8 + 4*width*2)
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = int64(i)
	}
	slices.SortFunc(keys, func(a, b int64) int { return cmp.Compare(kernel.Hash(uint64(a)), kernel.Hash(uint64(b))) })
	var bands []Band
	for some := range slices.Chunk(keys, each) {
		b := Band{Keys: some, Values: []matrix.Block{matrix.NewDense(matrix.F32, matrix.At(0, int64(len(some)), 0, 2*width))}}
		fill(b.Values[0].Data.Values().([]float32))
		bands = append(bands, b)
	}
	return matrix.Meta{Name: "s", Rows: width, Cols: n, DType: matrix.F32, Layout: matrix.RowSparse}, bands
}

func fill(v []float32) {
	for i := range v {
		v[i] = float32(i * 7)
	}
}

// saveLarge writes a checkpoint of one server and matrix.
func saveLarge(b *testing.B, bucket blob.Bucket, at string, m *matrix.Meta, bands []Band) {
	ctx := context.Background()
	mp, err := part.Parse(fmt.Appendf(nil, `{"version":1,"rows":[0,%d],"cols":[0,%d],"owners":[0]}`, m.Rows, m.Cols), m, 1)
	if err != nil {
		b.Fatal(err)
	}
	job := ssp.NewJob[Delta, int]("j").State()
	save, err := Create(ctx, bucket, at, "", blob.Anything)
	if err != nil {
		b.Fatal(err)
	}
	defer save.Abort(ctx)
	p := Partition{Matrix: m.Name, At: mp.At(0), Sparse: m.Layout == matrix.RowSparse, Bits: mp.Bits, DType: m.DType, Slots: 1}
	own := Part{}
	own.File, err = save.File(ctx, 0, func(w *Writer) error {
		off := w.Off()
		write(b, w, p, bands)
		own.Records = []Record{{m.Name, 0, Extent{Off: off, Size: w.Off() - off, Columns: w.Columns(), Sum: w.Sum()}}}
		return nil
	}, func(w *Writer) error { return Job(w, &job, values) })
	if err != nil {
		b.Fatal(err)
	}
	head := &Checkpoint{Matrices: []Matrix{{Meta: *m, Map: mp}}}
	if err := save.Commit(ctx, head, []Part{own}, 1); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCheckpoint writes a checkpoint to a disk, until it is there, and reads it; the same bytes are written and read without any
// format, to compare.
func BenchmarkCheckpoint(b *testing.B) {
	const bytes = 512 << 20
	for _, sparse := range []bool{true, false} {
		m, bands := large(bytes, sparse)
		dir := b.TempDir()
		disk := blob.NewDir(dir).Synced()
		name := map[bool]string{true: "sparse", false: "dense"}[sparse]
		b.Run(name+"/write", func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				saveLarge(b, disk, "c", &m, bands)
			}
		})
		b.Run(name+"/read", func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				in, err := NewInput(b.Context(), disk, "c")
				if err != nil {
					b.Fatal(err)
				}
				err = in.Record(b.Context(), &in.Matrices[0], 0, func(*Partition, Band) error { return nil })
				if in.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	part, dir := make([]byte, 1<<20), b.TempDir()
	for _, how := range []string{"write", "read"} {
		b.Run(fmt.Sprint("plain/", how), func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				f, err := os.OpenFile(filepath.Join(dir, "plain"), os.O_RDWR|os.O_CREATE, 0o666)
				if err != nil {
					b.Fatal(err)
				}
				for range bytes / len(part) {
					if how == "write" {
						_, err = f.Write(part)
					} else {
						_, err = f.Read(part)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				if how == "write" {
					err = f.Sync()
				}
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
