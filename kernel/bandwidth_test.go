package kernel

import (
	"math"
	"testing"
	"time"
	"unsafe"
)

// wideCells is how many values the passes over memory work on, more than any cache has; they take them in chunks, as
// functions beside the data do.
const (
	wideCells = 32 << 20
	wideChunk = 16384
)

// wideArray is numbers that look like data: they are near 0, of both signs, with all their bits.
func wideArray[T Number](seed uint64) []T {
	r := random[float64](1 << 16)
	x := make([]T, wideCells)
	for i := range x {
		seed = seed*6364136223846793005 + 1442695040888963407
		x[i] = T(r[seed>>48] * 1000)
	}
	return x
}

// sinks keep what passes find from being left out.
var (
	sinkInt int
	sinkAt  []uint32
)

// chunks runs a pass over all chunks.
func chunks(pass func(lo, hi int)) {
	for lo := 0; lo < wideCells; lo += wideChunk {
		pass(lo, lo+wideChunk)
	}
}

// best is the shortest of several times of f in seconds.
func best(n int, f func()) float64 {
	least := math.Inf(1)
	for range n {
		begin := time.Now()
		f()
		least = min(least, time.Since(begin).Seconds())
	}
	return least
}

// BenchmarkMemory measures passes over memory, and in between what memory gives one core: reading, that of the fastest of
// two scans; writing, that that of the fastest of two ways to store a number all over. It reports the best speed of the pass, that
// of memory, and their ratio.
func BenchmarkMemory(b *testing.B) {
	b.Run("f32", overMemory[float32])
	b.Run("f64", overMemory[float64])
	b.Run("i64", overMemory[int64])
}

func overMemory[T Number](b *testing.B) {
	x, y := wideArray[T](1), wideArray[T](2)
	dst := make([]T, wideCells)
	size := float64(unsafe.Sizeof(x[0]))
	high := noExtremes[T]().lo
	read := func() float64 {
		return min(best(1, func() { sinkInt += NonZero(x) }), best(1, func() { sinkAt = Above(x, high, sinkAt[:0]) }))
	}
	write := func() float64 { // not zeros: some machines have a short way for them
		all := func() { Fill(dst, 1) }
		part := func() { chunks(func(lo, hi int) { fill(plain, dst[lo:hi], 1) }) }
		return min(best(1, all), best(1, part))
	}
	e := &Exact{}
	counts := make([]int64, 66)
	for _, c := range []struct {
		name    string
		streams float64
		memory  func() float64
		pass    func()
	}{
		{"sum", 1, read, func() { chunks(func(lo, hi int) { AddAll(e, x[lo:hi]) }) }},
		{"sumNewEach", 1, read, func() { chunks(func(lo, hi int) { AddAll(&Exact{}, x[lo:hi]) }) }},
		{"abs", 1, read, func() { chunks(func(lo, hi int) { AddAbs(e, x[lo:hi]) }) }},
		{"squares", 1, read, func() { chunks(func(lo, hi int) { AddSquares(e, x[lo:hi]) }) }},
		{"dot", 2, read, func() { chunks(func(lo, hi int) { AddProducts(e, x[lo:hi], y[lo:hi]) }) }},
		{"above", 1, read, func() { chunks(func(lo, hi int) { sinkAt = Above(x[lo:hi], 4400, sinkAt[:0]) }) }},
		{"aboveAbs", 1, read, func() { chunks(func(lo, hi int) { sinkAt = AboveAbs(x[lo:hi], 4400, sinkAt[:0]) }) }},
		{"minMax", 1, read, func() { chunks(func(lo, hi int) { MinMax(x[lo:hi]) }) }},
		{"nonZero", 1, read, func() { chunks(func(lo, hi int) { sinkInt += NonZero(x[lo:hi]) }) }},
		{"different", 2, read, func() { chunks(func(lo, hi int) { sinkInt += Different(x[lo:hi], y[lo:hi], 1) }) }},
		{"histogram", 1, read, func() { chunks(func(lo, hi int) { Histogram(x[lo:hi], -3000, 3000, counts) }) }},
		{"fill", 1, write, func() { Fill(dst, 3) }},
		{"fillChunks", 1, write, func() { chunks(func(lo, hi int) { Fill(dst[lo:hi], 3) }) }},
		{"clearChunks", 1, write, func() { chunks(func(lo, hi int) { clear(dst[lo:hi]) }) }},
		{"scaleInPlace", 2, read, func() { chunks(func(lo, hi int) { Affine(dst[lo:hi], dst[lo:hi], 1, 0) }) }},
		{"plusInPlace", 3, read, func() { chunks(func(lo, hi int) { Combine(Plus, x[lo:hi], x[lo:hi], y[lo:hi]) }) }},
		{"over", 4, read, func() { chunks(func(lo, hi int) { Combine(Over, dst[lo:hi], x[lo:hi], y[lo:hi]) }) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			pass, memory := math.Inf(1), math.Inf(1)
			for b.Loop() {
				memory = min(memory, c.memory())
				pass = min(pass, best(1, c.pass))
				memory = min(memory, c.memory())
			}
			bytes := c.streams * size * wideCells
			b.ReportMetric(bytes/pass/1e9, "GB/s")
			b.ReportMetric(size*wideCells/memory/1e9, "memory-GB/s")
			b.ReportMetric(bytes/pass/(size*wideCells/memory), "of-memory")
			b.ReportMetric(pass/wideCells*1e9, "ns/value")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkExactLevels measures exact sums of a chunk in the cache at every level, and value by value.
func BenchmarkExactLevels(b *testing.B) {
	b.Run("f32", exactLevels[float32])
	b.Run("f64", exactLevels[float64])
}

func exactLevels[T Float](b *testing.B) {
	x := random[T](4 * chunk)
	for _, c := range []struct {
		name string
		t    terms
	}{{"sum", valuesOf}, {"squares", productsOf}} {
		run := func(name string, add func(e *Exact)) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				e := &Exact{}
				for b.Loop() {
					add(e)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/value")
			})
		}
		for on := plain; on <= machine; on++ {
			run([]string{"plain", "avx2", "avx512"}[on], func(e *Exact) { addFloats(on, e, x, x, c.t) })
		}
		run("each", func(e *Exact) { addEach(e, x, x, c.t) })
	}
}
