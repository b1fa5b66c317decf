package bench

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// Result is what was measured. What does not apply, or is not known, is left out.
type Result struct {
	What     string  `json:"what"`
	Requests int     `json:"requests"`
	Rate     float64 `json:"mrows_per_s,omitempty"` // by the clock
	PerCPU   *PerCPU `json:"mrows_per_cpu_s,omitempty"`
	Bytes    float64 `json:"gb_per_s,omitempty"` // dense rows
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Max      float64 `json:"max_us"`
	Peak     int64   `json:"peak_rss_bytes,omitempty"`        // of the servers, or of this process if they are in it
	Allocs   float64 `json:"allocs_per_request"`              // of this process
	Reads    float64 `json:"reads_mrows_per_cpu_s,omitempty"` // table, where the rate is that of updates
	BytesKey float64 `json:"bytes_per_key,omitempty"`         // table
	Growth   float64 `json:"slowest_insert_us,omitempty"`     // table: of a batch
}

// PerCPU is millions of rows per second of processor time. Where both ends are in one process only Both is known.
type PerCPU struct {
	Client float64 `json:"client,omitempty"`
	Server float64 `json:"server,omitempty"`
	Both   float64 `json:"both,omitempty"`
}

// meter measures requests that are made again and again.
type meter struct {
	c      *Config
	took   []time.Duration
	start  time.Time
	client time.Duration // processor time at the start
	server time.Duration
	allocs uint64
}

// begin starts to measure.
func (c *Config) begin() *meter {
	m := &meter{c: c, took: make([]time.Duration, 0, 1<<16)}
	m.client, m.server, m.allocs = cpuTime(), c.serverTime(), mallocs()
	m.start = time.Now()
	return m
}

// more reports whether to go on.
func (m *meter) more(ctx context.Context) bool {
	return ctx.Err() == nil && time.Since(m.start).Seconds() < m.c.Seconds
}

// done counts a request that began at the time.
func (m *meter) done(began time.Time) { m.took = append(m.took, time.Since(began)) }

// result is what was measured, with that many rows a request; 0: the kind is not about rows.
func (m *meter) result(rows int) Result {
	wall := time.Since(m.start).Seconds()
	client, server := (cpuTime() - m.client).Seconds(), (m.c.serverTime() - m.server).Seconds()
	n := len(m.took)
	r := Result{What: m.c.What, Requests: n, Allocs: float64(mallocs()-m.allocs) / float64(max(1, n)), Peak: m.c.peak()}
	slices.Sort(m.took)
	if n > 0 {
		r.P50, r.P99, r.Max = micros(m.took[n/2]), micros(m.took[n*99/100]), micros(m.took[n-1])
	}
	if total := float64(n) * float64(rows) / 1e6; total > 0 {
		r.Rate, r.PerCPU = total/wall, &PerCPU{}
		if m.c.Server != nil || m.c.Apart {
			r.PerCPU.Client = per(total, client)
		}
		if m.c.Server != nil {
			r.PerCPU.Server = per(total, server)
		}
		if !m.c.Apart {
			r.PerCPU.Both = per(total, client+server)
		}
	}
	return r
}

// volume says how many bytes went by, where every request was about a dense row.
func (r *Result) volume(m *meter) {
	r.Bytes = float64(r.Requests) * float64(m.c.Cols) * 4 / 1e9 / time.Since(m.start).Seconds()
}

// per is n by seconds of processor time, 0 if the system does not tell these.
func per(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func (c *Config) serverTime() time.Duration {
	if c.Server == nil {
		return 0
	}
	cpu, _ := c.Server()
	return cpu
}

func (c *Config) peak() int64 {
	switch {
	case c.Apart:
		return 0
	case c.Server == nil:
		return peakMemory()
	}
	_, peak := c.Server()
	return peak
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
