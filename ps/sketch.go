package ps

import "math/bits"

// sketch counts uses of many keys in little memory, a bit too many where keys share counters. Each key has four counters of 4 bits in one
// line of 64 bytes; the least of them counts.
type sketch struct {
	words []uint64
	shift int
}

const (
	lineWords  = 8
	mostCounts = 15
)

// newSketch has a word for each of the records, or up to two.
func newSketch(records int) sketch {
	lines := bits.Len(uint(records-1) / lineWords)
	return sketch{make([]uint64, lineWords<<lines), 64 - lines}
}

// line is the line of a hash, and the bits that choose the counters in it.
func (s *sketch) line(h uint64) ([]uint64, uint64) {
	h *= 0xff51afd7ed558ccd
	at := h >> s.shift
	if s.shift == 64 {
		at = 0
	}
	return s.words[at*lineWords:][:lineWords], h
}

// counter is the i-th counter of a key: word of the line, and bit of the word.
func counter(h uint64, i int) (word, bit int) {
	part := int(h >> (20 + 5*i))
	return 2*i + part&1, part >> 1 & 15 * 4
}

// add counts a use, and says how many there were.
func (s *sketch) add(h uint64) uint8 {
	line, h := s.line(h)
	least := s.least(line, h)
	if least < mostCounts {
		for i := range 4 {
			if word, bit := counter(h, i); line[word]>>bit&15 == uint64(least) {
				line[word] += 1 << bit
			}
		}
		least++
	}
	return least
}

func (s *sketch) least(line []uint64, h uint64) uint8 {
	least := uint64(mostCounts)
	for i := range 4 {
		word, bit := counter(h, i)
		least = min(least, line[word]>>bit&15)
	}
	return uint8(least)
}

// raise notes that a key was used that often at least.
func (s *sketch) raise(h uint64, uses uint8) {
	line, h := s.line(h)
	n := uint64(min(uses, mostCounts))
	for i := range 4 {
		word, bit := counter(h, i)
		if have := line[word] >> bit & 15; have < n {
			line[word] += (n - have) << bit
		}
	}
}

func (s *sketch) halve() {
	for i, w := range s.words {
		s.words[i] = w >> 1 & 0x7777777777777777
	}
}
