package feature

import (
	"math"
	"math/bits"
)

// sketch estimates how many different texts were added, to about 1 %, whatever their order and however often each comes: the greatest
// number of leading zeros of hashes, in each of many groups of them (HyperLogLog: Flajolet, Fusy, Gandouet, Meunier 2007).
type sketch struct{ most [1 << sketchBits]uint8 }

const sketchBits = 14

func (s *sketch) add(text []byte) {
	h := Of(text)
	group := &s.most[h>>(64-sketchBits)]
	*group = max(*group, uint8(bits.LeadingZeros64(h<<sketchBits|1<<(sketchBits-1))+1))
}

// estimate is that of many more texts than there are groups.
func (s *sketch) estimate() int {
	sum := 0.0
	for _, m := range s.most {
		sum += math.Ldexp(1, -int(m))
	}
	const n = 1 << sketchBits
	return int(math.Round(0.7213 / (1 + 1.079/n) * n * n / sum))
}
