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
