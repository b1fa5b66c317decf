package kernel

import "hash/crc32"

// castagnoli is the table of the standard library, which uses the processor's instruction where there is one.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C adds the bytes to a checksum with the polynomial of Castagnoli, as hash/crc32 does; 0 is the checksum of nothing.
func CRC32C(crc uint32, b []byte) uint32 { return crcOn(machine, crc, b) }

// foldings are what 128 bits are multiplied with to be moved by 2048, 512 and 128 bits: x^(d+32) and x^(d-32) modulo the
// polynomial, bits reflected (Gopal and others, Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, 2009).
var foldings = func() (k [6]uint64) {
	for i, d := range []int{2048, 512, 128} {
		k[2*i], k[2*i+1] = power(d+32), power(d-32)
	}
	return k
}()

// power is x^n modulo the polynomial, in the form that foldings have.
func power(n int) uint64 {
	r := uint32(1) << 31 // x^0, reflected
	for range n {
		r = r>>1 ^ crc32.Castagnoli&-(r&1)
	}
	return uint64(r) << 1
}
