package kernel

// Axpy adds a*x to y: y[i] += a*x[i].
func Axpy(a float32, x, y []float32) { checkLen(len(x), len(y), "x"); f32.axpy(a, x, y) }

// Axpy64 adds a*x to y: y[i] += a*x[i].
func Axpy64(a float64, x, y []float64) { checkLen(len(x), len(y), "x"); f64.axpy(a, x, y) }

// Dot is the sum of x[i]*y[i].
func Dot(x, y []float32) float32 { checkLen(len(x), len(y), "x"); return f32.dot(x, y) }

// Dot64 is the sum of x[i]*y[i].
func Dot64(x, y []float64) float64 { checkLen(len(x), len(y), "x"); return f64.dot(x, y) }

// Scale multiplies every x[i] by a.
func Scale(a float32, x []float32) { f32.scale(a, x) }

// Scale64 multiplies every x[i] by a.
func Scale64(a float64, x []float64) { f64.scale(a, x) }

// Add adds x to y: y[i] += x[i].
func Add(x, y []float32) { checkLen(len(x), len(y), "x"); f32.add(x, y) }

// Add64 adds x to y: y[i] += x[i].
func Add64(x, y []float64) { checkLen(len(x), len(y), "x"); f64.add(x, y) }

// Sum is the sum of x[i].
func Sum(x []float32) float32 { return f32.sum(x) }

// Sum64 is the sum of x[i].
func Sum64(x []float64) float64 { return f64.sum(x) }

// The loops below take eight elements through array pointers, so that one check of the length serves all eight. The
// conversions T(…) round products: without them some machines would fuse them with the addition.

func axpy[T Float](a T, x, y []T) {
	y = y[:len(x)]
	for len(x) >= 8 && len(y) >= 8 {
		p, q := (*[8]T)(x), (*[8]T)(y)
		q[0] += T(a * p[0])
		q[1] += T(a * p[1])
		q[2] += T(a * p[2])
		q[3] += T(a * p[3])
		q[4] += T(a * p[4])
		q[5] += T(a * p[5])
		q[6] += T(a * p[6])
		q[7] += T(a * p[7])
		x, y = x[8:], y[8:]
	}
	y = y[:len(x)]
	for i, v := range x {
		y[i] += T(a * v)
	}
}

func scale[T Float](a T, x []T) {
	for len(x) >= 8 {
		p := (*[8]T)(x)
		p[0] *= a
		p[1] *= a
		p[2] *= a
		p[3] *= a
		p[4] *= a
		p[5] *= a
		p[6] *= a
		p[7] *= a
		x = x[8:]
	}
	for i := range x {
		x[i] *= a
	}
}

func add[T Float](x, y []T) {
	y = y[:len(x)]
	for len(x) >= 8 && len(y) >= 8 {
		p, q := (*[8]T)(x), (*[8]T)(y)
		q[0] += p[0]
		q[1] += p[1]
		q[2] += p[2]
		q[3] += p[3]
		q[4] += p[4]
		q[5] += p[5]
		q[6] += p[6]
		q[7] += p[7]
		x, y = x[8:], y[8:]
	}
	y = y[:len(x)]
	for i, v := range x {
		y[i] += v
	}
}
