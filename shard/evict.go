package shard

import (
	"fmt"
	"slices"
	"sort"

	"thole.example/kernel"
)

// buckets has the columns of a partition keep to a quota. Each has a rank (aging): the highest for those that were named since their
// bucket was cleared last. A bucket that is full is cleared: a part of its columns goes, those of the lowest ranks first and
// of one rank those of the smallest hashes, but none of the highest; then the others go down by one rank. So what nothing names
// goes after about as many new columns as the bucket has. All of a step's new columns come together, after the others of
// the step were named: what becomes of a column does not depend on the order in which it is named.
type buckets struct {
	most    int // columns of each
	bits    int // after those of the partition
	count   []int32
	coming  []int32 // by bucket, while room is made
	tight   []uint64
	refused []uint64

	late  []int64 // new columns that the step has named, as often as it names them
	place []place // of each
}

// place is where a delta of a step has a column.
type place struct{ delta, at int32 }

// fit gives the table the memory that its quota allows, once and for all.
func (k *keyed[T]) fit(q *quota) error {
	if q == nil {
		return nil
	}
	b := &buckets{most: q.most, bits: max(0, q.bits-k.bits)}
	b.count, b.coming = make([]int32, 1<<b.bits), make([]int32, 1<<b.bits)
	k.buckets = b
	columns := b.most << b.bits
	if columns > columnLimit-1 {
		return fmt.Errorf("a budget for %d columns of a partition, want at most %d", columns, int64(columnLimit-1))
	}
	if err := k.slab.fit(columns); err != nil {
		return err
	}
	return k.index.fit(columns, (spareLines+b.most/64)<<b.bits)
}

// bucket is that of a key.
func (k *keyed[T]) bucket(key uint64) int {
	return int(k.index.spread.Point(kernel.Hash(key)) >> (32 - k.buckets.bits))
}

// points are those of a bucket.
func (b *buckets) points(bucket int) (from, to uint64) {
	width := uint64(allPoints) >> b.bits
	return uint64(bucket) * width, uint64(bucket+1) * width
}

// tally counts a column that came, or went.
func (k *keyed[T]) tally(key uint64, by int32) {
	if k.buckets != nil {
		k.buckets.count[k.bucket(key)] += by
	}
}

// room makes room for columns that are not there, each as often as it is named, and gives those that there is none for, ascending by
// hash: of a bucket these are the last ones. Nothing is evicted unless evict is true.
func (k *keyed[T]) room(keys []int64, evict bool) (refused []uint64) {
	b := k.buckets
	b.tight, b.refused = b.tight[:0], b.refused[:0]
	for _, key := range keys {
		b.coming[k.bucket(uint64(key))]++
	}
	for _, key := range keys {
		if at := k.bucket(uint64(key)); int(b.count[at]+b.coming[at]) > b.most {
			b.tight = append(b.tight, uint64(key))
		}
	}
	for _, key := range keys {
		b.coming[k.bucket(uint64(key))] = 0
	}
	slices.SortFunc(b.tight, byHash)
	for some := slices.Compact(b.tight); len(some) > 0; {
		at, n := k.bucket(some[0]), 1
		for n < len(some) && k.bucket(some[n]) == at {
			n++
		}
		if free := b.most - int(b.count[at]); n > free && evict {
			k.clear(at, n-free)
		}
		free := min(n, b.most-int(b.count[at]))
		b.refused, some = append(b.refused, some[free:n]...), some[n:]
	}
	return b.refused
}

// clear removes columns of a bucket: some, or a part of the bucket if that is more, as far as it has such. Where columns are
// counted, those of the lowest scores go.
func (k *keyed[T]) clear(bucket, some int) {
	a, b := k.age, k.buckets
	from, to := b.points(bucket)
	var ranks [1 << kernel.StampBits]int
	k.index.visit(from, to, allStamps, func(line, at int) { ranks[a.rank(k.index.lines[line].Stamp(at))]++ })
	some = max(some, b.most>>a.part())
	a.due = a.due[:0]
	if k.counts != nil {
		k.lowest(from, to, some)
	}
	for rank := uint8(0); k.counts == nil && rank < a.top() && len(a.due) < some; rank++ {
		if ranks[rank] == 0 {
			continue
		}
		first := len(a.due)
		k.index.visit(from, to, a.of(rank), func(line, at int) { a.due = append(a.due, int64(k.index.lines[line].Key[at])) })
		if len(a.due) > some {
			slices.SortFunc(a.due[first:], func(x, y int64) int { return byHash(uint64(x), uint64(y)) })
			a.due = a.due[:some]
		}
	}
	if n := k.remove(a.due); k.life != nil {
		k.life.fate.Evicted += int64(n)
	}
	k.index.visit(from, to, allStamps, func(line, at int) {
		if v := k.index.lines[line].Stamp(at); a.rank(v) > 0 {
			k.restamp(line, at, v-1<<a.low)
		}
	})
}

// allow makes room for columns that are there or not, by evicting others if evict is true. It fails if there is none.
func (k *keyed[T]) allow(keys []int64, evict bool) error {
	b := k.buckets
	if b == nil {
		return nil
	}
	b.late = b.late[:0]
	var w walk
	for k.begin(&w, keys, makeNone); k.next(&w); {
		for j, row := range w.rows() {
			if row == 0 {
				b.late = append(b.late, keys[w.at+j])
			}
		}
	}
	if refused := k.room(b.late, evict); len(refused) > 0 {
		return fmt.Errorf("no room for column %d and %d others of %d in the budget: a bucket has %d columns, want a larger budget",
			int64(refused[0]), len(refused)-1, len(keys), b.most)
	}
	return nil
}

// decide makes the new columns that the step has named, where there is room, and forgets the others. It gives how many of them were
// made, and how many were not.
func (k *keyed[T]) decide() (made, refused int, err error) {
	b := k.buckets
	if len(b.late) == 0 {
		return 0, 0, nil
	}
	left := k.room(b.late, true)
	n := 0
	for i, key := range b.late {
		hash := kernel.Hash(uint64(key))
		at := sort.Search(len(left), func(i int) bool { return kernel.Hash(left[i]) >= hash })
		if at < len(left) && left[at] == uint64(key) {
			continue
		}
		b.late[n], b.place[n] = key, b.place[i]
		n++
	}
	b.late, b.place = b.late[:n], b.place[:n]
	before := k.index.keys
	var w walk
	for k.begin(&w, b.late, makeAll); k.next(&w); {
	}
	return k.index.keys - before, len(left), w.err
}

func (b *buckets) bytes() int64 {
	if b == nil {
		return 0
	}
	return int64(4*cap(b.count) + 4*cap(b.coming) + 8*(cap(b.tight)+cap(b.refused)+cap(b.late)+cap(b.place)))
}
