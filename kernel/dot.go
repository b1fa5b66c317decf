package kernel

// lanes32 is how many sums Dot and Sum keep in their main part; strip is how many elements of it are taken at a time by
// each group of eight, few enough to stay in the first cache.
const (
	lanes32 = 32
	strip   = 1024
)

func dot[T Float](x, y []T) T {
	y = y[:len(x)]
	var s [8]T
	if len(x) >= lanes32 {
		var all [lanes32]T
		for len(x) >= lanes32 {
			n := min(strip, len(x)&^(lanes32-1))
			for g := 0; g < lanes32; g += 8 {
				dot8(x[g:n], y[g:n], (*[8]T)(all[g:]), lanes32)
			}
			x, y = x[n:], y[n:]
		}
		s = fold(&all)
	}
	n := len(x) &^ 7
	if n > 0 {
		dot8(x[:n], y[:n], &s, 8)
	}
	total := fold8(&s)
	x, y = x[n:], y[n:]
	y = y[:len(x)]
	for i, v := range x {
		total += T(v * y[i])
	}
	return total
}

// dot8 adds the products of the first eight elements of every step to the eight sums.
func dot8[T Float](x, y []T, s *[8]T, step int) {
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	y = y[:len(x)]
	for {
		p, q := (*[8]T)(x), (*[8]T)(y)
		s0 += T(p[0] * q[0])
		s1 += T(p[1] * q[1])
		s2 += T(p[2] * q[2])
		s3 += T(p[3] * q[3])
		s4 += T(p[4] * q[4])
		s5 += T(p[5] * q[5])
		s6 += T(p[6] * q[6])
		s7 += T(p[7] * q[7])
		if len(x) < step+8 {
			break
		}
		x, y = x[step:], y[step:]
	}
	s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

func sum[T Float](x []T) T {
	var s [8]T
	if len(x) >= lanes32 {
		var all [lanes32]T
		for len(x) >= lanes32 {
			n := min(strip, len(x)&^(lanes32-1))
			for g := 0; g < lanes32; g += 8 {
				sum8(x[g:n], (*[8]T)(all[g:]), lanes32)
			}
			x = x[n:]
		}
		s = fold(&all)
	}
	n := len(x) &^ 7
	if n > 0 {
		sum8(x[:n], &s, 8)
	}
	total := fold8(&s)
	for _, v := range x[n:] {
		total += v
	}
	return total
}

// sum8 adds the first eight elements of every step to the eight sums.
func sum8[T Float](x []T, s *[8]T, step int) {
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for {
		p := (*[8]T)(x)
		s0 += p[0]
		s1 += p[1]
		s2 += p[2]
		s3 += p[3]
		s4 += p[4]
		s5 += p[5]
		s6 += p[6]
		s7 += p[7]
		if len(x) < step+8 {
			break
		}
		x = x[step:]
	}
	s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

func fold[T Float](all *[lanes32]T) (s [8]T) {
	for j := range s {
		s[j] = (all[j] + all[j+8]) + (all[j+16] + all[j+24])
	}
	return s
}

func fold8[T Float](s *[8]T) T {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
