package kernel

// eightLanes is how many numbers the vectors have.
const eightLanes = 8

// widenRowsOn widens whole vectors from the beginning of each row on, and tells how many numbers of a row that are.
func widenRowsOn(on level, r *NarrowRows, dst []float32, rows []uint32, from, n int) (done int) {
	if done = n &^ (eightLanes - 1); on == plain || done == 0 {
		return 0
	}
	switch r.As {
	case Float16:
		widenRowsF16(&dst[0], &r.Slab[2*from], r.Step, n, done, &rows[0], len(rows))
	case BFloat16:
		widenRowsBF16(&dst[0], &r.Slab[2*from], r.Step, n, done, &rows[0], len(rows))
	case Int8:
		widenRowsInt8(&dst[0], &r.Slab[from], r.Step, n, done, &rows[0], len(rows), r.N-from)
	}
	return done
}

// ditherRowsOn rounds whole vectors from the beginning of each row on, and tells how many numbers of a row that are.
func ditherRowsOn(on level, r *NarrowRows, src []float32, rows, seeds []uint32, first uint32) (done int) {
	if done = r.N &^ (eightLanes - 1); on == plain || done == 0 || r.As == Int8 && done < r.N {
		return 0
	}
	switch r.As {
	case Float16:
		ditherRowsF16(&r.Slab[0], r.Step, &src[0], r.N, done, &rows[0], &seeds[0], len(rows), first)
	case BFloat16:
		ditherRowsBF16(&r.Slab[0], r.Step, &src[0], r.N, done, &rows[0], &seeds[0], len(rows), first)
	case Int8:
		ditherRowsInt8(&r.Slab[0], r.Step, &src[0], r.N, done, &rows[0], &seeds[0], len(rows), first)
	}
	return done
}

// The functions in assembly work on count rows, at least one, and the first n numbers of each, a multiple of 8. Rows of float32s
// have width numbers.

//go:noescape
func widenRowsF16(dst *float32, slab *byte, step, width, n int, rows *uint32, count int)

//go:noescape
func widenRowsBF16(dst *float32, slab *byte, step, width, n int, rows *uint32, count int)

// widenRowsInt8 finds exponents so many bytes after the first of the numbers.
//
//go:noescape
func widenRowsInt8(dst *float32, slab *byte, step, width, n int, rows *uint32, count, exponent int)

//go:noescape
func ditherRowsF16(slab *byte, step int, src *float32, width, n int, rows, seeds *uint32, count int, first uint32)

//go:noescape
func ditherRowsBF16(slab *byte, step int, src *float32, width, n int, rows, seeds *uint32, count int, first uint32)

//go:noescape
func ditherRowsInt8(slab *byte, step int, src *float32, width, n int, rows, seeds *uint32, count int, first uint32)
