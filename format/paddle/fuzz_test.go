package paddle

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"thole/blob"
	"thole/format"
	"thole/internal/dump"
	"thole/matrix"
)

// FuzzOpen reads and explains any bytes; what is read without an error is written and read again.
func FuzzOpen(f *testing.F) {
	f.Add(small(f, "little"))
	f.Add(small(f, "big"))
	for _, pattern := range []string{"seed004/*", "bad/*"} {
		files, _ := filepath.Glob(filepath.Join(goldenDir, pattern))
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _, err := load(data, "off")
		b := &blob.Mem{}
		if err := blob.WriteAll(context.Background(), b, "w", data); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_ = Codec.Explain(context.Background(), b, "w", dump.New(&out))
		if err != nil {
			return
		}
		again, _, err := load(save(t, format.Options{}, list...), "file")
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d tensors read again, %v, want %d", len(again), err, len(list))
		}
		for i := range again {
			if !equal(again[i], list[i]) {
				t.Errorf("tensor %d is %v, want %v", i, again[i], list[i])
			}
		}
	})
}

func benchTensor() tensor {
	m := matrix.Meta{Name: "w", Rows: 4096, Cols: 1024, DType: matrix.F32}
	return tensor{m, matrix.NewDense(m.DType, m.Rect())}
}

func BenchmarkWrite(b *testing.B) {
	x := benchTensor()
	b.SetBytes(int64(len(x.block.Data.Values().([]float32)) * 4))
	for b.Loop() {
		save(b, format.Options{}, x)
	}
}

func BenchmarkRead(b *testing.B) {
	ctx, bucket := context.Background(), &blob.Mem{}
	x := benchTensor()
	if err := blob.WriteAll(ctx, bucket, "w", save(b, format.Options{}, x)); err != nil {
		b.Fatal(err)
	}
	for _, verify := range []string{"file", "off"} {
		b.Run("verify="+verify, func(b *testing.B) {
			b.SetBytes(int64(len(x.block.Data.Values().([]float32)) * 4))
			for b.Loop() {
				r, err := Codec.Open(ctx, bucket, "w", format.Options{Set: map[string]string{"verify": verify}})
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range r.Blocks(ctx, "w", x.meta.Rect()) {
					if err != nil {
						b.Fatal(err)
					}
				}
				r.Close()
			}
		})
	}
}
