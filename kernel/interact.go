package kernel

// The second-order interaction of factorization machines (S. Rendle, Factorization Machines, 2010, lemma 3.1): with u = x*v
// for the values of a row and their vectors v, S the sum of u and Q that of u*u, element by element,
//
//	sum over i < j of u_i*u_j = (S*S - Q)/2        its gradient for v_i is x_i * d * (S - u_i)

// Interact writes (S*S - Q)/2 of each row to out [rows x n], and S, which InteractGrad takes, to sums [rows x n]. Values are
// added one by one to S and Q, from 0. src is [places x n].
func Interact(out, sums, src []float32, n int, s Sparse) {
	forward(interactRows, out, sums, src, n, n, s)
}

// InteractSum writes the sum over columns of what Interact gives to out [rows], and S to sums [rows x n]. Column j is added to
// sum j%8, and the eight are folded as those of Sum.
func InteractSum(out, sums, src []float32, n int, s Sparse) {
	forward(interactRowsSum, out, sums, src, n, 1, s)
}

// InteractGrad is the way back of Interact: each value adds (x*d) * (S - u), d being its row's of grad [rows x n], to its row of
// dsrc [places x n], one value after the other. sums is what Interact wrote; src must be as it was, and not overlap dsrc.
func InteractGrad(dsrc, grad, sums, src []float32, n int, s Sparse) {
	backward(interactRowsGrad, dsrc, grad, sums, src, n, n, s)
}

// InteractSumGrad is the way back of InteractSum: as InteractGrad, with one d for all columns: grad [rows].
func InteractSumGrad(dsrc, grad, sums, src []float32, n int, s Sparse) {
	backward(interactRowsSumGrad, dsrc, grad, sums, src, n, 1, s)
}

func forward(k sparseKernel, out, sums, src []float32, n, outputs int, s Sparse) {
	c := sparseCall{Sparse: s, n: n, src: src, dst: out, sums: sums}
	some := c.check(src)
	checkLen(len(out), c.rows()*outputs, "out")
	checkLen(len(sums), c.rows()*n, "sums")
	if some {
		c.do(k)
	}
}

func backward(k sparseKernel, dsrc, grad, sums, src []float32, n, outputs int, s Sparse) {
	c := sparseCall{Sparse: s, n: n, src: src, dst: dsrc, sums: sums, grad: grad}
	some := c.check(src)
	checkLen(len(dsrc), len(src), "dsrc")
	checkLen(len(grad), c.rows()*outputs, "grad")
	checkLen(len(sums), c.rows()*n, "sums")
	if some {
		c.do(k)
	}
}

func interact(c *sparseCall) {
	for r := range c.rows() {
		for j := 0; j < c.n; j += strip16 {
			half := c.squares(r, j)
			copy(c.dst[r*c.n+j:(r+1)*c.n], half[:])
		}
	}
}

func interactSum(c *sparseCall) {
	for r := range c.rows() {
		var s [8]float32
		for j := 0; j < c.n; j += strip16 {
			half := c.squares(r, j)
			for k, v := range half {
				s[k%8] += v
			}
		}
		c.dst[r] = fold8(&s)
	}
}

// strip16 is how many columns are taken at a time.
const strip16 = 16

// squares writes S of the columns of a row from j on, and returns (S*S - Q)/2 of them, 0 beyond the last.
func (c *sparseCall) squares(r, j int) (half [strip16]float32) {
	sums := c.sums[r*c.n+j : (r+1)*c.n]
	sums = sums[:min(strip16, len(sums))]
	clear(sums)
	for i, hi := c.span(r); i < hi; i++ {
		at, x := c.term(i)
		for k, v := range c.src[at*c.n+j:][:len(sums)] {
			u := float32(x * v)
			sums[k] += u
			half[k] += float32(u * u)
		}
	}
	for k, s := range sums {
		half[k] = 0.5 * (float32(s*s) - half[k])
	}
	return half
}

func interactGrad(c *sparseCall) {
	for r := range c.rows() {
		d := c.grad[r*c.n:][:c.n]
		c.eachValue(r, func(x float32, sums, v, to []float32) {
			for j, s := range sums {
				to[j] += float32(float32(x*d[j]) * (s - float32(x*v[j])))
			}
		})
	}
}

func interactSumGrad(c *sparseCall) {
	for r := range c.rows() {
		d := c.grad[r]
		c.eachValue(r, func(x float32, sums, v, to []float32) {
			for j, s := range sums {
				to[j] += float32(float32(x*d) * (s - float32(x*v[j])))
			}
		})
	}
}

// eachValue calls add for the values of a row, with the row's sums, the value's vector, and where its gradient goes.
func (c *sparseCall) eachValue(r int, add func(x float32, sums, v, to []float32)) {
	sums := c.sums[r*c.n:][:c.n]
	for i, hi := c.span(r); i < hi; i++ {
		at, x := c.term(i)
		add(x, sums, c.src[at*c.n:][:c.n], c.dst[at*c.n:][:c.n])
	}
}
