package kernel

import (
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

// laps are the shortest times in seconds that a pass took over each part of the arrays. Parts are so short that many are
// measured without anything coming in between, also on a busy machine.
type laps [wideCells / lap]float64

const lap = 2 << 20

func (l *laps) run(pass func(lo, hi int)) {
	for i := range l {
		begin := time.Now()
		pass(i*lap, (i+1)*lap)
		if t := time.Since(begin).Seconds(); l[i] == 0 || t < l[i] {
			l[i] = t
		}
	}
}

func (l *laps) sum() (s float64) {
	for _, t := range l {
		s += t
	}
	return s
}

// BenchmarkMemory measures passes over memory, and in between what memory gives one core: reading, that of the faster of two
// scans; writing, that of the faster of two ways to store a number. It reports the best speed of the pass, that of memory,
// and their ratio.
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
	read := [2]func(lo, hi int){
		func(lo, hi int) { sinkInt += NonZero(x[lo:hi]) },
		func(lo, hi int) { sinkAt = Above(x[lo:hi], high, sinkAt[:0]) },
	}
	write := [2]func(lo, hi int){ // not zeros: some machines have a short way for them
		func(lo, hi int) { Fill(dst[lo:hi], 1) },
		chunks(func(lo, hi int) { fill(plain, dst[lo:hi], 1) }),
	}
	e := &Exact{}
	counts := make([]int64, 66)
	for _, c := range []struct {
		name    string
		streams float64
		memory  [2]func(lo, hi int)
		pass    func(lo, hi int)
	}{
		{"sum", 1, read, chunks(func(lo, hi int) { AddAll(e, x[lo:hi]) })},
		{"sumNewEach", 1, read, chunks(func(lo, hi int) { AddAll(&Exact{}, x[lo:hi]) })},
		{"abs", 1, read, chunks(func(lo, hi int) { AddAbs(e, x[lo:hi]) })},
		{"squares", 1, read, chunks(func(lo, hi int) { AddSquares(e, x[lo:hi]) })},
		{"dot", 2, read, chunks(func(lo, hi int) { AddProducts(e, x[lo:hi], y[lo:hi]) })},
		{"above", 1, read, chunks(func(lo, hi int) { sinkAt = Above(x[lo:hi], 4400, sinkAt[:0]) })},
		{"aboveAbs", 1, read, chunks(func(lo, hi int) { sinkAt = AboveAbs(x[lo:hi], 4400, sinkAt[:0]) })},
		{"minMax", 1, read, chunks(func(lo, hi int) { MinMax(x[lo:hi]) })},
		{"nonZero", 1, read, chunks(func(lo, hi int) { sinkInt += NonZero(x[lo:hi]) })},
		{"different", 2, read, chunks(func(lo, hi int) { sinkInt += Different(x[lo:hi], y[lo:hi], 1) })},
		{"histogram", 1, read, chunks(func(lo, hi int) { Histogram(x[lo:hi], -3000, 3000, counts) })},
		{"fill", 1, write, func(lo, hi int) { Fill(dst[lo:hi], 3) }},
		{"fillChunks", 1, write, chunks(func(lo, hi int) { Fill(dst[lo:hi], 3) })},
		{"scaleInPlace", 1, read, chunks(func(lo, hi int) { Affine(dst[lo:hi], dst[lo:hi], 1, 0) })},
		{"plusInPlace", 2, read, chunks(func(lo, hi int) { Combine(Plus, dst[lo:hi], dst[lo:hi], y[lo:hi]) })},
		{"over", 3, read, chunks(func(lo, hi int) { Combine(Over, dst[lo:hi], x[lo:hi], y[lo:hi]) })},
	} {
		b.Run(c.name, func(b *testing.B) {
			var pass laps
			var memory [2]laps
			for b.Loop() {
				memory[0].run(c.memory[0])
				pass.run(c.pass)
				memory[1].run(c.memory[1])
			}
			alone := min(memory[0].sum(), memory[1].sum())
			b.ReportMetric(c.streams*size*wideCells/pass.sum()/1e9, "GB/s")
			b.ReportMetric(size*wideCells/alone/1e9, "memory-GB/s")
			b.ReportMetric(c.streams*alone/pass.sum(), "of-memory")
			b.ReportMetric(pass.sum()/wideCells*1e9, "ns/value")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// chunks makes a pass one over chunks.
func chunks(pass func(lo, hi int)) func(lo, hi int) {
	return func(lo, hi int) {
		for ; lo < hi; lo += wideChunk {
			pass(lo, lo+wideChunk)
		}
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
