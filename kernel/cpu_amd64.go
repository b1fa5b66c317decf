package kernel

import (
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

func locateOn(on level, s *Spread, lines []Line, keys []int64, at []uint32) {
	n := 0
	switch on {
	case plain:
		locate(s, keys, at)
		return
	case avx512:
		if n = len(keys) &^ 7; n > 0 {
			locate512(s, unsafe.SliceData(lines), &keys[0], &at[0], n)
		}
	}
	if n < len(keys) {
		locateOne(s, unsafe.SliceData(lines), &keys[n], &at[n], len(keys)-n)
	}
}

func findOn(on level, lines []Line, keys []int64, at, rows []uint32, s *Stamp) int {
	switch {
	case on == plain:
		return find(lines, keys, at, rows, s)
	case on == avx512 && s != nil:
		return stamp512(unsafe.SliceData(lines), &keys[0], &at[0], &rows[0], len(keys), s)
	case on == avx512:
		return find512(unsafe.SliceData(lines), &keys[0], &at[0], &rows[0], len(keys), nil)
	case s != nil:
		return stampAVX2(unsafe.SliceData(lines), &keys[0], &at[0], &rows[0], len(keys), s)
	}
	return findAVX2(unsafe.SliceData(lines), &keys[0], &at[0], &rows[0], len(keys), nil)
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
	lines := (size + cacheLine - 1) / cacheLine
	if stride%cacheLine != 0 && cacheLine%stride != 0 {
		lines = (size+cacheLine-2)/cacheLine + 1 // a row may begin anywhere in a line
	}
	if on != plain {
		fetchRows(unsafe.SliceData(slab), stride, lines, &rows[0], len(rows))
	}
}

func gatherOn(on level, dst, slab []byte, stride, size int, rows []uint32) {
	if on == plain {
		gather(dst, slab, stride, size, rows)
		return
	}
	gatherAVX2(&dst[0], unsafe.SliceData(slab), stride, size, &rows[0], len(rows))
}

// The functions in assembly work on n elements, at least one; n is a multiple of 8 for locate512
// and, as some, for findNext512.

//go:noescape
func locateOne(s *Spread, lines *Line, keys *int64, at *uint32, n int)

//go:noescape
func locate512(s *Spread, lines *Line, keys *int64, at *uint32, n int)

//go:noescape
func findAVX2(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)

//go:noescape
func find512(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)

//go:noescape
func stampAVX2(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)

//go:noescape
func stamp512(lines *Line, keys *int64, at, rows *uint32, n int, s *Stamp) (missing int)

//go:noescape
func findNext512(lo, n int64, keys *int64, rows *uint32, some int)

//go:noescape
func fetchRows(slab *byte, stride, lines int, rows *uint32, n int)

//go:noescape
func gatherAVX2(dst, slab *byte, stride, size int, rows *uint32, n int)
