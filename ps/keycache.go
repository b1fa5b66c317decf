package ps

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/ssp"
	"thole.example/wire"
)

// keyCache keeps the values of hot keys that a task pulled. A pull asks the servers for the other keys alone.
//
// Each value carries the clock as of which it is. Under BSP and SSP a pull uses it as long as the bound allows; the task's own pushes
// become visible with their clock, as without a cache. Under ASP a pull uses values of the last clocks of the task, as many as the
// staleness says. A change that comes without a clock (Flush and the like) drops the keys that it pushes.
//
// A full cache replaces values by how often keys are used. A resident key counts its uses; a sketch counts the other keys. A key gets in
// if it was used more often than the least used of some residents, which leaves. All counts are halved from time to time, so that keys
// that were hot once leave.
//
//	one record of the slab, in words of 8 bytes
//	0    key
//	1    asOf (low half): slowest clock of the values; since (high half): the task's clock when it asked
//	2    number of the pull that asked
//	3... values of all rows
//
// It belongs to its client's goroutine.
type keyCache struct {
	clocks int // staleness under ASP
	lump   int // bytes of a key's values
	stride int // words of a record
	most   int // records

	slab  []uint64
	uses  []uint8  // of each record
	index []uint64 // open addressing: tag of the hash in the high half, 1 + number of the record in the low half
	shift int      // of a hash, to its place in index
	used  int      // records
	hand  int      // where the search for a victim begins
	seen  sketch   // of keys that are not here
	count int      // of uses until the counts are halved

	asked uint64 // number of the last pull
	from  uint64 // pulls up to that number must not put what they bring
	stats CacheStats

	spare []*cachedPull // not in use, for pulls to come
}

// CacheStats are counts of the keys that pulls needed, each once a pull.
type CacheStats struct {
	Hits   int64 // came from the cache
	Misses int64 // came from the servers
	Keys   int   // are in the cache now
	Bytes  int64 // that the cache takes at most
}

const (
	headWords = 3 // of a record
	// besideRecord is the bytes of a record outside of the slab: its count, two to four words of the index, one of the sketch.
	besideRecord = 1 + 4*8 + 8
	victims      = 16 // residents of which the least used leaves
	halving      = 16 // uses per record between two halvings
	leastRecords = victims
)

// newKeyCache is nil if there is no room for any records.
func newKeyCache(bytes int64, clocks, lump int) *keyCache {
	stride := headWords + (lump+7)/8
	most := min(bytes/int64(8*stride+besideRecord), math.MaxInt32)
	if most < leastRecords {
		return nil
	}
	c := &keyCache{clocks: clocks, lump: lump, stride: stride, most: int(most)}
	slots := bits.Len(uint(2*c.most - 1))
	c.slab = make([]uint64, c.most*stride)
	c.uses = make([]uint8, c.most)
	c.index = make([]uint64, 1<<slots)
	c.shift = 64 - slots
	c.seen = newSketch(c.most)
	c.stats.Bytes = int64(8*len(c.slab) + len(c.uses) + 8*len(c.index) + 8*len(c.seen.words))
	return c
}

// hash is that of a key in the cache: keys of one partition share the top bits of kernel.Hash, which chose it.
func (c *keyCache) hash(key int64) uint64 { return kernel.Hash(uint64(key)) * 0x9e3779b97f4a7c15 }

// tag is the half of an entry of the index that tells hashes apart.
func tag(h uint64) uint64 { return h << 32 }

// find is where the index has the key, and its record; -1: it is not here, and belongs there.
func (c *keyCache) find(key int64, h uint64) (at, record int) {
	mask := len(c.index) - 1
	for at = int(h >> c.shift); ; at = (at + 1) & mask {
		e := c.index[at]
		if e == 0 {
			return at, -1
		}
		if e&^math.MaxUint32 == tag(h) {
			if record = int(uint32(e)) - 1; c.slab[record*c.stride] == uint64(key) {
				return at, record
			}
		}
	}
}

// record is the words of one.
func (c *keyCache) record(i int) []uint64 { return c.slab[i*c.stride : (i+1)*c.stride] }

// clocksOf are the clocks of a record.
func clocksOf(rec []uint64) (asOf, since int) { return int(int32(rec[1])), int(int32(rec[1] >> 32)) }

// fresh reports whether values of these clocks may be used by a reader at the clock.
func (c *keyCache) fresh(bound ssp.Bound, asOf, since, clock int) bool {
	if bound == ssp.ASP {
		return since >= clock-c.clocks
	}
	return bound.Fresh(asOf, clock)
}

// use counts a use.
func (c *keyCache) use(record int) {
	if c.uses[record] < math.MaxUint8 {
		c.uses[record]++
	}
}

// age halves all counts when there were many uses.
func (c *keyCache) age(uses int) {
	if c.count += uses; c.count < halving*c.most {
		return
	}
	c.count = 0
	for i := range c.uses {
		c.uses[i] >>= 1
	}
	c.seen.halve()
}

// put keeps the values of a key that a pull brought, which was used so often, unless it has later ones or keys that are used more.
func (c *keyCache) put(key int64, values []byte, asOf, since int, asked uint64, uses uint8) {
	if asked <= c.from {
		return
	}
	h := c.hash(key)
	at, i := c.find(key, h)
	switch {
	case i >= 0:
		if have, _ := clocksOf(c.record(i)); c.record(i)[2] > asked || have > asOf {
			return
		}
	case c.used < c.most:
		i = c.used
		c.used++
		c.uses[i] = uses
		c.index[at] = tag(h) | uint64(i+1)
	default:
		if i = c.victim(uses); i < 0 {
			return
		}
		old := int64(c.record(i)[0])
		c.seen.raise(c.hash(old), c.uses[i])
		c.unlink(old)
		c.uses[i] = uses
		at, _ = c.find(key, h) // entries may have moved
		c.index[at] = tag(h) | uint64(i+1)
	}
	rec := c.record(i)
	rec[0], rec[1], rec[2] = uint64(key), uint64(uint32(asOf))|uint64(uint32(since))<<32, asked
	copy(wire.View(rec[headWords:]), values)
}

// victim is the least used of some residents, if it was used less than that; else -1.
func (c *keyCache) victim(uses uint8) int {
	least, at := uses, -1
	for range min(victims, c.used) {
		if c.hand++; c.hand >= c.used {
			c.hand = 0
		}
		if u := c.uses[c.hand]; u < least {
			least, at = u, c.hand
		}
	}
	return at
}

// unlink takes a key out of the index. Entries after it move up, so that searches find them.
func (c *keyCache) unlink(key int64) {
	at, _ := c.find(key, c.hash(key))
	mask := len(c.index) - 1
	for next := (at + 1) & mask; ; next = (next + 1) & mask {
		e := c.index[next]
		if e == 0 {
			break
		}
		home := int(c.hash(int64(c.slab[(int(uint32(e))-1)*c.stride])) >> c.shift)
		if (next-home)&mask >= (next-at)&mask {
			c.index[at] = e
			at = next
		}
	}
	c.index[at] = 0
}

// drop takes out keys that were changed: what pulls under way bring of them is not kept either.
func (c *keyCache) drop(keys []int64) {
	c.from = c.asked
	for _, key := range keys {
		_, i := c.find(key, c.hash(key))
		if i < 0 {
			continue
		}
		c.seen.raise(c.hash(key), c.uses[i])
		c.unlink(key)
		c.used--
		if i == c.used {
			continue
		}
		last := int64(c.record(c.used)[0])
		at, _ := c.find(last, c.hash(last))
		c.index[at] = c.index[at]&^math.MaxUint32 | uint64(i+1)
		copy(c.record(i), c.record(c.used))
		c.uses[i] = c.uses[c.used]
	}
}

// forget empties the cache; what pulls under way bring is not kept. Keys keep their counts.
func (c *keyCache) forget() {
	if c == nil {
		return
	}
	for i := range c.used {
		c.seen.raise(c.hash(int64(c.record(i)[0])), c.uses[i])
	}
	c.from, c.used, c.hand = c.asked, 0, 0
	clear(c.index)
}

// SetCache sets the cache of hot keys, as [Model.SetCache] does. The cache begins empty.
func (m *Matrix) SetCache(bytes int64, staleness int) error {
	if err := m.c.begin(context.Background(), "change of the cache", m); err != nil {
		return err
	}
	defer m.c.end()
	if m.c.follows {
		return fmt.Errorf("ps: matrix %s: a reader of job %q has no clock, want no cache", m.meta.Name, m.c.o.Job)
	}
	return m.setCache(bytes, staleness)
}

func (m *Matrix) setCache(bytes int64, staleness int) error {
	if err := checkCache(bytes, staleness); err != nil {
		return fmt.Errorf("ps: matrix %s: %w", m.meta.Name, err)
	}
	if m.hot = nil; bytes == 0 {
		return nil
	}
	lump, ok := matrix.Cells(m.meta.Rows, int64(m.meta.DType.Size()))
	if ok && lump < bytes {
		m.hot = newKeyCache(bytes, staleness, int(lump))
	}
	if m.hot == nil {
		return fmt.Errorf("ps: matrix %s: a cache of %d bytes has no room for %d keys of %d values, want more bytes",
			m.meta.Name, bytes, leastRecords, m.meta.Rows)
	}
	return nil
}

// CacheStats are those of the matrix's cache of hot keys since it was set; zero without one.
func (m *Matrix) CacheStats() CacheStats {
	if m.hot == nil {
		return CacheStats{}
	}
	s := m.hot.stats
	s.Keys = m.hot.used
	return s
}

// checkCache tells why a cache cannot have the settings.
func checkCache(bytes int64, staleness int) error {
	if bytes < 0 || staleness < 0 || staleness > math.MaxInt32 {
		return fmt.Errorf("cache of %d bytes with staleness %d, want 0 or more", bytes, staleness)
	}
	return nil
}
