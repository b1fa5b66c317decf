package kernel

// Index is the type of positions in a weight array.
type Index interface{ int32 | int64 | int }

// GatherDot multiplies a sparse row with dense weights: out[j] += sum over i of val[i] * w[idx[i]*len(out)+j]. Weights
// are laid out column by column: the len(out) weights of a feature lie together, as in matrix.Cols.
func GatherDot[I Index](idx []I, val, w, out []float32) { gatherDot(f32.axpy, idx, val, w, out) }

// GatherDot64 is GatherDot in float64.
func GatherDot64[I Index](idx []I, val, w, out []float64) { gatherDot(f64.axpy, idx, val, w, out) }

// ScatterAxpy is the way back of GatherDot: w[idx[i]*len(g)+j] += val[i] * g[j] for every i and j. An index may occur
// more than once.
func ScatterAxpy[I Index](idx []I, val, g, w []float32) { scatterAxpy(f32.axpy, idx, val, g, w) }

// ScatterAxpy64 is ScatterAxpy in float64.
func ScatterAxpy64[I Index](idx []I, val, g, w []float64) { scatterAxpy(f64.axpy, idx, val, g, w) }

// axpyFrom is the number of outputs from which a call of axpy for each index pays.
const axpyFrom = 8

func gatherDot[I Index, T Float](axpy func(T, []T, []T), idx []I, val, w, out []T) {
	want(len(val), len(idx), "val")
	k := len(out)
	switch {
	case k == 1:
		out[0] += gatherDot1(idx, val, w)
	case k < axpyFrom:
		for i, c := range idx {
			row, v := w[int(c)*k:int(c)*k+k], val[i]
			for j := range out {
				out[j] += T(v * row[j])
			}
		}
	default:
		for i, c := range idx {
			axpy(val[i], w[int(c)*k:int(c)*k+k], out)
		}
	}
}

func gatherDot1[I Index, T Float](idx []I, val, w []T) T {
	var s0, s1, s2, s3 T
	val = val[:len(idx)]
	for len(idx) >= 4 && len(val) >= 4 {
		c, v := (*[4]I)(idx), (*[4]T)(val)
		s0 += T(v[0] * w[c[0]])
		s1 += T(v[1] * w[c[1]])
		s2 += T(v[2] * w[c[2]])
		s3 += T(v[3] * w[c[3]])
		idx, val = idx[4:], val[4:]
	}
	s := (s0 + s2) + (s1 + s3)
	val = val[:len(idx)]
	for i, c := range idx {
		s += T(val[i] * w[c])
	}
	return s
}

func scatterAxpy[I Index, T Float](axpy func(T, []T, []T), idx []I, val, g, w []T) {
	want(len(val), len(idx), "val")
	k := len(g)
	switch {
	case k == 1:
		v := g[0]
		val = val[:len(idx)]
		for i, c := range idx {
			w[c] += T(val[i] * v)
		}
	case k < axpyFrom:
		for i, c := range idx {
			row, v := w[int(c)*k:int(c)*k+k], val[i]
			for j := range row {
				row[j] += T(v * g[j])
			}
		}
	default:
		for i, c := range idx {
			axpy(val[i], g, w[int(c)*k:int(c)*k+k])
		}
	}
}
