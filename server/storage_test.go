package server_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// narrowMetas are matrices that servers keep in fewer bytes, with some rules and none.
func narrowMetas() (all []matrix.Meta) {
	for _, storage := range []matrix.DType{matrix.F16, matrix.BF16, matrix.I8} {
		for _, rule := range []string{"", "sgd", "adagrad", "adam"} {
			for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
				if layout == matrix.RowDense && storage == matrix.I8 {
					continue
				}
				all = append(all, matrix.Meta{
					Name: fmt.Sprintf("%v-%v-%s", layout, storage, rule), Rows: 3, Cols: 61, ColLo: -20, DType: matrix.F32, Layout: layout,
					Rule: rule, Storage: storage, Init: matrix.Init{Kind: "normal", Scale: 0.1, Seed: 3},
				})
			}
		}
	}
	return all
}

// storageBits trains in two halves: the first ends with a checkpoint if there is a path for it, the second begins with restoring one.
func (f *fleet) storageBits(first, second bool, restore, checkpoint string) (out map[string]string) {
	f.t.Helper()
	f.run(fleetTasks, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
		if first {
			if err := f.train(ctx, p, task, 0, half); err != nil {
				return err
			}
		}
		if checkpoint != "" && task == 1 {
			if err := p.Checkpoint(ctx, checkpoint); err != nil {
				return err
			}
		}
		if restore != "" && task == 0 {
			if _, err := p.Restore(ctx, restore); err != nil {
				return err
			}
		}
		if err := errors.Join(p.SyncClock(ctx), p.Barrier(ctx)); err != nil {
			return err
		}
		if second {
			if err := f.train(ctx, p, task, half, full); err != nil {
				return err
			}
		}
		all, err := f.bits(ctx, p)
		if task == 0 {
			out = all
		}
		return err
	})
	return out
}

// TestStorageSameBits: what servers keep in fewer bytes has the same bits on any number of them, cut in any way, also when a checkpoint
// in the middle is restored on others.
func TestStorageSameBits(t *testing.T) {
	metas := narrowMetas()
	want := newFleet(t, "mem", 1, &blob.Mem{}, metas).storageBits(true, true, "", "")
	wide := metas[0]
	wide.Storage = matrix.Invalid
	if other := newFleet(t, "mem", 1, &blob.Mem{}, []matrix.Meta{wide}).storageBits(true, true, "", ""); other[wide.Name] == want[wide.Name] {
		t.Fatal("the type changes nothing")
	}
	for _, c := range []struct {
		net           string
		before, after int
		cut, then     [2]string
	}{
		{"mem", 2, 3, [2]string{"column", "hash"}, [2]string{"range", "column"}}, {"mem", 3, 1, [2]string{"range", "hash"}, [2]string{"column", "column"}},
		{"tcp", 1, 2, [2]string{"column", "column"}, [2]string{"range", "hash"}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			bucket := &blob.Mem{}
			newFleet(t, c.net, c.before, bucket, metas, c.cut[:]...).storageBits(true, false, "", "c")
			got := newFleet(t, c.net, c.after, bucket, metas, c.then[:]...).storageBits(false, true, "c", "")
			for name, bits := range want {
				if got[name] != bits {
					t.Errorf("matrix %s: the bits differ from those of one server in one go", name)
				}
			}
		})
	}
}

// TestStorageRestoredAsOther: a checkpoint of values as they are is restored into fewer bytes, rounded to nearest, and one of those
// exactly into f32.
func TestStorageRestoredAsOther(t *testing.T) {
	for _, narrow := range narrowMetas() {
		t.Run(narrow.Name, func(t *testing.T) {
			narrow.Init = matrix.Init{} // columns that are not there begin as every matrix has them
			wide, bucket := narrow, &blob.Mem{}
			wide.Storage = matrix.Invalid
			before := newFleet(t, "mem", 2, bucket, []matrix.Meta{wide}).storageBits(true, false, "", "wide")
			rounded := newFleet(t, "mem", 3, bucket, []matrix.Meta{narrow}).storageBits(false, false, "wide", "")
			newFleet(t, "mem", 3, bucket, []matrix.Meta{narrow}).restored("wide", "narrow")
			after := newFleet(t, "mem", 1, bucket, []matrix.Meta{wide}).storageBits(false, false, "narrow", "")
			if rounded[narrow.Name] != after[narrow.Name] || rounded[narrow.Name] == before[narrow.Name] {
				t.Fatal("values that were rounded once are not those of the checkpoint")
			}
			from, to := float32s(before[narrow.Name]), float32s(rounded[narrow.Name])
			for i := range from {
				col := from[i/3*3 : i/3*3+3]
				most := max(math.Abs(float64(col[0])), math.Abs(float64(col[1])), math.Abs(float64(col[2])))
				near := map[matrix.DType]float64{
					matrix.F16: math.Abs(float64(from[i])) / (1 << 11), matrix.BF16: math.Abs(float64(from[i])) / (1 << 8), matrix.I8: most / 126,
				}[narrow.Storage]
				if off := math.Abs(float64(to[i]) - float64(from[i])); off > near+1e-7 {
					t.Fatalf("%v became %v, want at most %v off", from[i], to[i], near)
				}
			}
		})
	}
}

// restored restores a checkpoint and writes another.
func (f *fleet) restored(from, to string) {
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		_, err := p.Restore(ctx, from)
		return errors.Join(err, p.Checkpoint(ctx, to))
	})
}

// float32s is bytes as numbers.
func float32s(bits string) []float32 {
	out := make([]float32, len(bits)/4)
	for i := range out {
		out[i] = math.Float32frombits(uint32(bits[4*i]) | uint32(bits[4*i+1])<<8 | uint32(bits[4*i+2])<<16 | uint32(bits[4*i+3])<<24)
	}
	return out
}

// TestStorageSeen: the status names the type, and memory is what narrow values take.
func TestStorageSeen(t *testing.T) {
	of := func(storage matrix.DType) (name string, bytes int64) {
		m := matrix.Meta{Name: "w", Rows: 16, Cols: 1 << 20, DType: matrix.F32, Layout: matrix.RowSparse, Storage: storage}
		f := newFleet(t, "mem", 1, &blob.Mem{}, []matrix.Meta{m})
		f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			d := &matrix.Cols[float32]{Idx: make([]int64, 1<<18), Val: make([]float32, 16<<18)}
			for i := range d.Idx {
				d.Idx[i] = int64(i)
			}
			if err := errors.Join(p.Push("w", matrix.Block{At: m.Rect(), Data: d}), p.Clock(ctx, 1, 0), p.Flush(ctx)); err != nil {
				return err
			}
			if _, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w", Cols: d.Idx}}); err != nil { // of all partitions, after they have changed
				return err
			}
			got := f.served[0].Status(ctx)[0].Tables[0]
			name, bytes = got.Storage, got.Bytes
			return nil
		})
		return name, bytes
	}
	_, wide := of(matrix.Invalid)
	for _, tt := range []struct {
		storage matrix.DType
		name    string
		part    float64 // of the bytes of f32, with what the index takes
	}{{matrix.F16, "f16", 0.67}, {matrix.I8, "i8", 0.5}} {
		name, bytes := of(tt.storage)
		if name != tt.name || float64(bytes) > tt.part*float64(wide) {
			t.Errorf("%v: status says %q and %d bytes, want at most %v of %d", tt.storage, name, bytes, tt.part, wide)
		}
	}
}

// TestStorageRefused: int8 in bands of rows or dense, and what is not f32.
func TestStorageRefused(t *testing.T) {
	sparse := matrix.Meta{Name: "w", Rows: 8, Cols: 8, DType: matrix.F32, Layout: matrix.RowSparse, Storage: matrix.I8}
	for _, c := range []struct {
		cut    string
		change func(m *matrix.Meta)
		want   string
	}{
		{"range", func(m *matrix.Meta) { m.BlockRows = 2 }, "its rows are cut into"},
		{"column", func(m *matrix.Meta) { m.Layout = matrix.RowDense }, "want f16 or bf16"},
		{"hash", func(m *matrix.Meta) { m.DType = matrix.F64 }, "want those of f32"},
	} {
		m := sparse
		c.change(&m)
		newFleet(t, "mem", 2, &blob.Mem{}, nil).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			fails(t, c.cut, p.Create(ctx, c.cut, m), rpc.ErrRefused, c.want)
			return nil
		})
	}
}
