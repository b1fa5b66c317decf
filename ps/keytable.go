package ps

import (
	"math"

	"thole.example/kernel"
	"thole.example/matrix"
)

// tableColumns is how many columns a direct-address table has at most: 8 MB. Keys drawn evenly from more of them miss the caches
// so often that it is faster to sort them (BenchmarkPlan).
const tableColumns = 1 << 21

// planTable plans keys of few columns: a direct-address table says of each column whether the batch had it before, so that only
// unique keys are hashed and moved to their partitions. The inputs are brought in order if somebody asks for it.
func (k *Keys) planTable(cols matrix.Range, keys []int64) error {
	first := resize(&k.memory.first, len(keys))
	n, err := k.number(cols, keys, first)
	if err != nil {
		return err
	}
	unique := resize(&k.memory.once, n)
	shift, err := k.count(cols, unique)
	if err != nil {
		return err
	}
	k.unique = k.unique[:n]
	k.at = resize(&k.memory.at, n)
	at, words := k.starts(), k.memory.words
	for i, key := range unique {
		p := words[i] >> shift
		to := at[p]
		at[p] = to + 1
		k.unique[to], k.at[i] = key, to
	}
	k.first = first
	return nil
}

// number numbers the unique keys as they come: first says which one each key is. It answers with how many there are.
func (k *Keys) number(cols matrix.Range, keys []int64, first []uint32) (int, error) {
	table := k.memory.columns
	if n := int(cols.Hi - cols.Lo); len(table) < n {
		table = make([]uint32, n)
		k.memory.columns, k.memory.last = table, 0
	}
	if k.memory.last > math.MaxUint32-uint32(len(keys)) {
		clear(table)
		k.memory.last = 0
	}
	table = table[:cols.Hi-cols.Lo]
	unique := resize(&k.memory.once, len(keys))
	last, n := k.memory.last, uint32(0) // what is not above last is of earlier plans
	for i, key := range keys {
		c := uint64(key - cols.Lo)
		if c >= uint64(len(table)) {
			k.memory.last += n
			return 0, outside(cols, keys)
		}
		have := table[c]
		if have <= last {
			unique[n] = key
			n++
			have = last + n
			table[c] = have
		}
		first[i] = have - last - 1
	}
	k.memory.last += n
	return int(n), nil
}

// arrange makes the order of the inputs.
func (k *Keys) arrange() {
	groupOf := resize(&k.memory.groupOf, len(k.unique))
	at := resize(&k.memory.counts, len(k.groups))
	to := uint32(0)
	for g := range k.groups {
		for range k.groups[g].Keys {
			groupOf[to] = uint32(g)
			to++
		}
	}
	clear(k.of)
	for _, f := range k.first {
		k.of[groupOf[k.at[f]]]++
	}
	to = 0
	for g, n := range k.of {
		at[g] = to
		to += n
	}
	k.order = resize(&k.memory.order, len(k.first))
	seen := uint32(0)
	for i, f := range k.first {
		e := kernel.Input{Input: uint32(i), Position: k.at[f]}
		e.Key = k.unique[e.Position]
		to := &at[groupOf[e.Position]]
		if f < seen {
			e.Position |= kernel.Again
		} else {
			seen++
		}
		k.order[*to] = e
		*to++
	}
}
