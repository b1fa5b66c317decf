package shard

import (
	"fmt"
	"math"
	"unsafe"

	"thole.example/kernel"
	"thole.example/wire"
)

// slab holds rows by number. A row has its values and after them those of each slot of the rule; it keeps its number, and
// begins at a multiple of its size where that is a power of two. Row 0 stands for all columns that are absent: it has their
// values, zero at first.
type slab[T number] struct {
	mem    kernel.Memory
	val    []T
	width  int      // values of a row with its slots
	stride int      // elements from row to row
	used   uint32   // rows that ever were in use, and row 0
	free   []uint32 // those of them that are not, any more
	ready  int      // bytes that are prepared for writing
	most   int      // rows that fit; 0: any number
}

// rowLimit is how many rows a sparse partition may have: every column that is written takes memory for all of them.
const rowLimit = 1 << 24

// How many bytes are prepared for rows that will come: a part of those in use, so that small tables stay small.
const (
	readyPart = 16
	readyMost = 4 << 20
	readyStep = 1 << 20
)

// columnLimit is how many columns a sparse partition can hold.
const columnLimit = math.MaxUint32 - 1

func newSlab[T number](width int) *slab[T] {
	return &slab[T]{width: width, stride: strideOf(width*sizeOf[T]()) / sizeOf[T](), used: 1}
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

// row is a row with its slots.
func (s *slab[T]) row(i uint32) []T { return s.val[int(i)*s.stride:][:s.width] }

// data is the memory of all rows as bytes.
func (s *slab[T]) data() []byte { return s.mem.Data() }

// reserve makes memory for n rows more.
func (s *slab[T]) reserve(n int) error {
	need := int64(s.used) + int64(n)
	if s.most > 0 {
		need = min(need, int64(s.most)+1) // the others are free, or come twice
	}
	if need > columnLimit {
		return fmt.Errorf("%d columns, want at most %d in a sparse partition", need, int64(columnLimit))
	}
	size := int(need) * s.stride * sizeOf[T]()
	if size > len(s.mem.Data()) {
		if err := s.mem.Grow(size); err != nil {
			return err
		}
		s.val, _ = wire.Numbers[T](s.mem.Data()[:len(s.mem.Data())/sizeOf[T]()*sizeOf[T]()]) // memory is aligned
	}
	if ahead := size + min(size/readyPart, readyMost); ahead > s.ready && s.most == 0 {
		s.mem.Ready(max(size, s.ready), ahead+readyStep, false)
		s.ready = ahead + readyStep
	}
	return nil
}

// take is a row of zeros. There must be memory for it. Rows that were given back are used again if old is true.
func (s *slab[T]) take(old bool) uint32 {
	if n := len(s.free); n > 0 && old {
		row := s.free[n-1]
		s.free = s.free[:n-1]
		clear(s.row(row))
		return row
	}
	s.used++
	return s.used - 1
}

// fit gives the memory for n rows beside row 0, and their list when they are free, once and for all.
func (s *slab[T]) fit(n int) error {
	if err := s.mem.Fit((n + 1) * s.stride * sizeOf[T]()); err != nil {
		return err
	}
	s.val, _ = wire.Numbers[T](s.mem.Data()[:len(s.mem.Data())/sizeOf[T]()*sizeOf[T]()]) // memory is aligned
	s.most = n
	return nil
}

func (s *slab[T]) give(row uint32) {
	if n := cap(s.free); n == len(s.free) && s.most > 0 {
		s.free = append(make([]uint32, 0, min(max(2*n, block), s.most)), s.free...)
	}
	s.free = append(s.free, row)
}

func (s *slab[T]) bytes() int64 {
	return int64(s.mem.Resident(int(s.used)*s.stride*sizeOf[T]())) + int64(4*cap(s.free))
}
