package shard

import (
	"slices"

	"thole.example/matrix"
)

// table finds the index of a key: open addressing with linear probing over a power of two of places, at most three
// quarters full. Indices count from 0 in the order the keys were put, so slabs can grow beside it.
type table struct {
	places []int32 // index plus 1; 0: free
	keys   []int64 // by index
}

// chunk is how many keys are looked up at a time: so few that the answers stay in the nearest cache.
const chunk = 256

// absent is the index of a key that the table does not have.
const absent = -1

// find fills in the index of every key, absent for those that are not there, and counts the latter. There are chunk
// keys at most. All places are read before the first key is compared, so that the reads overlap.
func (t *table) find(keys []int64, at *[chunk]int32) (missing int) {
	if len(t.places) == 0 {
		for j := range keys {
			at[j] = absent
		}
		return len(keys)
	}
	mask := uint64(len(t.places) - 1)
	for j, key := range keys {
		at[j] = t.places[mix(uint64(key))&mask]
	}
	for j, key := range keys {
		i := at[j] - 1
		if i != absent && t.keys[i] != key {
			i = t.places[t.place(key)] - 1
		}
		if at[j] = i; i == absent {
			missing++
		}
	}
	return missing
}

// place is where the key is, or where it would be put.
func (t *table) place(key int64) uint64 {
	mask := uint64(len(t.places) - 1)
	p := mix(uint64(key)) & mask
	for t.places[p] != 0 && t.keys[t.places[p]-1] != key {
		p = (p + 1) & mask
	}
	return p
}

// put is the index of the key, a new one if it was not there. There must be room for it.
func (t *table) put(key int64) int32 {
	p := t.place(key)
	if t.places[p] == 0 {
		t.keys = append(t.keys, key)
		t.places[p] = int32(len(t.keys))
	}
	return t.places[p] - 1
}

// reserve makes room for n more keys.
func (t *table) reserve(n int) {
	size := max(16, len(t.places))
	for (len(t.keys)+n)*4 > size*3 {
		size *= 2
	}
	if size == len(t.places) {
		return
	}
	t.places = make([]int32, size)
	for i, key := range t.keys {
		t.places[t.place(key)] = int32(i + 1)
	}
}

// sorted is a new slice of the keys within the range, ascending.
func (t *table) sorted(within matrix.Range) []int64 {
	keys := make([]int64, 0, len(t.keys))
	for _, k := range t.keys {
		if within.Has(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func (t *table) bytes() int64 { return int64(4*cap(t.places) + 8*cap(t.keys)) }
