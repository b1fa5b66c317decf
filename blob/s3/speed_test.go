package s3_test

import (
	"crypto/rand"
	"io"
	"os"
	"testing"

	"thole.example/blob/s3"
)

// BenchmarkRealStore reads and writes an object of 256 MiB in pieces of 1 MiB, as codecs do, at the store of TestRealStore.
func BenchmarkRealStore(b *testing.B) {
	name := os.Getenv("THOLE_TEST_S3_BUCKET")
	if name == "" {
		b.Skip("THOLE_TEST_S3_BUCKET names no bucket to test with")
	}
	const size, piece = 256 << 20, 1 << 20
	bucket, err := s3.New(b.Context(), s3.Options{Bucket: name, Prefix: "test/" + rand.Text()})
	if err != nil {
		b.Fatal(err)
	}
	defer bucket.Close()
	defer bucket.Remove(b.Context(), "big")
	data := noise(piece)
	write := func(b *testing.B) {
		w, err := bucket.Create(b.Context(), "big")
		if err != nil {
			b.Fatal(err)
		}
		defer w.Abort()
		for range size / piece {
			if _, err := w.Write(data); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("write", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			write(b)
		}
	})
	for kind, piece := range map[string]int{"in order": piece, "whole": size} {
		b.Run("read "+kind, func(b *testing.B) {
			write(b)
			b.SetBytes(size)
			p := make([]byte, piece)
			for b.Loop() {
				o, err := bucket.Open(b.Context(), "big")
				if err != nil {
					b.Fatal(err)
				}
				for off := 0; off < size; off += piece {
					if _, err := o.ReadAt(p, int64(off)); err != nil && err != io.EOF {
						b.Fatal(err)
					}
				}
				o.Close()
			}
		})
	}
}
