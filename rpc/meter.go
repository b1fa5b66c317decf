package rpc

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Buckets is how many classes of latencies a [Measure] has: below 2.048 µs, and from there on of double the last one's bound; the
// last one has no bound.
const Buckets = 26

// leastBits is of the bound of the first bucket, 1<<leastBits nanoseconds.
const leastBits = 11

// Bound is below what the latencies of a bucket are, but for the last one.
func Bound(bucket int) time.Duration { return 1 << (leastBits + bucket) }

// Ops is how many operations there are, with OpInvalid in the place of any that is unknown.
const Ops = int(opsEnd)

// Meter counts the requests of one connection by operation: a connection writes to no memory that others write to, and whoever
// wants to know adds the meters up. The zero Meter is ready. Methods may be called by many goroutines.
type Meter struct {
	ops [Ops]atomic.Pointer[opCounts]
}

// opCounts are of one operation, from its first request on: most connections use few.
type opCounts struct {
	errors, nanos atomic.Uint64
	buckets       [Buckets]atomic.Uint64
}

func (m *Meter) of(op Op) *opCounts {
	at := &m.ops[op]
	if o := at.Load(); o != nil {
		return o
	}
	at.CompareAndSwap(nil, new(opCounts))
	return at.Load()
}

// Count counts a request that was answered, perhaps with an error, after so long.
func (m *Meter) Count(op Op, failed bool, took time.Duration) {
	if int(op) >= Ops {
		op = OpInvalid
	}
	o := m.of(op)
	o.nanos.Add(uint64(max(took, 0)))
	o.buckets[min(max(bits.Len64(uint64(max(took, 0)))-leastBits, 0), Buckets-1)].Add(1)
	if failed {
		o.errors.Add(1)
	}
}

// AddTo adds what was counted to the sum.
func (m *Meter) AddTo(sum *Measures) {
	for i := range m.ops {
		from, to := m.ops[i].Load(), &sum[i]
		if from == nil {
			continue
		}
		to.Errors += from.errors.Load()
		to.Nanos += from.nanos.Load()
		for b := range from.buckets {
			to.Buckets[b] += from.buckets[b].Load()
		}
	}
}

// Measure is what was counted of one operation.
type Measure struct {
	Errors  uint64          `json:"errors"`
	Nanos   uint64          `json:"nanos"` // of all requests together, from when they were read until they were answered
	Buckets [Buckets]uint64 `json:"buckets"`
}

// Measures are what was counted, by operation.
type Measures [Ops]Measure

// Add adds other to m.
func (m *Measures) Add(other *Measures) {
	for i := range m {
		m[i].Errors += other[i].Errors
		m[i].Nanos += other[i].Nanos
		for b := range m[i].Buckets {
			m[i].Buckets[b] += other[i].Buckets[b]
		}
	}
}

// Requests is the number of requests of all operations.
func (m *Measures) Requests() (n uint64) {
	for i := range m {
		n += m[i].Requests()
	}
	return n
}

// Requests is their number.
func (m *Measure) Requests() (n uint64) {
	for _, b := range m.Buckets {
		n += b
	}
	return n
}

// Since is what was counted after before, an earlier look; all of m if that was of another start.
func (m *Measure) Since(before *Measure) Measure {
	d := Measure{Errors: m.Errors - before.Errors, Nanos: m.Nanos - before.Nanos}
	again := m.Errors < before.Errors
	for b := range m.Buckets {
		d.Buckets[b] = m.Buckets[b] - before.Buckets[b]
		again = again || m.Buckets[b] < before.Buckets[b]
	}
	if again {
		return *m
	}
	return d
}

// Quantile is about the latency that the share q of the requests does not pass: within its bucket, whose bounds are a factor of 2
// apart, as if they were spread evenly. It is 0 without requests.
func (m *Measure) Quantile(q float64) time.Duration {
	left := q * float64(m.Requests())
	for b, n := range m.Buckets {
		if n == 0 {
			continue
		}
		if left -= float64(n); left > 0 && b < Buckets-1 && m.above(b) {
			continue
		}
		lo, hi := time.Duration(0), Bound(b)
		if b > 0 {
			lo = Bound(b - 1)
		}
		if b == Buckets-1 {
			return lo
		}
		return hi - time.Duration(max(0, -left)/float64(n)*float64(hi-lo))
	}
	return 0
}

// above reports whether there are requests in later buckets.
func (m *Measure) above(bucket int) bool {
	for _, n := range m.Buckets[bucket+1:] {
		if n > 0 {
			return true
		}
	}
	return false
}
