package kernel

import "unsafe"

// FieldPairs is the second order of field-aware factorization machines (Y. Juan and others, Field-aware Factorization Machines for
// CTR Prediction, 2016). A place has a vector of k numbers for each of the fields: src is [places x fields*k]. Value i of a row has
// field[i], counted as s.At is; field nil: its position in the row.
//
//	out[r] = sum over values i < j of row r of <v_i[field j], v_j[field i]> * x_i*x_j     // out: [rows]
//
// For each i, number c of the products of vectors, times x_j, is added to sum c%8 in the order of j, from 0; these, times x_i, are
// added to eight sums of the row, which are folded as those of Dot. A field outside panics before anything is written, as a place does.
func FieldPairs(out, src []float32, fields, k int, s Sparse, field []int32) {
	c := fieldCall{sparseCall: sparseCall{Sparse: s, n: fields * k, src: src, dst: out}, fields: fields, k: k, field: field}
	some := c.check()
	checkLen(len(out), c.rows(), "out")
	if some {
		fieldPairs(machine, &c)
	}
}

// FieldPairsGrad is the way back of FieldPairs: for each pair i < j of a row with gradient d, one after the other, and with
// w = (d*x_i) * x_j, dsrc gets += w * v_j[field i] for v_i[field j], then w * v_i[field j] for v_j[field i]. dsrc is as src, and must
// not overlap it.
func FieldPairsGrad(dsrc, d, src []float32, fields, k int, s Sparse, field []int32) {
	c := fieldCall{sparseCall: sparseCall{Sparse: s, n: fields * k, src: src, dst: dsrc, grad: d}, fields: fields, k: k, field: field}
	some := c.check()
	checkLen(len(dsrc), len(src), "dsrc")
	checkLen(len(d), c.rows(), "d")
	if some {
		fieldPairsGrad(machine, &c)
	}
}

// fieldCall is a call over values with fields.
type fieldCall struct {
	sparseCall
	fields, k int
	field     []int32
	row       fieldRow
}

// fieldRow has room for where the vectors of a row's values are, in bytes: the assembly takes rows that fit.
type fieldRow struct {
	at    [fieldRowValues]uint64 // of the value's place
	field [fieldRowValues]uint64 // of its field, in a place
}

const fieldRowValues = 128

// check panics unless values, their places and fields fit together. It reports whether there is anything to do.
func (c *fieldCall) check() bool {
	if c.fields < 1 || c.k < 1 {
		checkLen(min(c.fields, c.k), 1, "a row of src")
	}
	some := c.sparseCall.check(c.src)
	if c.field == nil {
		for r := range c.rows() {
			if n := c.Ptr[r+1] - c.Ptr[r]; n > c.fields {
				checkLen(n, c.fields, "a row without fields, which has more values than there are fields,")
			}
		}
		return some
	}
	checkLen(len(c.field), c.values, "field")
	numbers := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(c.field))), len(c.field)) // one below 0 is large
	if most := largestOn(machine, numbers); c.values > 0 && int64(most) >= int64(c.fields) {
		checkLen(c.fields, int(most)+1, "the fields, of which a value has another,")
	}
	return some
}

// value is where the value's vectors begin in src, its field, and its x.
func (c *fieldCall) value(row, i int) (begin, field int, x float32) {
	at, x := c.term(i)
	field = i - c.Ptr[row] + c.Ptr[0]
	if c.field != nil {
		field = int(c.field[i])
	}
	return at * c.n, field, x
}

func fieldPairs(on level, c *fieldCall) {
	for r := range c.rows() {
		if sums, ok := fieldPairsOn(on, c, r); ok {
			c.dst[r] = fold8(&sums)
			continue
		}
		var sums [8]float32
		lo, hi := c.span(r)
		for i := lo; i < hi; i++ {
			var t [8]float32
			ati, fi, xi := c.value(r, i)
			for j := i + 1; j < hi; j++ {
				atj, fj, xj := c.value(r, j)
				b := c.src[atj+fi*c.k:][:c.k]
				for l, a := range c.src[ati+fj*c.k:][:c.k] {
					t[l%8] += float32(float32(a*b[l]) * xj)
				}
			}
			for l := range t {
				sums[l] += float32(t[l] * xi)
			}
		}
		c.dst[r] = fold8(&sums)
	}
}

func fieldPairsGrad(on level, c *fieldCall) {
	for r := range c.rows() {
		if fieldPairsGradOn(on, c, r) {
			continue
		}
		lo, hi := c.span(r)
		for i := lo; i < hi; i++ {
			ati, fi, xi := c.value(r, i)
			for j := i + 1; j < hi; j++ {
				atj, fj, xj := c.value(r, j)
				w, vij, vji := float32(c.grad[r]*xi)*xj, ati+fj*c.k, atj+fi*c.k
				axpy(w, c.src[vji:][:c.k], c.dst[vij:][:c.k])
				axpy(w, c.src[vij:][:c.k], c.dst[vji:][:c.k])
			}
		}
	}
}
