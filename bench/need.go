package bench

import (
	"math"

	"thole.example/optim"
)

// Need is how much memory a measurement takes, in bytes, about: what was seen of the processes, for both ends together.
type Need struct {
	Requests int64 // what is asked and sent, in this process
	Matrices int64 // in the servers, unless they are apart, with what they hold of requests
}

// Need estimates the memory before anything is done. An unknown rule counts as none.
func (c *Config) Need() Need {
	values := 4 * float64(c.Dim)
	keys, batch, cols, tasks := float64(c.Keys), float64(c.Batch), float64(c.Cols), float64(c.Tasks)
	slots := 0
	if rule, err := optim.Find(nil, c.Rule); err == nil {
		slots = rule.Slots
	}
	table := keys * (values*float64(1+slots) + besideValues)
	inTurn := batch * (8*float64(c.batchCount()) + values) // and one of gradients
	var here, there float64
	switch c.What {
	case "table":
		here, there = inTurn+batch*values, table
	case "pull":
		here, there = float64(c.Cache)+inTurn+float64(c.Depth)*batch*(values+besidePull), table+2*batch*values
	case "push":
		here, there = inTurn+float64(c.Depth)*batch*(2*values+besidePull), table+2*batch*values
		if c.Wire != "" { // what rounding loses
			here += min(keys*(values+besideValues), mostRest)
		}
	case "row":
		here, there = 4*cols, 4*cols
	case "storm":
		cell := 4.0
		if c.ByKey {
			cell = 12
		}
		here, there = 2*tasks*cols*cell, 4*cols // the deltas go to disk where there is no room
	}
	if c.Apart {
		there = 0
	}
	whole := func(v float64) int64 { return int64(min(v, math.MaxInt64/4)) }
	return Need{whole(here), whole(there)}
}

// mostRest is about how many bytes of what rounding loses are kept at most.
const mostRest = 300e6

// What there is beside the values, in bytes: of a key in a table, and of one in a request that is under way.
const (
	besideValues = 24
	besidePull   = 72
)

// batchCount is how many different batches are used in turn: fewer if they are large.
func (c *Config) batchCount() int { return min(64, max(4, 1<<24/max(1, c.Batch))) }
