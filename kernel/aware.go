package kernel

// Aware is the values of one example of a field-aware factorization machine. Value i has the row of the vectors that begins at
// element Row[i]; in it the vector for the field of value j begins at element Field[j]. X is the values.
type Aware struct {
	Row, Field []int
	X          []float32
}

// check panics unless all vectors of n numbers lie within size elements.
func (a *Aware) check(n, size int) {
	want(len(a.Field), len(a.Row), "Field")
	want(len(a.X), len(a.Row), "X")
	row, field := 0, 0
	for i := range a.Row {
		if a.Row[i] < 0 || a.Field[i] < 0 {
			want(min(a.Row[i], a.Field[i]), 0, "a place, which is below 0,")
		}
		row, field = max(row, a.Row[i]), max(field, a.Field[i])
	}
	if len(a.Row) > 0 && (n < 1 || row+field+n > size) {
		want(size, row+field+n, "vectors")
	}
}

// AwareDots is the sum over pairs i < j of values of <v_i[f_j], v_j[f_i]> * x_i*x_j, vectors being n numbers. Products of number c
// of vectors, each times x_i*x_j, go to sum c%4 one by one, pairs in the order (0,1), (0,2), ...; the 4 are folded as
// (0+2) + (1+3).
func AwareDots(v []float32, n int, a *Aware) float32 {
	a.check(n, len(v))
	return awareDotsOn(machine, v, n, a)
}

// AwareDotsGrad is the way back of AwareDots: for each pair dv_i[f_j] += g*x_i*x_j * v_j[f_i] and the other way round, pairs in
// their order. dv is as v, and must not overlap it.
func AwareDotsGrad(dv, v []float32, n int, a *Aware, g float32) {
	a.check(n, len(v))
	want(len(dv), len(v), "dv")
	awareDotsGradOn(machine, dv, v, n, a, g)
}

func awareDots(v []float32, n int, a *Aware) float32 {
	var s [4]float32
	for i, row := range a.Row {
		for j := i + 1; j < len(a.Row); j++ {
			xx := a.X[i] * a.X[j]
			p, q := v[row+a.Field[j]:][:n], v[a.Row[j]+a.Field[i]:][:n]
			for c, w := range p {
				s[c%4] += float32(float32(w*q[c]) * xx)
			}
		}
	}
	return (s[0] + s[2]) + (s[1] + s[3])
}

func awareDotsGrad(dv, v []float32, n int, a *Aware, g float32) {
	for i, row := range a.Row {
		gx := g * a.X[i]
		for j := i + 1; j < len(a.Row); j++ {
			d := gx * a.X[j]
			from, to := row+a.Field[j], a.Row[j]+a.Field[i]
			for c := range n {
				dv[from+c] += float32(d * v[to+c])
				dv[to+c] += float32(d * v[from+c])
			}
		}
	}
}
