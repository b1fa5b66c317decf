//go:build unix

package hdfs

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const benchBytes = 256 << 20

// spent is the seconds of the processors that this process and the cluster have had.
func (c *cluster) spent() float64 {
	c.t.Helper()
	var wall, cluster float64
	fmt.Sscan(c.ask("cpu"), &wall, &cluster)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		c.t.Fatal(err)
	}
	return cluster + float64(own.Utime.Nano()+own.Stime.Nano())/1e9
}

// BenchmarkTransfer writes and reads 256 MiB, by this package and by the Java client, which runs in the process of the cluster and
// uses local files. cpu-s is of client and cluster together.
func BenchmarkTransfer(b *testing.B) {
	c := start(b, 3, 1)
	bucket := c.patient(b, time.Minute)
	data := noise(benchBytes)
	file := filepath.Join(b.TempDir(), "data")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		b.Fatal(err)
	}
	readAll := func(b *testing.B, name string, readers, piece int) {
		o, err := bucket.Open(b.Context(), name)
		if err != nil {
			b.Fatal(err)
		}
		defer o.Close()
		var all sync.WaitGroup
		for i := range int64(readers) {
			all.Go(func() {
				buf := make([]byte, piece)
				for at := o.Size() / int64(readers) * i; at < o.Size()/int64(readers)*(i+1); at += int64(piece) {
					if _, err := o.ReadAt(buf, at); err != nil && err != io.EOF {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	n := 0
	for _, s := range []struct {
		name  string
		bytes int64
		do    func(b *testing.B)
	}{
		{"write", benchBytes, func(b *testing.B) { n++; write(b, bucket, fmt.Sprint("w", n), data) }},
		{"of it the spool", benchBytes, func(b *testing.B) {
			w, err := bucket.Create(b.Context(), "never")
			if err != nil {
				b.Fatal(err)
			}
			defer w.Abort()
			if _, err := w.Write(data); err != nil {
				b.Fatal(err)
			}
		}},
		{"write java", benchBytes, func(b *testing.B) { n++; c.ask("put %s %s", file, bucket.path(fmt.Sprint("j", n))) }},
		{"read", benchBytes, func(b *testing.B) { readAll(b, "w1", 1, 1<<20) }},
		{"read by 4", benchBytes, func(b *testing.B) { readAll(b, "w1", 4, 1<<20) }},
		{"read java", benchBytes, func(b *testing.B) { c.ask("get %s %s", bucket.path("w1"), filepath.Join(b.TempDir(), "got")) }},
		{"read 4 KiB at random", 4 << 10, func(b *testing.B) {
			o, err := bucket.Open(b.Context(), "w1")
			if err != nil {
				b.Fatal(err)
			}
			defer o.Close()
			if _, err := o.ReadAt(make([]byte, 4<<10), rand.Int64N(benchBytes-4<<10)); err != nil {
				b.Fatal(err)
			}
		}},
		{"write 1 KiB", 1 << 10, func(b *testing.B) { n++; write(b, bucket, fmt.Sprint("s", n), data[:1<<10]) }},
		{"open 1 KiB", 1 << 10, func(b *testing.B) { readAll(b, fmt.Sprint("s", n), 1, 1<<10) }},
	} {
		b.Run(s.name, func(b *testing.B) {
			c.t = b
			b.SetBytes(s.bytes)
			before := c.spent()
			for b.Loop() {
				s.do(b)
			}
			b.ReportMetric((c.spent()-before)/float64(b.N), "cpu-s/op")
		})
	}
}
