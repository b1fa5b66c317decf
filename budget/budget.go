// Package budget is the ledger of a process's bytes: what frames, queues, staged deltas, tables and saves take, against one
// total.
package budget

import "sync"

// Class is what bytes are used for.
type Class uint8

// The classes.
const (
	Frames Class = iota // requests that were read and are not done
	Queues              // answers that wait to be written
	Stage               // deltas that wait for their clock
	Tables              // partitions
	Saves               // blocks on their way to a bucket
	classes
)

// Ledger counts bytes. A nil Ledger counts nothing and has no limit.
type Ledger struct {
	mu    sync.Mutex
	total int64
	used  [classes]int64
}

// Charge is bytes that are counted in a class of a ledger. The zero Charge counts nothing.
type Charge struct {
	ledger *Ledger
	class  Class
	n      int64
}

// Release gives all of it back.
func (c *Charge) Release() {
	if c.ledger == nil {
		return
	}
	c.ledger.mu.Lock()
	c.ledger.used[c.class] -= c.n
	c.ledger.mu.Unlock()
	*c = Charge{}
}
