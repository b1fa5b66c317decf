package shard

import (
	"slices"

	"thole/matrix"
)

// table finds the index of a key: open addressing with linear probing over a power of two of places, at most three
// quarters full. Indices count from 0 in the order the keys were put, so slabs can grow beside it.
type table struct {
	places []int32 // index plus 1; 0: free
	keys   []int64 // by index
}

func (t *table) find(key int64) (place int, found bool) {
	mask := len(t.places) - 1
	for p := int(mix(uint64(key))) & mask; ; p = (p + 1) & mask {
		switch i := t.places[p]; {
		case i == 0:
			return p, false
		case t.keys[i-1] == key:
			return p, true
		}
	}
}

// get is the index of the key.
func (t *table) get(key int64) (int, bool) {
	if len(t.places) == 0 {
		return 0, false
	}
	p, found := t.find(key)
	if !found {
		return 0, false
	}
	return int(t.places[p]) - 1, true
}

// put is the index of the key, a new one if it was not there.
func (t *table) put(key int64) (i int, found bool) {
	if (len(t.keys)+1)*4 > len(t.places)*3 {
		t.grow()
	}
	p, found := t.find(key)
	if !found {
		t.keys = append(t.keys, key)
		t.places[p] = int32(len(t.keys))
	}
	return int(t.places[p]) - 1, found
}

func (t *table) grow() {
	t.places = make([]int32, max(16, 2*len(t.places)))
	for i, key := range t.keys {
		p, _ := t.find(key)
		t.places[p] = int32(i + 1)
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
