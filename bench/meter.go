package bench

import (
	"context"
	"math"
	"runtime"
	"slices"
	"time"
)

// Result is what was measured. Every kind has all fields but those of Settings: what is not known, or not of the kind, is nil.
type Result struct {
	What     string   `json:"what"`
	Requests int      `json:"requests"`
	Rate     *float64 `json:"mrowsPerS"` // by the clock; a row is the values of a key, in a dense row one value; nil: barrier
	PerCPU   PerCPU   `json:"mrowsPerCpuS"`
	Bytes    *float64 `json:"gbPerS"` // row and storm
	P50      float64  `json:"p50Us"`
	P99      float64  `json:"p99Us"`
	Max      float64  `json:"maxUs"`
	Peak     *int64   `json:"peakRssBytes"`         // of the servers, or of this process if they are in it
	Allocs   float64  `json:"allocsPerRequest"`     // of this process
	Alloced  float64  `json:"allocBytesPerRequest"` // of this process
	Reads    *float64 `json:"readsMrowsPerCpuS"`    // table, where the rate is that of updates
	BytesKey *float64 `json:"bytesPerKey"`          // table
	Growth   *float64 `json:"slowestInsertUs"`      // table: of a batch
	Wire     *float64 `json:"wireBytesPerRequest"`  // pull: keys and values, both ways
	Hits     *float64 `json:"cacheHits"`            // pull with a cache: share of the different keys of a request
	Settings Settings `json:"settings"`
}

// PerCPU is millions of rows per second of processor time, nil where that is not known: where both ends are in one process
// only Both is, where the servers are apart only Client.
type PerCPU struct {
	Client *float64 `json:"client"`
	Server *float64 `json:"server"`
	Both   *float64 `json:"both"`
}

// meter measures requests that are made again and again.
type meter struct {
	c      *Config
	took   []time.Duration
	start  time.Time
	client time.Duration // processor time at the start
	server time.Duration
	allocs heap
	what   string // the phase that measures
	warm   int    // how many requests still warm up
	least  int    // how many are made whatever they take
}

// heap is what a process has allocated until now.
type heap struct{ objects, bytes uint64 }

// begin starts to measure.
func (c *Config) begin() *meter {
	m := &meter{c: c, took: make([]time.Duration, 0, 1<<16)}
	m.client, m.server, m.allocs = cpuTime(), c.serverTime(), allocated()
	m.start = time.Now()
	return m
}

// warmUp starts to make requests that are not measured: so many, but for half of the time at most. The phase that measures
// has a name; depth is how many requests are under way.
func (c *Config) warmUp(n, depth int, what string) *meter {
	c.tell(Phase{Name: "warming up"})
	m := c.begin()
	m.what, m.warm, m.least = what, n, depth
	return m
}

// more reports whether to make another request. When it is enough to be warm, it starts to measure.
func (m *meter) more(ctx context.Context) bool {
	passed := time.Since(m.start).Seconds()
	switch {
	case ctx.Err() != nil:
		return false
	case m.warm > 0 && (len(m.took) < m.least || passed < m.c.Seconds/2):
		m.warm--
		return true
	case m.what != "":
		m.c.tell(Phase{Name: m.what, Over: time.Duration(min(m.c.Seconds*float64(time.Second), math.MaxInt64))})
		least := m.least
		*m = *m.c.begin()
		m.least = least
		return true
	}
	return len(m.took) < m.least || passed < m.c.Seconds
}

// done counts a request that began at the time.
func (m *meter) done(began time.Time) { m.took = append(m.took, time.Since(began)) }

// result is what was measured, with that many rows a request; 0: the kind is not about rows.
func (m *meter) result(rows int64) Result {
	wall := time.Since(m.start).Seconds()
	client, server := (cpuTime() - m.client).Seconds(), (m.c.serverTime() - m.server).Seconds()
	heap, n := allocated(), len(m.took)
	r := Result{What: m.c.What, Requests: n, Peak: m.c.peak()}
	r.Allocs = float64(heap.objects-m.allocs.objects) / float64(max(1, n))
	r.Alloced = float64(heap.bytes-m.allocs.bytes) / float64(max(1, n))
	slices.Sort(m.took)
	if n > 0 {
		r.P50, r.P99, r.Max = micros(m.took[n/2]), micros(m.took[n*99/100]), micros(m.took[n-1])
	}
	if rows == 0 {
		return r
	}
	total := float64(n) * float64(rows) / 1e6
	r.Rate = per(total, wall)
	if m.c.Server != nil || m.c.Apart {
		r.PerCPU.Client = per(total, client)
	}
	if m.c.Server != nil {
		r.PerCPU.Server = per(total, server)
	}
	if !m.c.Apart {
		r.PerCPU.Both = per(total, client+server)
	}
	return r
}

// dense is result where every request is about a whole dense row: each of its values counts as a row.
func (m *meter) dense() Result {
	r := m.result(m.c.Cols)
	if r.Rate != nil {
		r.Bytes = new(*r.Rate * 4 / 1e3)
	}
	return r
}

// per is n by seconds, nil if the system does not tell these.
func per(n, seconds float64) *float64 {
	if seconds <= 0 {
		return nil
	}
	return new(n / seconds)
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func (c *Config) serverTime() time.Duration {
	if c.Server == nil {
		return 0
	}
	cpu, _ := c.Server()
	return cpu
}

// peak is nil where nobody knows it.
func (c *Config) peak() *int64 {
	var n int64
	switch {
	case c.Apart:
		return nil
	case c.Server == nil:
		n = peakMemory()
	default:
		_, n = c.Server()
	}
	if n == 0 {
		return nil
	}
	return &n
}

func allocated() heap {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap{objects: m.Mallocs, bytes: m.TotalAlloc}
}
