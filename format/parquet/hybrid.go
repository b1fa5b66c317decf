package parquet

import (
	"encoding/binary"
	"fmt"
)

// hybrid reads n numbers of some bits each from runs: a varint head, whose lowest bit tells a run of one number (0; the
// other bits are its length, the number follows in whole bytes) from numbers side by side (1; eight times so many).
func hybrid(src []byte, width, n int) ([]uint32, error) {
	if width < 0 || width > 32 {
		return nil, fmt.Errorf("numbers of %d bits, want 0 to 32", width)
	}
	out := make([]uint32, 0, n)
	for len(out) < n {
		head, k := binary.Uvarint(src)
		if k <= 0 || head < 2 {
			return nil, fmt.Errorf("%d numbers in runs, want %d", len(out), n)
		}
		src = src[k:]
		left := uint64(n - len(out))
		if head&1 == 0 {
			size := (width + 7) / 8
			if len(src) < size {
				return nil, fmt.Errorf("a run without its number")
			}
			var raw [4]byte
			copy(raw[:], src[:size])
			v := binary.LittleEndian.Uint32(raw[:])
			src = src[size:]
			for range min(head>>1, left) {
				out = append(out, v)
			}
			continue
		}
		groups := head >> 1
		if groups > (left+7)/8 && groups > uint64(len(src)) {
			return nil, fmt.Errorf("%d packed numbers in %d bytes", groups*8, len(src))
		}
		size := min(groups*uint64(width), uint64(len(src)))
		count := min(groups*8, left)
		if count*uint64(width) > size*8 {
			return nil, fmt.Errorf("%d packed numbers of %d bits in %d bytes", count, width, size)
		}
		out = unpackBits(out, src[:size], width, int(count))
		src = src[size:]
	}
	return out, nil
}

// unpackBits appends n numbers of width bits, from the lowest bit of each byte on.
func unpackBits(out []uint32, src []byte, width, n int) []uint32 {
	acc, bits, i := uint64(0), 0, 0
	mask := uint64(1)<<width - 1
	for range n {
		for bits < width {
			acc |= uint64(src[i]) << bits
			bits += 8
			i++
		}
		out = append(out, uint32(acc&mask))
		acc >>= width
		bits -= width
	}
	return out
}
