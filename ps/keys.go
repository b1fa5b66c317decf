package ps

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
)

// Keys is a plan of a batch's keys: the unique ones grouped by the partitions that have them, and for each key of the
// batch its place among them. It is made once a batch by [Matrix.Plan] and used by pulls and pushes of the same keys, of
// that matrix or of another one with the same partitions.
//
// Memory is used again by the next plan made into the same Keys, so a pull must have ended before that.
type Keys struct {
	parts  *part.Map
	inputs int
	unique []int64
	groups []rpc.Group // of unique: partition of the first band, and how many
	of     []uint32    // of how many inputs each group is
	// order is the inputs by partition, each with its place among the unique keys; nil if every place is the input's own, or if
	// first says it and nobody has asked for the order.
	order []kernel.Input
	first []uint32 // of each input: which of the unique keys it is, counted as they came
	at    []uint32 // of the keys as they came: place among the unique ones

	once *Keys // the same with one input for each unique key; made when it is asked for
	from *Keys // whose once this is

	ahead []*Pull // as of the next clock, that read these keys

	memory keysMemory
}

// keysMemory is what plans reuse.
type keysMemory struct {
	unique []int64
	order  []kernel.Input
	words  []uint64 // of each input: partition in the top bits, then bits of the hash
	counts []uint32 // of each partition
	table  []uint32 // open addressing: 1 + place + base
	base   uint32   // what is not above it is of earlier plans

	// of planTable
	columns []uint32 // of each column: 1 + number of the key + last
	last    uint32   // what is not above it is of earlier plans
	once    []int64  // unique keys as they came
	first   []uint32
	at      []uint32
	groupOf []uint32 // of each place
}

// Len is the number of keys that were planned.
func (k *Keys) Len() int { return k.inputs }

// Unique is the keys without duplicates, in the order of their places. It is the plan's own slice.
func (k *Keys) Unique() []int64 { return k.unique }

// Positions appends to dst the position in Unique of each key that was planned, in their order.
func (k *Keys) Positions(dst []uint32) []uint32 {
	n := len(dst)
	dst = slices.Grow(dst, k.inputs)[:n+k.inputs]
	to := dst[n:]
	switch {
	case k.first != nil:
		at := k.at
		for i, f := range k.first {
			to[i] = at[f]
		}
	case k.order != nil:
		for i := range k.order {
			to[k.order[i].Input] = k.order[i].Position &^ kernel.Again
		}
	default:
		for i := range to {
			to[i] = uint32(i)
		}
	}
	return dst
}

// distinct is the plan of the unique keys alone: pulls and pushes with it have one input for each, in their order. It is valid
// until k is planned anew.
func (k *Keys) distinct() *Keys {
	if k.once == nil {
		k.once = &Keys{from: k}
	}
	d := k.once
	d.parts, d.inputs, d.unique, d.groups, d.of = k.parts, len(k.unique), k.unique, k.groups, d.of[:0]
	for _, g := range k.groups {
		d.of = append(d.of, g.Keys)
	}
	return d
}

// plan plans the keys for the map, whose columns are cols.
func (k *Keys) plan(parts *part.Map, cols matrix.Range, keys []int64) error {
	if err := k.begin(parts, len(keys)); err != nil {
		return err
	}
	sorted := ascending(keys)
	if sorted && parts.Bits == 0 {
		return k.planRuns(cols, keys)
	}
	if !sorted && cols.Hi-cols.Lo <= tableColumns {
		return k.planTable(cols, keys)
	}
	shift, err := k.count(cols, keys)
	if err != nil {
		return err
	}
	k.order = resize(&k.memory.order, len(keys))
	if sorted {
		k.spread(keys, shift)
		return nil
	}
	k.sort(keys, shift)
	k.merge()
	return nil
}

// begin begins a plan of n keys.
func (k *Keys) begin(parts *part.Map, n int) error {
	for len(k.ahead) > 0 {
		k.ahead[0].again = true
		k.ahead[0].drop()
	}
	if n > math.MaxInt32 {
		return fmt.Errorf("%d keys, want at most %d", n, math.MaxInt32)
	}
	k.parts, k.inputs, k.groups, k.of, k.order, k.first = parts, n, k.groups[:0], k.of[:0], nil, nil
	k.unique = resize(&k.memory.unique, n)
	return nil
}

// planGrouped plans keys of earlier plans of the map: they come in groups of one partition each. Nothing has to be counted or sorted.
func (k *Keys) planGrouped(parts *part.Map, groups []rpc.Group, keys []int64) error {
	if err := k.begin(parts, len(keys)); err != nil {
		return err
	}
	counts := resize(&k.memory.counts, parts.Beside())
	clear(counts)
	for _, g := range groups {
		counts[g.Partition] += g.Keys
	}
	at := k.starts()
	k.order = resize(&k.memory.order, len(keys))
	input := uint32(0)
	for _, g := range groups {
		to := k.order[at[g.Partition]:][:g.Keys]
		at[g.Partition] += g.Keys
		for i, key := range keys[input:][:len(to)] {
			to[i] = kernel.Input{Key: key, Input: input + uint32(i), Position: uint32(kernel.Hash(uint64(key)) << parts.Bits >> 32)}
		}
		input += g.Keys
	}
	k.merge()
	return nil
}

// ascending reports whether the keys ascend, none twice.
func ascending(keys []int64) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i] <= keys[i-1] {
			return false
		}
	}
	return true
}

// planRuns plans ascending keys for partitions that are ranges: nothing has to be moved.
func (k *Keys) planRuns(cols matrix.Range, keys []int64) error {
	if n := len(keys); n > 0 && (!cols.Has(keys[0]) || !cols.Has(keys[n-1])) {
		return outside(cols, keys)
	}
	copy(k.unique, keys)
	for i := 0; i < len(keys); {
		p := k.parts.Of(keys[i])
		end, from := k.parts.Cols[p+1], i
		for i < len(keys) && keys[i] < end {
			i++
		}
		k.group(p, uint32(i-from))
	}
	return nil
}

// group adds a group of n inputs.
func (k *Keys) group(partition int, n uint32) {
	k.groups = append(k.groups, rpc.Group{Partition: uint32(partition), Keys: n})
	k.of = append(k.of, n)
}

// outside is the error that names the first key out of the columns.
func outside(cols matrix.Range, keys []int64) error {
	for i, key := range keys {
		if !cols.Has(key) {
			return fmt.Errorf("column %d at position %d, want one in %v", key, i, cols)
		}
	}
	return nil
}

// count computes the word of each key, and how many keys each partition gets. The partition of a word is word >> shift.
func (k *Keys) count(cols matrix.Range, keys []int64) (shift int, err error) {
	beside := k.parts.Beside()
	shift = 64 - bits.Len(uint(beside-1))
	counts := resize(&k.memory.counts, beside)
	clear(counts)
	words := resize(&k.memory.words, len(keys))[:len(keys)]
	lo, width := cols.Lo, uint64(cols.Hi-cols.Lo)
	if k.parts.Bits == 0 {
		for i, key := range keys {
			if uint64(key-lo) >= width {
				return 0, outside(cols, keys)
			}
			p := k.parts.Of(key)
			counts[p]++
			words[i] = uint64(p)<<shift | kernel.Hash(uint64(key))>>(64-shift)
		}
		return shift, nil
	}
	if kernel.Within(keys, cols.Lo, cols.Hi, 0, 0) < len(keys) {
		return 0, outside(cols, keys)
	}
	kernel.Hashes(words, keys)
	mask := len(counts) - 1
	for _, h := range words {
		counts[int(h>>(shift&63))&mask]++
	}
	return shift, nil
}

// starts turns counts into where the inputs of each partition begin, and makes the groups.
func (k *Keys) starts() []uint32 {
	at, sum := k.memory.counts, uint32(0)
	for p, n := range at {
		if n > 0 {
			k.group(p, n)
		}
		at[p] = sum
		sum += n
	}
	return at
}

// spread moves keys, of which none comes twice, to their partitions.
func (k *Keys) spread(keys []int64, shift int) {
	at := k.starts()
	words, order, unique := k.memory.words[:len(keys)], k.order, k.unique
	mask := len(at) - 1
	for i, key := range keys {
		p := int(words[i]>>(shift&63)) & mask
		to := at[p]
		at[p] = to + 1
		unique[to] = key
		order[to] = kernel.Input{Key: key, Input: uint32(i), Position: to}
	}
}

// sort moves the inputs to their partitions, in the order in which they came.
func (k *Keys) sort(keys []int64, shift int) {
	at := k.starts()
	words, order := k.memory.words[:len(keys)], k.order
	for i, key := range keys {
		w := words[i]
		p := w >> shift
		to := at[p]
		at[p] = to + 1
		order[to] = kernel.Input{Key: key, Input: uint32(i), Position: uint32(w << (64 - shift) >> 32)}
	}
}

// merge finds the unique keys of each partition, in the order in which they came.
func (k *Keys) merge() {
	most := uint32(0)
	for _, n := range k.of {
		most = max(most, n)
	}
	table := k.memory.table
	if size := 1 << tableBits(most); len(table) < size {
		table = make([]uint32, size)
		k.memory.table, k.memory.base = table, 0
	}
	if k.memory.base > math.MaxUint32-uint32(k.inputs) {
		clear(table)
		k.memory.base = 0
	}
	out, from := uint32(0), uint32(0)
	for g, n := range k.of {
		begin := out
		out = k.mergeGroup(table, k.order[from:from+n], out)
		from += n
		k.groups[g].Keys = out - begin
	}
	k.memory.base += out
	k.unique = k.unique[:out]
}

// mergeGroup finds the unique keys of one partition, whose places begin at out, and answers with the place after them.
// What the table has for earlier partitions and plans is not above base + out, and counts as nothing.
func (k *Keys) mergeGroup(table []uint32, inputs []kernel.Input, out uint32) uint32 {
	size := tableBits(uint32(len(inputs)))
	down, mask := (32-size)&31, uint32(1)<<size-1
	table = table[:mask+1]
	base, unique := k.memory.base, k.unique
	old := base + out
	for i := range inputs {
		e := &inputs[i]
		for s := e.Position >> down; ; s++ {
			have := table[s&mask]
			if have <= old {
				table[s&mask] = base + out + 1
				unique[out] = e.Key
				e.Position = out
				out++
				break
			}
			if u := have - base - 1; unique[u] == e.Key {
				e.Position = u | kernel.Again
				break
			}
		}
	}
	return out
}

// tableBits is the size of the table for n keys, as a power of two: 8 to 16 slots for each as long as that fits the
// first cache, as whoever finds a slot taken has guessed wrong; 2 to 4 where there are more.
func tableBits(n uint32) int {
	return min(max(bits.Len32(2*n), min(bits.Len32(8*n), 13)), 31)
}

// resize is n elements of the memory, which grows if it has fewer. They are not cleared.
func resize[T any](memory *[]T, n int) []T {
	if cap(*memory) < n {
		*memory = make([]T, n+n/4)
	}
	*memory = (*memory)[:n]
	return *memory
}

// run is a part of a plan that one server has, in one band of rows.
type run struct {
	server   int
	groups   []rpc.Group
	lo, hi   int // places of the unique keys
	from, to int // inputs in order
}

// runs yields what the servers have in a band of the matrix's map, which cuts columns like the one of the plan: at most so many
// keys at a time, or those of one partition.
func (k *Keys) runs(parts *part.Map, band, most int) iter.Seq[run] {
	return func(yield func(run) bool) {
		offset := band * parts.Beside()
		r := run{}
		if k.first != nil && k.order == nil {
			k.arrange()
		}
		for begin := 0; begin < len(k.groups); {
			r.server = parts.Owners[offset+int(k.groups[begin].Partition)]
			end := begin
			for end < len(k.groups) && parts.Owners[offset+int(k.groups[end].Partition)] == r.server {
				if end > begin && r.hi-r.lo+int(k.groups[end].Keys) > most {
					break
				}
				r.hi += int(k.groups[end].Keys)
				r.to += int(k.of[end])
				end++
			}
			r.groups = k.groups[begin:end:end]
			if offset > 0 {
				r.groups = slices.Clone(r.groups)
				for i := range r.groups {
					r.groups[i].Partition += uint32(offset)
				}
			}
			if !yield(r) {
				return
			}
			begin, r.lo, r.from = end, r.hi, r.to
		}
	}
}

// leave gives up the memory that a server may still read: an answer to what it was asked for never came.
func (k *Keys) leave() {
	if k.from != nil {
		k.from.leave()
		k.unique, k.groups = k.from.unique, k.from.groups
		return
	}
	k.memory.unique = slices.Clone(k.unique)
	k.unique, k.groups = k.memory.unique, slices.Clone(k.groups)
}
