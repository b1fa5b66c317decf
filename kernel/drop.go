package kernel

// Drop sets v[i] to 0 if number i of splitmix64 from that state is below the limit in its upper 32 bits, and else multiplies v[i] by
// scale. A slice may be done in parts: state.Skip(i) is the state for v[i:].
func Drop(v []float32, state SplitMix, limit uint32, scale float32) {
	drop(machine, v, state, limit, scale)
}

// SplitMix is the state of the generator splitmix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
// Its numbers can be had in any order, as each is a function of the state and its place.
type SplitMix uint64

// golden is what a state grows by from number to number.
const golden = 0x9e3779b97f4a7c15

// Next is the next number.
func (s *SplitMix) Next() uint64 {
	*s += golden
	return Mix(uint64(*s))
}

// Skip is the state after n numbers.
func (s SplitMix) Skip(n int) SplitMix { return s + SplitMix(n)*golden }

// Mix makes a number of a state: each bit of x changes about half of its bits.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func drop(on level, v []float32, state SplitMix, limit uint32, scale float32) {
	n := dropOn(on, v, state, limit, scale)
	state = state.Skip(n)
	for i := range v[n:] {
		if uint32(state.Next()>>32) < limit {
			v[n+i] = 0
		} else {
			v[n+i] *= scale
		}
	}
}
