package parquet

import (
	"encoding/binary"
	"fmt"
)

// differences reads n numbers of at most width bits: a head (varints: numbers in a block, parts of a block, numbers in all,
// the first number), then blocks of the smallest difference (a varint), the widths of its parts (a byte each), and for each
// part what the differences are above the smallest, side by side. Numbers wrap around.
func differences(raw []byte, n, width int) ([]int64, error) {
	out, rest, err := someDifferences(raw, n, width)
	if err == nil && len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes behind the differences", len(rest))
	}
	return out, err
}

// someDifferences reads as differences does, and gives what stands behind them.
func someDifferences(raw []byte, n, width int) (out []int64, rest []byte, err error) {
	var head [3]uint64
	for i := range head {
		v, k := binary.Uvarint(raw)
		if k <= 0 {
			return nil, nil, fmt.Errorf("differences without their head")
		}
		head[i], raw = v, raw[k:]
	}
	block, parts := head[0], head[1]
	first, k := binary.Varint(raw)
	switch {
	case k <= 0:
		return nil, nil, fmt.Errorf("differences without a first number")
	case head[2] != uint64(n):
		return nil, nil, fmt.Errorf("%d differences, want %d", head[2], n)
	case parts == 0 || block > maxValues || parts > block/32 || block%parts != 0 || block/parts%32 != 0:
		return nil, nil, fmt.Errorf("blocks of %d differences in %d parts, want parts of 32, 64, …", block, parts)
	}
	raw = raw[k:]
	out = make([]int64, 0, n)
	if n > 0 {
		out = append(out, first)
	}
	for len(out) < n {
		least, k := binary.Varint(raw)
		if k <= 0 || uint64(len(raw)-k) < parts {
			return nil, nil, fmt.Errorf("%d differences, want %d", len(out), n)
		}
		widths := raw[k:][:parts]
		raw = raw[k+int(parts):]
		for _, w := range widths {
			if len(out) == n {
				break // of parts that are not there a width is
			}
			count, size := min(n-len(out), int(block/parts)), int(block/parts)/8*int(w)
			if int(w) > width || size > len(raw) {
				return nil, nil, fmt.Errorf("differences of %d bits in %d bytes, want at most %d bits in %d", w, len(raw), width, size)
			}
			out = addUp(out, raw[:size], least, int(w), count)
			raw = raw[size:]
		}
	}
	return out, raw, nil
}

// addUp appends count numbers, each the sum of the one before it, least, and what src has.
func addUp(out []int64, src []byte, least int64, width, count int) []int64 {
	last, mask := out[len(out)-1], uint64(1)<<width-1
	for i := range count {
		at := i * width
		var word [9]byte
		copy(word[:], src[at/8:])
		shift := at % 8
		v := binary.LittleEndian.Uint64(word[:])>>shift | uint64(word[8])<<(64-shift)
		last += least + int64(v&mask)
		out = append(out, last)
	}
	return out
}
