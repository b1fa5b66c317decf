package ps

import "thole.example/matrix"

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

// gather moves bytes of inputs, of which none has the key of another, to their places in the run.
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
		copy(dst[(int(e.place)-r.lo)*n:][:n], inputs[int(e.input)*l.lump+l.lo:])
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
	order, first := k.order[r.from:r.to], r.lo
	for i := range order {
		e := &order[i]
		from := src[(int(e.place&^again)-first)*n:][:n]
		to := inputs[int(e.input)*l.lump+l.lo:][:n]
		switch n { // known sizes are moved without a call
		case 4:
			*(*[4]byte)(to) = *(*[4]byte)(from)
		case 8:
			*(*[8]byte)(to) = *(*[8]byte)(from)
		case 32:
			*(*[32]byte)(to) = *(*[32]byte)(from)
		case 64:
			*(*[64]byte)(to) = *(*[64]byte)(from)
		default:
			copy(to, from)
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
	order, first := k.order[r.from:r.to], r.lo
	for i := range order {
		e := &order[i]
		to := dst[(int(e.place&^again)-first)*n:][:n]
		from := inputs[int(e.input)*l.lump+l.lo:][:n]
		switch {
		case e.place&again != 0:
			for j, v := range from {
				to[j] += v
			}
		case n == 1:
			to[0] = from[0]
		case n == 16:
			*(*[16]T)(to) = *(*[16]T)(from)
		default:
			copy(to, from)
		}
	}
}
