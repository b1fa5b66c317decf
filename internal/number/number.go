// Package number reads decimal numbers from the beginning of text, exactly and several times faster than strconv, and
// writes them with the fewest digits that read back to the same number.
//
// The readers take the longest number that b begins with and say how many bytes it has; what follows is the caller's
// matter, and b may reach far behind it (readers look at eight bytes at once, so that room behind a number is even
// welcome). They never allocate for numbers of up to 32 bytes and may be called by many goroutines.
package number

import "strconv"

// ParseInt64 reads an optional sign and decimal digits. n is their length, 0 if there is no digit. ok is false if there
// is none or if the number does not fit an int64.
func ParseInt64(b []byte) (v int64, n int, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	first := 0
	if negative || len(b) > 0 && b[0] == '+' {
		first = 1
	}
	u, n := digits(b, first)
	count := n - first
	if count == 0 {
		return 0, 0, false
	}
	if count > 18 { // u may have wrapped around
		w, err := strconv.ParseInt(string(b[:n]), 10, 64)
		return w, n, err == nil
	}
	if negative {
		return -int64(u), n, true
	}
	return int64(u), n, true
}

// ParseUint64 reads decimal digits without a sign. n is their length, 0 if there is no digit. ok is false if there is none
// or if the number does not fit a uint64.
func ParseUint64(b []byte) (v uint64, n int, ok bool) {
	v, n = digits(b, 0)
	if n > maxDigits { // v may have wrapped around
		w, err := strconv.ParseUint(string(b[:n]), 10, 64)
		return w, n, err == nil
	}
	return v, n, n > 0
}
