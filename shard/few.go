package shard

import (
	"thole.example/kernel"
	"thole.example/matrix"
)

// Few reads a few columns of each of several partitions at once: what the processor fetches for one partition overlaps with what it fetches
// for the others, where [Shard.Read] has only the columns of one to overlap. Its memory is used again. The zero value is empty.
type Few struct {
	reads []fewRead
	at    []uint32 // of each column of all reads: the line of the index where its search begins, then its row
}

type fewRead struct {
	of   *Shard
	dst  []byte
	rows matrix.Range
	keys []int64
}

// fewReader is a store whose columns are found by key. The methods are called in this order.
type fewReader interface {
	// locateFew writes for every key where its search begins, and has the processor fetch that.
	locateFew(keys []int64, at []uint32)
	// findFew replaces these by the rows of the keys, 0 of those that are not stored, and has the processor fetch the values.
	findFew(rows matrix.Range, keys []int64, at []uint32)
	// readFew copies the values.
	readFew(dst []byte, rows matrix.Range, keys []int64, at []uint32)
}

// Add adds a read, with the arguments and errors of [Shard.Read].
func (f *Few) Add(s *Shard, dst []byte, rows matrix.Range, keys []int64) error {
	if err := s.canRead(dst, rows, keys); err != nil {
		return err
	}
	f.reads = append(f.reads, fewRead{s, dst, rows, keys})
	return nil
}

// Read does all reads. The partitions must be the caller's from before it adds them until then.
func (f *Few) Read() error {
	f.at = f.at[:0]
	for i := range f.reads {
		r := &f.reads[i]
		from := len(f.at)
		for range r.keys {
			f.at = append(f.at, 0)
		}
		if s, ok := r.of.store.(fewReader); ok {
			s.locateFew(r.keys, f.at[from:])
		}
	}
	at := f.at
	for i := range f.reads {
		r := &f.reads[i]
		if s, ok := r.of.store.(fewReader); ok {
			s.findFew(r.rows, r.keys, at[:len(r.keys)])
		}
		at = at[len(r.keys):]
	}
	at = f.at
	for i := range f.reads {
		r := &f.reads[i]
		if s, ok := r.of.store.(fewReader); ok {
			s.readFew(r.dst, r.rows, r.keys, at[:len(r.keys)])
		} else {
			r.of.store.read(r.dst, r.rows, r.keys)
		}
		if err := r.of.wrap(nil); err != nil {
			return err
		}
		at = at[len(r.keys):]
	}
	return nil
}

// Reset removes all reads.
func (f *Few) Reset() {
	clear(f.reads)
	f.reads = f.reads[:0]
}

func (k *keyed[T]) locateFew(keys []int64, at []uint32) {
	for i, key := range keys {
		at[i] = uint32(k.index.line(uint64(key)))
	}
	kernel.Fetch(k.index.mem.Data(), kernel.LineBytes, kernel.LineBytes, at)
}

func (k *keyed[T]) findFew(rows matrix.Range, keys []int64, at []uint32) {
	k.findRows(keys, at)
	k.slab.fetch(at, int(rows.Lo-k.at.Rows.Lo), int(rows.Len()))
}

// findRows replaces where the search for each key begins by its row, 0 if it is not there.
func (k *keyed[T]) findRows(keys []int64, at []uint32) {
	for i, key := range keys {
		at[i] = k.index.row(int(at[i]), uint64(key))
	}
}

func (k *keyed[T]) readFew(dst []byte, rows matrix.Range, keys []int64, at []uint32) {
	from, n := int(rows.Lo-k.at.Rows.Lo), int(rows.Len())
	for len(keys) > 0 && n > 0 {
		some := min(block, len(keys))
		size := some * n * k.size
		k.fetchToFreshen(at[:some], from, n)
		k.readRows(dst[:size], rows, keys[:some], at[:some])
		dst, keys, at = dst[size:], keys[some:], at[some:]
	}
}
