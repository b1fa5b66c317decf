package shard

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"thole.example/kernel"
	"thole.example/wire"
)

// slab holds rows by number. A row has its values and after them those of each slot of the rule; it keeps its number, and
// begins at a multiple of its size where that is a power of two. Row 0 stands for all columns that are absent: it has their
// values, zero at first.
type slab[T number] struct {
	mem    kernel.Memory
	val    []T        // of all rows; nil if they are packed
	rows   int        // weights of a row
	width  int        // values of a row with its slots
	stride int        // elements from row to row
	size   int        // bytes of a row
	step   int        // bytes from row to row
	packed packing[T] // nil: rows have their values as they are
	room   []T        // values of packed rows while they are changed
	used   uint32     // rows that ever were in use, and row 0
	free   []uint32   // those of them that are not, any more
	ready  int        // bytes that are prepared for writing
	soon   int        // bytes that are going to be written, one after the other
	most   int        // rows that fit; 0: any number
	paging *paging    // nil: all rows stay in memory

	hold sync.RWMutex // for reading by who reads rows beside the owner, who holds it while memory moves
}

// rowLimit is how many rows a sparse partition may have: every column that is written takes memory for all of them.
const rowLimit = 1 << 24

// How many bytes are prepared for rows that will come: a part of those in use, so that small tables stay small.
const (
	readyPart = 16
	readyMost = 4 << 20
	// soonMost is how many bytes are prepared where so many are known to come.
	soonMost = 64 << 20
)

// columnLimit is how many columns a sparse partition can hold.
const columnLimit = math.MaxUint32 - 1

// packing is how rows lie in a slab that does not have their values as they are.
type packing[T number] interface {
	size() int
	// gather copies n weights of each row, from one on, row after row.
	gather(dst []T, slab []byte, rows []uint32, from, n int)
	// load copies the weights of rows, row after row, and each of their slots, which is next values after the one before.
	load(room []T, next int, slab []byte, rows []uint32)
	// round is the way back of load after the t-th step that changed the rows, of columns with the keys. It goes to one of both
	// sides, so that changes too small to be kept are kept in the mean.
	round(room []T, next int, slab []byte, rows []uint32, keys []int64, t int64)
	// store puts the values of a row, with its slots, that were set: what is rounded goes to nearest.
	store(row []byte, val []T)
}

func newSlab[T number](rows, slots int, p packing[T]) *slab[T] {
	width := rows * (1 + slots)
	s := &slab[T]{rows: rows, width: width, packed: p, used: 1}
	if p != nil {
		s.size, s.step = p.size(), p.size()
		s.room = make([]T, max(1, min(block, chunk/max(1, width)))*width)
		return s
	}
	s.size = width * sizeOf[T]()
	s.step = strideOf(s.size)
	s.stride = s.step / sizeOf[T]()
	return s
}

// strideOf rounds the size of a row up to 16 bytes, or less where rows are smaller.
func strideOf(size int) int {
	for _, unit := range []int{1, 2, 4, 8} {
		if size <= unit {
			return unit
		}
	}
	return (size + 15) &^ 15
}

func sizeOf[T number]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// row is a row with its slots, of a slab that is not packed.
func (s *slab[T]) row(i uint32) []T { return s.val[int(i)*s.stride:][:s.width] }

// open is the values of a row with its slots, which shut puts back if they are changed.
func (s *slab[T]) open(i uint32) []T {
	if s.packed == nil {
		return s.row(i)
	}
	return s.values(s.bytesOf(i), s.width)
}

func (s *slab[T]) shut(i uint32, val []T) {
	if s.packed != nil {
		s.packed.store(s.bytesOf(i), val)
	}
}

// values is the n weights of a row of which the bytes are given, or all its n values: where they lie, or until the next row is looked at.
func (s *slab[T]) values(row []byte, n int) []T {
	val := s.room
	switch {
	case s.packed == nil:
		val, _ = wire.Numbers[T](row) // copies begin as aligned as rows do
	case n == s.width:
		s.packed.load(val, s.rows, row, firstRow)
	default:
		s.packed.gather(val[:n], row, firstRow, 0, n)
	}
	return val[:n]
}

// data is the memory of all rows as bytes.
func (s *slab[T]) data() []byte { return s.mem.Data() }

func (s *slab[T]) bytesOf(i uint32) []byte { return s.mem.Data()[int(i)*s.step:][:s.size] }

// gather copies n values of each row, from one on, to dst, row after row.
func (s *slab[T]) gather(dst []byte, rows []uint32, from, n int) {
	if s.packed == nil {
		kernel.Gather(dst, s.data()[from*sizeOf[T]():], s.step, n*sizeOf[T](), rows)
		return
	}
	val, _ := wire.Numbers[T](dst)
	s.packed.gather(val, s.data(), slices.Clone(rows), from, n) // a copy, so that the caller's can lie on its stack
}

// scatter is the way back.
func (s *slab[T]) scatter(val []T, rows []uint32, from, n int) {
	if s.packed == nil {
		kernel.Scatter(wire.View(val), s.data()[from*sizeOf[T]():], s.step, n*sizeOf[T](), rows)
		return
	}
	for j, row := range rows {
		into := s.open(row)
		copy(into[from:], val[j*n:][:n])
		s.shut(row, into)
	}
}

// fetch has the processor fetch n values of each row, from one on.
func (s *slab[T]) fetch(rows []uint32, from, n int) {
	at, size := s.extent(from, n)
	kernel.Fetch(s.data()[at:], s.step, size, rows)
}

// finder finds rows and has n values of each, from one on, be fetched.
func (s *slab[T]) finder(from, n int) kernel.Finder {
	at, size := s.extent(from, n)
	return kernel.NewFinder(nil, s.data()[at:], s.step, size)
}

// extent is about where in a row n values are, from one on, and how many bytes they take.
func (s *slab[T]) extent(from, n int) (at, size int) {
	if s.packed != nil {
		return 0, s.size * n / max(1, s.width)
	}
	return from * sizeOf[T](), n * sizeOf[T]()
}

// reserve makes memory for n rows more.
func (s *slab[T]) reserve(n int) error {
	need := int64(s.used) + int64(n)
	if s.most > 0 {
		need = min(need, int64(s.most)+1) // the others are free, or come twice
	}
	if need > columnLimit {
		return fmt.Errorf("%d columns, want at most %d in a sparse partition", need, int64(columnLimit))
	}
	size := int(need) * s.step
	if size > len(s.mem.Data()) {
		if err := s.move(func() error { return s.mem.Grow(size) }); err != nil {
			return err
		}
	}
	ahead := size + min(size/readyPart, readyMost)
	if ahead = max(ahead, min(s.soon, size+soonMost)); ahead > s.ready && s.most == 0 && s.paging == nil {
		s.mem.Ready(max(size, s.ready), ahead, false)
		s.ready = ahead
	}
	s.mem.Await(int(s.used)*s.step, size)
	return nil
}

// expect has memory for so many rows more, which will come one after the other.
func (s *slab[T]) expect(n int) error {
	size := (int(s.used) + n) * s.step
	if s.most > 0 || s.paging != nil || n > columnLimit || size <= len(s.mem.Data()) {
		return nil
	}
	s.soon = size
	return s.move(func() error { return s.mem.Grow(size) })
}

// take is a row of zeros. There must be memory for it. Rows that were given back are used again if old is true.
func (s *slab[T]) take(old bool) uint32 {
	if n := len(s.free); n > 0 && old {
		row := s.free[n-1]
		s.free = s.free[:n-1]
		s.touch(row, true)
		clear(s.bytesOf(row))
		return row
	}
	s.used++
	return s.used - 1
}

// fit gives the memory for n rows beside row 0, and their list when they are free, once and for all.
func (s *slab[T]) fit(n int) error {
	if err := s.move(func() error { return s.mem.Fit((n + 1) * s.step) }); err != nil {
		return err
	}
	s.most = n
	return nil
}

// move does something after which the memory may lie elsewhere, while nobody reads beside the owner.
func (s *slab[T]) move(f func() error) error {
	s.hold.Lock()
	defer s.hold.Unlock()
	if err := f(); err != nil {
		return err
	}
	if s.packed == nil {
		s.val, _ = wire.Numbers[T](s.mem.Data()[:len(s.mem.Data())/sizeOf[T]()*sizeOf[T]()]) // memory is aligned
	}
	return nil
}

func (s *slab[T]) give(row uint32) {
	if n := cap(s.free); n == len(s.free) && s.most > 0 {
		s.free = append(make([]uint32, 0, min(max(2*n, block), s.most)), s.free...)
	}
	s.free = append(s.free, row)
}

func (s *slab[T]) bytes() int64 {
	return int64(s.mem.Resident(int(s.used)*s.step)) + int64(4*cap(s.free)+cap(s.room)*sizeOf[T]()) + s.paging.bytes()
}
