package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"thole.example/format"
)

// decimalBytes reads decimal numbers; it gives the bits of a double.
func decimalBytes(digits int) func(b []byte) (uint64, error) {
	return func(b []byte) (uint64, error) {
		v, err := format.DecimalBytes(b, digits)
		return math.Float64bits(v), err
	}
}

// wholeBytes reads decimal numbers without digits behind the point.
func wholeBytes(b []byte) (uint64, error) {
	v, err := format.WholeBytes(b)
	return uint64(v), err
}

const (
	momentLen = 12
	epochDay  = 2440588 // the Julian day of the first of January 1970
	dayMicros = 24 * 60 * 60 * 1000 * 1000
	// maxDays is how far from it days may be, that microseconds have 64 bits.
	maxDays = math.MaxInt64/dayMicros - 1
)

// moment reads an INT96: nanoseconds of a day in 8 bytes, the Julian day in 4. It gives microseconds since the beginning of 1970.
func moment(b []byte) (uint64, error) {
	nanos, day := int64(binary.LittleEndian.Uint64(b)), int64(int32(binary.LittleEndian.Uint32(b[8:])))-epochDay
	if day > maxDays || day < -maxDays || nanos < 0 || nanos > 1000*dayMicros {
		return 0, fmt.Errorf("a time of %d ns of day %d", nanos, day)
	}
	return uint64(day*dayMicros + nanos/1000), nil
}
