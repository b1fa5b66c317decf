package kernel

import "math"

// Form is how the steps of a rule act on a weight w without a gradient, with v its first slot.
type Form int

// The forms, and the numbers of a Drift that count in each.
const (
	Scales  Form = iota // w = WW*w
	Shrinks             // w = shrink(WW*w, Less), where shrink moves towards zero and stops there
	Divides             // w = shrink(w, Less/(sqrt(v)+Eps)), and w stays where v is 0, as v always does
	Fades               // every slot = VV*slot
	Couples             // w = WW*w + WV*v and v = VW*w + VV*v, both from before
)

// Idle says how the steps of a rule act on weights without a gradient, so that many of them can be made at once.
type Idle struct {
	Form Form
	Step func(rate float64) Drift // one step
	Eps  float64                  // if it Divides
}

// Drift is what some steps make of a weight and its slots, as a [Form] says.
type Drift struct{ WW, WV, VW, VV, Less float64 }

// NoDrift is the drift of no step.
func NoDrift() Drift { return Drift{WW: 1, VV: 1} }

// Then makes d itself and then e. Since weights that shrink stop at zero, shrinking once by the sum is shrinking twice.
func (d *Drift) Then(e *Drift) {
	*d = Drift{
		WW:   float64(e.WW*d.WW) + float64(e.WV*d.VW),
		WV:   float64(e.WW*d.WV) + float64(e.WV*d.VV),
		VW:   float64(e.VW*d.WW) + float64(e.VV*d.VW),
		VV:   float64(e.VW*d.WV) + float64(e.VV*d.VV),
		Less: float64(e.WW*d.Less) + e.Less,
	}
}

// Extend makes each of some drifts itself and then e.
func (i *Idle) Extend(all []Drift, e Drift) {
	switch {
	case i.Form == Scales || i.Form == Fades:
		for j := range all {
			d := &all[j]
			d.WW, d.VV = d.WW*e.WW, d.VV*e.VV
		}
	case i.Form == Shrinks || i.Form == Divides:
		for j := range all {
			d := &all[j]
			d.WW, d.Less = d.WW*e.WW, float64(e.WW*d.Less)+e.Less
		}
	case e.VW == 0:
		for j := range all {
			d := &all[j]
			d.WW, d.WV, d.VV = d.WW*e.WW, float64(e.WW*d.WV)+float64(e.WV*d.VV), d.VV*e.VV
		}
	default:
		for j := range all {
			all[j].Then(&e)
		}
	}
}

// Flush makes what has almost vanished nothing, so that no arithmetic becomes slow for numbers near the smallest.
func (d *Drift) Flush() {
	for _, x := range []*float64{&d.WW, &d.WV, &d.VW, &d.VV} {
		if math.Abs(*x) < 0x1p-300 {
			*x = 0
		}
	}
}

// Lag is rows of a slab, each behind by a drift.
type Lag[T Number] struct {
	Idle   *Idle
	Slab   []T // row i begins at i*Stride
	Stride int // elements
	Dim    int // weights of a row, beside each other, and values of each of its slots after them
	Slots  int
	Rows   []uint32
	Drifts []Drift // of each of the rows
}

// Settle brings the rows up to date in place.
func (l *Lag[T]) Settle() {
	checkLen(len(l.Drifts), len(l.Rows), "Drifts")
	if len(l.Rows) == 0 || l.Dim == 0 {
		return
	}
	if fast, ok := any(l).(*Lag[float32]); !ok || !settleOn(machine, fast) {
		l.settle()
	}
}

func (l *Lag[T]) settle() {
	for i, row := range l.Rows {
		val, d := l.Slab[int(row)*l.Stride:][:l.Dim*(1+l.Slots)], &l.Drifts[i]
		w, slots := val[:l.Dim], val[l.Dim:]
		switch l.Idle.Form {
		case Fades:
			scaleTo(slots, slots, T(d.VV))
		case Couples:
			couple(w, slots[:len(w)], d)
		default:
			l.weights(w, w, slots, d)
		}
	}
}

// Read copies n weights of every row from one on, up to date: those of the i-th go to dst[at[i]*n:].
func (l *Lag[T]) Read(dst []T, at []uint32, from, n int) {
	checkLen(len(l.Drifts), len(l.Rows), "Drifts")
	checkLen(len(at), len(l.Rows), "at")
	if len(l.Rows) == 0 || n == 0 {
		return
	}
	if fast, ok := any(l).(*Lag[float32]); !ok || !readOn(machine, fast, any(dst).([]float32), at, from, n, n) {
		l.read(dst, at, from, n)
	}
}

func (l *Lag[T]) read(dst []T, at []uint32, from, n int) {
	for i, row := range l.Rows {
		val := l.Slab[int(row)*l.Stride:][:l.Dim*(1+l.Slots)]
		l.weights(dst[int(at[i])*n:][:n], val[from:][:n], val[min(len(val), l.Dim+from):], &l.Drifts[i])
	}
}

// weights writes to dst what the drift makes of w, with the first slot v.
func (l *Lag[T]) weights(dst, w, v []T, d *Drift) {
	switch l.Idle.Form {
	case Scales:
		scaleTo(dst, w, T(d.WW))
	case Shrinks:
		keep, less := T(d.WW), T(d.Less)
		for j, x := range w {
			dst[j] = shrink(x*keep, less)
		}
	case Divides:
		less, eps := T(d.Less), T(l.Idle.Eps)
		v = v[:len(w)]
		for j, x := range w {
			if dst[j] = x; v[j] != 0 {
				dst[j] = shrink(x, less/(root(v[j])+eps))
			}
		}
	case Fades:
		copy(dst, w)
	case Couples:
		ww, wv := T(d.WW), T(d.WV)
		v = v[:len(w)]
		for j, x := range w {
			dst[j] = T(x*ww) + T(v[j]*wv)
		}
	}
}

func scaleTo[T Number](dst, w []T, by T) {
	for j, x := range w {
		dst[j] = x * by
	}
}

// couple brings weights and their slot up to date where each depends on the other.
func couple[T Number](w, v []T, d *Drift) {
	ww, wv, vw, vv := T(d.WW), T(d.WV), T(d.VW), T(d.VV)
	for j, x := range w {
		y := v[j]
		w[j], v[j] = T(x*ww)+T(y*wv), T(x*vw)+T(y*vv)
	}
}
