package kernel

import (
	"hash/crc32"

	"golang.org/x/sys/cpu"
)

// foldFrom is how many bytes are worth the wide way.
const foldFrom = 1 << 10

func crcOn(on level, crc uint32, b []byte) uint32 {
	if on == avx512 && len(b) >= foldFrom && cpu.X86.HasAVX512VPCLMULQDQ {
		n := len(b) &^ 255
		crc = ^crc512(^crc, &b[0], n, &foldings)
		b = b[n:]
	}
	return crc32.Update(crc, castagnoli, b)
}

// crc512 takes n bytes, a multiple of 256, into the state of a checksum, 256 at a time.
//
//go:noescape
func crc512(state uint32, b *byte, n int, k *[6]uint64) uint32
