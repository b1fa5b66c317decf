package interp

import "fmt"

// broadcast is the shape of both, aligned at their tails; a dimension of 1 takes that of the other.
func broadcast(a, b []int) ([]int, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	dims := append([]int{}, a...)
	for i, d := range b {
		at := len(a) - len(b) + i
		switch {
		case dims[at] == d || d == 1:
		case dims[at] == 1:
			dims[at] = d
		default:
			return nil, fmt.Errorf("shapes %v and %v: %w", a, b, ErrShape)
		}
	}
	return dims, nil
}

// strides are the steps of a tensor of shape dims within a walk over the shape to, whose tail it has: 0 where it
// repeats.
func strides(dims, to []int) []int {
	s := make([]int, len(to))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] != 1 {
			s[len(to)-len(dims)+i] = step
		}
		step *= dims[i]
	}
	return s
}

// offset is the place of an index.
func offset(idx, strides []int) int {
	n := 0
	for i, v := range idx {
		n += v * strides[i]
	}
	return n
}

// walk visits every index of a shape in the order of storage. idx is the same slice every time.
func walk(dims []int, visit func(at int, idx []int)) {
	for _, d := range dims {
		if d == 0 {
			return
		}
	}
	idx := make([]int, len(dims))
	for at := 0; ; at++ {
		visit(at, idx)
		i := len(dims) - 1
		for ; i >= 0; i-- {
			if idx[i]++; idx[i] < dims[i] {
				break
			}
			idx[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// place gives the smaller of two shapes the rank of the larger: its dimensions stand from axis on, ones around them. -1
// aligns the tails. Ones at its end that do not fit are dropped, as old releases did.
func place(x, y []int, axis int64) (a, b []int, err error) {
	swap := len(y) > len(x)
	if swap {
		x, y = y, x
	}
	if axis == -1 {
		axis = int64(len(x) - len(y))
	}
	small := y
	for len(small) > 0 && small[len(small)-1] == 1 && axis+int64(len(small)) > int64(len(x)) {
		small = small[:len(small)-1]
	}
	if axis < 0 || axis+int64(len(small)) > int64(len(x)) {
		return nil, nil, fmt.Errorf("shape %v at dimension %d of %v: %w", y, axis, x, ErrShape)
	}
	wide := make([]int, len(x))
	for i := range wide {
		wide[i] = 1
	}
	copy(wide[axis:], small)
	if swap {
		return wide, x, nil
	}
	return x, wide, nil
}
