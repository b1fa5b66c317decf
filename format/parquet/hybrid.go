package parquet

import (
	"encoding/binary"
	"fmt"
)

// hybrid fills out with numbers of some bits each from runs: a varint head, whose lowest bit tells a run of one number (0; the
// other bits are its length, the number follows in whole bytes) from numbers side by side (1; eight times so many).
func hybrid(out []uint32, src []byte, width int) error {
	if width < 0 || width > 32 {
		return fmt.Errorf("numbers of %d bits, want 0 to 32", width)
	}
	n := len(out)
	for len(out) > 0 {
		head, k := binary.Uvarint(src)
		if k <= 0 || head < 2 {
			return fmt.Errorf("%d numbers in runs, want %d", n-len(out), n)
		}
		src = src[k:]
		left := uint64(len(out))
		if head&1 == 0 {
			v, size, err := runOf(src, width)
			if err != nil {
				return err
			}
			src = src[size:]
			run := out[:min(head>>1, left)]
			for i := range run {
				run[i] = v
			}
			out = out[len(run):]
			continue
		}
		groups := head >> 1
		if groups > (left+7)/8 && groups > uint64(len(src)) {
			return fmt.Errorf("%d packed numbers in %d bytes", groups*8, len(src))
		}
		size := min(groups*uint64(width), uint64(len(src)))
		count := min(groups*8, left)
		if count*uint64(width) > size*8 {
			return fmt.Errorf("%d packed numbers of %d bits in %d bytes", count, width, size)
		}
		unpackBits(out[:count], src[:size], width)
		out, src = out[count:], src[size:]
	}
	return nil
}

// runOf is the number of a run, and how many bytes it has.
func runOf(src []byte, width int) (v uint32, size int, err error) {
	size = (width + 7) / 8
	if len(src) < size {
		return 0, 0, fmt.Errorf("a run without its number")
	}
	var raw [4]byte
	copy(raw[:], src[:size])
	if v = binary.LittleEndian.Uint32(raw[:]); v>>width != 0 {
		return 0, 0, fmt.Errorf("a run of %d, want a number of %d bits", v, width)
	}
	return v, size, nil
}

// allOnes reports whether n numbers of one bit are a run of ones, as the levels of a page without nulls most often are.
func allOnes(src []byte, n int) bool {
	head, k := binary.Uvarint(src)
	return k > 0 && head&1 == 0 && head>>1 >= uint64(n) && len(src) > k && src[k] == 1
}

// unpackBits fills out with numbers of width bits, from the lowest bit of each byte on. src has enough of them.
func unpackBits(out []uint32, src []byte, width int) {
	mask := uint64(1)<<width - 1
	i, bit := 0, 0
	for ; i < len(out) && bit/8+8 <= len(src); i++ {
		out[i] = uint32(binary.LittleEndian.Uint64(src[bit/8:]) >> (bit % 8) & mask)
		bit += width
	}
	for ; i < len(out); i++ { // near the end of src
		var word [8]byte
		copy(word[:], src[bit/8:])
		out[i] = uint32(binary.LittleEndian.Uint64(word[:]) >> (bit % 8) & mask)
		bit += width
	}
}
