package matrix

// Scale multiplies every stored value by the factor, in place. Integers are multiplied as float64, rounded toward zero
// and held at the bounds of their type (by 1 they stay what they are); storage-only types are left unchanged.
func (b Block) Scale(by float64) {
	if by != 1 && !b.Data.DType().StorageOnly() {
		b.Data.scale(by)
	}
}

func (e Empty) scale(float64)        {}
func (d *Dense[T]) scale(by float64) { scaleAll(d.Val, by) }
func (d *CSR[T]) scale(by float64)   { scaleAll(d.Val, by) }
func (d *COO[T]) scale(by float64)   { scaleAll(d.Val, by) }
func (d *Cols[T]) scale(by float64)  { scaleAll(d.Val, by) }

func scaleAll[T Stored](val []T, by float64) {
	if DTypeOf[T]().Float() {
		for i, v := range val {
			val[i] = T(float64(v) * by)
		}
		return
	}
	lo, hi := bounds[T]()
	for i, v := range val {
		val[i] = clamp[T](float64(v)*by, lo, hi)
	}
}

// Divide divides every stored value by n, which is above 0, in place: floats are rounded once, integers toward zero;
// storage-only types are left unchanged.
func (b Block) Divide(n int64) {
	if n != 1 && !b.Data.DType().StorageOnly() {
		b.Data.divide(n)
	}
}

func (e Empty) divide(int64)       {}
func (d *Dense[T]) divide(n int64) { divideAll(d.Val, n) }
func (d *CSR[T]) divide(n int64)   { divideAll(d.Val, n) }
func (d *COO[T]) divide(n int64)   { divideAll(d.Val, n) }
func (d *Cols[T]) divide(n int64)  { divideAll(d.Val, n) }

func divideAll[T Stored](val []T, n int64) {
	if DTypeOf[T]().Float() {
		for i, v := range val {
			val[i] = T(float64(v) / float64(n)) // of a float32 this is the nearest one, too
		}
		return
	}
	by := T(n)
	if int64(by) != n { // no value of the type is that large
		clear(val)
		return
	}
	for i, v := range val {
		val[i] = v / by
	}
}
