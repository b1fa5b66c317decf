package kernel

// Sparse is a run of rows whose values stand one after the other, as in matrix.CSR. Value i, counted from the first of the
// run, goes with row At[i] of a matrix with n columns, row-major: src for what the functions read, dsrc for the gradient of it,
// which they add to. src holds, say, what was pulled for the unique columns of a batch. All slices of a Sparse are only read.
//
// The functions panic before anything is written if a place in At is no row of the matrix.
type Sparse struct {
	Ptr []int     // row r has the values Ptr[r] to Ptr[r+1]; Ptr[0] is the first of the run, and need not be 0
	At  []uint32  // for each value of the run its row of src, in any order, also again and again; nil: value i has row i
	X   []float32 // the values; nil: all are 1
}

// rows is how many rows the run has.
func (s *Sparse) rows() int { return max(len(s.Ptr)-1, 0) }

// span are the values of a row, counted from the first of the run.
func (s *Sparse) span(row int) (lo, hi int) { return s.Ptr[row] - s.Ptr[0], s.Ptr[row+1] - s.Ptr[0] }

// term is the row of src of value i, and what it is multiplied by.
func (s *Sparse) term(i int) (at int, x float32) {
	at, x = i, 1
	if s.At != nil {
		at = int(s.At[i])
	}
	if s.X != nil {
		x = s.X[i]
	}
	return at, x
}

// sparseCall is what a kernel over sparse rows works on; sparse_amd64.h says where its fields are.
type sparseCall struct {
	Sparse
	n      int       // columns of src
	src    []float32 // [places x n]
	dst    []float32 // what is written
	sums   []float32 // [rows x n]
	grad   []float32 // the gradient that comes back
	values int
	from   []uint32 // of axpyRows: for each value its row of grad
}

// check panics unless the rows are in order, every value has a place and a factor, and a has a row of n for each place. It
// reports whether there is anything to do.
func (c *sparseCall) check(a []float32) bool {
	for r := range c.rows() {
		if c.Ptr[r] > c.Ptr[r+1] {
			checkLen(c.Ptr[r+1], c.Ptr[r], "a row, which ends before it begins,")
		}
	}
	if c.rows() > 0 {
		c.values = c.Ptr[c.rows()] - c.Ptr[0]
	}
	c.checkValues(a)
	return c.rows() > 0
}

// checkValues is check of a number of values that is known.
func (c *sparseCall) checkValues(a []float32) {
	if c.n < 1 {
		checkLen(c.n, 1, "a row of src")
	}
	if c.X != nil {
		checkLen(len(c.X), c.values, "X")
	}
	if c.At == nil {
		checkLen(len(a), c.values*c.n, "src, one row for each value,")
		return
	}
	checkLen(len(c.At), c.values, "At")
	if most := largestOn(machine, c.At); c.values > 0 && int(most) >= len(a)/c.n {
		checkLen(len(a)/c.n, int(most)+1, "src, which has no row for a place,")
	}
}

// largest is the largest of numbers, 0 if there are none.
func largest(at []uint32) (most uint32) {
	for _, v := range at {
		most = max(most, v)
	}
	return most
}

// sparseKernel is a kernel over sparse rows.
type sparseKernel int

const (
	embedRows sparseKernel = iota
	embedRowsGrad
	axpyRows
	linearRows
	linearRowsGrad
	interactRows
	interactRowsGrad
	interactRowsSum
	interactRowsSumGrad
	dotRows // linearRows with one column
	dotRowsGrad
	sparseKernels
)

// sparseTable is one implementation of the kernels, for those numbers of columns that fit it. What they are called with was
// checked, and has a row, or a value for the first three.
type sparseTable struct {
	name string
	fits func(n int) bool
	run  [sparseKernels]func(*sparseCall)
}

// sparseTables lists the implementations that this machine can run, the best first; the last fits all.
func sparseTables() []sparseTable {
	return append(fastSparse(), sparseTable{"generic", func(int) bool { return true }, [sparseKernels]func(*sparseCall){
		embed, embedGrad, axpyByRow, linear, linearGrad,
		interact, interactGrad, interactSum, interactSumGrad,
		dot1, dot1Grad,
	}})
}

// onSparse are the tables, set once and never changed.
var onSparse = sparseTables()

// do runs a kernel.
func (c *sparseCall) do(k sparseKernel) {
	for i := range onSparse {
		if t := &onSparse[i]; t.fits(c.n) {
			t.run[k](c)
			return
		}
	}
}
