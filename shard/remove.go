package shard

// remove takes columns out; those that are not there do not matter. It counts those that were.
func (k *keyed[T]) remove(keys []int64) (n int) {
	for _, key := range keys {
		line, at, ok := k.index.find(uint64(key))
		if !ok {
			continue
		}
		k.slab.need(nil, false) // for a mark's copy
		k.forget(uint64(key), k.index.lines[line].Row[at])
		row, _ := k.index.remove(uint64(key))
		k.slab.give(row)
		k.tally(uint64(key), -1)
		n++
	}
	return n
}
