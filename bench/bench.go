// Package bench measures parameter servers: how many rows of a keyed matrix a client pulls or pushes, how long a dense row
// and a barrier take, and what the table alone does. Rates are given by the clock and by the processor time of both ends,
// which is what to compare on busy machines.
package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"thole.example/kernel"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Config says what to measure.
type Config struct {
	What    string      // a name of [Kinds]
	Network rpc.Network // of Servers
	Servers []string    // addresses
	Keys    int         // of the table
	Dim     int         // values of a row
	Batch   int         // keys of a request
	Depth   int         // requests under way
	Rule    string      // update rule of pushes
	Tasks   int         // of a barrier
	Cols    int64       // of a dense row
	Bound   ssp.Bound   // of a storm
	ByKey   bool        // a storm pushes the columns by their keys
	Seconds float64     // to measure
	// Server tells the processor time and the peak memory of the servers until now, if they are in processes of their own;
	// nil if they are in this one.
	Server func() (cpu time.Duration, peak int64)
	Tell   func(line string) // progress, may be nil
}

// Result is what was measured. What does not apply is left out.
type Result struct {
	What     string  `json:"what"`
	Requests int     `json:"requests"`
	Rate     float64 `json:"mrows_per_s,omitempty"` // by the clock
	PerCPU   *PerCPU `json:"mrows_per_cpu_s,omitempty"`
	Bytes    float64 `json:"gb_per_s,omitempty"` // dense rows
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Max      float64 `json:"max_us"`
	Peak     int64   `json:"peak_rss_bytes"` // of the servers, or of this process if they are in it
	Allocs   float64 `json:"allocs_per_request"`
	Reads    float64 `json:"reads_mrows_per_cpu_s,omitempty"` // table, where the rate is that of updates
	BytesKey float64 `json:"bytes_per_key,omitempty"`         // table
	Growth   float64 `json:"slowest_insert_us,omitempty"`
}

// PerCPU is millions of rows per second of processor time.
type PerCPU struct {
	Client float64 `json:"client,omitempty"`
	Server float64 `json:"server,omitempty"`
	Both   float64 `json:"both"`
}

// Kind is something that can be measured.
type Kind struct {
	Name string
	Help string
	run  func(ctx context.Context, c *Config) (Result, error)
}

// Kinds is the table of what can be measured, a new slice on every call.
func Kinds() []Kind {
	return []Kind{
		{"table", "the table of a partition alone: reads, updates and growth, without a network", table},
		{"pull", "values of keys in random order", pull},
		{"push", "gradients of keys in random order, applied by an update rule", push},
		{"row", "a whole dense row", row},
		{"barrier", "tasks that tick and wait for each other", barrier},
		{"storm", "tasks that all push a dense row at once: more than there is memory for", storm},
	}
}

// Run measures.
func Run(ctx context.Context, c Config) (Result, error) {
	for _, k := range Kinds() {
		if k.Name == c.What {
			return k.run(ctx, &c)
		}
	}
	return Result{}, fmt.Errorf("bench: %q cannot be measured, want one of table, pull, push, row, barrier, storm", c.What)
}

// batchCount is how many different batches are used in turn.
const batchCount = 64

// key is the i-th key of the table: spread over all positive numbers.
func key(i int) int64 { return int64(kernel.Hash(uint64(i)+1) >> 1) }

// batches are keys of the table in random order; some come twice.
func (c *Config) batches() [][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([][]int64, batchCount)
	for b := range all {
		all[b] = make([]int64, c.Batch)
		for i := range all[b] {
			all[b][i] = key(rng.IntN(c.Keys))
		}
	}
	return all
}

// gradients are small values for a batch.
func (c *Config) gradients() []float32 {
	g := make([]float32, c.Batch*c.Dim)
	for i := range g {
		g[i] = float32(i%13) * 1e-3
	}
	return g
}

// meter measures requests that are made again and again.
type meter struct {
	c             *Config
	took          []time.Duration
	start         time.Time
	client, serve time.Duration
	allocs        uint64
}

// begin starts to measure.
func (c *Config) begin() *meter {
	m := &meter{c: c, took: make([]time.Duration, 0, 1<<16)}
	m.client, m.serve, m.allocs = cpuTime(), c.serverTime(), mallocs()
	m.start = time.Now()
	return m
}

// more reports whether to go on.
func (m *meter) more(ctx context.Context) bool {
	return ctx.Err() == nil && time.Since(m.start).Seconds() < m.c.Seconds
}

// done notes a request that was begun at the time.
func (m *meter) done(begun time.Time) { m.took = append(m.took, time.Since(begun)) }

// result is what was measured, with that many rows a request.
func (m *meter) result(rows int) Result {
	wall := time.Since(m.start).Seconds()
	client, serve := (cpuTime() - m.client).Seconds(), (m.c.serverTime() - m.serve).Seconds()
	n := len(m.took)
	r := Result{What: m.c.What, Requests: n, Allocs: float64(mallocs()-m.allocs) / float64(max(1, n)), Peak: m.c.peak()}
	slices.Sort(m.took)
	if n > 0 {
		r.P50, r.P99, r.Max = micros(m.took[n/2]), micros(m.took[n*99/100]), micros(m.took[n-1])
	}
	if total := float64(n) * float64(rows) / 1e6; rows > 0 {
		r.Rate = total / wall
		r.PerCPU = &PerCPU{Both: total / (client + serve)}
		if m.c.Server != nil {
			r.PerCPU.Client, r.PerCPU.Server = total/client, total/serve
		}
	}
	return r
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
	if c.Server == nil {
		return peakMemory()
	}
	_, peak := c.Server()
	return peak
}

func (c *Config) tell(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, args...))
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
