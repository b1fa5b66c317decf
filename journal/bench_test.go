package journal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkAppend appends records and waits for each, by several goroutines.
func BenchmarkAppend(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		for _, size := range []int{100, 4 << 10, 64 << 10, 1 << 20} {
			for _, appenders := range []int{1, 4, 16} {
				b.Run(fmt.Sprintf("nosync=%v/%d/%d", noSync, size, appenders), func(b *testing.B) {
					l := open(b, Dir(b.TempDir()), Options{NoSync: noSync, Segment: defaultSegment})
					b.SetBytes(int64(size))
					b.ReportAllocs()
					appendAll(b, l, size, appenders, 1)
				})
			}
		}
	}
}

// BenchmarkPipeline appends without waiting but for what the queue holds.
func BenchmarkPipeline(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := open(b, Dir(b.TempDir()), Options{Segment: defaultSegment})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			appendAll(b, l, size, 1, 1<<62)
		})
	}
}

// appendAll appends b.N records; each appender waits after so many.
func appendAll(b *testing.B, l *Log, size, appenders, every int) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range appenders {
		wg.Go(func() {
			vec := [][]byte{make([]byte, size)}
			ctx := context.Background()
			for n := 1; left.Add(-1) >= 0; n++ {
				end, err := l.Append(ctx, vec, 1)
				if err == nil && n%every == 0 {
					err = l.Wait(ctx, end)
				}
				if err != nil {
					b.Error(err)
					return
				}
				if before := uint64(1 << 30); n%1000 == 0 && end > before {
					if err := l.Truncate(end - before); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := l.Wait(context.Background(), l.End()); err != nil {
		b.Error(err)
	}
}

// BenchmarkRead reads records of 4 KiB that are in the system's memory.
func BenchmarkRead(b *testing.B) {
	const records, size = 10000, 4 << 10
	l := open(b, Dir(b.TempDir()), Options{NoSync: true, Segment: defaultSegment})
	for range records {
		if _, err := l.Append(b.Context(), [][]byte{make([]byte, size)}, 1); err != nil {
			b.Fatal(err)
		}
	}
	wait(b, l)
	b.SetBytes(records * size)
	for b.Loop() {
		r, err := l.Read(0)
		if err != nil {
			b.Fatal(err)
		}
		for range records {
			if _, err := r.Next(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
