package kernel

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/cpu"
)

func bestLevel() level {
	switch {
	case !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasF16C:
		return plain
	case !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512DQ || !cpu.X86.HasAVX512VL:
		return avx2
	}
	return avx512
}

// fetchFar says that all rows are fetched into the second cache. Processors of Intel have few buffers for what the first one misses, and
// more behind it; on others that is faster for rows of one line alone (docs/performance.md).
var fetchFar = vendor() == "GenuineIntel"

// vendor is who made the processor.
func vendor() string {
	_, b, c, d := cpuid(0, 0)
	var name []byte
	for _, part := range []uint32{b, d, c} {
		name = binary.LittleEndian.AppendUint32(name, part)
	}
	return string(name)
}

func locateOn(on level, s *Spread, keys []int64, at []uint32) {
	n := 0
	switch on {
	case plain:
		locate(s, keys, at)
		return
	case avx512:
		if n = len(keys) &^ 7; n > 0 {
			locate512(s, &keys[0], &at[0], n)
		}
	}
	if n < len(keys) {
		locateOne(s, &keys[n], &at[n], len(keys)-n)
	}
}

// hashOn does the first keys and tells how many.
func hashOn(on level, dst []uint64, keys []int64) int {
	n := len(keys) &^ 7
	if on != avx512 || n == 0 {
		return 0
	}
	hash512(&dst[0], &keys[0], n)
	return n
}

// withinOn tells how many of the first keys are within, as far as it looks.
func withinOn(on level, keys []int64, lo int64, width uint64, bits int, top uint64) int {
	n := len(keys) &^ 7
	if on != avx512 || n == 0 {
		return 0
	}
	return within512(&keys[0], n, uint64(lo), width, uint64(bits), top)
}

// finding is what the assembly does with the rows that it finds.
type finding struct {
	stamp  *Stamp
	slab   *byte
	stride int
	fetch  int // lines of each row
	does   rowsFound
}

// rowsFound is what a search does with the rows that it finds.
type rowsFound int

const (
	rowsLeft  rowsFound = iota // nothing
	rowsStamp                  // it stamps their slots
	rowsNear                   // it fetches one line of each
	rowsLong                   // it fetches several lines of each
	rowsFar                    // it fetches any number of lines of each, into the second cache
)

func newFinding(s *Stamp, slab []byte, stride, size int) finding {
	f := finding{stamp: s, slab: unsafe.SliceData(slab), stride: stride, fetch: linesOf(stride, size)}
	switch {
	case s != nil:
		f.does = rowsStamp
	case f.fetch == 0:
	case fetchFar || f.fetch == 1 && stride <= cacheLine:
		f.does = rowsFar
	case f.fetch == 1:
		f.does = rowsNear
	default:
		f.does = rowsLong
	}
	return f
}

func (f *Finder) find(on level, lines []Line, keys []int64, at, rows, next []uint32) (missing int) {
	if on == plain {
		return find(lines, keys, at, rows, f.stamp)
	}
	for len(keys) > 0 {
		n := min(len(keys), len(next))
		if n == 0 { // there is nothing to fetch: what is looked at itself
			n, next = len(keys), at
		}
		missing += f.asm.run(on, unsafe.SliceData(lines), &keys[0], &at[0], &rows[0], &next[0], n)
		keys, at, rows, next = keys[n:], at[n:], rows[n:], next[n:]
	}
	return missing
}

func (f *finding) run(on level, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int) {
	wide := on == avx512
	switch f.does {
	case rowsStamp:
		if wide {
			return stamp512(f, lines, keys, at, rows, next, n)
		}
		return stampAVX2(f, lines, keys, at, rows, next, n)
	case rowsNear:
		if wide {
			return findNear512(f, lines, keys, at, rows, next, n)
		}
		return findNearAVX2(f, lines, keys, at, rows, next, n)
	case rowsLong:
		if wide {
			return findLong512(f, lines, keys, at, rows, next, n)
		}
		return findLongAVX2(f, lines, keys, at, rows, next, n)
	case rowsFar:
		if wide {
			return findFar512(f, lines, keys, at, rows, next, n)
		}
		return findFarAVX2(f, lines, keys, at, rows, next, n)
	}
	if wide {
		return find512(f, lines, keys, at, rows, next, n)
	}
	return findAVX2(f, lines, keys, at, rows, next, n)
}

// findNextOn does the first keys and tells how many.
func findNextOn(on level, lo, n int64, keys []int64, rows []uint32) int {
	some := len(keys) &^ 7
	if on != avx512 || some == 0 {
		return 0
	}
	findNext512(lo, n, &keys[0], &rows[0], some)
	return some
}

func fetchOn(on level, slab []byte, stride, size int, rows []uint32) {
	if on != plain {
		fetchRows(unsafe.SliceData(slab), stride, linesOf(stride, size), &rows[0], len(rows))
	}
}

// linesOf is how many lines of the cache the first bytes of a row may lie in.
func linesOf(stride, size int) int {
	if size > 0 && stride%cacheLine != 0 && cacheLine%stride != 0 { // it may begin anywhere in a line
		return (size+cacheLine-2)/cacheLine + 1
	}
	return (size + cacheLine - 1) / cacheLine
}

func gatherOn(on level, dst, slab []byte, stride, size int, rows []uint32) {
	if on == plain {
		gather(dst, slab, stride, size, rows)
		return
	}
	gatherAVX2(&dst[0], unsafe.SliceData(slab), stride, size, &rows[0], len(rows))
}

// The functions in assembly work on n elements, at least one; n is a multiple of 8 for locate512, hash512 and within512
// and, as some, for findNext512.

//go:noescape
func locateOne(s *Spread, keys *int64, at *uint32, n int)

//go:noescape
func locate512(s *Spread, keys *int64, at *uint32, n int)

//go:noescape
func hash512(dst *uint64, keys *int64, n int)

//go:noescape
func within512(keys *int64, n int, lo, width, bits, top uint64) (some int)

//go:noescape
func findAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func findNearAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func findLongAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func findFarAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func stampAVX2(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func find512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func findNear512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func findLong512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func findFar512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func stamp512(f *finding, lines *Line, keys *int64, at, rows, next *uint32, n int) (missing int)

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func findNext512(lo, n int64, keys *int64, rows *uint32, some int)

//go:noescape
func fetchRows(slab *byte, stride, lines int, rows *uint32, n int)

//go:noescape
func gatherAVX2(dst, slab *byte, stride, size int, rows *uint32, n int)
