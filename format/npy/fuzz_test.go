package npy

import (
	"bytes"
	"context"
	"testing"

	"thole/blob"
	"thole/format"
	"thole/internal/dump"
	"thole/internal/wire"
	"thole/matrix"
)

// FuzzOpen reads and explains any bytes; what is read without an error is written and read again.
func FuzzOpen(f *testing.F) {
	f.Add(file(1, plainText, make([]byte, 12)))
	f.Add(file(2, "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 2), }", make([]byte, 32)))
	f.Add(file(3, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", []byte{1}))
	f.Add(file(1, "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (3L,), }\n", make([]byte, 6)))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, "a.npy", data); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_ = Codec.Explain(ctx, b, "a.npy", dump.New(&out))
		m, blk, err := load(data)
		if err != nil {
			return
		}
		n, again, err := load(save(t, m, blk))
		if err != nil {
			t.Fatal(err)
		}
		x, _ := wire.ViewAny(blk.Data.Values())
		y, _ := wire.ViewAny(again.Data.Values())
		if n.DType != m.DType || n.Rows != m.Rows || n.Cols != m.Cols || !bytes.Equal(x, y) {
			t.Errorf("read %v % x, want %v % x", n.Dims, y, m.Dims, x)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	m := matrix.Meta{Name: "a", Rows: 4096, Cols: 1024, DType: matrix.F32}
	blk := matrix.NewDense(m.DType, m.Rect())
	b.SetBytes(m.Rows * m.Cols * 4)
	for b.Loop() {
		save(b, m, blk)
	}
}

func BenchmarkRead(b *testing.B) {
	m := matrix.Meta{Name: "a", Rows: 4096, Cols: 1024, DType: matrix.F32}
	data := save(b, m, matrix.NewDense(m.DType, m.Rect()))
	for name, data := range map[string][]byte{"C": data, "Fortran": bytes.Replace(data, []byte("False"), []byte("True "), 1)} {
		b.Run(name, func(b *testing.B) {
			ctx, bucket := context.Background(), &blob.Mem{}
			if err := blob.WriteAll(ctx, bucket, "a.npy", data); err != nil {
				b.Fatal(err)
			}
			r, err := Codec.Open(ctx, bucket, "a.npy", format.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			b.SetBytes(m.Rows * m.Cols * 4)
			for b.Loop() {
				for _, err := range r.Blocks(ctx, "a", m.Rect()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
