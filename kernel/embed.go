package kernel

// Embed gathers the vectors of values: row i of dst [len(at) x n] becomes x[i] times row at[i] of src [places x n]. x nil: all
// ones. dst and src must not overlap.
func Embed(dst, src []float32, n int, at []uint32, x []float32) {
	c := sparseCall{Sparse: Sparse{At: at, X: x}, n: n, src: src, dst: dst, values: len(at)}
	c.checkValues(src)
	checkLen(len(dst), len(at)*n, "dst")
	if len(at) > 0 {
		c.do(embedRows)
	}
}

// EmbedGrad is the way back of Embed: row at[i] of dsrc [places x n] += x[i] times row i of g [len(at) x n], in the order of i.
func EmbedGrad(dsrc, g []float32, n int, at []uint32, x []float32) {
	c := sparseCall{Sparse: Sparse{At: at, X: x}, n: n, dst: dsrc, grad: g, values: len(at)}
	c.checkValues(dsrc)
	checkLen(len(g), len(at)*n, "g")
	if len(at) > 0 {
		c.do(embedRowsGrad)
	}
}

// AxpyRows adds rows of one matrix to rows of another: row to[i] of dst [places x n] += x[i] times row from[i] of src [rows x n], in the
// order of i. It panics before anything is written if there is no such row. dst and src must not overlap.
func AxpyRows(dst []float32, to []uint32, src []float32, from []uint32, n int, x []float32) {
	checkLen(len(from), len(to), "from")
	if len(to) == 0 {
		return
	}
	c := sparseCall{Sparse: Sparse{At: from, X: x}, n: n, values: len(to)}
	c.checkValues(src)
	c = sparseCall{Sparse: Sparse{At: to, X: x}, n: n, dst: dst, grad: src, from: from, values: len(to)}
	c.checkValues(dst)
	c.do(axpyRows)
}

func embed(c *sparseCall) {
	for i := range c.values {
		at, x := c.term(i)
		to := c.dst[i*c.n:][:c.n]
		for j, v := range c.src[at*c.n:][:c.n] {
			to[j] = x * v
		}
	}
}

func embedGrad(c *sparseCall) {
	for i := range c.values {
		at, x := c.term(i)
		axpy(x, c.grad[i*c.n:][:c.n], c.dst[at*c.n:][:c.n])
	}
}

func axpyByRow(c *sparseCall) {
	for i, from := range c.from {
		to, x := c.term(i)
		axpy(x, c.grad[int(from)*c.n:][:c.n], c.dst[to*c.n:][:c.n])
	}
}
