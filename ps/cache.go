package ps

import (
	"slices"
	"sync"

	"thole.example/matrix"
	"thole.example/ssp"
)

// Local is the storage that tasks of one process share if they are given the same in their Options: the rows of their matrices
// that were pulled, each once, whoever pulled it (PSModel's hogwild). Many goroutines may use it.
type Local struct {
	mu     sync.Mutex
	caches map[sharedRows]*cache
}

// sharedRows names what is shared: the rows of one attempt are not those of another.
type sharedRows struct {
	job, matrix     string
	attempt, launch int
}

// sharedRows is the name of the matrix's rows.
func (m *Matrix) sharedRows() sharedRows {
	o := &m.c.o
	return sharedRows{job: o.Job, matrix: m.meta.Name, attempt: o.Attempt, launch: o.Launch}
}

// NewLocal is storage without rows.
func NewLocal() *Local { return &Local{caches: map[sharedRows]*cache{}} }

// Bytes is about how much the rows take that are there. A matrix has 64 MiB at most.
func (l *Local) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := int64(0)
	for _, c := range l.caches {
		total += c.bytes()
	}
	return total
}

// join is the rows of a matrix, for one user more.
func (l *Local) join(of sharedRows) *cache {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.caches[of]
	if c == nil {
		c = &cache{}
		l.caches[of] = c
	}
	c.users++
	return c
}

// leave forgets the rows of a matrix with their last user: a later job of the same name has others.
func (l *Local) leave(of sharedRows) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.caches[of]; c != nil {
		if c.users--; c.users == 0 {
			delete(l.caches, of)
		}
	}
}

// share lets the matrix use the rows that others of the process have pulled.
func (m *Matrix) share() {
	c := m.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Local == nil || c.closed {
		return
	}
	of := m.sharedRows()
	m.cache = c.o.Local.join(of)
	c.shared = append(c.shared, of)
}

// unshare gives the matrix rows of its own.
func (m *Matrix) unshare() {
	c := m.c
	c.mu.Lock()
	defer c.mu.Unlock()
	of := m.sharedRows()
	if i := slices.Index(c.shared, of); i >= 0 {
		c.shared = slices.Delete(c.shared, i, i+1)
		c.o.Local.leave(of)
		m.cache = &cache{}
	}
}

// cache keeps rows that were pulled, each with the slowest clock that it was as of. The zero value is empty.
type cache struct {
	users int // guarded by the Local that has it

	mu     sync.Mutex
	rows   map[int64]cached
	used   int64 // bytes
	forgot int   // how often
}

type cached struct {
	row   matrix.Block // is not changed
	clock int
}

// cacheBytes is how much the rows of a matrix take at most.
const cacheBytes = 64 << 20

// get is a copy of the row and its clock, if it is there and fresh enough for a reader at clock now.
func (c *cache) get(row int64, bound ssp.Bound, now int) (matrix.Block, int, bool) {
	c.mu.Lock()
	have, ok := c.rows[row]
	c.mu.Unlock()
	if !ok || !bound.Fresh(have.clock, now) {
		return matrix.Block{}, 0, false
	}
	return have.row.Clone(), have.clock, true
}

// age is how often the rows were forgotten: what was asked for before must not be put after.
func (c *cache) age() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forgot
}

// put keeps a copy of the row, unless there is a fresher one, or it was asked for in an earlier age.
func (c *cache) put(row int64, b matrix.Block, clock, age int) {
	size := rowBytes(b)
	if size > cacheBytes {
		return
	}
	kept := b.Clone()
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.rows[row]
	if age != c.forgot || ok && old.clock > clock {
		return
	}
	if ok {
		c.remove(row, old)
	}
	c.room(size, clock)
	if c.rows == nil {
		c.rows = map[int64]cached{}
	}
	c.used += size
	c.rows[row] = cached{kept, clock}
}

// room makes room for so many bytes: rows of earlier clocks go first.
func (c *cache) room(size int64, clock int) {
	for _, late := range []bool{false, true} {
		for row, have := range c.rows {
			if c.used+size <= cacheBytes {
				return
			}
			if late || have.clock < clock {
				c.remove(row, have)
			}
		}
	}
}

func (c *cache) remove(row int64, have cached) {
	c.used -= rowBytes(have.row)
	delete(c.rows, row)
}

func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.used = nil, 0
	c.forgot++
}

// forget empties the caches of the matrices, whose values have changed other than by a clock.
func forget(ms []*Matrix) {
	for _, m := range ms {
		m.cache.forget()
		m.hot.forget()
		m.c.dropAhead(func(r *reading) bool { return r.m == m })
	}
}

func (c *cache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

func rowBytes(b matrix.Block) int64 {
	const entry = 64 // about what a map's entry takes beside the values
	n := int64(b.Data.NNZ()*b.Data.DType().Size()) + entry
	if d, ok := b.Data.(matrix.Keyed); ok {
		n += 8 * int64(len(d.Keys()))
	}
	return n
}
