package paddle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

// FuzzOpen reads and explains any bytes; what is a file of the document's layout is written and read again.
func FuzzOpen(f *testing.F) {
	f.Add(small(f, "little"))
	f.Add(small(f, "big"))
	addOwn(f)
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
		if dialect, _ := (seed{}).Sniff(context.Background(), b, "w"); dialect == "" || err != nil {
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

// addOwn adds the golden files of this package.
func addOwn(f *testing.F) {
	f.Helper()
	for _, g := range formattest.Goldens(f, "testdata/golden/*.txtar") {
		for _, data := range g.Files {
			f.Add(data)
		}
	}
}

// FuzzLayouts reads and explains any bytes as each of the layouts that are only read: what they hold must be what they
// say, and a file has one layout.
func FuzzLayouts(f *testing.F) {
	addOwn(f)
	for _, pattern := range []string{goldenDir + "/*/*", "testdata/pickle/*.pd*"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && len(data) < 1<<13 {
				f.Add(data)
			}
		}
	}
	f.Add(rowsFile([]int{7, 0, 1, 4}, 10, []int64{4, 2}, 8))
	f.Add([]byte(v2File(1, 4, 2)))
	f.Add(zipped(f, []byte(v2File(1, 4, 2))))
	f.Add([]byte("\x80\x02}q\x01(U\x01wq\x02" + twoFloats + "U\x05stepsK\x07u."))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, "w", data); err != nil {
			t.Fatal(err)
		}
		for _, p := range profiles() {
			y, ok := p.(layout)
			if rows, are := p.(rowsProfile); are {
				y, ok = rows.layout, true
			}
			if !ok {
				continue
			}
			dialect, err := y.Sniff(ctx, b, "w")
			if err != nil {
				t.Fatal(err)
			}
			_ = y.Explain(ctx, b, "w", dump.New(io.Discard))
			r, err := y.Open(ctx, b, "w", format.Options{})
			if err == nil {
				sound(t, r)
				r.Close()
			}
			var where *format.Error
			if err := format.Wrap(name, "w", err); err != nil && (!errors.As(err, &where) || where.Off < 0) {
				t.Errorf("%s: %v, want a place", y.name, err)
			}
			if err == nil && dialect == "" && y.like(data[:min(len(data), headBytes)], int64(len(data))) {
				t.Errorf("%s opens it, but does not claim it", y.name)
			}
		}
	})
}

// sound checks that every matrix has the cells that its description promises.
func sound(t *testing.T, r format.Reader) {
	t.Helper()
	for _, m := range r.Matrices() {
		if err := m.Check(); err != nil {
			t.Error(err)
		}
		want, got := int64(0), int64(0)
		for _, rows := range m.SavedRows() {
			want += rows.Len() * m.Cols
		}
		for b, err := range r.Blocks(context.Background(), m.Name, m.Rect()) {
			if err != nil {
				return // truth values that are neither, or a text that is not latin-1
			}
			if err := b.Check(); err != nil || !m.Rect().Contains(b.At) || b.Data.DType() != m.DType {
				t.Errorf("block %v of %v, %v", b.At, b.Data.DType(), err)
			}
			got += int64(b.Data.NNZ())
		}
		if got != want {
			t.Errorf("%q has %d cells, want %d", m.Name, got, want)
		}
	}
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
