package ps

import (
	"thole.example/kernel"
	"thole.example/matrix"
)

// A lump is the bytes, or numbers, of one key's values. The functions here move lumps between the order in which keys were
// given and that of a plan: of a run, whose lumps have n elements and begin at the first one of its slice. Each input has a
// lump of its own, of which n elements from lo on are meant.

// lumps says which.
type lumps struct {
	k     *Keys
	run   run
	lump  int // elements of an input
	lo, n int
}

// gather moves bytes of inputs to their places in the run; of those with the same key the last counts.
func (l *lumps) gather(dst, inputs []byte) {
	k, r, n := l.k, &l.run, l.n
	if k.order == nil && l.lump == n {
		copy(dst, inputs[r.lo*n:r.hi*n])
		return
	}
	if k.order == nil {
		for i := range r.hi - r.lo {
			copy(dst[i*n:(i+1)*n], inputs[(r.lo+i)*l.lump+l.lo:])
		}
		return
	}
	for _, e := range k.order[r.from:r.to] {
		copy(dst[(int(e.Position&^kernel.Again)-r.lo)*n:][:n], inputs[int(e.Input)*l.lump+l.lo:])
	}
}

// scatter moves bytes of the run to all inputs that have their keys.
func (l *lumps) scatter(inputs, src []byte) {
	k, r, n := l.k, &l.run, l.n
	if k.order == nil && l.lump == n {
		copy(inputs[r.lo*n:r.hi*n], src)
		return
	}
	if k.order == nil {
		for i := range r.hi - r.lo {
			copy(inputs[(r.lo+i)*l.lump+l.lo:][:n], src[i*n:])
		}
		return
	}
	order := k.order[r.from:r.to]
	if l.lump == n {
		kernel.ScatterInputs(inputs, src, n, order, uint32(r.lo))
		return
	}
	for _, e := range order {
		copy(inputs[int(e.Input)*l.lump+l.lo:][:n], src[(int(e.Position&^kernel.Again)-r.lo)*n:])
	}
}

// scatterHalves is scatter of halves to inputs of numbers.
func scatterHalves[H kernel.Half, T kernel.Float](l *lumps, inputs []T, src []H) {
	k, r, n := l.k, &l.run, l.n
	switch {
	case k.order == nil && l.lump == n:
		kernel.Widen(inputs[r.lo*n:r.hi*n], src)
	case k.order == nil:
		for i := range r.hi - r.lo {
			kernel.Widen(inputs[(r.lo+i)*l.lump+l.lo:][:n], src[i*n:][:n])
		}
	case l.lump == n:
		kernel.WidenInputs(inputs, src, n, k.order[r.from:r.to], uint32(r.lo))
	default:
		for _, e := range k.order[r.from:r.to] {
			kernel.Widen(inputs[int(e.Input)*l.lump+l.lo:][:n], src[(int(e.Position&^kernel.Again)-r.lo)*n:][:n])
		}
	}
}

// sum adds up the inputs' numbers to their places in the run, in the order of the inputs.
func sum[T matrix.Elem](l *lumps, dst, inputs []T) {
	k, r, n := l.k, &l.run, l.n
	if k.order == nil {
		for i := range r.hi - r.lo {
			copy(dst[i*n:(i+1)*n], inputs[(r.lo+i)*l.lump+l.lo:])
		}
		return
	}
	order, first := k.order[r.from:r.to], uint32(r.lo)
	if l.lump != n {
		rows := make([]T, k.inputs*n) // only those that are meant
		for i := range k.inputs {
			copy(rows[i*n:(i+1)*n], inputs[i*l.lump+l.lo:])
		}
		inputs = rows
	}
	if f, ok := any(inputs).([]float32); ok {
		kernel.SumInputs(any(dst).([]float32), f, n, order, first)
		return
	}
	kernel.SumInputsAny(dst, inputs, n, order, first)
}
