// Package bench measures parameter servers: how many rows of a keyed matrix a client pulls or pushes, how long a dense row
// and a barrier take, and what the table alone does. Rates are given by the clock and by the processor time of both ends,
// which is what to compare on busy machines.
package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"thole.example/kernel"
	"thole.example/rpc"
)

// Config says what to measure.
type Config struct {
	What    string      // a name of [Kinds]
	Network rpc.Network // of Servers; table needs neither
	Servers []string    // addresses
	Keys    int         // of the table
	Dim     int         // values of a row
	Batch   int         // keys of a request
	Skew    float64     // of keys: the i-th key of the table comes as often as i^-Skew says; 0: all as often
	Depth   int         // requests under way
	Rule    string      // update rule of pushes; "": deltas are added
	Wire    string      // the type as which values cross the network in pull, push and row, as in ps.Model.SetWire; "": as they are
	// Cache is the bytes of a cache of hot keys at the client in pull; 0: none. Each request draws new keys then. Staleness is for
	// how many requests a value may be used, each of which ends a clock; 0: no bound, and no clocks.
	Cache     int64
	Staleness int
	Tasks     int     // of a barrier, a storm
	Cols      int64   // of a dense row
	Async     bool    // a storm is under ASP instead of BSP
	ByKey     bool    // a storm pushes the columns by their keys
	Seconds   float64 // to measure
	// Server tells the processor time and the peak memory of the servers until now. It is nil if they are in this process,
	// or Apart.
	Server   func() (cpu time.Duration, peak int64)
	Apart    bool        // the servers are where nobody knows what they take
	Progress func(Phase) // is told what is done now, from any goroutine; may be nil
}

// Phase is what a measurement does at a time.
type Phase struct {
	Name        string
	Done, Total int           // keys; of none in all: only time passes
	Over        time.Duration // how long the phase will take, 0 if nobody knows
}

func (c *Config) tell(p Phase) {
	if c.Progress != nil {
		c.Progress(p)
	}
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
		{"storm", "tasks that all push a dense row at once, more than a small --memory has room for", storm},
	}
}

// Run measures. An error says what cannot be measured, or what went wrong; when ctx ends that is its cause.
func Run(ctx context.Context, c Config) (Result, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == c.What {
			r, err := k.run(ctx, &c)
			if err != nil {
				return Result{}, err
			}
			r.Settings = c.settings()
			return r, nil
		}
		names = append(names, k.Name)
	}
	return Result{}, fmt.Errorf("bench: %q cannot be measured, want one of %s", c.What, strings.Join(names, ", "))
}

// warm is how many requests are made before the measuring begins, if they do not take long.
const warm = 100

// key is the i-th key of the table: spread over all positive numbers.
func key(i int) int64 { return int64(kernel.Hash(uint64(i)+1) >> 1) }

// draw chooses which key of the table comes next, as Skew says (Zipf's law, as a continuous distribution by the inverse of its sums).
func (c *Config) draw(rng *rand.Rand) int {
	u, log := rng.Float64(), math.Log(float64(c.Keys+1))
	switch c.Skew {
	case 0:
		return rng.IntN(c.Keys)
	case 1:
		return min(int(math.Exp(u*log))-1, c.Keys-1)
	}
	rest := 1 - c.Skew
	return min(int(math.Exp(math.Log(1+u*(math.Exp(log*rest)-1))/rest))-1, c.Keys-1)
}

// batches are keys of the table in random order; some come twice.
func (c *Config) batches() [][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([][]int64, c.batchCount())
	for b := range all {
		all[b] = make([]int64, c.Batch)
		c.redraw(rng, all[b])
	}
	return all
}

// redrawing gives a function that draws the keys of a batch anew.
func (c *Config) redrawing() func(keys []int64) {
	rng := rand.New(rand.NewPCG(3, 4))
	return func(keys []int64) { c.redraw(rng, keys) }
}

// redraw draws keys of a batch.
func (c *Config) redraw(rng *rand.Rand, keys []int64) {
	for i := range keys {
		keys[i] = key(c.draw(rng))
	}
}

// gradients are small values for a batch.
func (c *Config) gradients() []float32 {
	g := make([]float32, c.Batch*c.Dim)
	for i := range g {
		g[i] = float32(i%13) * 1e-3
	}
	return g
}

// filling is the phase before the measuring.
const filling = "filling the table"

// fill calls insert with all keys of the table, a batch at a time.
func (c *Config) fill(ctx context.Context, insert func(keys []int64) error) error {
	c.tell(Phase{Name: filling, Total: c.Keys})
	keys := make([]int64, 0, min(c.Batch, c.Keys))
	for i := range c.Keys {
		if keys = append(keys, key(i)); len(keys) < c.Batch && i < c.Keys-1 {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := insert(keys); err != nil {
			return err
		}
		keys = keys[:0]
		c.tell(Phase{Name: filling, Done: i + 1, Total: c.Keys})
	}
	return nil
}
