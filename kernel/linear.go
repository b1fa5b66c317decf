package kernel

// Linear multiplies sparse rows with a matrix: row r of out [rows x n] += the sum over the values of row r of x times their
// row of src [places x n].
func Linear(out, src []float32, n int, s Sparse) {
	c := sparseCall{Sparse: s, n: n, src: src, dst: out}
	some := c.check(src)
	checkLen(len(out), c.rows()*n, "out")
	switch {
	case !some:
	case n == 1:
		c.do(dotRows)
	default:
		c.do(linearRows)
	}
}

// LinearGrad is the way back of Linear: each value adds x times row r of delta [rows x n], r being its row, to its row of
// dsrc [places x n], one value after the other.
func LinearGrad(dsrc, delta []float32, n int, s Sparse) {
	c := sparseCall{Sparse: s, n: n, dst: dsrc, grad: delta}
	some := c.check(dsrc)
	checkLen(len(delta), c.rows()*n, "delta")
	switch {
	case !some:
	case n == 1:
		c.do(dotRowsGrad)
	default:
		c.do(linearRowsGrad)
	}
}

func linear(c *sparseCall) {
	for r := range c.rows() {
		out := c.dst[r*c.n:][:c.n]
		for i, hi := c.span(r); i < hi; i++ {
			at, x := c.term(i)
			axpy(x, c.src[at*c.n:][:c.n], out)
		}
	}
}

func linearGrad(c *sparseCall) {
	for r := range c.rows() {
		delta := c.grad[r*c.n:][:c.n]
		for i, hi := c.span(r); i < hi; i++ {
			at, x := c.term(i)
			axpy(x, delta, c.dst[at*c.n:][:c.n])
		}
	}
}

// dot1 is Linear with one output: value i of a row goes to sum i%4.
func dot1(c *sparseCall) {
	for r := range c.rows() {
		var s [4]float32
		lo, hi := c.span(r)
		for i := lo; i < hi; i++ {
			at, x := c.term(i)
			s[(i-lo)%4] += float32(x * c.src[at])
		}
		c.dst[r] += (s[0] + s[2]) + (s[1] + s[3])
	}
}

func dot1Grad(c *sparseCall) {
	for r := range c.rows() {
		for i, hi := c.span(r); i < hi; i++ {
			at, x := c.term(i)
			c.dst[at] += float32(x * c.grad[r])
		}
	}
}
