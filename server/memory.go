package server

import (
	"fmt"
	"sync"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
)

// Memory bounds what the matrices of servers in one process take. Servers may share one. Its methods may be called by many
// goroutines; a nil Memory has no bound.
type Memory struct {
	Limit int64 // in bytes

	mu   sync.Mutex
	used int64
}

// Used is how many bytes matrices take now.
func (m *Memory) Used() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// take counts n bytes more, or says that they would be too many. what is named in the error.
func (m *Memory) take(n int64, what string) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > m.Limit-m.used && n > 0 {
		return fmt.Errorf("%s would take %s on this server beside %s in use, want at most %s in all: %w (--memory)",
			what, format.Bytes(n), format.Bytes(m.used), format.Bytes(m.Limit), rpc.ErrRefused)
	}
	m.used += n
	return nil
}

// fits reports whether n bytes more would be too many, without counting them.
func (m *Memory) fits(n int64, what string) error {
	if err := m.take(n, what); err != nil {
		return err
	}
	m.give(n)
	return nil
}

// give takes back n bytes.
func (m *Memory) give(n int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= n
}

// charge is bytes that are counted for a while.
type charge struct {
	*Memory
	n int64
}

func (c *charge) take(n int64, what string) error {
	err := c.Memory.take(n, what)
	if err == nil {
		c.n += n
	}
	return err
}

func (c *charge) release() { c.give(c.n) }

// need is what the partitions that are this server's take from the start.
func (o *owned) need() (int64, error) {
	var total int64
	for _, p := range o.parts.Parts {
		if p.Server != o.index {
			continue
		}
		n, err := shard.Need(&o.meta, p.At, o.rule)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
		}
		total += n // of at most 2^41 bytes each, and few
	}
	return total, nil
}

// recount makes the count of the job's bytes what its partitions take now. The caller holds the lock.
func (j *job) recount() {
	if j.memory == nil {
		return
	}
	var total int64
	for _, o := range j.matrices {
		for _, h := range o.held {
			total += h.Bytes()
		}
	}
	j.memory.give(j.bytes - total)
	j.bytes = total
}

// fits reports whether sparse partitions can take the deltas. The caller holds the lock.
func (j *job) fits(deltas []delta) error {
	if j.memory == nil {
		return nil
	}
	for _, exact := range []bool{false, true} { // near the limit it is worth while to look closer
		total, last := int64(0), matrix.Meta{}
		for _, d := range deltas {
			if d.of != nil && d.of.meta.Layout == matrix.RowSparse {
				total += min(d.to.GrowthBlock(d.block, exact), 1<<50)
				last = d.of.meta
			}
		}
		err := j.memory.fits(total, fmt.Sprintf("new columns of matrix %q", last.Name))
		if err == nil || exact {
			return err
		}
	}
	return nil
}
