package paddle

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// counting is a bucket that counts the bytes that are read.
type counting struct {
	blob.Bucket
	n *atomic.Int64
}

type countingObject struct {
	blob.Object
	n *atomic.Int64
}

func (c counting) Open(ctx context.Context, name string) (blob.Object, error) {
	o, err := c.Bucket.Open(ctx, name)
	return countingObject{o, c.n}, err
}

func (c countingObject) ReadAt(b []byte, off int64) (int, error) {
	c.n.Add(int64(len(b)))
	return c.Object.ReadAt(b, off)
}

// three are matrices of 256 KiB each.
func three() (list []tensor) {
	for i := range 3 {
		m := matrix.Meta{Name: fmt.Sprintf("t%d", i), Rows: 256, Cols: 256, DType: matrix.F32}
		v := make([]float32, 1<<16)
		for k := range v {
			v[k] = float32(i*len(v) + k)
		}
		list = append(list, tensor{m, matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: v}}})
	}
	return list
}

// saveTo writes the matrices to a path.
func saveTo(t testing.TB, b blob.Bucket, to string, o format.Options, list ...tensor) {
	t.Helper()
	ctx := context.Background()
	var ms []matrix.Meta
	for _, x := range list {
		ms = append(ms, x.meta)
	}
	w, err := Codec.Create(ctx, b, to, ms, o)
	if err != nil {
		t.Fatal(err)
	}
	var parts []format.Part
	for _, x := range list {
		p, err := w.Put(ctx, x.meta.Name, x.block)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
}

// TestPartial counts what is read to get one tensor of three, or a row of it: its bytes and the descriptions, unless the
// checksum of the whole file is wanted.
func TestPartial(t *testing.T) {
	const one, row, slack = 256 << 10, 1 << 10, 64 << 10
	for _, c := range []struct {
		layout, verify string
		row            bool
		want           int64
	}{
		{"stream", "file", false, one}, {"stream", "file", true, row}, {"combined", "file", true, row}, {"separate", "file", false, one},
		{"seed004", "off", false, one}, {"seed004", "off", true, row}, {"seed004", "record", true, one}, {"seed004", "file", true, 3 * one},
	} {
		t.Run(fmt.Sprint(c.layout, " ", c.verify, " ", c.row), func(t *testing.T) {
			ctx, b := context.Background(), counting{&blob.Mem{}, new(atomic.Int64)}
			set := map[string]string{"layout": c.layout, "digest": fmt.Sprint(c.layout == "seed004")}
			saveTo(t, b, "m", format.Options{Set: set, Lossy: true}, three()...)
			b.n.Store(0)
			r, err := Codec.Open(ctx, b, "m", format.Options{Set: map[string]string{"verify": c.verify}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			m := r.Matrices()[1]
			want := m.Rect()
			if c.row {
				want.Rows = matrix.Range{Lo: 5, Hi: 6}
			}
			for _, err := range r.Blocks(ctx, m.Name, want) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := b.n.Load(); n < c.want || n > c.want+slack {
				t.Errorf("%d bytes were read, want %d and at most %d more", n, c.want, int64(slack))
			}
		})
	}
}

// TestView looks at values in the mapped file, and checks the digests before it does.
func TestView(t *testing.T) {
	ctx, b := context.Background(), blob.NewDir(t.TempDir())
	for _, layout := range []string{"seed004", "stream", "combined", "separate"} {
		set := map[string]string{"layout": layout, "digest": fmt.Sprint(layout == "seed004"), "align": fmt.Sprint(layout == "seed004")}
		saveTo(t, b, layout, format.Options{Set: set, Lossy: true}, three()...)
		r, err := Codec.Open(ctx, b, layout, format.Options{Set: map[string]string{"verify": "record"}})
		if err != nil {
			t.Fatal(err)
		}
		m, sum, n := r.Matrices()[2], 0.0, 0
		ok, err := r.(format.Viewer).View(ctx, m.Name, func(b matrix.Block) error {
			for _, v := range b.Data.Values().([]float32) {
				sum, n = sum+float64(v), n+1
			}
			return nil
		})
		if want := float64(3<<16-1+2<<16) / 2 * (1 << 16); ok && (err != nil || n != 1<<16 || sum != want) || !ok && layout == "seed004" {
			t.Errorf("%s: %v, %v, %d values with sum %v, want %v", layout, ok, err, n, sum, want)
		}
		if _, err := r.(format.Viewer).View(ctx, "none", nil); err == nil {
			t.Errorf("%s: a matrix that is not there was shown", layout)
		}
		r.Close()
	}
}

// TestVerify names each record whose digest is wrong, unless nothing is to be checked.
func TestVerify(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	b := blob.NewDir(dir)
	saveTo(t, b, "m", format.Options{Set: map[string]string{"digest": "true"}}, three()...)
	file := path.Join(dir, "m")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[100] ^= 1
	data[len(data)-100] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for verify, want := range map[string]int{"off": 0, "record": 2} {
		r, err := Codec.Open(ctx, b, "m", format.Options{Set: map[string]string{"verify": verify}})
		if err != nil {
			t.Fatal(err)
		}
		problems, err := r.(format.Verifier).Verify(ctx)
		if text := strings.Join(problems, "\n"); err != nil || len(problems) != want || want == 2 && !strings.Contains(text, `"t0"`) {
			t.Errorf("verify %s: %q, %v, want %d problems", verify, problems, err, want)
		}
		r.Close()
	}
	if _, err := Codec.Open(ctx, b, "m", format.Options{}); err == nil {
		t.Error("the checksum of the file was not compared")
	}
	if _, err := Codec.Open(ctx, b, "m", format.Options{Set: map[string]string{"verify": "all"}}); err == nil {
		t.Error("verify=all was accepted")
	}
}
