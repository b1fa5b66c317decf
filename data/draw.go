package data

import (
	"math"
	"slices"
)

// Draw selects k of the numbers 0 to n-1, those with the smallest hashes of (seed, number), and reports whether a number is one of them.
// The selection depends on nothing else, so every process makes the same one.
func Draw(seed uint64, n, k int) func(i int) bool {
	h := newRowHashes(seed)
	limit := h.limit(n, k)
	return func(i int) bool { return k > 0 && (k >= n || h.at(i) < limit) }
}

// Candidate reports whether Draw may select the number i with round(share*n) of any n above i: it is for examples that are read one by one,
// before their number is known. All but about the root of n of the candidates are selected in the end.
func Candidate(seed uint64, share float64, i int) bool {
	_, most := window(share, i+1, 8) // standard deviations
	return newRowHashes(seed).at(i) <= most
}

// rowHashes are 64-bit hashes of numbers, different for different numbers.
type rowHashes uint64

// holdTag separates these hashes from the other random numbers of the same seed.
const holdTag = 0x68656c64

func newRowHashes(seed uint64) rowHashes { return rowHashes(newStream(seed, holdTag)) }

func (h rowHashes) at(i int) uint64 { return mix(uint64(h) + uint64(i)*golden) }

// limit is the hash below which k of the first n numbers are. It sorts only the hashes near the expected one.
func (h rowHashes) limit(n, k int) uint64 {
	if k >= n {
		return math.MaxUint64
	}
	for deviations := 4.0; ; deviations *= 4 {
		least, most := window(float64(k)/float64(n), n, deviations)
		below, within := 0, []uint64(nil)
		for i := range n {
			if v := h.at(i); v < least {
				below++
			} else if v <= most {
				within = append(within, v)
			}
		}
		if below <= k && k < below+len(within) {
			slices.Sort(within)
			return within[k-below]
		}
	}
}

// window is where the quantile of n uniform hashes is expected, within so many standard deviations.
func window(share float64, n int, deviations float64) (least, most uint64) {
	by := deviations * (math.Sqrt(share*(1-share)/float64(n)) + 1/float64(n))
	if share > by {
		least = uint64(math.Ldexp(share-by, 64))
	}
	if most = math.MaxUint64; share+by < 1 {
		most = uint64(math.Ldexp(share+by, 64))
	}
	return least, most
}
