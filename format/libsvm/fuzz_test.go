package libsvm

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// FuzzOpen reads, sniffs and explains any text with any sidecar; what is read without an error is written and read
// again.
func FuzzOpen(f *testing.F) {
	for _, c := range readable {
		f.Add(c.text, c.meta)
	}
	for _, c := range refused {
		f.Add(c.text, c.meta)
	}
	f.Fuzz(func(t *testing.T, text, meta string) {
		ctx, b := context.Background(), bucketOf(t, text, meta)
		var out bytes.Buffer
		_ = Codec.Explain(ctx, b, "d/a.libsvm", dump.New(&out))
		if _, err := Codec.Sniff(ctx, b, "d/a.libsvm"); err != nil {
			t.Fatal(err)
		}
		want, err := load(b, nil)
		if err != nil {
			return
		}
		r, err := Codec.Open(ctx, b, "d/a.libsvm", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		again := &blob.Mem{}
		if err := format.Convert(ctx, r, Codec, again, "d/a.libsvm", format.Options{}, nil, nil); err != nil {
			if r.Matrices()[0].Rows > maxRows || strings.Contains(err.Error(), "no block holds") || len(r.Matrices()[0].Dims) > 0 {
				return
			}
			t.Fatal(err)
		}
		if got, err := load(again, nil); err != nil || got != want {
			t.Fatalf("read %s, %v, want %s", got, err, want)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "%d", i%2)
		for k := range 20 {
			fmt.Fprintf(&text, " %d:%.6g", k*37+i%37+1, float64(i*k%1000)/999)
		}
		text.WriteByte('\n')
	}
	bucket := bucketOf(b, text.String(), `{"numCols":1000,"numRows":50000,"valueType":"f64"}`)
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		r, err := Codec.Open(context.Background(), bucket, "d/a.libsvm", format.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range r.Blocks(context.Background(), "features", matrix.At(0, 50_000, 0, 1000)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
